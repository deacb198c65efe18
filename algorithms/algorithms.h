/*
 * The published pipelines: each is one file that exports one constant descriptor, a preset of four
 * choices (merge policy, compressor, exchange, overlap) with a function that writes its schedule.
 */
#ifndef GW_ALGORITHMS_ALGORITHMS_H
#define GW_ALGORITHMS_ALGORITHMS_H

#include "algorithms/schedule.h"
#include "core/core.h"
#include "traces/traces.h"

struct gw_algorithm {
    const char *name;
    const char *title; /* one line for a person */
    const char *paper;
    const char *policy;     /* of the planner, as its `--policy` */
    const char *compressor; /* "none": dense exchange */
    const char *exchange;   /* the collective */
    bool overlap;           /* whether exchanges run beside the backward pass */
    /*
     * Writes one iteration; fails if the pipeline cannot run
     * the plan. Borrows the model's names.
     */
    enum gw_status (*build)(const struct gw_algorithm *algorithm, const struct gw_model *model,
                            const struct gw_plan *plan, struct gw_schedule *out,
                            struct gw_error *error);
};

/* All algorithms, ended by NULL. */
extern const struct gw_algorithm *const gw_algorithms[];

/* The algorithm of that name; fails with the list of names. */
enum gw_status gw_algorithm_find(const char *name, const struct gw_algorithm **out,
                                 struct gw_error *error);

bool gw_algorithm_is_sparse(const struct gw_algorithm *algorithm);

/* The algorithm's schedule, checked: out is empty on failure. */
enum gw_status gw_algorithm_schedule(const struct gw_algorithm *algorithm,
                                     const struct gw_model *model, const struct gw_plan *plan,
                                     struct gw_schedule *out, struct gw_error *error);

#endif
