#include <math.h>
#include <stdio.h>
#include <string.h>

#include "planning.h"

const char *const bench_exchanges[] = {"sparse", "dense", "mixed", NULL};

static const double startups_s[] = {1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 2e-2, 1e-1};
static const double compute_scales[] = {0.1, 1, 10};

struct numbers {
    const double *values;
    size_t count;
};

static struct numbers startups(const struct bench_choice *choice) {
    size_t count = sizeof startups_s / sizeof *startups_s;
    return isnan(choice->startup_s) ? (struct numbers){startups_s, count}
                                    : (struct numbers){&choice->startup_s, 1};
}

static const double target_bytes = 1073741824;

static const struct {
    bool sparse;
    size_t tensors, choices; /* and fewer */
    double seconds;
} targets[] = {{true, 161, 1, 1e-3},    {true, 1000, 1, 5e-2}, {true, 10000, 1, 5},
               {false, 10000, 1, 5e-2}, {true, 161, 10, 2e-2}, {true, 1000, 4, 1}};

/* INFINITY: there is none. */
static double target_s(const struct bench_cell *cell) {
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (targets[i].sparse == cell->sparse && cell->tensors <= targets[i].tensors &&
            cell->choices <= targets[i].choices) {
            return targets[i].seconds;
        }
    }
    return INFINITY;
}

/* The verdict of a table. */
struct verdict {
    size_t cells, within, proven;
    double worst_s, peak_bytes, gap;
    struct bench_cell worst;
};

static const char *format_time(const struct bench_choice *choice, double seconds,
                               char out[GW_UNITS_SIZE]) {
    if (isfinite(seconds)) {
        return gw_format_seconds(seconds, out);
    }
    (void)snprintf(out, GW_UNITS_SIZE, "> %zu s", choice->limit_s);
    return out;
}

static void measure_row(const struct bench_choice *choice, struct bench_cell *cell,
                        struct verdict *verdict) {
    double peak_bytes = 0;
    char tensors[GW_UNITS_SIZE];
    printf("| %s | %s | x %g |", gw_format_count((double)cell->tensors, tensors),
           cell->family->name, cell->compute_scale);
    struct numbers columns = startups(choice);
    for (size_t i = 0; i < columns.count; i++) {
        struct bench_planning_times result;
        cell->startup_s = columns.values[i];
        bench_measure(cell, choice, &result);
        char median[GW_UNITS_SIZE];
        char worst[GW_UNITS_SIZE];
        printf(" %s / %s%s |", format_time(choice, result.median_s, median),
               format_time(choice, result.worst_s, worst),
               result.proven == choice->networks ? "" : " *");
        (void)fflush(stdout);
        verdict->cells++;
        verdict->within += result.worst_s <= target_s(cell);
        verdict->proven += result.proven == choice->networks;
        verdict->gap = fmax(verdict->gap, result.gap);
        verdict->peak_bytes = fmax(verdict->peak_bytes, result.peak_bytes);
        if (result.worst_s > verdict->worst_s) {
            verdict->worst_s = result.worst_s;
            verdict->worst = *cell;
        }
        peak_bytes = fmax(peak_bytes, result.peak_bytes);
    }
    printf(" %s |\n", GW_BYTES(peak_bytes));
}

static void print_head(const struct bench_choice *choice, const struct bench_cell *cell) {
    double target = target_s(cell);
    char choices[64] = "";
    if (cell->choices > 1) {
        (void)snprintf(choices, sizeof choices, "any of %zu choices for each group", cell->choices);
    }
    printf("\n### `optimal`, %s tensors, %s: target %s\n\n", GW_NUMBER(cell->tensors),
           cell->choices > 1 ? choices
           : cell->sparse    ? "sparse exchange"
                             : "dense exchange",
           isfinite(target) ? gw_format_seconds(target, (char[GW_UNITS_SIZE]){0}) : "none");
    printf("Median / worst of %zu networks; * not all proven optimal.\n\n"
           "| tensors | network | compute |",
           choice->networks);
    struct numbers columns = startups(choice);
    for (size_t i = 0; i < columns.count; i++) {
        printf(" startup %s |", GW_SECONDS(columns.values[i]));
    }
    printf(" memory |\n| --- | --- | --- | --- |");
    for (size_t i = 0; i < columns.count; i++) {
        printf(" --- |");
    }
    printf("\n");
}

/* The exchange of a table: "sparse", "dense" or "mixed". */
static void measure_table(const struct bench_choice *choice, size_t tensors, const char *exchange) {
    size_t count = sizeof compute_scales / sizeof *compute_scales;
    struct numbers rows = isnan(choice->compute_scale)
                              ? (struct numbers){compute_scales, count}
                              : (struct numbers){&choice->compute_scale, 1};
    struct bench_cell cell = {.policy = "optimal",
                              .whole = true,
                              .sparse = strcmp(exchange, "dense") != 0,
                              .choices = strcmp(exchange, "mixed") == 0 ? choice->choices : 1,
                              .most_lost = choice->most_lost,
                              .family = bench_families,
                              .tensors = tensors};
    struct verdict verdict = {.worst = cell};
    print_head(choice, &cell);
    for (; cell.family->name != NULL; cell.family++) {
        if (choice->family != NULL && strcmp(choice->family, cell.family->name) != 0) {
            continue;
        }
        for (size_t i = 0; i < rows.count; i++) {
            cell.compute_scale = rows.values[i];
            measure_row(choice, &cell, &verdict);
        }
    }
    char worst[GW_UNITS_SIZE];
    printf("\nWithin the target time: %zu of %zu cells; all proven optimal: %zu, the others to "
           "%.2g%%. Worst: %s, on %s,"
           " compute x %g, startup %s. Memory: %s, target %s.\n",
           verdict.within, verdict.cells, verdict.proven, 100 * verdict.gap,
           format_time(choice, verdict.worst_s, worst), verdict.worst.family->name,
           verdict.worst.compute_scale, GW_SECONDS(verdict.worst.startup_s),
           GW_BYTES(verdict.peak_bytes), GW_BYTES(target_bytes));
}

void bench_optimal(const struct bench_choice *choice) {
    for (size_t s = 0; s < choice->size_count; s++) {
        for (size_t i = 0; bench_exchanges[i] != NULL; i++) {
            if (choice->exchange == NULL || strcmp(choice->exchange, bench_exchanges[i]) == 0) {
                measure_table(choice, choice->sizes[s], bench_exchanges[i]);
            }
        }
    }
}
