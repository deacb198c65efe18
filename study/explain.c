/* Plans by all policies, the best first, and why a plan takes as long as it does. */
#include <string.h>

#include "study/plans.h"
#include "study/predict.h"
#include "study/scenario.h"

/* ---- plans -------------------------------------------------------------------------------- */

/* Makes all policies' plans, the fastest first; of equals the one with the fewest groups. */
static enum gw_status plan_all(const struct gw_planning *planning, struct gw_plans *plans,
                               struct gw_error *error) {
    for (size_t i = 0; gw_policies[i].name != NULL; i++) {
        struct gw_plan plan;
        char text[GW_POLICY_TEXT_SIZE];
        gw_policy_text(&gw_policies[i], gw_policies[i].default_argument, text);
        GW_TRY(gw_planning_plan(planning, text, &plan, error));
        size_t place = plans->count++;
        for (; place > 0; place--) {
            const struct gw_plan *before = &plans->plans[place - 1];
            if (before->iteration_s < plan.iteration_s ||
                (before->iteration_s == plan.iteration_s &&
                 before->group_count <= plan.group_count)) {
                break;
            }
            plans->plans[place] = *before;
        }
        plans->plans[place] = plan;
    }
    return GW_OK;
}

enum gw_status gw_plan_predict(const struct gw_scenario *scenario,
                               const struct gw_algorithm *algorithm, const struct gw_plan *plan,
                               double *iteration_s, struct gw_error *error) {
    const struct gw_prediction_options options = {0};
    struct gw_pipeline pipeline;
    struct gw_result result;
    GW_TRY(gw_pipeline_open(scenario, algorithm, plan, &pipeline, error));
    enum gw_status status = gw_pipeline_predict(&pipeline, &options, NULL, &result, error);
    *iteration_s = status == GW_OK ? result.iteration_s : 0;
    gw_pipeline_close(&pipeline);
    return status;
}

enum gw_status gw_plans_predict(const struct gw_scenario *scenario,
                                const struct gw_algorithm *algorithm, struct gw_plans *plans,
                                struct gw_error *error) {
    plans->interfered_s = gw_arena_zeros(&plans->arena, plans->count, sizeof *plans->interfered_s);
    GW_TRY(gw_arena_check(&plans->arena, "planning", error));
    for (size_t i = 0; i < plans->count; i++) {
        GW_TRY(
            gw_plan_predict(scenario, algorithm, &plans->plans[i], &plans->interfered_s[i], error));
    }
    return GW_OK;
}

static enum gw_status count_interference(const struct gw_scenario *scenario, const char *compressor,
                                         const char *exchange, struct gw_plans *plans,
                                         struct gw_error *error) {
    const struct gw_choice_changes changes = {
        .policy = "given", .compressor = compressor, .exchange = exchange};
    const struct gw_algorithm *preset = NULL;
    const struct gw_compressor *known = NULL;
    struct gw_algorithm algorithm;
    if (gw_compressor_choose(compressor, &known, NULL) != GW_OK) {
        return GW_OK; /* one that only the cluster's file knows, which nothing simulates */
    }
    GW_TRY(gw_algorithm_find("topk", &preset, error));
    GW_TRY(gw_algorithm_change(preset, &changes, &algorithm, error));
    return gw_plans_predict(scenario, &algorithm, plans, error);
}

enum gw_status gw_plans_make(const struct gw_scenario *scenario, const char *compressor,
                             const char *exchange, const char *policy, struct gw_plans *out,
                             struct gw_error *error) {
    struct gw_planning planning;
    size_t policies = 0;
    while (gw_policies[policies].name != NULL) {
        policies++;
    }
    out->count = 0;
    out->plans = gw_arena_zeros(&out->arena, policies, sizeof *out->plans);
    if (out->plans == NULL) {
        return gw_fail_memory(error, "planning");
    }
    GW_TRY(gw_planning_open(scenario, compressor, exchange, &planning, error));
    enum gw_status status = gw_planning_find_optimum(&planning, error);
    if (status == GW_OK) {
        bool all = strcmp(policy, "all") == 0;
        status = all ? plan_all(&planning, out, error)
                     : gw_planning_plan(&planning, policy, out->plans, error);
        out->count = all ? out->count : status == GW_OK;
    }
    gw_planning_close(&planning);
    return status == GW_OK && gw_scenario_counts_interference(scenario)
               ? count_interference(scenario, compressor, exchange, out, error)
               : status;
}

void gw_plans_free(struct gw_plans *plans) {
    for (size_t i = 0; i < plans->count; i++) {
        gw_plan_free(&plans->plans[i]);
    }
    gw_arena_free(&plans->arena);
}

/* ---- explanation -------------------------------------------------------------------------- */

double gw_explanation_gradients_wait_s(const struct gw_explanation *explanation, size_t g) {
    return explanation->groups[g].exchange_start_s - explanation->groups[g].compressed_s;
}

double gw_explanation_network_wait_s(const struct gw_explanation *explanation, size_t g) {
    double free_s = g == 0 ? 0 : explanation->groups[g - 1].exchange_end_s;
    return explanation->groups[g].exchange_start_s - free_s;
}

static void conclude_explanation(struct gw_explanation *explanation) {
    const struct gw_group_times *groups = explanation->groups;
    size_t critical = explanation->plan->group_count - 1;
    while (critical > 0 && gw_explanation_gradients_wait_s(explanation, critical) > 0) {
        critical--;
    }
    for (size_t g = 0; g < explanation->plan->group_count; g++) {
        explanation->comm_s += groups[g].exchange_end_s - groups[g].exchange_start_s;
    }
    const struct gw_group_times *last = &groups[explanation->plan->group_count - 1];
    double compute_s = groups[critical].compressed_s;
    explanation->exposed_comm_s = last->exchange_end_s - last->compressed_s;
    explanation->critical_group = critical;
    explanation->bottleneck =
        compute_s < last->exchange_end_s - compute_s ? GW_STREAM_COMMUNICATION : GW_STREAM_COMPUTE;
}

/* Times the groups of a mixed plan, each by the costs of its way. */
static enum gw_status time_mixed_groups(const struct gw_scenario *scenario,
                                        const struct gw_plan *plan, struct gw_explanation *out,
                                        struct gw_error *error) {
    const struct gw_algorithm mixed = gw_algorithm_mixed(plan);
    struct gw_pipeline pipeline;
    GW_TRY(gw_pipeline_open(scenario, &mixed, plan, &pipeline, error));
    enum gw_status status = gw_pipeline_open_costs(false, &pipeline, error);
    for (size_t g = 0; g < plan->group_count && status == GW_OK; g++) {
        size_t way = (size_t)(pipeline.schedule.groups[g].way - pipeline.schedule.ways);
        out->groups[g] = gw_plan_group_times(&pipeline.costs[way], &plan->groups[g],
                                             g == 0 ? NULL : &out->groups[g - 1]);
        out->update_s = gw_costs_update_s(&pipeline.costs[way]);
    }
    gw_pipeline_close(&pipeline);
    return status;
}

enum gw_status gw_explain(const struct gw_scenario *scenario, const struct gw_plan *plan,
                          const char *exchange, struct gw_arena *arena, struct gw_explanation *out,
                          struct gw_error *error) {
    struct gw_planning planning;
    *out = (struct gw_explanation){
        .scenario = scenario,
        .plan = plan,
        .groups = gw_arena_zeros(arena, plan->group_count, sizeof *out->groups)};
    if (out->groups == NULL) {
        return gw_fail_memory(error, "explaining a plan");
    }
    if (plan->ways != NULL) {
        GW_TRY(time_mixed_groups(scenario, plan, out, error));
        conclude_explanation(out);
        return GW_OK;
    }
    GW_TRY(gw_planning_open(scenario, plan->compressor, exchange, &planning, error));
    for (size_t g = 0; g < plan->group_count; g++) {
        out->groups[g] = gw_plan_group_times(&planning.costs, &plan->groups[g],
                                             g == 0 ? NULL : &out->groups[g - 1]);
    }
    out->update_s = gw_costs_update_s(&planning.costs);
    gw_planning_close(&planning);
    conclude_explanation(out);
    return GW_OK;
}
