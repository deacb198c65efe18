/*
 * The published pipelines: each is one file that exports one constant descriptor, a preset of four
 * choices (merge policy, compressor, exchange, overlap), from which its schedule follows.
 */
#ifndef GW_ALGORITHMS_ALGORITHMS_H
#define GW_ALGORITHMS_ALGORITHMS_H

#include "core/core.h"
#include "methods/schedule.h"
#include "traces/traces.h"

struct gw_algorithm {
    const char *name;
    const char *title; /* one line for a person */
    const char *paper;
    const char *policy;     /* of the planner, as its `--policy` */
    const char *compressor; /* "none": dense exchange */
    const char *exchange;   /* of gw_exchange_kinds */
    bool overlap;           /* whether exchanges run beside the backward pass */
};

/* All algorithms, ended by NULL. */
extern const struct gw_algorithm *const gw_algorithms[];

/* The algorithm of that name; fails with the list of names. */
enum gw_status gw_algorithm_find(const char *name, const struct gw_algorithm **out,
                                 struct gw_error *error);

bool gw_algorithm_is_sparse(const struct gw_algorithm *algorithm);

/* Choices other than a preset's own; NULL: as they are. */
struct gw_choice_changes {
    const char *policy, *compressor, *exchange;
};

/*
 * The algorithm with changed choices. A compressor whose leavings the exchange cannot carry brings
 * its own exchange, unless that is chosen too; a policy that makes several groups overlaps. Refuses
 * an exchange that cannot carry what the compressor leaves.
 */
enum gw_status gw_algorithm_change(const struct gw_algorithm *preset,
                                   const struct gw_choice_changes *changes,
                                   struct gw_algorithm *out, struct gw_error *error);

/* The algorithm's schedule, checked: out is empty on failure. Borrows the model's names. */
enum gw_status gw_algorithm_schedule(const struct gw_algorithm *algorithm,
                                     const struct gw_model *model, const struct gw_plan *plan,
                                     struct gw_schedule *out, struct gw_error *error);

#endif
