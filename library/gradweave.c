#include "library/gradweave.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "planner/planner.h"

const char *gradweave_version(void) {
    return GW_VERSION;
}

static enum gradweave_status finish(enum gw_status status, const struct gw_error *from,
                                    struct gradweave_error *to) {
    if (status != GW_OK && to != NULL) {
        snprintf(to->message, sizeof to->message, "%s", from->message);
    }
    return (enum gradweave_status)status;
}

/* ---- planning ------------------------------------------------------------------------------ */

static bool is_time(double seconds) {
    return isfinite(seconds) && seconds >= 0;
}

static bool is_curve(const struct gradweave_curve *curve) {
    return is_time(curve->startup_s) && is_time(curve->per_unit_s) && is_time(curve->per_nlog2n_s);
}

static enum gw_status check_tensors(const struct gradweave_network *network,
                                    struct gw_error *error) {
    const uint64_t most = UINT64_C(1) << 53; /* what a double holds exactly */
    uint64_t total = 0;
    for (size_t i = 0; i < network->tensor_count; i++) {
        if (network->elements[i] == 0 || network->elements[i] > most - total) {
            return gw_fail(error, GW_BAD_INPUT,
                           "elements[%zu]: expected a positive integer, and at most 2^53 in all",
                           i);
        }
        if (!is_time(network->backward_s[i])) {
            return gw_fail(error, GW_BAD_INPUT, "backward_s[%zu]: expected a finite number >= 0",
                           i);
        }
        total += network->elements[i];
    }
    if (network->bytes_per_element == 0) {
        return gw_fail(error, GW_BAD_INPUT, "bytes_per_element: expected at least 1, got 0");
    }
    if (total > UINT64_MAX / network->bytes_per_element) {
        return gw_fail(error, GW_BAD_INPUT,
                       "bytes_per_element: expected less than 2^64 bytes in all, got %u for each "
                       "of %llu elements",
                       network->bytes_per_element, (unsigned long long)total);
    }
    return GW_OK;
}

static enum gw_status check_input(const struct gradweave_network *network,
                                  const struct gradweave_costs *costs, struct gw_error *error) {
    if (network->tensor_count == 0) {
        return gw_fail(error, GW_BAD_INPUT, "tensor_count: expected at least one tensor, got 0");
    }
    if (!is_time(network->forward_s) || !is_time(network->update_s)) {
        return gw_fail(error, GW_BAD_INPUT, "forward_s, update_s: expected finite numbers >= 0");
    }
    GW_TRY(check_tensors(network, error));
    if (!(costs->density > 0) || costs->density > 1) {
        return gw_fail(error, GW_BAD_INPUT, "density: expected a number in (0, 1], got %g",
                       costs->density);
    }
    return is_curve(&costs->exchange) && (costs->density == 1 || is_curve(&costs->compress))
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "curves: expected finite coefficients >= 0");
}

static struct gw_curve to_curve(const struct gradweave_curve *curve) {
    return (struct gw_curve){.fixed_s = curve->startup_s,
                             .per_unit_s = curve->per_unit_s,
                             .per_nlog2n_s = curve->per_nlog2n_s};
}

static enum gw_status plan_tensors(const struct gradweave_network *network,
                                   const struct gradweave_costs *costs, const char *policy,
                                   struct gw_tensor *tensors, struct gw_plan *out,
                                   struct gw_error *error) {
    for (size_t i = 0; i < network->tensor_count; i++) {
        tensors[i].elements = network->elements[i];
        tensors[i].backward_s = network->backward_s[i];
    }
    char name[] = "network";
    struct gw_model model = {.name = name,
                             .bytes_per_element = network->bytes_per_element,
                             .forward_s = network->forward_s,
                             .update_s = network->update_s,
                             .tensor_count = network->tensor_count,
                             .tensors = tensors};
    struct gw_curve exchange = to_curve(&costs->exchange);
    struct gw_curve compress = to_curve(&costs->compress);
    bool dense = costs->density == 1;
    struct gw_planning planning = {.model = &model,
                                   .workers = 1,
                                   .compressor = dense ? "none" : "custom",
                                   .density = costs->density,
                                   .compress = dense ? NULL : &compress,
                                   .exchange = &exchange};
    return gw_planner_plan(&planning, policy, out, error);
}

enum gradweave_status gradweave_plan(const struct gradweave_network *network,
                                     const struct gradweave_costs *costs, const char *policy,
                                     size_t *last_tensor, struct gradweave_plan *plan,
                                     struct gradweave_error *error) {
    struct gw_error failure = {0};
    enum gw_status status = check_input(network, costs, &failure);
    if (status != GW_OK) {
        return finish(status, &failure, error);
    }
    struct gw_plan made = {0};
    struct gw_tensor *tensors = calloc(network->tensor_count, sizeof *tensors);
    status = tensors == NULL ? gw_fail_memory(&failure, "planning")
                             : plan_tensors(network, costs, policy, tensors, &made, &failure);
    if (status == GW_OK) {
        for (size_t g = 0; g < made.group_count; g++) {
            last_tensor[g] = made.groups[g].last;
        }
        *plan = (struct gradweave_plan){.group_count = made.group_count,
                                        .iteration_s = made.iteration_s,
                                        .lower_bound_s = made.lower_bound_s};
        gw_plan_free(&made);
    }
    free(tensors);
    return finish(status, &failure, error);
}

/* ---- compression --------------------------------------------------------------------------- */

static enum gw_status compress(const struct gw_compressor *compressor, const float *gradient,
                               float *residual, size_t n, size_t k, struct gradweave_entry *entries,
                               struct gw_error *error) {
    struct gw_workspace workspace = {0};
    struct gw_entry *selected = malloc(k * sizeof *selected);
    enum gw_status status = selected == NULL ? gw_fail_memory(error, "compressing")
                                             : gw_compress(compressor, gradient, residual, n, k,
                                                           &workspace, selected, error);
    for (size_t i = 0; i < k && status == GW_OK; i++) {
        entries[i] =
            (struct gradweave_entry){.value = selected[i].value, .index = selected[i].index};
    }
    free(selected);
    gw_workspace_free(&workspace);
    return status;
}

/* The message lists the compressors that there are. */
static enum gw_status refuse_compressor(const char *name, struct gw_error *error) {
    char names[256] = "";
    for (size_t i = 0, used = 0; gw_compressors[i] != NULL && used < sizeof names; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s\"%s\"",
                                 i == 0 ? "" : " or ", gw_compressors[i]->name);
    }
    return gw_fail(error, GW_BAD_INPUT, "compressor: expected %s, got \"%s\"", names, name);
}

enum gradweave_status gradweave_compress(const char *compressor, const float *gradient,
                                         float *residual, size_t n, size_t k,
                                         struct gradweave_entry *entries,
                                         struct gradweave_error *error) {
    struct gw_error failure = {0};
    const struct gw_compressor *found = gw_compressor_find(compressor);
    enum gw_status status = GW_OK;
    if (found == NULL) {
        status = refuse_compressor(compressor, &failure);
    } else if (n == 0 || n > UINT32_MAX || k == 0 || k > n) {
        status = gw_fail(&failure, GW_BAD_INPUT,
                         "n, k: expected 1 <= k <= n < 2^32, got n = %zu, k = %zu", n, k);
    } else {
        status = compress(found, gradient, residual, n, k, entries, &failure);
    }
    return finish(status, &failure, error);
}
