#include "algorithms/algorithms.h"

#include <stdio.h>
#include <string.h>

#include "algorithms/presets.h"

const struct gw_algorithm *const gw_algorithms[] = {
#define ALGORITHM(name) &gw_algorithm_##name,
#include "algorithms/list.inc"
#undef ALGORITHM
    NULL};

enum gw_status gw_algorithm_find(const char *name, const struct gw_algorithm **out,
                                 struct gw_error *error) {
    char names[256] = "";
    size_t used = 0;
    for (size_t i = 0; gw_algorithms[i] != NULL; i++) {
        if (strcmp(gw_algorithms[i]->name, name) == 0) {
            *out = gw_algorithms[i];
            return GW_OK;
        }
        if (used < sizeof names) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ",
                                     gw_algorithms[i]->name);
        }
    }
    return gw_fail(error, GW_BAD_INPUT, "algorithm: expected one of %s; got \"%s\"", names, name);
}

bool gw_algorithm_is_sparse(const struct gw_algorithm *algorithm) {
    return strcmp(algorithm->compressor, "none") != 0;
}

static enum gw_status check_fit(const struct gw_algorithm *algorithm, const struct gw_plan *plan,
                                struct gw_error *error) {
    if (strcmp(algorithm->compressor, plan->compressor) != 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "algorithm %s: expected a plan for compressor %s, got one for %s",
                       algorithm->name, algorithm->compressor, plan->compressor);
    }
    if (!algorithm->overlap && plan->group_count != 1) {
        return gw_fail(error, GW_BAD_INPUT,
                       "algorithm %s: expected a plan with one group, as it does not overlap, "
                       "got %zu groups",
                       algorithm->name, plan->group_count);
    }
    return GW_OK;
}

enum gw_status gw_algorithm_schedule(const struct gw_algorithm *algorithm,
                                     const struct gw_model *model, const struct gw_plan *plan,
                                     struct gw_schedule *out, struct gw_error *error) {
    *out = (struct gw_schedule){0};
    GW_TRY(check_fit(algorithm, plan, error));
    GW_TRY(gw_schedule_create(out, model, plan, error));
    enum gw_status status = algorithm->build(algorithm, model, plan, out, error);
    if (status != GW_OK) {
        gw_schedule_free(out);
    }
    return status;
}
