/* Plans of a scenario, and why one of them takes as long as it does. */
#ifndef GW_STUDY_PLANS_H
#define GW_STUDY_PLANS_H

#include "methods/costs.h"
#include "planner/planner.h"
#include "study/learning.h"
#include "study/scenario.h"

/* Makes plans for a scenario, compressed and exchanged in one way; stays where it is. */
struct gw_planning {
    const struct gw_scenario *scenario;
    struct gw_compressor unlisted; /* one that only the cluster's file knows */
    struct gw_costs costs;
    struct gw_optimum optimum; /* once it is found */
};

/* Finds the exchange of that name (NULL: the compressor's own), which must carry its selections. */
enum gw_status gw_exchange_choose(const char *compressor, const char *name,
                                  const struct gw_exchange_kind **out, struct gw_error *error);

/* Borrows from the scenario; compressor "none": dense; exchange NULL: the compressor's own. */
enum gw_status gw_planning_open(const struct gw_scenario *scenario, const char *compressor,
                                const char *exchange, struct gw_planning *out,
                                struct gw_error *error);
void gw_planning_close(struct gw_planning *planning);

/* Finds the optimum, by which all plans that are made from then on are bounded. */
enum gw_status gw_planning_find_optimum(struct gw_planning *planning, struct gw_error *error);

/* Makes a policy's plan, with notes on derived curves and on times of another device. */
enum gw_status gw_planning_plan(const struct gw_planning *planning, const char *policy,
                                struct gw_plan *out, struct gw_error *error);

/* A policy with its number as `--policy` takes it: "omgs", "threshold:8192". Returns `out`. */
enum { GW_POLICY_TEXT_SIZE = 64 };
const char *gw_policy_text(const struct gw_policy *policy, uint64_t argument,
                           char out[GW_POLICY_TEXT_SIZE]);

/* Plans, the best first, each bounded by the optimum; zero-initialise. */
struct gw_plans {
    size_t count;
    struct gw_plan *plans;
    /* [count]: their iterations with interference, which plans and their bound leave out; NULL: the
     * scenario counts none, or no pipeline has the compressor. Mixed plans are chosen by them. */
    double *interfered_s;
    double energy_kept;    /* by a mixed plan; 0: not known */
    bool energy_generated; /* of a bell-shaped gradient, not of recorded ones */
    struct gw_arena arena;
};

/* Makes a plan by one policy, or by "all", each with its default argument; gw_plans_free in any
 * case. */
enum gw_status gw_plans_make(const struct gw_scenario *scenario, const char *compressor,
                             const char *exchange, const char *policy, struct gw_plans *out,
                             struct gw_error *error);

/* Finds a plan's iteration, or those of all plans, with interference, as simulate does. */
enum gw_status gw_plan_predict(const struct gw_scenario *scenario,
                               const struct gw_algorithm *algorithm, const struct gw_plan *plan,
                               double *iteration_s, struct gw_error *error);
enum gw_status gw_plans_predict(const struct gw_scenario *scenario,
                                const struct gw_algorithm *algorithm, struct gw_plans *plans,
                                struct gw_error *error);

/* Parses "dense", "topk" (of the usual density) or "topk:0.01"; false: no such way. */
bool gw_choice_parse(const char *text, double usual_density, struct gw_way *out);

/* Question about a mixed plan: ways of which each group takes one, as --choices takes them or
 * (NULL) those of pipelines, and the least share of the gradient's energy to keep (0: any). */
struct gw_mixed_request {
    const char *choices;
    bool has_density; /* the scenario's density is asked for: choices must take it */
    double keep;
    const char *gradients; /* file of recorded ones that have the energy; NULL: bell-shaped ones */
    const struct gw_algorithm *const *algorithms; /* [count] */
    size_t count;
    /* The pipelines' counts are those of these trainings where they depend on gradients; NULL: as
     * asked. */
    const struct gw_learning *learning;
};

/*
 * Makes the fastest plan of all merges and choices; of equally fast ones that which keeps most
 * energy. If the scenario counts interference, it is the best of those that were simulated with it,
 * among them, of those that lose no more than may be lost, the plans of all policies with default
 * arguments by one of the choices; bound and proof are without. Choices
 * whose counts depend on gradients count as in trainings, and a note says so. gw_plans_free in any
 * case.
 */
enum gw_status gw_plans_make_mixed(const struct gw_scenario *scenario,
                                   const struct gw_mixed_request *request, struct gw_plans *out,
                                   struct gw_error *error);
void gw_plans_free(struct gw_plans *plans);

/* Explains a plan's time: times of both streams for its groups, and waits. */
struct gw_explanation {
    const struct gw_scenario *scenario;
    const struct gw_plan *plan;
    struct gw_group_times *groups; /* [plan->group_count] */
    double comm_s;                 /* of all exchanges */
    double exposed_comm_s;         /* after the last compression */
    double update_s;               /* after the last exchange */
    /*
     * The group from which on the network does not pause: the iteration lasts as long as the
     * compute until it is compressed, its exchange and those after it, and the update.
     */
    size_t critical_group;
    enum gw_stream bottleneck; /* the stream that has the larger part of that */
};

/*
 * Explains a plan for the scenario, exchanged as `exchange` says (NULL: as its compressor's own).
 * Borrows both; its groups are in the arena.
 */
enum gw_status gw_explain(const struct gw_scenario *scenario, const struct gw_plan *plan,
                          const char *exchange, struct gw_arena *arena, struct gw_explanation *out,
                          struct gw_error *error);

/* Who waits before the exchange of group g: at most one of these is above zero. */
double gw_explanation_gradients_wait_s(const struct gw_explanation *explanation, size_t g);
double gw_explanation_network_wait_s(const struct gw_explanation *explanation, size_t g);

#endif
