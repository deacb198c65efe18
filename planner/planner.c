#include "planner/planner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/search.h"

/* Gives the plan the lower bound of all plans, and a note if the search was cut short. */
static enum gw_status bound_plan(const struct gw_optimum *optimum, struct gw_plan *plan,
                                 struct gw_error *error) {
    if (optimum == NULL) {
        return GW_OK;
    }
    plan->lower_bound_s = fmin(optimum->lower_bound_s, plan->iteration_s);
    if (optimum->lower_bound_s >= optimum->iteration_s) {
        return GW_OK;
    }
    char note[128];
    snprintf(note, sizeof note,
             "the search for the optimum was cut short: it is at most %.3g%% below this plan",
             100 * (1 - plan->lower_bound_s / plan->iteration_s));
    return gw_plan_note(plan, note, error);
}

static void mark_optimum(const struct gw_optimum *optimum, size_t tensor_count, bool *ends) {
    for (size_t tensor = 0; tensor < tensor_count; tensor++) {
        ends[tensor] = optimum->marks[tensor] > 0;
    }
}

static enum gw_status mark_ends(const struct gw_costs *costs, const struct gw_policy *policy,
                                uint64_t argument, const struct gw_optimum *optimum, bool *ends,
                                struct gw_error *error) {
    struct gw_optimum found = {0};
    if (policy->mark != NULL) {
        policy->mark(costs, argument, ends);
        return GW_OK;
    }
    if (optimum == NULL) {
        GW_TRY(gw_planner_optimum(&(struct gw_mix){.costs = costs, .count = 1}, &found, error));
        optimum = &found;
    }
    mark_optimum(optimum, costs->model->tensor_count, ends);
    gw_optimum_free(&found);
    return GW_OK;
}

/* Gives the plan the groups that end with the marked tensors, the last of which must be tensor 0.
 */
static enum gw_status end_groups(const bool *ends, size_t tensor_count, struct gw_plan *plan,
                                 struct gw_error *error) {
    size_t count = 1; /* which ends with tensor 0 */
    for (size_t tensor = 1; tensor < tensor_count; tensor++) {
        count += ends[tensor];
    }
    plan->groups = calloc(count, sizeof *plan->groups);
    if (plan->groups == NULL) {
        return gw_fail_memory(error, "planning");
    }
    size_t first = tensor_count - 1;
    for (size_t tensor = tensor_count; tensor-- > 0;) {
        if (ends[tensor]) {
            plan->groups[plan->group_count++] = (struct gw_group){.first = first, .last = tensor};
            first = tensor - 1;
        }
    }
    return GW_OK;
}

static enum gw_status make_groups(const struct gw_costs *costs, const struct gw_policy *policy,
                                  uint64_t argument, const struct gw_optimum *optimum,
                                  struct gw_plan *plan, struct gw_error *error) {
    size_t tensor_count = costs->model->tensor_count;
    bool *ends = calloc(tensor_count, sizeof *ends);
    enum gw_status status = ends == NULL ? gw_fail_memory(error, "planning")
                                         : mark_ends(costs, policy, argument, optimum, ends, error);
    if (status == GW_OK) {
        ends[0] = true;
        status = end_groups(ends, tensor_count, plan, error);
    }
    free(ends);
    GW_TRY(status);
    plan->iteration_s = gw_plan_iteration_s(costs, plan->groups, plan->group_count);
    return bound_plan(optimum, plan, error);
}

enum gw_status gw_planner_plan_beside(const struct gw_costs *costs, const char *text,
                                      const struct gw_optimum *optimum, struct gw_plan *out,
                                      struct gw_error *error) {
    const struct gw_policy *policy = NULL;
    uint64_t argument = 0;
    GW_TRY(gw_policy_parse(text, &policy, &argument, error));
    double density = gw_compressor_selects(costs->way.compressor) ? costs->way.density : 1;
    GW_TRY(gw_plan_create(out, costs->model->name, text, costs->way.compressor->name, density,
                          costs->workers, error));
    out->sent_density = costs->way.sent_density;
    enum gw_status status = make_groups(costs, policy, argument, optimum, out, error);
    if (status != GW_OK) {
        gw_plan_free(out);
    }
    return status;
}

enum gw_status gw_planner_plan(const struct gw_costs *costs, const char *text, struct gw_plan *out,
                               struct gw_error *error) {
    const struct gw_policy *policy = NULL;
    uint64_t argument = 0;
    struct gw_optimum optimum;
    GW_TRY(gw_policy_parse(text, &policy, &argument, error));
    GW_TRY(gw_planner_optimum(&(struct gw_mix){.costs = costs, .count = 1}, &optimum, error));
    enum gw_status status = gw_planner_plan_beside(costs, text, &optimum, out, error);
    gw_optimum_free(&optimum);
    return status;
}

/* ---- mixed plans --------------------------------------------------------------------------- */

static enum gw_status make_ways(const struct gw_mix *choices, const char *const *names,
                                const struct gw_optimum *optimum, struct gw_plan *plan,
                                struct gw_error *error) {
    const struct gw_model *model = choices->costs->model;
    double kept = 0;
    plan->ways = calloc(plan->group_count, sizeof *plan->ways);
    if (plan->ways == NULL) {
        return gw_fail_memory(error, "planning");
    }
    plan->way_count = plan->group_count;
    for (size_t g = 0; g < plan->group_count; g++) {
        struct gw_plan_way *out = &plan->ways[g];
        size_t choice = optimum->marks[plan->groups[g].last] - 1;
        const struct gw_way *way = &choices->costs[choice].way;
        *out = (struct gw_plan_way){.choice = strdup(names[choice]),
                                    .compressor = strdup(way->compressor->name),
                                    .exchange = strdup(way->exchange->name),
                                    .density = gw_way_compresses(way) ? way->density : 1,
                                    .sent_density = way->sent_density};
        if (out->choice == NULL || out->compressor == NULL || out->exchange == NULL) {
            return gw_fail_memory(error, "planning");
        }
        kept += (double)gw_way_kept(way, gw_group_elements(&plan->groups[g], model));
    }
    plan->density = kept / (double)gw_model_elements(model);
    return GW_OK;
}

static enum gw_status make_mixed(const struct gw_mix *choices, const char *const *names,
                                 const struct gw_optimum *optimum, struct gw_plan *plan,
                                 struct gw_error *error) {
    size_t tensor_count = choices->costs->model->tensor_count;
    bool *ends = calloc(tensor_count, sizeof *ends);
    if (ends == NULL) {
        return gw_fail_memory(error, "planning");
    }
    mark_optimum(optimum, tensor_count, ends);
    enum gw_status status = end_groups(ends, tensor_count, plan, error);
    free(ends);
    GW_TRY(status);
    GW_TRY(make_ways(choices, names, optimum, plan, error));
    plan->iteration_s =
        gw_marks_exchanged_s(choices, optimum->marks) + gw_costs_update_s(choices->costs);
    return bound_plan(optimum, plan, error);
}

enum gw_status gw_planner_plan_mixed(const struct gw_mix *choices, const char *const *names,
                                     const struct gw_optimum *optimum, struct gw_plan *out,
                                     struct gw_error *error) {
    GW_TRY(gw_plan_create(out, choices->costs->model->name, "optimal", GW_MIXED, 1,
                          choices->costs->workers, error));
    enum gw_status status = make_mixed(choices, names, optimum, out, error);
    if (status != GW_OK) {
        gw_plan_free(out);
    }
    return status;
}
