#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gradients/emulation.h"
#include "kernels/kernels.h"

bool gw_counts_depend_on_data(const struct gw_compressor *compressor) {
    return !compressor->exact;
}

enum gw_status gw_counts_for(const struct gw_schedule *schedule,
                             const struct gw_counts_about *about, bool has_distinct,
                             struct gw_counts *out, struct gw_error *error) {
    struct gw_counts_about whole = *about;
    whole.workers = schedule->workers;
    whole.group_count = schedule->group_count;
    GW_TRY(gw_counts_create(out, &whole, has_distinct, error));
    for (size_t g = 0; g < schedule->group_count; g++) {
        out->groups[g] = (struct gw_counts_group){.tensors = schedule->groups[g].layer_count,
                                                  .elements = schedule->groups[g].elements};
    }
    return GW_OK;
}

/* ---- whether they fit ---------------------------------------------------------------------- */

static enum gw_status check_text(const char *path, const char *key, const char *expected,
                                 const char *got, struct gw_error *error) {
    return strcmp(expected, got) == 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "%s: %s: expected \"%s\", got \"%s\"", path, key,
                         expected, got);
}

static enum gw_status check_number(const char *path, const char *key, size_t expected, size_t got,
                                   struct gw_error *error) {
    return expected == got ? GW_OK
                           : gw_fail(error, GW_BAD_INPUT, "%s: %s: expected %zu, got %zu", path,
                                     key, expected, got);
}

static enum gw_status check_groups(const struct gw_counts *counts,
                                   const struct gw_schedule *schedule, const char *path,
                                   struct gw_error *error) {
    for (size_t g = 0; g < schedule->group_count; g++) {
        const struct gw_slice *slice = &schedule->groups[g];
        const struct gw_counts_group *group = &counts->groups[g];
        if (group->elements != slice->elements || group->tensors != slice->layer_count) {
            return gw_fail(error, GW_BAD_INPUT,
                           "%s: groups[%zu]: expected %zu tensors of %llu elements, as the plan "
                           "has, got %llu of %llu",
                           path, g, slice->layer_count, (unsigned long long)slice->elements,
                           (unsigned long long)group->tensors, (unsigned long long)group->elements);
        }
    }
    return GW_OK;
}

enum gw_status gw_counts_check(const struct gw_counts *counts, const struct gw_schedule *schedule,
                               const struct gw_counts_about *expected, const char *path,
                               struct gw_error *error) {
    GW_TRY(check_text(path, "model", expected->model, counts->model, error));
    GW_TRY(check_text(path, "compressor", expected->compressor, counts->compressor, error));
    GW_TRY(check_number(path, "workers", schedule->workers, counts->workers, error));
    if (fabs(counts->density - expected->density) > 1e-9 * expected->density) {
        return gw_fail(error, GW_BAD_INPUT, "%s: density: expected %g, got %g", path,
                       expected->density, counts->density);
    }
    GW_TRY(
        check_number(path, "number of groups", schedule->group_count, counts->group_count, error));
    return check_groups(counts, schedule, path, error);
}

/* ---- as a simulation takes them ------------------------------------------------------------ */

static struct gw_selected select_group(const struct gw_counts *counts, size_t iteration,
                                       size_t group, bool joint) {
    const uint64_t *each = gw_counts_at(counts, iteration, group);
    uint64_t most = 0;
    uint64_t sum = 0;
    for (size_t w = 0; w < counts->workers; w++) {
        most = each[w] > most ? each[w] : most;
        sum += each[w];
    }
    uint64_t elements = counts->groups[group].elements;
    uint64_t joined = joint ? (sum < elements ? sum : elements) : most;
    const uint64_t *distinct = counts->distinct;
    return (struct gw_selected){
        .most = most,
        .all = distinct == NULL ? joined : distinct[iteration * counts->group_count + group]};
}

enum gw_status gw_counts_selected(const struct gw_counts *counts,
                                  const struct gw_compressor *compressor, struct gw_selected **out,
                                  struct gw_error *error) {
    size_t count = counts->iteration_count * counts->group_count;
    *out = calloc(count, sizeof **out);
    if (*out == NULL) {
        return gw_fail_memory(error, "counting");
    }
    for (size_t i = 0; i < count; i++) {
        size_t groups = counts->group_count;
        (*out)[i] = select_group(counts, i / groups, i % groups, compressor->joint);
    }
    return GW_OK;
}
