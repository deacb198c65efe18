/*
 * Plans at many densities, numbers of workers or bandwidths, for sparse and for dense exchange, to
 * see where one loses to the other and where merging stops mattering.
 */
#include <stdlib.h>
#include <string.h>

#include "study/axes.h"
#include "study/plan_sweep.h"
#include "study/plans.h"
#include "study/scenario.h"

/* ---- the request ---------------------------------------------------------------------------- */

/* AXIS=VALUES */
static enum gw_status parse_text(const struct gw_plan_sweep_request *request,
                                 struct gw_plan_sweep *sweep, struct gw_error *error) {
    const char *text = request->text;
    size_t length = strcspn(text, "=");
    size_t axis = 0;
    while (axis < GW_AXES && (gw_axis_kinds[axis].label == NULL ||
                              strncmp(gw_axis_kinds[axis].name, text, length) != 0 ||
                              gw_axis_kinds[axis].name[length] != '\0')) {
        axis++;
    }
    if (axis == GW_AXES || text[length] == '\0') {
        return gw_fail(error, GW_BAD_INPUT,
                       "--sweep: expected density=, workers= or bandwidth= and values, such as "
                       "density=1e-4:1e-1:log20, got \"%.60s\"",
                       text);
    }
    const char *name = gw_axis_kinds[axis].name;
    if ((axis == GW_AXIS_DENSITY && request->has_density) ||
        (axis == GW_AXIS_WORKERS && request->has_workers)) {
        return gw_fail(error, GW_BAD_INPUT, "--sweep %s: expected no --%s beside it", name, name);
    }
    char place[32];
    snprintf(place, sizeof place, "--sweep %s", name);
    GW_TRY(gw_axis_parse((enum gw_axis)axis, text + length + 1, place, sweep->scenario->cluster,
                         &sweep->values, error));
    gw_axis_tell_apart(&sweep->values);
    return gw_arena_own(&sweep->arena, sweep->values.values, free) == NULL
               ? gw_fail_memory(error, "planning")
               : GW_OK;
}

static enum gw_status list_policies(const char *policy, struct gw_plan_sweep *sweep,
                                    struct gw_error *error) {
    bool all = strcmp(policy, "all") == 0;
    const struct gw_policy *found = NULL;
    uint64_t argument = 0;
    size_t count = 1;
    if (!all) {
        GW_TRY(gw_policy_parse(policy, &found, &argument, error));
    }
    while (all && gw_policies[count].name != NULL) {
        count++;
    }
    sweep->policies = gw_arena_zeros(&sweep->arena, count, sizeof *sweep->policies);
    if (sweep->policies == NULL) {
        return gw_fail_memory(error, "planning");
    }
    sweep->policy_count = count;
    for (size_t p = 0; p < count; p++) {
        const struct gw_policy *listed = all ? &gw_policies[p] : found;
        gw_policy_text(listed, all ? listed->default_argument : argument, sweep->policies[p]);
    }
    return GW_OK;
}

enum gw_status gw_plan_sweep_open(const struct gw_plan_sweep_request *request,
                                  const struct gw_scenario *scenario, struct gw_plan_sweep *out,
                                  struct gw_error *error) {
    *out = (struct gw_plan_sweep){.scenario = scenario};
    return parse_text(request, out, error);
}

void gw_plan_sweep_close(struct gw_plan_sweep *sweep) {
    gw_axis_notes_free(&sweep->notes);
    gw_arena_free(&sweep->arena);
}

/* ---- exchanges ------------------------------------------------------------------------------ */

/* Fails, with the reason, if the cluster has no curves for an exchange. */
static enum gw_status check_exchange(const struct gw_scenario *scenario, const char *compressor,
                                     const char *exchange, struct gw_error *error) {
    struct gw_planning planning;
    GW_TRY(gw_planning_open(scenario, compressor, exchange, &planning, error));
    gw_planning_close(&planning);
    return GW_OK;
}

/* Finds exchanges that can be planned at `scenario`; the others become notes. */
static enum gw_status find_exchanges_at(const struct gw_scenario *scenario,
                                        const struct gw_plan_sweep_request *request,
                                        struct gw_plan_sweep *sweep, struct gw_error *error) {
    const char *const wanted[] = {request->compressor, "none"};
    const char *const exchanges[] = {request->exchange, NULL};
    size_t count = strcmp(request->compressor, "none") == 0 ? 1 : 2;
    for (size_t i = 0; i < count; i++) {
        struct gw_error why = {0};
        enum gw_status status = check_exchange(scenario, wanted[i], exchanges[i], &why);
        bool known = i > 0 || gw_compressor_find(wanted[i]) != NULL;
        if (status == GW_OK) {
            sweep->exchanges[sweep->exchange_count] = exchanges[i];
            sweep->compressors[sweep->exchange_count++] = wanted[i];
        } else if (status != GW_BAD_INPUT || count == 1 || !known) {
            return gw_fail(error, status, "%s", why.message);
        } else {
            char text[sizeof why.message + 64];
            snprintf(text, sizeof text, "%s exchange is left out: %s",
                     strcmp(wanted[i], "none") == 0 ? "dense" : wanted[i], why.message);
            GW_TRY(gw_axis_note_add(&sweep->notes, text, GW_EVERYWHERE, error));
        }
    }
    return sweep->exchange_count > 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: expected measured curves of collectives.allgather and "
                         "compressors.%s, or of collectives.allreduce, got neither "
                         "(gradweave calibrate --only allgather,%s --add measures the former, "
                         "--only allreduce --add the latter)",
                         scenario->cluster->path, request->compressor, request->compressor);
}

/* ---- planning ------------------------------------------------------------------------------- */

/* Plans of an exchange at one value of the axis. */
struct planned_point {
    enum gw_status status;
    struct gw_error why;
    struct gw_plans plans;
};

enum { ROUND = 64 }; /* points that are planned before their plans are kept */

struct planning_points {
    const struct gw_plan_sweep_request *request;
    const struct gw_plan_sweep *sweep;
    size_t first; /* of the round's, numbered by exchange, then by value */
    struct planned_point points[ROUND];
};

/* Makes every policy's plan, bounded by the same optimum; one value stands for all where values
 * make no difference. */
static void plan_point(size_t number, void *context) {
    struct planning_points *planning = context;
    const struct gw_plan_sweep *sweep = planning->sweep;
    const struct gw_axis_values *values = &sweep->values;
    struct planned_point *point = &planning->points[number];
    size_t exchange = (planning->first + number) / values->count;
    size_t value = (planning->first + number) % values->count;
    *point = (struct planned_point){0};
    if (value > 0 && gw_plan_sweep_is_constant(sweep, exchange)) {
        return;
    }
    struct gw_scenario scenario = gw_axis_ask(values, values->values[value], sweep->scenario);
    scenario.interference = GW_INTERFERENCE_NONE; /* plans leave it out */
    point->status =
        gw_plans_make(&scenario, sweep->compressors[exchange], sweep->exchanges[exchange],
                      planning->request->policy, &point->plans, &point->why);
    if (point->status != GW_OK) {
        char text[GW_UNITS_SIZE];
        char place[GW_UNITS_SIZE + 32];
        snprintf(place, sizeof place, "%s %s", values->kind->name,
                 gw_axis_text(values, values->values[value], text));
        gw_error_prefix(&point->why, place);
    }
}

/* Keeps the point's plans in the order of the policies. */
static enum gw_status keep_plans(struct gw_plan_sweep *sweep, size_t exchange, size_t value,
                                 const struct gw_plans *plans, struct gw_error *error) {
    bool constant = gw_plan_sweep_is_constant(sweep, exchange);
    for (size_t p = 0; p < sweep->policy_count; p++) {
        struct gw_plan_cell *row =
            &sweep->cells[(exchange * sweep->policy_count + p) * sweep->values.count];
        size_t i = 0;
        while (strcmp(plans->plans[i].policy, sweep->policies[p]) != 0) {
            i++;
        }
        const struct gw_plan *plan = &plans->plans[i];
        row[value] = (struct gw_plan_cell){.groups = plan->group_count,
                                           .iteration_s = plan->iteration_s,
                                           .lower_bound_s = plan->lower_bound_s};
        for (size_t n = 0; n < plan->note_count; n++) {
            GW_TRY(gw_axis_note_add(&sweep->notes, plan->notes[n], constant ? GW_EVERYWHERE : value,
                                    error));
        }
    }
    return GW_OK;
}

/* Plans all points on all cores, and keeps what they come to in the order of the points. */
static enum gw_status plan_points(struct planning_points *planning, struct gw_plan_sweep *sweep,
                                  struct gw_error *error) {
    size_t count = sweep->exchange_count * sweep->values.count;
    struct gw_progress progress = gw_progress_begin("plan", 1);
    enum gw_status status = GW_OK;
    for (size_t first = 0; first < count && status == GW_OK; first += ROUND) {
        size_t points = count - first < ROUND ? count - first : ROUND;
        planning->first = first;
        gw_progress_update(&progress, (double)first / (double)count,
                           sweep->compressors[first / sweep->values.count]);
        gw_parallel(points, gw_cores(), plan_point, planning);
        for (size_t i = 0; i < points; i++) {
            struct planned_point *point = &planning->points[i];
            if (status == GW_OK && point->status != GW_OK) {
                status = gw_fail(error, point->status, "%s", point->why.message);
            } else if (status == GW_OK && point->plans.count > 0) {
                status = keep_plans(sweep, (first + i) / sweep->values.count,
                                    (first + i) % sweep->values.count, &point->plans, error);
            }
            gw_plans_free(&point->plans);
        }
    }
    gw_progress_end(&progress);
    return status;
}

enum gw_status gw_plan_sweep_plan(const struct gw_plan_sweep_request *request,
                                  struct gw_plan_sweep *sweep, struct gw_error *error) {
    double largest = sweep->values.values[sweep->values.count - 1];
    struct gw_scenario scenario = gw_axis_ask(&sweep->values, largest, sweep->scenario);
    struct planning_points planning = {.request = request, .sweep = sweep};
    GW_TRY(list_policies(request->policy, sweep, error));
    GW_TRY(find_exchanges_at(&scenario, request, sweep, error));
    size_t cells = sweep->exchange_count * sweep->policy_count * sweep->values.count;
    sweep->cells = gw_arena_zeros(&sweep->arena, cells, sizeof *sweep->cells);
    GW_TRY(gw_arena_check(&sweep->arena, "planning", error));
    return plan_points(&planning, sweep, error);
}

/* ---- plans that were made ------------------------------------------------------------------- */

const struct gw_plan_cell *gw_plan_sweep_cell(const struct gw_plan_sweep *sweep, size_t exchange,
                                              size_t policy, size_t value) {
    size_t row = (exchange * sweep->policy_count + policy) * sweep->values.count;
    return &sweep->cells[row + (gw_plan_sweep_is_constant(sweep, exchange) ? 0 : value)];
}

bool gw_plan_sweep_is_constant(const struct gw_plan_sweep *sweep, size_t exchange) {
    return sweep->values.kind->sparse_only && strcmp(sweep->compressors[exchange], "none") == 0;
}

const char *gw_plan_sweep_exchange(const struct gw_plan_sweep *sweep, size_t exchange) {
    const char *compressor = sweep->compressors[exchange];
    return strcmp(compressor, "none") == 0 ? "dense" : compressor;
}

size_t gw_plan_sweep_best(const struct gw_plan_sweep *sweep, size_t exchange, size_t value) {
    size_t best = 0;
    for (size_t p = 1; p < sweep->policy_count; p++) {
        const struct gw_plan_cell *a = gw_plan_sweep_cell(sweep, exchange, p, value);
        const struct gw_plan_cell *b = gw_plan_sweep_cell(sweep, exchange, best, value);
        if (a->iteration_s < b->iteration_s ||
            (a->iteration_s == b->iteration_s && a->groups < b->groups)) {
            best = p;
        }
    }
    return best;
}

int gw_plan_sweep_compare(const struct gw_plan_sweep *sweep, size_t value) {
    double times_s[GW_PLAN_SWEEP_EXCHANGES];
    for (size_t e = 0; e < GW_PLAN_SWEEP_EXCHANGES; e++) {
        size_t best = gw_plan_sweep_best(sweep, e, value);
        times_s[e] = gw_plan_sweep_cell(sweep, e, best, value)->iteration_s;
    }
    return (times_s[0] > times_s[1]) - (times_s[0] < times_s[1]);
}
