/*
 * The planner groups neighbouring tensors for exchange. A policy turns the costs of a model's
 * groups into a plan, with its predicted iteration time and a lower bound of all plans.
 */
#ifndef GW_PLANNER_PLANNER_H
#define GW_PLANNER_PLANNER_H

#include "core/core.h"
#include "methods/costs.h"
#include "traces/traces.h"

/* Times of the two streams for a group, in seconds from the start of the iteration. */
struct gw_group_times {
    double backward_start_s; /* the backward pass comes to its first tensor */
    double ready_s;          /* its last gradient is there */
    double compressed_s;     /* = ready_s for dense exchange */
    double exchange_start_s; /* >= compressed_s, and >= the end of the exchange before */
    double exchange_end_s;
};

/* One step of the arithmetic: the group after the one whose times are `before` (NULL: none). */
struct gw_group_times gw_plan_group_times(const struct gw_costs *costs,
                                          const struct gw_group *group,
                                          const struct gw_group_times *before);

/* The iteration time of any grouping: OMGS paper, equations (2)-(9) and (17). O(tensors). */
double gw_plan_iteration_s(const struct gw_costs *costs, const struct gw_group *groups,
                           size_t group_count);

/* ---- the optimum --------------------------------------------------------------------------- */

/*
 * Ways for groups to travel, of which each group takes one. The costs are of one model and cluster,
 * and have the same update.
 */
struct gw_mix {
    const struct gw_costs *costs; /* [count]: at least one */
    size_t count;
    const double *lost; /* [count][tensors]: gradient energy that a choice loses; NULL: none */
    double most_lost;   /* by a plan that counts; INFINITY: any does */
};

/* The fastest of all plans that count, or the best that was found before the search was cut short.
 */
struct gw_optimum {
    size_t *marks; /* [tensors]: 1 + the choice of the group that ends with that tensor; 0: none
                      ends; owned */
    double iteration_s;   /* of that plan */
    double lower_bound_s; /* of all plans: the same, unless the search was cut short */
    double lost;          /* of the gradient's energy */
};

/*
 * Among equally fast plans, the one with the fewest groups, or where choices lose energy the one
 * that loses least, unless finding it is too much work; see docs/optimal-merging.md for the method
 * and its cost. Plans that differ by less than 5e-15 of their time for each tensor count as equally
 * fast, or by less than 1e-9 where choices lose energy. Fails with GW_BAD_INPUT where every plan
 * loses more than most_lost.
 */
enum gw_status gw_planner_optimum(const struct gw_mix *choices, struct gw_optimum *out,
                                  struct gw_error *error);

void gw_optimum_free(struct gw_optimum *optimum);

/* Energy that the marked groups lose; 0 unless it is known. O(tensors). */
double gw_marks_lost(const struct gw_mix *choices, const size_t *marks);

/* ---- policies ------------------------------------------------------------------------------ */

struct gw_policy {
    const char *name;
    const char *title;
    const char *paper;
    const char *argument;      /* what the number in "name:number" means; NULL: takes none */
    bool is_optional;          /* "name" alone means the default argument */
    uint64_t default_argument; /* for `--policy all` */
    /* Marks in ends [tensors], which comes in false, the tensors with which groups end; tensor 0
     * always ends one. NULL: as the optimum has it. */
    void (*mark)(const struct gw_costs *costs, uint64_t argument, bool *ends);
};

/* All policies, in the order in which they are listed, ended by one without a name. */
extern const struct gw_policy gw_policies[];

/* How a policy is written: "omgs", "threshold:elements", "ddp[:bytes]". Returns `out`. */
enum { GW_POLICY_FORM_SIZE = 64 };
const char *gw_policy_form(const struct gw_policy *policy, char out[GW_POLICY_FORM_SIZE]);

/* "omgs", "threshold:8192": the policy and its number. */
enum gw_status gw_policy_parse(const char *text, const struct gw_policy **policy,
                               uint64_t *argument, struct gw_error *error);

/* The plan that the policy named by `text` makes, with its prediction and bound. */
enum gw_status gw_planner_plan(const struct gw_costs *costs, const char *text, struct gw_plan *out,
                               struct gw_error *error);

/* The same with an optimum that was found before; NULL: the plan's bound is 0. */
enum gw_status gw_planner_plan_beside(const struct gw_costs *costs, const char *text,
                                      const struct gw_optimum *optimum, struct gw_plan *out,
                                      struct gw_error *error);

/* The plan of an optimum over several choices, which have names, or of other marks beside its
 * bound; its density is that of all groups together. */
enum gw_status gw_planner_plan_mixed(const struct gw_mix *choices, const char *const *names,
                                     const struct gw_optimum *optimum, struct gw_plan *out,
                                     struct gw_error *error);

#endif
