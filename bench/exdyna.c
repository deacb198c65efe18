/*
 * How well ExDyna keeps its density, by the published rule for the threshold and by the one that
 * tracks scales: from the first threshold for 2,000 iterations of gradients of one scale, and for
 * 2,000 more in which the scale changes. Counts are as k' / k; windows are of 100 iterations.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "kernels/exdyna.h"
#include "kernels/gradients/training.h"

enum { STEADY = 2000, DRIFT = 2000, ITERATIONS = STEADY + DRIFT, WINDOW = 100 };

static const char *const usage =
    "usage: exdyna [SHAPE WORKERS ELEMENTS DENSITY SCALE CHANGE]\n"
    "\n"
    "  SHAPE     of gradients: normal, laplace, student (of 3 degrees), sparse, ...\n"
    "  WORKERS   emulated one after the other\n"
    "  SCALE     of gradients at first; the threshold begins at 1 / (2 sqrt(k))\n"
    "  CHANGE    of the scale in the last 2,000 iterations; 0.01 shrinks it a hundredfold\n"
    "\n"
    "(default: normal 1 100000 0.01 1 100)\n";

static bool is_close(double ratio) {
    return fabs(ratio - 1) <= 0.1;
}

static void print_phase(const char *compressor, const char *phase, const double *ratios,
                        const double *paddings, size_t count) {
    struct gw_running all = {0};
    struct gw_running padding = {0};
    double low = INFINITY;
    double high = 0;
    size_t close = 0;
    size_t close_windows = 0;
    double sum = 0;
    for (size_t t = 0; t < count; t++) {
        gw_running_add(&all, ratios[t]);
        gw_running_add(&padding, paddings[t]);
        close += is_close(ratios[t]);
        sum += ratios[t] - (t >= WINDOW ? ratios[t - WINDOW] : 0);
        if (t + 1 >= WINDOW) {
            low = fmin(low, sum / WINDOW);
            high = fmax(high, sum / WINDOW);
            close_windows += is_close(sum / WINDOW);
        }
    }
    printf("| `%s` | %s | %.3f | %.3f | %.3f to %.3f | %.0f%% | %.0f%% | %.3f |\n", compressor,
           phase, all.mean, gw_running_sd(&all), low, high, 100 * (double)close / (double)count,
           100 * (double)close_windows / (double)(count - WINDOW + 1), padding.mean);
}

static enum gw_status train(struct gw_training *training, const struct gw_training_spec *spec,
                            double change, struct gw_error *error) {
    static double ratios[ITERATIONS], paddings[ITERATIONS];
    const char *name = spec->compressor->name;
    GW_TRY(gw_training_open(training, spec, error));
    for (size_t t = 0; t < ITERATIONS; t++) {
        double drifted = t < STEADY ? 0 : (double)(t - STEADY) / DRIFT;
        GW_TRY(gw_training_step(training, pow(change, drifted), error));
        ratios[t] = (double)gw_training_selected(training) / (double)spec->kept;
        paddings[t] = gw_exdyna_padding(training->counts, spec->workers);
    }
    print_phase(name, "steady, last 500", ratios + STEADY - 500, paddings + STEADY - 500, 500);
    print_phase(name, "changing, 2,000", ratios + STEADY, paddings + STEADY, DRIFT);
    return GW_OK;
}

static enum gw_shape find_shape(const char *name) {
    size_t d = 0;
    while (d < GW_SHAPES && strcmp(gw_shape_names[d], name) != 0) {
        d++;
    }
    return (enum gw_shape)d;
}

int main(int argc, char **argv) {
    static const char *const defaults[] = {"", "normal", "1", "100000", "0.01", "1", "100"};
    static const char *const names[] = {"exdyna", "exdyna-trend"};
    const char *const *given = argc == 7 ? (const char *const *)argv : defaults;
    size_t elements = strtoull(given[3], NULL, 10);
    struct gw_training_spec spec = {
        .gradients = {.shape = find_shape(given[1]),
                      .scale = strtod(given[5], NULL),
                      .freedom = 3,
                      .drift = 1,
                      .sizes = &elements,
                      .tensor_count = 1,
                      .seed = 1},
        .workers = strtoull(given[2], NULL, 10),
        .kept = (size_t)(strtod(given[4], NULL) * (double)elements),
    };
    double change = strtod(given[6], NULL);
    if ((argc != 1 && argc != 7) || (size_t)spec.gradients.shape == GW_SHAPES || spec.workers < 1 ||
        spec.kept < 1 || spec.kept > elements || spec.workers > elements || !(change > 0)) {
        (void)fputs(usage, stderr);
        return GW_BAD_INPUT;
    }
    printf("| | iterations | selected / k | sd | windows | within 10%% | windows within 10%% | "
           "padding |\n"
           "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct gw_training training;
        struct gw_error error = {0};
        spec.compressor = gw_compressor_find(names[i]);
        enum gw_status status = train(&training, &spec, change, &error);
        gw_training_close(&training);
        if (status != GW_OK) {
            (void)fprintf(stderr, "exdyna: %s\n", error.message);
            return (int)status;
        }
    }
    return 0;
}
