/* Plans: neighbouring tensors that travel together (docs/files.md). */
#ifndef GW_TRACES_PLAN_H
#define GW_TRACES_PLAN_H

#include "core/core.h"
#include "traces/model.h"

/* Tensors first, first - 1, ..., last, in the order in which they become ready; first >= last. */
struct gw_group {
    size_t first, last;
};

/* How a group of a mixed plan travels. */
struct gw_plan_way {
    char *choice; /* in short: "dense", "topk:0.01" */
    char *compressor, *exchange;
    double density;      /* (0, 1]: that the compressor is asked for */
    double sent_density; /* that it is expected to select; 0: as asked */
};

/* Name of the compressor, and of the pipeline, of a mixed plan. */
#define GW_MIXED "mixed"

struct gw_plan {
    char *model, *policy, *compressor; /* compressor "none": dense exchange */
    double density;      /* (0, 1]; 1 for dense exchange; of a mixed plan, of all groups together */
    double sent_density; /* that is expected, as of a way, while planning; not in files */
    size_t workers;
    size_t group_count;
    struct gw_group *groups; /* in exchange order; together they cover every tensor once */
    size_t way_count;
    struct gw_plan_way *ways; /* of each group of a mixed plan; NULL: all go alike */
    double iteration_s, lower_bound_s;
    char **notes; /* remarks for readers, such as on derived curves */
    size_t note_count;
};

static inline bool gw_plan_is_mixed(const struct gw_plan *plan) {
    return plan != NULL && plan->ways != NULL;
}

/* Creates an empty plan for `model`; the caller fills groups and times. */
enum gw_status gw_plan_create(struct gw_plan *out, const char *model, const char *policy,
                              const char *compressor, double density, size_t workers,
                              struct gw_error *error);
enum gw_status gw_plan_note(struct gw_plan *plan, const char *note, struct gw_error *error);

GW_WRITTEN_DOCUMENT(gw_plan)

/*
 * Fails unless the plan is for a model of that name and covers exactly its tensors. In the message,
 * `path` names the plan.
 */
enum gw_status gw_plan_check(const struct gw_plan *plan, const struct gw_model *model,
                             const char *path, struct gw_error *error);

uint64_t gw_group_elements(const struct gw_group *group, const struct gw_model *model);

/* Returns the number of elements kept of n: max(1, floor(density * n)). */
static inline uint64_t gw_elements_kept(uint64_t n, double density) {
    double kept = density * (double)n;
    return kept < 1 ? 1 : (uint64_t)kept;
}

/*
 * Returns the bytes of one worker's contribution to the exchange of a group of n elements: sparse,
 * 8 per element kept (4-byte value and index); dense, bytes_per_element for each.
 */
uint64_t gw_exchange_bytes(bool sparse, uint64_t bytes_per_element, uint64_t n, double density);

#endif
