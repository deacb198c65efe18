#include "methods/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/kernel_cost.h"

/* Groups go through the tensors from the last to the first. */
static void lay_out_layers(struct gw_schedule *out, const struct gw_model *model,
                           const struct gw_plan *plan) {
    size_t next = 0;
    for (size_t g = 0; g < plan->group_count; g++) {
        const struct gw_group *group = &plan->groups[g];
        out->groups[g].first_layer = next;
        for (size_t tensor = group->first + 1; tensor-- > group->last;) {
            const struct gw_tensor *from = &model->tensors[tensor];
            gw_size_add(&out->groups[g].size, from, out->groups[g].way->compressor);
            out->rows[next] = from->dimensions > 1 ? from->shape[0] : 0;
            out->layers[next++] = from->elements;
        }
    }
}

/* Reads a way by its names. */
static enum gw_status find_way(const struct gw_plan_way *from, struct gw_way *out,
                               struct gw_error *error) {
    out->density = from->density;
    out->sent_density = from->sent_density;
    GW_TRY(gw_compressor_choose(from->compressor, &out->compressor, error));
    GW_TRY(gw_exchange_find(from->exchange, &out->exchange, error));
    return out->exchange->carries(out->compressor)
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "exchange %s: expected %s, got %s",
                         out->exchange->name, out->exchange->needed, out->compressor->name);
}

/* Lists the ways of groups, each once; all of them must have a server, or none. */
static enum gw_status find_ways(const struct gw_plan *plan, const struct gw_way *way,
                                struct gw_schedule *out, struct gw_error *error) {
    for (size_t g = 0; g < plan->group_count; g++) {
        struct gw_way found = *way;
        if (plan->ways != NULL && find_way(&plan->ways[g], &found, error) != GW_OK) {
            char place[64];
            (void)snprintf(place, sizeof place, "ways[%zu]", g);
            gw_error_prefix(error, place);
            return GW_BAD_INPUT;
        }
        size_t number = 0;
        while (number < out->way_count && !gw_ways_equal(&out->ways[number], &found)) {
            number++;
        }
        out->ways[number] = found;
        out->way_count += number == out->way_count;
        out->groups[g].way = &out->ways[number];
        if (plan->ways != NULL && found.exchange->server != out->ways[0].exchange->server) {
            return gw_fail(error, GW_BAD_INPUT,
                           "ways[%zu]: exchange %s: expected a server for all groups or for none",
                           g, found.exchange->name);
        }
    }
    return GW_OK;
}

enum gw_status gw_schedule_create(struct gw_schedule *out, const struct gw_model *model,
                                  const struct gw_plan *plan, const struct gw_way *way,
                                  struct gw_error *error) {
    *out = (struct gw_schedule){.ways = calloc(plan->group_count, sizeof *out->ways),
                                .group_count = plan->group_count,
                                .groups = calloc(plan->group_count, sizeof *out->groups),
                                .layers = calloc(model->tensor_count, sizeof *out->layers),
                                .rows = calloc(model->tensor_count, sizeof *out->rows),
                                .workers = plan->workers,
                                .bytes_per_element = model->bytes_per_element,
                                .uncertainty = model->uncertainty};
    enum gw_status status =
        out->ways == NULL || out->groups == NULL || out->layers == NULL || out->rows == NULL
            ? gw_fail_memory(error, "building a schedule")
            : find_ways(plan, way, out, error);
    for (size_t i = 0; i < out->way_count && status == GW_OK; i++) {
        status = gw_model_check_shapes(model, out->ways[i].compressor, error);
    }
    if (status != GW_OK) {
        gw_schedule_free(out);
        return status;
    }
    uint64_t first = 0;
    for (size_t g = 0; g < plan->group_count; g++) {
        struct gw_slice *slice = &out->groups[g];
        const struct gw_compressor *compressor = slice->way->compressor;
        uint64_t n = gw_group_elements(&plan->groups[g], model);
        slice->first = first;
        slice->kept = gw_way_kept(slice->way, n);
        slice->sketch_cells = gw_sketch_cells(compressor, n, slice->kept);
        slice->selected =
            gw_selected_as_asked(compressor, gw_way_sent(slice->way, n), plan->workers);
        first += n;
    }
    lay_out_layers(out, model, plan);
    return GW_OK;
}

const struct gw_way *gw_schedule_way(const struct gw_schedule *schedule,
                                     const struct gw_operation *operation) {
    return operation->group < schedule->group_count ? schedule->groups[operation->group].way : NULL;
}

size_t gw_schedule_way_number(const struct gw_schedule *schedule,
                              const struct gw_operation *operation) {
    const struct gw_way *way = gw_schedule_way(schedule, operation);
    return way == NULL ? 0 : (size_t)(way - schedule->ways);
}

static double find_density(const struct gw_schedule *schedule, const struct gw_operation *operation,
                           double measured) {
    const struct gw_way *way = gw_schedule_way(schedule, operation);
    if (way == NULL) {
        return measured;
    }
    const struct gw_slice *group = &schedule->groups[operation->group];
    struct gw_selected expected = gw_selected_as_asked(
        way->compressor, gw_way_sent(way, group->size.elements), schedule->workers);
    double density = gw_way_sent_density(way);
    return expected.most == 0 || way->compressor->steady
               ? density
               : density * (double)group->selected.most / (double)expected.most;
}

double gw_schedule_share(const struct gw_schedule *schedule, const struct gw_operation *operation,
                         const struct gw_kernel_cost *cost, double elements) {
    const struct gw_way *way = gw_schedule_way(schedule, operation);
    return gw_compressor_share(way == NULL ? &gw_compressor_none : way->compressor, cost, elements,
                               find_density(schedule, operation, cost->densities[0]));
}

struct gw_extent gw_schedule_extent(const struct gw_schedule *schedule, size_t group) {
    const struct gw_slice *slice = &schedule->groups[group];
    return (struct gw_extent){.size = slice->size,
                              .bytes_per_element = schedule->bytes_per_element,
                              .sketch_cells = slice->sketch_cells,
                              .selected = slice->selected,
                              .compressor = slice->way->compressor,
                              .workers = schedule->workers};
}

const struct gw_leg *gw_schedule_leg(const struct gw_schedule *schedule,
                                     const struct gw_operation *operation) {
    const struct gw_way *way = gw_schedule_way(schedule, operation);
    size_t legs = way == NULL || way->exchange == NULL ? 0 : way->exchange->leg_count;
    for (size_t i = 0; i < legs; i++) {
        const struct gw_leg *leg = &way->exchange->legs[i];
        if (leg->payload == operation->payload && strcmp(leg->collective, operation->method) == 0) {
            return leg;
        }
    }
    return NULL;
}

static uint64_t operation_bytes(const struct gw_schedule *schedule,
                                const struct gw_operation *operation) {
    if (operation->group >= schedule->group_count) {
        return operation->bytes;
    }
    struct gw_extent extent = gw_schedule_extent(schedule, operation->group);
    return gw_payload_bytes(operation->payload, &extent);
}

void gw_schedule_add_session(struct gw_schedule *schedule, double seconds) {
    schedule->operations[schedule->operation_count - 1].duration_s += seconds; /* the update */
}

/* Sets the bytes of exchanges by what is selected of each group. */
static void set_bytes(struct gw_schedule *schedule) {
    for (size_t i = 0; i < schedule->operation_count; i++) {
        struct gw_operation *operation = &schedule->operations[i];
        if (operation->kind == GW_EXCHANGE) {
            operation->bytes = operation_bytes(schedule, operation);
        }
    }
}

void gw_schedule_select(struct gw_schedule *schedule, const struct gw_selected *selected) {
    for (size_t g = 0; g < schedule->group_count; g++) {
        schedule->groups[g].selected = selected[g];
    }
    set_bytes(schedule);
}

void gw_schedule_select_as_asked(struct gw_schedule *schedule) {
    for (size_t i = 0; i < schedule->way_count; i++) {
        schedule->ways[i].sent_density = 0;
    }
    for (size_t g = 0; g < schedule->group_count; g++) {
        struct gw_slice *slice = &schedule->groups[g];
        slice->selected =
            gw_selected_as_asked(slice->way->compressor, slice->kept, schedule->workers);
    }
    set_bytes(schedule);
}

const char *gw_schedule_compressor(const struct gw_schedule *schedule) {
    return schedule->way_count > 1 ? GW_MIXED : schedule->ways[0].compressor->name;
}

bool gw_schedule_has(const struct gw_schedule *schedule,
                     bool (*is_so)(const struct gw_compressor *compressor)) {
    size_t i = 0;
    while (i < schedule->way_count && !is_so(schedule->ways[i].compressor)) {
        i++;
    }
    return i < schedule->way_count;
}

/*
 * Appends an operation that depends on the `count` earlier ones in `after`; *index is its number.
 * An exchange's bytes follow from its group and payload; of no group of the schedule's, they stay.
 */
static enum gw_status add_operation(struct gw_schedule *schedule, struct gw_operation operation,
                                    const size_t *after, size_t count, size_t *index,
                                    struct gw_error *error) {
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
        operation.bytes = operation_bytes(schedule, &operation);
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
    free(schedule->ways);
    free(schedule->layers);
    free(schedule->rows);
    *schedule = (struct gw_schedule){0};
}

bool gw_schedule_compresses(const struct gw_schedule *schedule) {
    for (size_t i = 0; i < schedule->operation_count; i++) {
        if (schedule->operations[i].kind == GW_COMPRESS) {
            return true;
        }
    }
    return false;
}

double gw_schedule_bytes_per_worker(const struct gw_schedule *schedule) {
    double bytes = 0;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        bytes += (double)schedule->operations[i].bytes;
    }
    return bytes;
}

/* ---- the schedule of an iteration, from a model, a plan and a pipeline's choices ------------- */

/* One forward pass, and of each micro-batch but the last one the backward pass, too. */
static enum gw_status add_passes_ahead(const struct gw_model *model, struct gw_schedule *out,
                                       struct gw_error *error) {
    struct gw_operation forward = {.kind = GW_FORWARD,
                                   .stream = GW_STREAM_COMPUTE,
                                   .group = GW_NO_GROUP,
                                   .elements = gw_model_elements(model),
                                   .duration_s = model->forward_s};
    struct gw_operation backward = forward;
    backward.kind = GW_BACKWARD;
    backward.duration_s = gw_model_backward_s(model);
    for (size_t i = 1; i < model->micro_batches; i++) {
        GW_TRY(add_operation(out, forward, NULL, 0, NULL, error));
        GW_TRY(add_operation(out, backward, NULL, 0, NULL, error));
    }
    return add_operation(out, forward, NULL, 0, NULL, error);
}

/* *ready is the operation after which the group's gradient is ready to travel. */
static enum gw_status add_compute(const struct gw_model *model, const struct gw_group *group,
                                  uint32_t number, struct gw_schedule *out, size_t *ready,
                                  struct gw_error *error) {
    const struct gw_way *way = out->groups[number].way;
    for (size_t tensor = group->first + 1; tensor-- > group->last;) {
        struct gw_operation backward = {.kind = GW_BACKWARD,
                                        .stream = GW_STREAM_COMPUTE,
                                        .group = number,
                                        .label = model->tensors[tensor].name,
                                        .elements = model->tensors[tensor].elements,
                                        .duration_s = model->tensors[tensor].backward_s};
        GW_TRY(add_operation(out, backward, NULL, 0, ready, error));
    }
    if (!gw_way_compresses(way)) {
        return GW_OK;
    }
    struct gw_operation compress = {.kind = GW_COMPRESS,
                                    .stream = GW_STREAM_COMPUTE,
                                    .group = number,
                                    .method = way->compressor->name,
                                    .payload = GW_SPARSE,
                                    .elements = out->groups[number].size.elements};
    return add_operation(out, compress, NULL, 0, ready, error);
}

/* A server's update of a group takes the group's share of the model's. */
static enum gw_status add_server_update(const struct gw_model *model, uint32_t number, size_t after,
                                        struct gw_schedule *out, size_t *last,
                                        struct gw_error *error) {
    uint64_t elements = out->groups[number].size.elements;
    double share = (double)elements / (double)gw_model_elements(model);
    struct gw_operation update = {.kind = GW_UPDATE,
                                  .stream = GW_STREAM_COMMUNICATION,
                                  .group = number,
                                  .elements = elements,
                                  .duration_s = model->update_s * share};
    return add_operation(out, update, &after, 1, last, error);
}

/* The legs, each after the one before; *updated: the server has done the update. */
static enum gw_status add_exchange(const struct gw_model *model, uint32_t number, size_t ready,
                                   struct gw_schedule *out, size_t *last, bool *updated,
                                   struct gw_error *error) {
    const struct gw_exchange_kind *exchange = out->groups[number].way->exchange;
    *last = ready;
    for (size_t i = 0; i < exchange->leg_count; i++) {
        const struct gw_leg *leg = &exchange->legs[i];
        if (leg->updates) {
            GW_TRY(add_server_update(model, number, *last, out, last, error));
            *updated = true;
        }
        struct gw_operation operation = {.kind = GW_EXCHANGE,
                                         .stream = GW_STREAM_COMMUNICATION,
                                         .group = number,
                                         .method = leg->collective,
                                         .payload = leg->payload,
                                         .elements = out->groups[number].size.elements};
        struct gw_extent extent = gw_schedule_extent(out, number);
        if (gw_payload_bytes(leg->payload, &extent) > 0) {
            GW_TRY(add_operation(out, operation, last, 1, last, error));
        }
    }
    return GW_OK;
}

/*
 * The passes ahead; then for each group of the plan its tensors' backward, its compression (sparse
 * only) and the legs of its exchange on the communication stream; the update when the last exchange
 * has ended, unless a server has done it. It is the OMGS paper's Fig. 1 (a) to (d), depending on
 * the plan and the compressor.
 */
static enum gw_status add_operations(const struct gw_model *model, const struct gw_plan *plan,
                                     struct gw_schedule *out, struct gw_error *error) {
    out->server = out->ways[0].exchange->server;
    GW_TRY(add_passes_ahead(model, out, error));
    size_t last = 0;
    bool updated = false;
    for (uint32_t number = 0; number < plan->group_count; number++) {
        size_t ready = 0;
        GW_TRY(add_compute(model, &plan->groups[number], number, out, &ready, error));
        GW_TRY(add_exchange(model, number, ready, out, &last, &updated, error));
    }
    struct gw_operation update = {.kind = GW_UPDATE,
                                  .stream = GW_STREAM_COMPUTE,
                                  .group = GW_NO_GROUP,
                                  .elements = gw_model_elements(model),
                                  .duration_s = updated ? 0 : model->update_s};
    return add_operation(out, update, &last, 1, NULL, error);
}

static enum gw_status check_fit(const struct gw_algorithm *algorithm, const struct gw_plan *plan,
                                struct gw_error *error) {
    if (plan->ways != NULL) {
        return GW_OK;
    }
    if (strcmp(algorithm->compressor->name, plan->compressor) != 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "algorithm %s: expected a plan for compressor %s, got one for %s",
                       algorithm->name, algorithm->compressor->name, plan->compressor);
    }
    if (!gw_algorithm_overlaps(algorithm) && plan->group_count != 1) {
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
    const struct gw_way way = {algorithm->compressor, algorithm->exchange, plan->density,
                               plan->sent_density};
    GW_TRY(gw_schedule_create(out, model, plan, &way, error));
    enum gw_status status = add_operations(model, plan, out, error);
    if (status != GW_OK) {
        gw_schedule_free(out);
    }
    return status;
}
