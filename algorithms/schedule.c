#include "algorithms/schedule.h"

#include <stdlib.h>
#include <string.h>

enum gw_status gw_schedule_create(struct gw_schedule *out, const struct gw_model *model,
                                  const struct gw_plan *plan, struct gw_error *error) {
    *out = (struct gw_schedule){.group_count = plan->group_count,
                                .groups = calloc(plan->group_count, sizeof *out->groups)};
    if (out->groups == NULL) {
        return gw_fail_memory(error, "building a schedule");
    }
    bool dense = strcmp(plan->compressor, "none") == 0;
    uint64_t first = 0;
    for (size_t g = 0; g < plan->group_count; g++) {
        uint64_t n = gw_group_elements(&plan->groups[g], model);
        out->groups[g] = (struct gw_slice){
            .first = first, .elements = n, .kept = dense ? n : gw_elements_kept(n, plan->density)};
        first += n;
    }
    return GW_OK;
}

enum gw_status gw_schedule_add(struct gw_schedule *schedule, struct gw_operation operation,
                               const size_t *after, size_t count, size_t *index,
                               struct gw_error *error) {
    for (size_t i = 0; i < count; i++) {
        if (after[i] >= schedule->operation_count) {
            return gw_fail(
                error, GW_FAILED,
                "schedule: operation %zu: expected it to depend on operations before it, "
                "got %zu",
                schedule->operation_count, after[i]);
        }
    }
    struct gw_operation *operations =
        gw_grow(schedule->operations, schedule->operation_count + 1, &schedule->operation_capacity,
                sizeof *schedule->operations);
    if (operations == NULL) {
        return gw_fail_memory(error, "building a schedule");
    }
    schedule->operations = operations;
    size_t *dependencies = gw_grow(schedule->dependencies, schedule->dependency_count + count + 1,
                                   &schedule->dependency_capacity, sizeof *schedule->dependencies);
    if (dependencies == NULL) {
        return gw_fail_memory(error, "building a schedule");
    }
    schedule->dependencies = dependencies;
    operation.first_dependency = schedule->dependency_count;
    operation.dependency_count = count;
    if (operation.label == NULL) {
        operation.label = operation.method == NULL ? "" : operation.method;
    }
    for (size_t i = 0; i < count; i++) {
        dependencies[schedule->dependency_count++] = after[i];
    }
    if (index != NULL) {
        *index = schedule->operation_count;
    }
    operations[schedule->operation_count++] = operation;
    return GW_OK;
}

void gw_schedule_free(struct gw_schedule *schedule) {
    free(schedule->operations);
    free(schedule->dependencies);
    free(schedule->groups);
    *schedule = (struct gw_schedule){0};
}

double gw_schedule_bytes_per_worker(const struct gw_schedule *schedule) {
    double bytes = 0;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        bytes += (double)schedule->operations[i].bytes;
    }
    return bytes;
}
