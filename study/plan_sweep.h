/* Plans along an axis. */
#ifndef GW_STUDY_PLAN_SWEEP_H
#define GW_STUDY_PLAN_SWEEP_H

#include "study/axes.h"
#include "study/plans.h"
#include "study/scenario.h"

/* Request of `plan --sweep`: plans by all policies, sparse and dense, at many values of an axis. */
struct gw_plan_sweep_request {
    const char *text;   /* AXIS=VALUES */
    const char *policy; /* or "all" */
    const char *compressor;
    const char *exchange;          /* of the compressor; NULL: its own */
    bool has_density, has_workers; /* whether the scenario was asked with one */
};

struct gw_plan_cell {
    size_t groups;
    double iteration_s, lower_bound_s;
};

enum { GW_PLAN_SWEEP_EXCHANGES = 2 }; /* at most: sparse, dense */

struct gw_plan_sweep {
    const struct gw_scenario *scenario;
    struct gw_axis_values values;
    size_t exchange_count;
    const char *compressors[GW_PLAN_SWEEP_EXCHANGES]; /* of each exchange; "none": dense */
    const char *exchanges[GW_PLAN_SWEEP_EXCHANGES];   /* NULL: the compressor's own */
    size_t policy_count;
    char (*policies)[GW_POLICY_TEXT_SIZE];
    struct gw_plan_cell *cells; /* [exchange][policy][value]; the first alone if constant */
    struct gw_axis_notes notes;
    struct gw_arena arena; /* of values, policies and cells */
};

/* Reads the request, before any work; gw_plan_sweep_close in any case. */
enum gw_status gw_plan_sweep_open(const struct gw_plan_sweep_request *request,
                                  const struct gw_scenario *scenario, struct gw_plan_sweep *out,
                                  struct gw_error *error);
void gw_plan_sweep_close(struct gw_plan_sweep *sweep);

/* Makes all plans of the request. */
enum gw_status gw_plan_sweep_plan(const struct gw_plan_sweep_request *request,
                                  struct gw_plan_sweep *sweep, struct gw_error *error);

/* The plan of an exchange by a policy at a value. */
const struct gw_plan_cell *gw_plan_sweep_cell(const struct gw_plan_sweep *sweep, size_t exchange,
                                              size_t policy, size_t value);

/* Whether an exchange's plans are the same at all values: dense ones at all densities. */
bool gw_plan_sweep_is_constant(const struct gw_plan_sweep *sweep, size_t exchange);

/* "topk", "dense". */
const char *gw_plan_sweep_exchange(const struct gw_plan_sweep *sweep, size_t exchange);

/* The number of the policy with the best plan; of equals the one with the fewest groups. */
size_t gw_plan_sweep_best(const struct gw_plan_sweep *sweep, size_t exchange, size_t value);

/* Compares two exchanges, each with its best plan: -1 if the first is faster, 0, 1. */
int gw_plan_sweep_compare(const struct gw_plan_sweep *sweep, size_t value);

#endif
