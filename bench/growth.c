#include <math.h>
#include <stdio.h>
#include <string.h>

#include "planning.h"

static const double target_s = 2; /* for a million tensors */

static const struct {
    const char *name;
    bool sparse;       /* the exchange that the policy was made for */
    bool weighs_costs; /* so that its time may depend on them */
} policies[] = {{"per-tensor", false, false},
                {"single", false, false},
                {"threshold:8192", true, false},
                {"bucket:67108864", false, false},
                {"ddp", false, false},
                {"mg-wfbp", false, true},
                {"omgs", true, true}};
enum { policy_count = sizeof policies / sizeof *policies };

static const char *const usual_family = "synthetic";

/* The first is usual; at the others nothing is merged, and everything. */
static const double startups_s[] = {3e-3, 0, 1e6};

/* The exponent of the power law between the first size and the last, and the largest on the way. */
static void print_exponents(const struct bench_choice *choice, const double *times_s,
                            size_t count) {
    double steepest = -INFINITY;
    for (size_t i = 1; i < count; i++) {
        double growth = log((double)choice->sizes[i] / (double)choice->sizes[i - 1]);
        steepest = fmax(steepest, log(times_s[i] / times_s[i - 1]) / growth);
    }
    if (count < 2) {
        printf(" |\n");
        return;
    }
    printf(" L^%.2f, steepest L^%.2f |\n",
           log(times_s[count - 1] / times_s[0]) /
               log((double)choice->sizes[count - 1] / (double)choice->sizes[0]),
           steepest);
}

/* A row: a size after one that took too long is not tried. */
static void measure_row(const struct bench_choice *choice, struct bench_cell *cell) {
    double times_s[bench_most_sizes];
    size_t count = 0;
    bool within = true;
    printf("| `%s` | %s | %s | %s |", cell->policy, cell->sparse ? "sparse" : "dense",
           cell->family->name, GW_SECONDS(cell->startup_s));
    for (size_t s = 0; s < choice->size_count; s++) {
        struct bench_planning_times result;
        if (!within) {
            printf(" |");
            continue;
        }
        cell->tensors = choice->sizes[s];
        bench_measure(cell, choice, &result);
        within = isfinite(result.median_s);
        if (!within) {
            printf(" > %zu s |", choice->limit_s);
        } else {
            printf(" %s (%s) |", GW_SECONDS(result.median_s),
                   GW_SECONDS(result.median_s / (double)cell->tensors));
            times_s[count++] = result.median_s;
        }
    }
    print_exponents(choice, times_s, count);
}

static void print_head(const struct bench_choice *choice, bool whole) {
    printf("\n### %s\n\n",
           whole ? "The whole plan, with its prediction and its bound" : "Where groups end");
    printf("Target: %s for 1,000,000 tensors. Medians of %zu networks (and per tensor).\n\n",
           GW_SECONDS(target_s), choice->networks);
    printf("| policy | exchange | network | startup |");
    for (size_t s = 0; s < choice->size_count; s++) {
        printf(" %s |", GW_NUMBER(choice->sizes[s]));
    }
    printf(" growth |\n| --- | --- | --- | --- | --- |");
    for (size_t s = 0; s < choice->size_count; s++) {
        printf(" --- |");
    }
    printf("\n");
}

/* Shows a row that is equal for all families for one of them only, and the extreme startups
 * likewise. */
static bool in_table(const struct bench_choice *choice, const struct bench_cell *cell,
                     bool all_families) {
    bool usual = strcmp(cell->family->name, usual_family) == 0;
    if (choice->family != NULL ? strcmp(cell->family->name, choice->family) != 0
                               : !usual && !all_families) {
        return false;
    }
    return cell->startup_s == startups_s[0] || (all_families && usual);
}

static void measure_table(const struct bench_choice *choice, bool whole) {
    print_head(choice, whole);
    for (size_t p = 0; p < policy_count; p++) {
        bool all_families = policies[p].weighs_costs && !whole;
        struct bench_cell cell = {.policy = policies[p].name,
                                  .whole = whole,
                                  .sparse = policies[p].sparse,
                                  .compute_scale = 1};
        for (cell.family = bench_families; cell.family->name != NULL; cell.family++) {
            for (size_t i = 0; i < sizeof startups_s / sizeof *startups_s; i++) {
                cell.startup_s = startups_s[i];
                if (in_table(choice, &cell, all_families)) {
                    measure_row(choice, &cell);
                }
            }
        }
    }
}

void bench_growth(const struct bench_choice *choice) {
    measure_table(choice, false);
    measure_table(choice, true);
}
