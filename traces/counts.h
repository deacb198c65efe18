/*
 * Counts of selected elements per iteration, for methods in which they depend on gradients:
 * "schema": "gradweave/counts@1". Executions record them; simulations replay them.
 *
 *     {"schema": "gradweave/counts@1", "model": "tiny", "algorithm": "hard-threshold",
 *      "compressor": "hard-threshold", "density": 0.001, "workers": 2, "source": "free text",
 *      "groups": [{"tensors": 2, "elements": 40960}],
 *      "iterations": [{"selected": [[41, 38]], "distinct": [79]}]}
 *
 * "selected" has a list for each group, with a number for each worker; "distinct", which may be
 * absent, the number of elements of each group that any worker selected.
 */
#ifndef GW_TRACES_COUNTS_H
#define GW_TRACES_COUNTS_H

#include "core/core.h"

struct gw_counts_group {
    uint64_t tensors, elements;
};

struct gw_counts {
    char *model, *algorithm, *compressor, *source;
    double density; /* that was asked for, (0, 1] */
    size_t workers, group_count, iteration_count;
    struct gw_counts_group *groups; /* in exchange order */
    uint64_t *selected; /* [iteration_count * group_count * workers], in this order of indices */
    uint64_t *distinct; /* [iteration_count * group_count]; NULL: not known */
    size_t iteration_capacity; /* number of iterations allocated */
};

/* The origin and the dimensions of counts. */
struct gw_counts_about {
    const char *model, *algorithm, *compressor, *source;
    double density;
    size_t workers, group_count, iteration_count;
};

/* Creates counts of 0, for the caller to fill, and without `distinct` unless has_distinct. */
enum gw_status gw_counts_create(struct gw_counts *out, const struct gw_counts_about *about,
                                bool has_distinct, struct gw_error *error);
GW_WRITTEN_DOCUMENT(gw_counts)

/*
 * Appends an iteration: selected[group_count * workers] and distinct[group_count], NULL if the
 * counts have none.
 */
enum gw_status gw_counts_append(struct gw_counts *counts, const uint64_t *selected,
                                const uint64_t *distinct, struct gw_error *error);

/* Returns the counts [workers] of a group in an iteration. */
const uint64_t *gw_counts_at(const struct gw_counts *counts, size_t iteration, size_t group);

/*
 * Returns the share of all elements that some worker selected in an iteration, the density of every
 * worker's result; NAN: unknown.
 */
double gw_counts_density(const struct gw_counts *counts, size_t iteration);

/*
 * f(t) = P max k_i / sum k_i (the ExDyna paper's eq. (5)): the factor on traffic of padding all
 * workers' contributions to the longest; over several groups, the ratio of the sums. 1 if no
 * element was selected.
 */
double gw_counts_padding(const struct gw_counts *counts, size_t iteration);

#endif
