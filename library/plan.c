#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "library/library.h"
#include "planner/planner.h"

const char *gradweave_version(void) {
    return GW_VERSION;
}

/* Whether a time is in the range that files allow (docs/files.md, "Limits"). */
static bool is_time(double seconds) {
    return seconds >= 0 && seconds <= GW_MAX_SECONDS;
}

static enum gw_status check_points(const struct gradweave_curve *curve, const char *name,
                                   struct gw_error *error) {
    if (curve->point_count == 1) {
        return gw_fail(error, GW_BAD_INPUT, "%s.point_count: expected none or at least 2, got 1",
                       name);
    }
    double before = 0;
    for (size_t i = 0; i < curve->point_count; i++) {
        const struct gradweave_point *point = &curve->points[i];
        if (!(point->size > before) || point->size > 0x1p53) {
            return gw_fail(error, GW_BAD_INPUT,
                           "%s.points[%zu].size: expected a number above %g and at most 2^53, got "
                           "%g",
                           name, i, before, point->size);
        }
        if (!is_time(point->time_s)) {
            return gw_fail(error, GW_BAD_INPUT,
                           "%s.points[%zu].time_s: expected 0 to 1e6 seconds, got %g", name, i,
                           point->time_s);
        }
        before = point->size;
    }
    return GW_OK;
}

static enum gw_status check_curve(const struct gradweave_curve *curve, const char *name,
                                  struct gw_error *error) {
    if (curve->point_count > 0) {
        return check_points(curve, name, error);
    }
    return is_time(curve->startup_s) && is_time(curve->per_unit_s) && is_time(curve->per_nlog2n_s)
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "%s: expected coefficients from 0 to 1e6", name);
}

static unsigned bytes_per_element(const struct gradweave_network *network) {
    return network->bytes_per_element == 0 ? sizeof(float) : network->bytes_per_element;
}

static enum gw_status check_tensors(const struct gradweave_network *network,
                                    struct gw_error *error) {
    const uint64_t most = UINT64_C(1) << 53; /* up to it a double holds all integers */
    uint64_t total = 0;
    for (size_t i = 0; i < network->tensor_count; i++) {
        if (network->elements[i] == 0 || network->elements[i] > most - total) {
            return gw_fail(error, GW_BAD_INPUT,
                           "elements[%zu]: expected a positive integer, and at most 2^53 in all",
                           i);
        }
        if (!is_time(network->backward_s[i])) {
            return gw_fail(error, GW_BAD_INPUT, "backward_s[%zu]: expected 0 to 1e6 seconds", i);
        }
        total += network->elements[i];
    }
    if (total > UINT64_MAX / bytes_per_element(network)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "bytes_per_element: expected less than 2^64 bytes in all, got %u for each "
                       "of %llu elements",
                       bytes_per_element(network), (unsigned long long)total);
    }
    return GW_OK;
}

static enum gw_status check_input(const struct gradweave_network *network,
                                  const struct gradweave_costs *costs, struct gw_error *error) {
    if (network->tensor_count == 0) {
        return gw_fail(error, GW_BAD_INPUT, "tensor_count: expected at least one tensor, got 0");
    }
    if (!is_time(network->forward_s) || !is_time(network->update_s)) {
        return gw_fail(error, GW_BAD_INPUT, "forward_s, update_s: expected 0 to 1e6 seconds");
    }
    GW_TRY(check_tensors(network, error));
    if (!(costs->density > 0) || costs->density > 1) {
        return gw_fail(error, GW_BAD_INPUT, "density: expected a number in (0, 1], got %g",
                       costs->density);
    }
    GW_TRY(check_curve(&costs->exchange, "exchange", error));
    return costs->density == 1 ? GW_OK : check_curve(&costs->compress, "compress", error);
}

/* Copies of the caller's tensors and curves, which the planner borrows. */
struct inputs {
    struct gw_tensor *tensors;
    struct gw_curve exchange, compress;
};

static enum gw_status copy_curve(const struct gradweave_curve *curve, struct gw_curve *out,
                                 struct gw_error *error) {
    *out = (struct gw_curve){.fixed_s = curve->startup_s,
                             .per_unit_s = curve->per_unit_s,
                             .per_nlog2n_s = curve->per_nlog2n_s};
    if (curve->point_count == 0) {
        return GW_OK;
    }
    out->points = calloc(curve->point_count, sizeof *out->points);
    if (out->points == NULL) {
        return gw_fail_memory(error, "planning");
    }
    out->point_count = curve->point_count;
    for (size_t i = 0; i < curve->point_count; i++) {
        out->points[i] = (struct gw_curve_point){.size = curve->points[i].size,
                                                 .time_s = curve->points[i].time_s};
    }
    return GW_OK;
}

/* Refuses points that fall, as in files. */
static enum gw_status check_rising(const struct gw_curve *curve, const char *name,
                                   struct gw_error *error) {
    size_t fall = gw_cluster_find_fall(curve, &(struct gw_raw){0});
    if (fall == 0) {
        return GW_OK;
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): where one falls there are points */
    double time_s = curve->points[fall].time_s;
    return gw_fail(error, GW_BAD_INPUT,
                   "%s.points[%zu].time_s: expected no less time than for the smaller sizes, got "
                   "%g",
                   name, fall, time_s);
}

static enum gw_status copy_inputs(const struct gradweave_network *network,
                                  const struct gradweave_costs *costs, struct inputs *out,
                                  struct gw_error *error) {
    out->tensors = calloc(network->tensor_count, sizeof *out->tensors);
    if (out->tensors == NULL) {
        return gw_fail_memory(error, "planning");
    }
    for (size_t i = 0; i < network->tensor_count; i++) {
        out->tensors[i].elements = network->elements[i];
        out->tensors[i].backward_s = network->backward_s[i];
    }
    GW_TRY(copy_curve(&costs->exchange, &out->exchange, error));
    GW_TRY(check_rising(&out->exchange, "exchange", error));
    if (costs->density == 1) {
        return GW_OK;
    }
    GW_TRY(copy_curve(&costs->compress, &out->compress, error));
    return check_rising(&out->compress, "compress", error);
}

enum gradweave_status gradweave_plan(const struct gradweave_network *network,
                                     const struct gradweave_costs *costs, const char *policy,
                                     struct gradweave_group *groups, struct gradweave_plan *plan,
                                     struct gradweave_error *error) {
    struct gw_error failure = {0};
    enum gw_status status = check_input(network, costs, &failure);
    if (status != GW_OK) {
        return gw_library_finish(status, &failure, error);
    }
    struct inputs inputs = {0};
    struct gw_plan made = {0};
    status = copy_inputs(network, costs, &inputs, &failure);
    if (status == GW_OK) {
        char name[] = "network";
        struct gw_model model = {.name = name,
                                 .bytes_per_element = bytes_per_element(network),
                                 .forward_s = network->forward_s,
                                 .update_s = network->update_s,
                                 .tensor_count = network->tensor_count,
                                 .tensors = inputs.tensors};
        static const struct gw_compressor custom = {.name = "custom"};
        const struct gw_costs own = {
            .model = &model,
            .workers = 1,
            .way = {.compressor = costs->density == 1 ? &gw_compressor_none : &custom,
                    .density = costs->density},
            .compress = inputs.compress,
            .exchange = inputs.exchange};
        status = gw_planner_plan(&own, policy == NULL ? "" : policy, &made, &failure);
    }
    if (status == GW_OK) {
        for (size_t g = 0; g < made.group_count; g++) {
            groups[g] = (struct gradweave_group){.first = made.groups[g].first,
                                                 .last = made.groups[g].last};
        }
        *plan = (struct gradweave_plan){.group_count = made.group_count,
                                        .iteration_s = made.iteration_s,
                                        .lower_bound_s = made.lower_bound_s};
        gw_plan_free(&made);
    }
    gw_curve_free(&inputs.exchange);
    gw_curve_free(&inputs.compress);
    free(inputs.tensors);
    return gw_library_finish(status, &failure, error);
}

/* ---- the caller's plans and pipelines -------------------------------------------------------- */

enum gw_status gw_library_copy_groups(const struct gradweave_group *groups, size_t group_count,
                                      size_t tensor_count, struct gw_plan *plan,
                                      struct gw_error *error) {
    const struct gradweave_group all = {.first = tensor_count - 1};
    size_t next = tensor_count; /* tensors that are in no group so far */
    for (size_t g = 0; g < group_count; g++) {
        const struct gradweave_group *group = &groups[g];
        if (next == 0) {
            return gw_fail(error, GW_BAD_INPUT, "groups[%zu]: expected none after tensor 0", g);
        }
        if (group->first + 1 != next || group->last > group->first) {
            return gw_fail(error, GW_BAD_INPUT,
                           "groups[%zu]: expected tensors from %zu down, got %zu to %zu", g,
                           next - 1, group->first, group->last);
        }
        next = group->last;
    }
    GW_TRY(group_count == 0 || next == 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "groups: expected them to end with tensor 0, got %zu",
                         next));
    groups = group_count == 0 ? &all : groups;
    plan->group_count = group_count == 0 ? 1 : group_count;
    plan->groups = calloc(plan->group_count, sizeof *plan->groups);
    if (plan->groups == NULL) {
        return gw_fail_memory(error, "taking a plan");
    }
    for (size_t g = 0; g < plan->group_count; g++) {
        plan->groups[g] = (struct gw_group){.first = groups[g].first, .last = groups[g].last};
    }
    return GW_OK;
}

enum gw_status gw_library_choose(const char *name, const char *compressor, const char *exchange,
                                 size_t group_count, struct gw_algorithm *out,
                                 struct gw_error *error) {
    const struct gw_algorithm *preset = NULL;
    struct gw_choice_changes changes = {.compressor = compressor, .exchange = exchange};
    GW_TRY(gw_algorithm_find(name == NULL ? "" : name, &preset, error));
    if (group_count > 1 && !gw_algorithm_overlaps(preset)) {
        changes.policy = "given";
    }
    return gw_algorithm_change(preset, &changes, out, error);
}
