/*
 * Plans at many densities, numbers of workers or bandwidths, for sparse and for dense exchange, to
 * see where one loses to the other and where merging stops mattering.
 */
#include <stdlib.h>
#include <string.h>

#include "study/axes.h"
#include "study/plan_sweep.h"
#include "study/plans.h"
#include "study/question.h"

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
    GW_TRY(gw_axis_parse((enum gw_axis)axis, text + length + 1, place, sweep->question->cluster,
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
                                  const struct gw_question *question, struct gw_plan_sweep *out,
                                  struct gw_error *error) {
    *out = (struct gw_plan_sweep){.question = question};
    return parse_text(request, out, error);
}

void gw_plan_sweep_close(struct gw_plan_sweep *sweep) {
    gw_axis_notes_free(&sweep->notes);
    gw_arena_free(&sweep->arena);
}

/* ---- exchanges ------------------------------------------------------------------------------ */

/* Fails, with the reason, if the cluster has no curves for an exchange. */
static enum gw_status check_exchange(const struct gw_question *question, const char *compressor,
                                     const char *exchange, struct gw_error *error) {
    struct gw_planning planning;
    GW_TRY(gw_planning_open(question, compressor, exchange, &planning, error));
    gw_planning_close(&planning);
    return GW_OK;
}

/* Finds exchanges that can be planned at `question`; the others become notes. */
static enum gw_status find_exchanges_at(const struct gw_question *question,
                                        const struct gw_plan_sweep_request *request,
                                        struct gw_plan_sweep *sweep, struct gw_error *error) {
    const char *const wanted[] = {request->compressor, "none"};
    const char *const exchanges[] = {request->exchange, NULL};
    size_t count = strcmp(request->compressor, "none") == 0 ? 1 : 2;
    for (size_t i = 0; i < count; i++) {
        struct gw_error why = {0};
        enum gw_status status = check_exchange(question, wanted[i], exchanges[i], &why);
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
            GW_TRY(gw_axis_note_add(&sweep->notes, text, 0, NULL, error));
        }
    }
    return sweep->exchange_count > 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: expected measured curves of collectives.allgather and "
                         "compressors.%s, or of collectives.allreduce, got neither "
                         "(gradweave calibrate --only allgather,%s --add measures the former, "
                         "--only allreduce --add the latter)",
                         question->cluster->path, request->compressor, request->compressor);
}

/* ---- planning ------------------------------------------------------------------------------- */

static enum gw_status keep_plan(struct gw_plan_sweep *sweep, struct gw_plan_cell *row, size_t value,
                                const struct gw_plan *plan, struct gw_error *error) {
    row[value] = (struct gw_plan_cell){.groups = plan->group_count,
                                       .iteration_s = plan->iteration_s,
                                       .lower_bound_s = plan->lower_bound_s};
    for (size_t i = 0; i < plan->note_count; i++) {
        GW_TRY(gw_axis_note_add(&sweep->notes, plan->notes[i], value, row, error));
    }
    return GW_OK;
}

/* Makes every policy's plan at one value of one exchange, bounded by the same optimum. */
static enum gw_status plan_policies(struct gw_plan_sweep *sweep, size_t exchange, size_t value,
                                    struct gw_planning *planning, struct gw_error *error) {
    GW_TRY(gw_planning_find_optimum(planning, error));
    for (size_t p = 0; p < sweep->policy_count; p++) {
        struct gw_plan plan;
        GW_TRY(gw_planning_plan(planning, sweep->policies[p], &plan, error));
        enum gw_status status =
            keep_plan(sweep, gw_plan_sweep_row(sweep, exchange, p), value, &plan, error);
        gw_plan_free(&plan);
        GW_TRY(status);
    }
    return GW_OK;
}

static enum gw_status plan_value(struct gw_plan_sweep *sweep, size_t exchange, size_t value,
                                 struct gw_error *error) {
    const struct gw_axis_values *values = &sweep->values;
    struct gw_question question = gw_axis_ask(values, values->values[value], sweep->question);
    struct gw_planning planning;
    enum gw_status status = gw_planning_open(&question, sweep->compressors[exchange],
                                             sweep->exchanges[exchange], &planning, error);
    if (status == GW_OK) {
        status = plan_policies(sweep, exchange, value, &planning, error);
        gw_planning_close(&planning);
    }
    if (status != GW_OK) {
        char text[GW_UNITS_SIZE];
        char place[GW_UNITS_SIZE + 32];
        snprintf(place, sizeof place, "%s %s", values->kind->name,
                 gw_axis_text(values, values->values[value], text));
        gw_error_prefix(error, place);
    }
    return status;
}

/* Copies the plan at the first value to all values, if they make no difference. */
static void repeat_first(struct gw_plan_sweep *sweep, size_t exchange) {
    for (size_t p = 0; p < sweep->policy_count; p++) {
        struct gw_plan_cell *row = gw_plan_sweep_row(sweep, exchange, p);
        for (size_t v = 1; v < sweep->values.count; v++) {
            row[v] = row[0];
        }
        for (size_t i = 0; i < sweep->notes.count; i++) {
            if (sweep->notes.notes[i].row == row) {
                sweep->notes.notes[i].others = sweep->values.count - 1;
            }
        }
    }
}

static enum gw_status plan_exchange(struct gw_plan_sweep *sweep, size_t exchange,
                                    struct gw_progress *progress, struct gw_error *error) {
    bool same = gw_plan_sweep_is_constant(sweep, exchange);
    size_t count = same ? 1 : sweep->values.count;
    for (size_t v = 0; v < count; v++) {
        double share = (double)exchange + (double)v / (double)count;
        gw_progress_update(progress, share / (double)sweep->exchange_count,
                           sweep->compressors[exchange]);
        GW_TRY(plan_value(sweep, exchange, v, error));
    }
    if (same) {
        repeat_first(sweep, exchange);
    }
    return GW_OK;
}

enum gw_status gw_plan_sweep_plan(const struct gw_plan_sweep_request *request,
                                  struct gw_plan_sweep *sweep, struct gw_error *error) {
    GW_TRY(list_policies(request->policy, sweep, error));
    double largest = sweep->values.values[sweep->values.count - 1];
    struct gw_question question = gw_axis_ask(&sweep->values, largest, sweep->question);
    GW_TRY(find_exchanges_at(&question, request, sweep, error));
    size_t cells = sweep->exchange_count * sweep->policy_count * sweep->values.count;
    sweep->cells = gw_arena_zeros(&sweep->arena, cells, sizeof *sweep->cells);
    if (sweep->cells == NULL) {
        return gw_fail_memory(error, "planning");
    }
    struct gw_progress progress = gw_progress_begin("plan", 1);
    enum gw_status status = GW_OK;
    for (size_t e = 0; e < sweep->exchange_count && status == GW_OK; e++) {
        status = plan_exchange(sweep, e, &progress, error);
    }
    gw_progress_end(&progress);
    return status;
}

/* ---- plans that were made ------------------------------------------------------------------- */

struct gw_plan_cell *gw_plan_sweep_row(const struct gw_plan_sweep *sweep, size_t exchange,
                                       size_t policy) {
    return &sweep->cells[(exchange * sweep->policy_count + policy) * sweep->values.count];
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
        const struct gw_plan_cell *a = &gw_plan_sweep_row(sweep, exchange, p)[value];
        const struct gw_plan_cell *b = &gw_plan_sweep_row(sweep, exchange, best)[value];
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
        times_s[e] = gw_plan_sweep_row(sweep, e, best)[value].iteration_s;
    }
    return (times_s[0] > times_s[1]) - (times_s[0] < times_s[1]);
}
