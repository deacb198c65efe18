#include "planner/planner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/search.h"

/* ---- the contract's arithmetic: OMGS paper, (2)-(9) and (17), with the slips of (9) mended -----
 */

uint64_t gw_planning_bytes(const struct gw_planning *planning, uint64_t n) {
    return gw_exchange_bytes(planning->compress != NULL, planning->model->bytes_per_element, n,
                             planning->density);
}

double gw_planning_compress_s(const struct gw_planning *planning, uint64_t n) {
    return planning->compress == NULL ? 0 : gw_curve_time(planning->compress, (double)n);
}

double gw_planning_exchange_s(const struct gw_planning *planning, uint64_t n, size_t tensors) {
    const struct gw_planning_legs *legs = planning->legs;
    return legs != NULL ? legs->exchange_s(legs->context, n, tensors)
                        : gw_curve_time(planning->exchange, (double)gw_planning_bytes(planning, n));
}

double gw_planning_startup_s(const struct gw_planning *planning) {
    return planning->legs != NULL ? planning->legs->startup_s
                                  : gw_curve_startup(planning->exchange);
}

double gw_planning_update_s(const struct gw_planning *planning) {
    return planning->legs != NULL ? planning->legs->update_s : planning->model->update_s;
}

struct gw_group_times gw_planning_group_times(const struct gw_planning *planning,
                                              const struct gw_group *group,
                                              const struct gw_group_times *before) {
    const struct gw_model *model = planning->model;
    double compute_clock = before == NULL ? model->forward_s : before->compressed_s;
    double communication_clock = before == NULL ? 0 : before->exchange_end_s;
    struct gw_group_times times = {.backward_start_s = compute_clock};
    for (size_t tensor = group->first + 1; tensor-- > group->last;) {
        compute_clock += model->tensors[tensor].backward_s;
    }
    uint64_t n = gw_group_elements(group, model);
    times.ready_s = compute_clock;
    times.compressed_s = times.ready_s + gw_planning_compress_s(planning, n);
    times.exchange_start_s =
        times.compressed_s > communication_clock ? times.compressed_s : communication_clock;
    times.exchange_end_s = times.exchange_start_s +
                           gw_planning_exchange_s(planning, n, group->first - group->last + 1);
    return times;
}

double gw_planning_iteration_s(const struct gw_planning *planning, const struct gw_group *groups,
                               size_t group_count) {
    struct gw_group_times times = gw_planning_group_times(planning, &groups[0], NULL);
    for (size_t g = 1; g < group_count; g++) {
        times = gw_planning_group_times(planning, &groups[g], &times);
    }
    return times.exchange_end_s + gw_planning_update_s(planning);
}

double gw_marks_iteration_s(const struct gw_planning *planning, const bool *ends) {
    struct gw_group_times times = {0};
    size_t last = planning->model->tensor_count - 1;
    struct gw_group group = {.first = last};
    for (size_t tensor = last + 1; tensor-- > 0;) {
        if (ends[tensor]) {
            group.last = tensor;
            times = gw_planning_group_times(planning, &group, group.first == last ? NULL : &times);
            group.first = tensor - 1;
        }
    }
    return times.exchange_end_s + gw_planning_update_s(planning);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* What bounds all plans bounds this one; a search that was cut short is worth a note. */
static enum gw_status bound(const struct gw_optimum *optimum, struct gw_plan *plan,
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

static enum gw_status mark_ends(const struct gw_planning *planning, const struct gw_policy *policy,
                                uint64_t argument, const struct gw_optimum *optimum, bool *ends,
                                struct gw_error *error) {
    struct gw_optimum found = {0};
    if (policy->mark != NULL) {
        policy->mark(planning, argument, ends);
        return GW_OK;
    }
    if (optimum == NULL) {
        GW_TRY(gw_planner_optimum(planning, &found, error));
        optimum = &found;
    }
    memcpy(ends, optimum->ends, planning->model->tensor_count * sizeof *ends);
    gw_optimum_free(&found);
    return GW_OK;
}

/* The groups that end with the marked tensors, the last of which must be tensor 0; the caller frees
 * them. NULL if memory ran out. */
static struct gw_group *groups_ended(const bool *ends, size_t tensor_count, size_t *group_count) {
    size_t count = 0;
    for (size_t tensor = 0; tensor < tensor_count; tensor++) {
        count += ends[tensor];
    }
    struct gw_group *groups = calloc(count, sizeof *groups);
    *group_count = count;
    if (groups == NULL) {
        return NULL;
    }
    struct gw_group *group = groups;
    size_t first = tensor_count - 1;
    for (size_t tensor = tensor_count; tensor-- > 0;) {
        if (ends[tensor]) {
            *group++ = (struct gw_group){.first = first, .last = tensor};
            first = tensor - 1;
        }
    }
    return groups;
}

static enum gw_status make_groups(const struct gw_planning *planning,
                                  const struct gw_policy *policy, uint64_t argument,
                                  const struct gw_optimum *optimum, struct gw_plan *plan,
                                  struct gw_error *error) {
    size_t tensor_count = planning->model->tensor_count;
    bool *ends = calloc(tensor_count, sizeof *ends);
    enum gw_status status = ends == NULL
                                ? gw_fail_memory(error, "planning")
                                : mark_ends(planning, policy, argument, optimum, ends, error);
    if (status == GW_OK) {
        ends[0] = true;
        plan->groups = groups_ended(ends, tensor_count, &plan->group_count);
        status = plan->groups == NULL ? gw_fail_memory(error, "planning") : GW_OK;
    }
    free(ends);
    GW_TRY(status);
    plan->iteration_s = gw_planning_iteration_s(planning, plan->groups, plan->group_count);
    return bound(optimum, plan, error);
}

enum gw_status gw_planner_plan_beside(const struct gw_planning *planning, const char *text,
                                      const struct gw_optimum *optimum, struct gw_plan *out,
                                      struct gw_error *error) {
    const struct gw_policy *policy = NULL;
    uint64_t argument = 0;
    GW_TRY(gw_policy_parse(text, &policy, &argument, error));
    double density = planning->compress == NULL ? 1 : planning->density;
    GW_TRY(gw_plan_create(out, planning->model->name, text, planning->compressor, density,
                          planning->workers, error));
    enum gw_status status = make_groups(planning, policy, argument, optimum, out, error);
    if (status != GW_OK) {
        gw_plan_free(out);
    }
    return status;
}

enum gw_status gw_planner_plan(const struct gw_planning *planning, const char *text,
                               struct gw_plan *out, struct gw_error *error) {
    const struct gw_policy *policy = NULL;
    uint64_t argument = 0;
    struct gw_optimum optimum;
    GW_TRY(gw_policy_parse(text, &policy, &argument, error));
    GW_TRY(gw_planner_optimum(planning, &optimum, error));
    enum gw_status status = gw_planner_plan_beside(planning, text, &optimum, out, error);
    gw_optimum_free(&optimum);
    return status;
}
