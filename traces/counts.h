/*
 * How many elements were selected, iteration by iteration, of methods where that depends on the
 * gradients: "schema": "gradweave/counts@1". An execution records it; a simulation takes it.
 *
 *     {"schema": "gradweave/counts@1", "model": "tiny", "algorithm": "hard-threshold",
 *      "compressor": "hard-threshold", "density": 0.001, "workers": 2, "source": "free text",
 *      "groups": [{"tensors": 2, "elements": 40960}],
 *      "iterations": [{"selected": [[41, 38]], "distinct": [79]}]}
 *
 * "selected" has a list for each group, with a number for each worker; "distinct", which may be
 * absent, how many elements of each group were selected by any worker.
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
    size_t iteration_capacity; /* for which there is room */
};

/* The origin and the dimensions of counts. */
struct gw_counts_about {
    const char *model, *algorithm, *compressor, *source;
    double density;
    size_t workers, group_count, iteration_count;
};

/* All counts 0, for the caller to fill, as groups are. Without `distinct` where not `has_distinct`.
 */
enum gw_status gw_counts_create(struct gw_counts *out, const struct gw_counts_about *about,
                                bool has_distinct, struct gw_error *error);
GW_WRITTEN_DOCUMENT(gw_counts)

/*
 * One iteration more: selected[group_count * workers] and distinct[group_count], NULL where the
 * counts have none.
 */
enum gw_status gw_counts_append(struct gw_counts *counts, const uint64_t *selected,
                                const uint64_t *distinct, struct gw_error *error);

/* [workers]: what each selected of a group in an iteration. */
const uint64_t *gw_counts_at(const struct gw_counts *counts, size_t iteration, size_t group);

/*
 * The share of all elements that some worker selected in an iteration, which is what all workers
 * hold after it; NAN: not known.
 */
double gw_counts_density(const struct gw_counts *counts, size_t iteration);

/*
 * f(t) = P max k_i / sum k_i (the ExDyna paper's eq. (5)): what padding all workers' contributions
 * to the longest multiplies traffic by; of several groups, their sum padded over unpadded. 1 where
 * nothing was selected.
 */
double gw_counts_padding(const struct gw_counts *counts, size_t iteration);

#endif
