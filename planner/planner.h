/*
 * The planner: which neighbouring tensors should travel together. A policy turns a model and cost
 * curves into a plan, with its predicted iteration time and a bound that no plan can beat.
 */
#ifndef GW_PLANNER_PLANNER_H
#define GW_PLANNER_PLANNER_H

#include "core/core.h"
#include "traces/traces.h"

/* What a plan is made for. Everything in it is borrowed. */
struct gw_planning {
    const struct gw_model *model;
    size_t workers;
    const char *compressor;          /* "none": dense exchange */
    double density;                  /* (0, 1]; not used for dense exchange */
    const struct gw_curve *compress; /* of a group's elements; NULL for dense exchange */
    const struct gw_curve *exchange; /* allgather for sparse, allreduce for dense; of bytes */
};

/* What one worker contributes to the exchange of a group of n elements: gw_exchange_bytes. */
uint64_t gw_planning_bytes(const struct gw_planning *planning, uint64_t n);

/* Costs of a group of n elements, in seconds (contract, "Arithmetic"). */
double gw_planning_compress_s(const struct gw_planning *planning, uint64_t n);
double gw_planning_exchange_s(const struct gw_planning *planning, uint64_t n);

/* The iteration time of any grouping: OMGS paper, equations (2)-(9) and (17). O(tensors). */
double gw_planning_iteration_s(const struct gw_planning *planning, const struct gw_group *groups,
                               size_t group_count);

/* A bound below which no plan's iteration time lies; see lower_bound.c. O(tensors^2). */
enum gw_status gw_planning_lower_bound_s(const struct gw_planning *planning, double *out,
                                         struct gw_error *error);

/* ---- policies ------------------------------------------------------------------------------ */

/* What a policy decides. Comes in all zero. */
struct gw_marks {
    bool *ends; /* [tensors]: whether a group ends with that tensor; tensor 0 always ends one */
    double proven_s; /* a time that the policy has proven no plan to beat; 0: none */
};

struct gw_policy {
    const char *name;
    const char *title;
    const char *paper;
    const char *argument;      /* what the number in "name:number" means; NULL: takes none */
    uint64_t default_argument; /* for `--policy all` */
    /* Marks where groups end; see struct gw_marks. */
    enum gw_status (*mark)(const struct gw_planning *planning, uint64_t argument,
                           struct gw_marks *marks, struct gw_error *error);
};

/* All policies, ended by NULL. */
extern const struct gw_policy *const gw_policies[];

/* "omgs", "threshold:8192": the policy and its number. */
enum gw_status gw_policy_parse(const char *text, const struct gw_policy **policy,
                               uint64_t *argument, struct gw_error *error);

/* The plan that the policy named by `text` makes, with its prediction and bound. */
enum gw_status gw_planner_plan(const struct gw_planning *planning, const char *text,
                               struct gw_plan *out, struct gw_error *error);

#endif
