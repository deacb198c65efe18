/*
 * How well ExDyna keeps its density, by the published rule for the threshold and by the one that
 * tracks scales: from the first threshold for 2,000 iterations of gradients of one scale, and for
 * 2,000 more in which the scale changes. Counts are as k' / k; windows are of 100 iterations.
 */
#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "tests/exdyna_training.h"

enum { STEADY = 2000, DRIFT = 2000, ITERATIONS = STEADY + DRIFT, WINDOW = 100 };

static const char *const usage =
    "usage: exdyna [SHAPE WORKERS ELEMENTS DENSITY SCALE CHANGE]\n"
    "\n"
    "  SHAPE     of gradients: normal, laplace, student (of 3 degrees), sparse, ...\n"
    "  WORKERS   1 to 64, emulated one after the other\n"
    "  SCALE     of gradients at first; the threshold begins at 1 / (2 sqrt(k))\n"
    "  CHANGE    of the scale in the last 2,000 iterations; 0.01 shrinks it a hundredfold\n"
    "\n"
    "(default: normal 1 100000 0.01 1 100)\n";

static double next_published(struct gw_exdyna_threshold *threshold, size_t selected,
                             size_t wanted) {
    threshold->value = gw_exdyna_next_threshold(threshold->value, selected, wanted);
    return threshold->value;
}

static double next_tracked(struct gw_exdyna_threshold *threshold, size_t selected, size_t wanted) {
    gw_exdyna_track(threshold, selected, wanted);
    return threshold->value;
}

static const struct rule {
    const char *name;
    double (*next)(struct gw_exdyna_threshold *threshold, size_t selected, size_t wanted);
} rules[] = {{"published", next_published}, {"tracked", next_tracked}};

static bool is_close(double ratio) {
    return fabs(ratio - 1) <= 0.1;
}

/* The first iteration from which all windows until STEADY are within 10%; STEADY if none is. */
static size_t reached(const double *ratios) {
    size_t from = 0;
    double sum = 0;
    for (size_t t = 0; t < STEADY; t++) {
        sum += ratios[t] - (t >= WINDOW ? ratios[t - WINDOW] : 0);
        from = t + 1 < WINDOW || is_close(sum / WINDOW) ? from : t + 1;
    }
    return from;
}

static void print_phase(const char *name, const double *ratios, size_t count) {
    struct gw_running all = {0};
    double low = INFINITY;
    double high = 0;
    size_t close = 0;
    size_t close_windows = 0;
    double sum = 0;
    for (size_t t = 0; t < count; t++) {
        gw_running_add(&all, ratios[t]);
        close += is_close(ratios[t]);
        sum += ratios[t] - (t >= WINDOW ? ratios[t - WINDOW] : 0);
        if (t + 1 >= WINDOW) {
            low = fmin(low, sum / WINDOW);
            high = fmax(high, sum / WINDOW);
            close_windows += is_close(sum / WINDOW);
        }
    }
    printf("  %s: mean %.3f, sd %.3f, windows %.3f to %.3f; within 10%%: %.0f%% of iterations, "
           "%.0f%% of windows\n",
           name, all.mean, gw_running_sd(&all), low, high, 100 * (double)close / (double)count,
           100 * (double)close_windows / (double)(count - WINDOW + 1));
}

static enum gw_status run(const struct rule *rule, const struct gw_gradients_spec *spec,
                          size_t workers, size_t wanted, double change, struct gw_error *error) {
    static double ratios[ITERATIONS];
    struct exdyna_training training;
    GW_TRY(exdyna_training_open(&training, spec, workers, error));
    struct gw_exdyna_threshold threshold = {.value = gw_exdyna_first_threshold(wanted)};
    double padding = 0;
    double value = threshold.value;
    for (uint32_t t = 0; t < ITERATIONS; t++) {
        double drifted = t < STEADY ? 0 : (double)(t - STEADY) / DRIFT;
        size_t selected = exdyna_train(&training, t, pow(change, drifted), value);
        ratios[t] = (double)selected / (double)wanted;
        padding += t < STEADY ? 0 : gw_exdyna_padding(training.counts, workers) / DRIFT;
        value = rule->next(&threshold, selected, wanted);
    }
    exdyna_training_close(&training);
    printf("%s: within 10%% from iteration %zu on; padding %.3f\n", rule->name, reached(ratios),
           padding);
    print_phase("steady, last 500", ratios + STEADY - 500, 500);
    print_phase("changing", ratios + STEADY, DRIFT);
    return GW_OK;
}

static enum gw_distribution find_distribution(const char *name) {
    size_t d = 0;
    while (d < GW_DISTRIBUTIONS && strcmp(gw_distribution_names[d], name) != 0) {
        d++;
    }
    return (enum gw_distribution)d;
}

int main(int argc, char **argv) {
    static const char *const defaults[] = {"", "normal", "1", "100000", "0.01", "1", "100"};
    const char *const *given = argc == 7 ? (const char *const *)argv : defaults;
    size_t elements = strtoull(given[3], NULL, 10);
    const struct gw_gradients_spec spec = {.distribution = find_distribution(given[1]),
                                           .scale = strtod(given[5], NULL),
                                           .freedom = 3,
                                           .drift = 1,
                                           .sizes = &elements,
                                           .tensor_count = 1,
                                           .seed = 1};
    size_t workers = strtoull(given[2], NULL, 10);
    size_t wanted = (size_t)(strtod(given[4], NULL) * (double)elements);
    double change = strtod(given[6], NULL);
    if ((argc != 1 && argc != 7) || (size_t)spec.distribution == GW_DISTRIBUTIONS || workers < 1 ||
        workers > EXDYNA_MOST_WORKERS || wanted < 1 || wanted > elements || workers > elements ||
        !(change > 0)) {
        (void)fputs(usage, stderr);
        return GW_BAD_INPUT;
    }
    struct gw_error error = {0};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (run(&rules[i], &spec, workers, wanted, change, &error) != GW_OK) {
            (void)fprintf(stderr, "exdyna: %s\n", error.message);
            return (int)error.status;
        }
    }
    return 0;
}
