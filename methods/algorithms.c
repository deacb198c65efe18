#include "methods/algorithms.h"

#include <string.h>

#include "kernels/kernels.h"
#include "methods/presets.h"

const struct gw_algorithm *const gw_algorithms[] = {
#define ALGORITHM(name) &gw_algorithm_##name,
#include "methods/list.inc"
#undef ALGORITHM
    NULL};

enum gw_status gw_algorithm_find(const char *name, const struct gw_algorithm **out,
                                 struct gw_error *error) {
    char names[512] = "";
    for (size_t i = 0; gw_algorithms[i] != NULL; i++) {
        if (strcmp(gw_algorithms[i]->name, name) == 0) {
            *out = gw_algorithms[i];
            return GW_OK;
        }
        gw_list_name(names, sizeof names, gw_algorithms[i]->name);
    }
    return gw_fail(error, GW_BAD_INPUT, "algorithm: expected one of %s; got \"%s\"", names, name);
}

bool gw_algorithm_is_sparse(const struct gw_algorithm *algorithm) {
    return strcmp(algorithm->compressor, "none") != 0;
}

/* ---- the four choices ---------------------------------------------------------------------- */

static enum gw_status check_compressor(const char *name, struct gw_error *error) {
    return strcmp(name, "none") == 0 || gw_compressor_find(name) != NULL
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "compressor: expected none or one of gradweave list compressors, got "
                         "\"%s\"",
                         name);
}

enum gw_status gw_algorithm_change(const struct gw_algorithm *preset,
                                   const struct gw_choice_changes *changes,
                                   struct gw_algorithm *out, struct gw_error *error) {
    const struct gw_exchange_kind *exchange = NULL;
    *out = *preset;
    if (changes->compressor != NULL) {
        GW_TRY(check_compressor(changes->compressor, error));
        out->compressor = changes->compressor;
    }
    if (changes->policy != NULL) {
        out->policy = changes->policy;
        out->overlap = strcmp(changes->policy, "single") != 0;
    }
    out->exchange = changes->exchange != NULL ? changes->exchange : out->exchange;
    GW_TRY(gw_exchange_find(out->exchange, &exchange, error));
    if (changes->exchange == NULL && !exchange->carries(out->compressor)) {
        exchange = gw_exchange_for(out->compressor);
        out->exchange = exchange->name;
    }
    return exchange->carries(out->compressor)
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "exchange %s: expected %s, got %s", exchange->name,
                         exchange->needed, out->compressor);
}

/* ---- schedules ----------------------------------------------------------------------------- */

static enum gw_status check_fit(const struct gw_algorithm *algorithm, const struct gw_plan *plan,
                                struct gw_error *error) {
    if (strcmp(algorithm->compressor, plan->compressor) != 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "algorithm %s: expected a plan for compressor %s, got one for %s",
                       algorithm->name, algorithm->compressor, plan->compressor);
    }
    if (!algorithm->overlap && plan->group_count != 1) {
        return gw_fail(
            error, GW_BAD_INPUT,
            "algorithm %s: expected a plan with one group, as it does not overlap unless "
            "its policy is changed, got %zu groups",
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
    enum gw_status status = gw_build(algorithm, model, plan, out, error);
    if (status != GW_OK) {
        gw_schedule_free(out);
    }
    return status;
}
