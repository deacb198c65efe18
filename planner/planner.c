#include "planner/planner.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/policies.h"

const struct gw_policy *const gw_policies[] = {
#define POLICY(name) &gw_policy_##name,
#include "planner/list.inc"
#undef POLICY
    NULL};

static enum gw_status unknown_policy(const char *text, struct gw_error *error) {
    char names[256] = "";
    for (size_t i = 0; gw_policies[i] != NULL; i++) {
        const struct gw_policy *policy = gw_policies[i];
        char name[64];
        (void)snprintf(name, sizeof name, "%s%s%s", policy->name,
                       policy->argument == NULL ? "" : ":",
                       policy->argument == NULL ? "" : policy->argument);
        gw_list_name(names, sizeof names, name);
    }
    return gw_fail(error, GW_BAD_INPUT, "policy: expected one of %s; got \"%s\"", names, text);
}

enum gw_status gw_policy_parse(const char *text, const struct gw_policy **policy,
                               uint64_t *argument, struct gw_error *error) {
    size_t length = strcspn(text, ":");
    size_t i = 0;
    while (gw_policies[i] != NULL && (strncmp(gw_policies[i]->name, text, length) != 0 ||
                                      gw_policies[i]->name[length] != '\0')) {
        i++;
    }
    *policy = gw_policies[i];
    if (*policy == NULL) {
        return unknown_policy(text, error);
    }
    bool given = text[length] == ':';
    const char *digits = text + length + given;
    if ((*policy)->argument == NULL) {
        return given ? gw_fail(error, GW_BAD_INPUT,
                               "policy: expected %s without a number; got \"%s\"", (*policy)->name,
                               text)
                     : GW_OK;
    }
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(digits, &end, 10);
    if (!given || digits[0] < '0' || digits[0] > '9' || *end != '\0' || errno != 0 || number == 0 ||
        number > 1ULL << 53) {
        return gw_fail(error, GW_BAD_INPUT,
                       "policy: expected %s:N with N a positive number of %s; got \"%s\"",
                       (*policy)->name, (*policy)->argument, text);
    }
    *argument = number;
    return GW_OK;
}

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

static enum gw_status fill(const struct gw_planning *planning, const struct gw_policy *policy,
                           uint64_t argument, const struct gw_optimum *optimum,
                           struct gw_plan *plan, struct gw_error *error) {
    size_t tensor_count = planning->model->tensor_count;
    bool *ends = calloc(tensor_count, sizeof *ends);
    if (ends == NULL) {
        return gw_fail_memory(error, "planning");
    }
    enum gw_status status = GW_OK;
    if (policy == &gw_policy_optimal && optimum != NULL) {
        memcpy(ends, optimum->ends, tensor_count * sizeof *ends);
    } else {
        status = policy->mark(planning, argument, ends, error);
    }
    ends[0] = true;
    if (status == GW_OK) {
        plan->groups = gw_groups_ended(ends, tensor_count, &plan->group_count);
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
    enum gw_status status = fill(planning, policy, argument, optimum, out, error);
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
