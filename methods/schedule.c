#include "methods/schedule.h"

#include <stdlib.h>

/* Groups go through the tensors from the last to the first. */
static void lay_out_layers(struct gw_schedule *out, const struct gw_model *model,
                           const struct gw_plan *plan) {
    size_t next = 0;
    for (size_t g = 0; g < plan->group_count; g++) {
        const struct gw_group *group = &plan->groups[g];
        out->groups[g].first_layer = next;
        out->groups[g].layer_count = group->first - group->last + 1;
        for (size_t tensor = group->first + 1; tensor-- > group->last;) {
            out->layers[next++] = model->tensors[tensor].elements;
        }
    }
}

enum gw_status gw_schedule_create(struct gw_schedule *out, const struct gw_model *model,
                                  const struct gw_plan *plan,
                                  const struct gw_compressor *compressor, struct gw_error *error) {
    *out = (struct gw_schedule){.compressor = compressor,
                                .group_count = plan->group_count,
                                .groups = calloc(plan->group_count, sizeof *out->groups),
                                .layers = calloc(model->tensor_count, sizeof *out->layers),
                                .workers = plan->workers,
                                .bytes_per_element = model->bytes_per_element};
    if (out->groups == NULL || out->layers == NULL) {
        gw_schedule_free(out);
        return gw_fail_memory(error, "building a schedule");
    }
    uint64_t first = 0;
    for (size_t g = 0; g < plan->group_count; g++) {
        uint64_t n = gw_group_elements(&plan->groups[g], model);
        uint64_t kept = compressor == &gw_compressor_none ? n : gw_elements_kept(n, plan->density);
        out->groups[g] =
            (struct gw_slice){.first = first,
                              .elements = n,
                              .kept = kept,
                              .sketch_cells = gw_sketch_cells(compressor, n, kept),
                              .selected = gw_selected_as_asked(compressor, kept, plan->workers)};
        first += n;
    }
    lay_out_layers(out, model, plan);
    return GW_OK;
}

static uint64_t exchange_bytes(const struct gw_schedule *schedule,
                               const struct gw_operation *operation) {
    if (operation->group >= schedule->group_count) {
        return operation->bytes;
    }
    const struct gw_slice *slice = &schedule->groups[operation->group];
    struct gw_extent extent = {.elements = slice->elements,
                               .bytes_per_element = schedule->bytes_per_element,
                               .layers = slice->layer_count,
                               .sketch_cells = slice->sketch_cells,
                               .selected = slice->selected};
    return gw_payload_bytes(operation->payload, &extent);
}

void gw_schedule_select(struct gw_schedule *schedule, const struct gw_selected *selected) {
    for (size_t g = 0; g < schedule->group_count; g++) {
        schedule->groups[g].selected = selected[g];
    }
    for (size_t i = 0; i < schedule->operation_count; i++) {
        struct gw_operation *operation = &schedule->operations[i];
        if (operation->kind == GW_EXCHANGE) {
            operation->bytes = exchange_bytes(schedule, operation);
        }
    }
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
    if (operation.kind == GW_EXCHANGE) {
        operation.bytes = exchange_bytes(schedule, &operation);
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
    free(schedule->layers);
    *schedule = (struct gw_schedule){0};
}

double gw_schedule_bytes_per_worker(const struct gw_schedule *schedule) {
    double bytes = 0;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        bytes += (double)schedule->operations[i].bytes;
    }
    return bytes;
}
