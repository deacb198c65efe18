#include "exec/worker.h"

#include <gsl/gsl_cdf.h>

#include "kernels/kernels.h"

/* ---- vectors ------------------------------------------------------------------------------- */

static const double gradient_deviation = 1e-3;

enum { MARGIN = 1 << 16, CACHE_LINE = 64 };

size_t gw_vectors_elements(const struct gw_schedule *schedule) {
    size_t elements = 0;
    for (size_t g = 0; g < schedule->group_count; g++) {
        elements += schedule->groups[g].size.elements;
    }
    return elements;
}

void gw_drawn_gradients_free(struct gw_drawn_gradients *drawn) {
    gw_buffer_free(&drawn->values);
    drawn->count = 0;
}

/* Draws on the host, so that gradients are equal in both memories. */
static enum gw_status open_noise(struct gw_vectors *out, const struct gw_memory *memory,
                                 const struct gw_worker *worker,
                                 const struct gw_worker_options *options, struct gw_error *error) {
    size_t count = out->elements + MARGIN;
    struct gw_drawn_gradients *drawn = options->drawn == NULL ? &out->own : options->drawn;
    if (drawn->count < count) {
        GW_TRY(gw_buffer_reserve(&drawn->values, NULL, count * sizeof(float), error));
        GW_TRY(gw_gradient_fill(drawn->values.memory, count, gradient_deviation, options->seed,
                                worker->rank, error));
        drawn->count = count;
    }
    out->noise = out->gradient = drawn->values.memory;
    if (memory->stream == NULL) {
        return GW_OK;
    }
    struct gw_buffer *copy = &out->buffers[0];
    GW_TRY(gw_buffer_reserve(copy, memory, count * sizeof(float), error));
    GW_TRY(memory->does->write(memory, copy->memory, out->noise, count * sizeof(float), error));
    out->noise = out->gradient = copy->memory;
    gw_drawn_gradients_free(&out->own);
    return GW_OK;
}

/* A trainer's gradients are added to residuals when they arrive, or are stored in their place. */
static enum gw_status open_vectors(struct gw_vectors *out, const struct gw_memory *memory,
                                   const struct gw_worker *worker,
                                   const struct gw_worker_options *options,
                                   struct gw_error *error) {
    size_t elements = gw_vectors_elements(worker->schedule);
    out->elements = elements;
    for (size_t g = 0; g < worker->schedule->group_count; g++) {
        const struct gw_slice *slice = &worker->schedule->groups[g];
        worker->groups[g].first_of_sums = elements + out->sums;
        out->sums += slice->way->compressor->code.residual
                         ? gw_part_elements(slice->size.elements, worker->workers)
                         : 0;
    }
    for (size_t i = 1; i < GW_VECTORS; i++) {
        size_t count = elements + (i == 1 ? out->sums : 0);
        GW_TRY(gw_buffer_reserve(&out->buffers[i], memory, count * sizeof(float), error));
    }
    out->residual = out->buffers[1].memory;
    out->aggregate = out->buffers[2].memory;
    return options->trains ? GW_OK : open_noise(out, memory, worker, options, error);
}

void gw_vectors_next_gradient(struct gw_vectors *vectors, uint64_t iteration) {
    /* Steps of an odd number of cache lines visit every aligned window before one repeats. */
    uint64_t step = 1237 * (CACHE_LINE / sizeof(float));
    vectors->gradient = vectors->noise + iteration * step % MARGIN;
}

/* ---- groups -------------------------------------------------------------------------------- */

void gw_group_list_entries(struct gw_group_state *group, const struct gw_entry *entries,
                           size_t count) {
    group->written = GW_WRITTEN_LISTED;
    group->listed = entries;
    group->listed_count = count;
}

void gw_group_list_common(struct gw_group_state *group) {
    gw_group_list_entries(group, NULL, group->common_count);
}

enum gw_status gw_group_reserve(const struct gw_worker *worker, struct gw_group_state *group,
                                size_t sent, size_t received, struct gw_error *error) {
    GW_TRY(gw_buffer_reserve(&group->sent, &worker->exchange, sent, error));
    return gw_buffer_reserve(&group->received, &worker->exchange, received, error);
}

enum gw_status gw_group_reserve_common(const struct gw_memory *memory, struct gw_group_state *group,
                                       size_t count, struct gw_error *error) {
    return gw_buffer_reserve(&group->common, memory, count * sizeof(uint32_t), error);
}

static void close_group(struct gw_group_state *group) {
    gw_state_close(group->compressor, group->state);
    gw_buffer_free(&group->sent);
    gw_buffer_free(&group->received);
    gw_buffer_free(&group->merged);
    gw_buffer_free(&group->pruned);
    gw_buffer_free(&group->presence);
    gw_buffer_free(&group->announced);
    gw_buffer_free(&group->beginnings);
    gw_buffer_free(&group->common);
    gw_sketch_free(&group->sketch);
    gw_gpu_sketch_free(&group->gpu_sketch);
    gw_gpu_selection_free(&group->selection);
}

float *gw_worker_residual(const struct gw_worker *worker, const struct gw_group_state *group) {
    return worker->vectors.residual + group->slice->first;
}

const float *gw_worker_gradient(const struct gw_worker *worker,
                                const struct gw_group_state *group) {
    const struct gw_vectors *vectors = &worker->vectors;
    const float *gradient = vectors->gradient != NULL                  ? vectors->gradient
                            : gw_way_keeps_residual(group->slice->way) ? NULL
                                                                       : vectors->residual;
    return gradient == NULL ? NULL : gradient + group->slice->first;
}

float *gw_worker_aggregate(const struct gw_worker *worker, const struct gw_group_state *group) {
    return worker->vectors.aggregate + group->slice->first;
}

void gw_group_decode(const struct gw_worker *worker, struct gw_group_state *group) {
    if (group->aggregate_codes.bytes != NULL) {
        gw_decode(&group->aggregate_codes, group->slice->size.elements, 1,
                  gw_worker_aggregate(worker, group));
        group->aggregate_codes.bytes = NULL;
    }
}

struct gw_task gw_worker_task(const struct gw_worker *worker, const struct gw_group_state *group) {
    return (struct gw_task){.u = gw_worker_residual(worker, group),
                            .gradient = gw_worker_gradient(worker, group),
                            .n = group->slice->size.elements,
                            .k = group->slice->kept,
                            .worker = worker->rank,
                            .workers = worker->workers,
                            .seed = group->seed,
                            .iteration = worker->iteration,
                            .threshold = group->threshold,
                            .layers = group->layers,
                            .rows = group->rows,
                            .layer_count = group->slice->size.tensors,
                            .state = group->state,
                            .memory = &worker->compute};
}

/* ---- opening ------------------------------------------------------------------------------- */

/* Cuts the group's layers to the wanted number of elements, in the first of them. */
static enum gw_status cut_layers(const struct gw_worker *worker, struct gw_group_state *group,
                                 struct gw_error *error) {
    size_t *cut = gw_arena_zeros(worker->arena, group->slice->size.tensors, sizeof *cut);
    size_t left = group->slice->kept;
    GW_TRY(gw_arena_check(worker->arena, "opening a group", error));
    for (size_t layer = 0; layer < group->slice->size.tensors; layer++) {
        cut[layer] = group->layers[layer] < left ? group->layers[layer] : left;
        left -= cut[layer];
    }
    group->layers = cut;
    return GW_OK;
}

static enum gw_status open_group(struct gw_worker *worker, uint32_t g,
                                 const struct gw_worker_options *options, struct gw_error *error) {
    const struct gw_schedule *schedule = worker->schedule;
    struct gw_group_state *group = &worker->groups[g];
    *group = (struct gw_group_state){
        .slice = &schedule->groups[g],
        .first_of_sums = group->first_of_sums,
        .compressor = schedule->groups[g].way->compressor,
        .expected = schedule->groups[g].selected,
        .seed = gw_random_mix(options->seed) + g,
        .counts = gw_arena_zeros(worker->arena, worker->workers, sizeof *group->counts)};
    group->layers = schedule->layers + group->slice->first_layer;
    group->rows = schedule->rows + group->slice->first_layer;
    /* selects as many elements as wanted of normal gradients (two-sided) */
    double tail = (double)group->slice->kept / (2 * (double)group->slice->size.elements);
    group->threshold = options->trains ? 0 : gradient_deviation * gsl_cdf_ugaussian_Qinv(tail);
    GW_TRY(gw_arena_check(worker->arena, "opening a group", error));
    if (worker->timed_compression && gw_compressor_selects(group->compressor)) {
        return cut_layers(worker, group, error);
    }
    if (worker->serves || group->compressor == &gw_compressor_none) {
        return GW_OK;
    }
    if (worker->compute.stream != NULL) {
        size_t capacity = gw_gpu_selection_capacity(group->compressor, group->slice->size.elements,
                                                    group->slice->kept);
        GW_TRY(
            gw_gpu_selection_reserve(&group->selection, worker->compute.device, capacity, error));
    }
    struct gw_task task = gw_worker_task(worker, group);
    return gw_state_open(group->compressor, &task, &group->state, error);
}

enum gw_status gw_group_set_threshold(struct gw_worker *worker, struct gw_group_state *group,
                                      double threshold, struct gw_error *error) {
    gw_state_close(group->compressor, group->state);
    group->state = NULL;
    group->threshold = threshold;
    struct gw_task task = gw_worker_task(worker, group);
    return gw_state_open(group->compressor, &task, &group->state, error);
}

enum gw_status gw_worker_open(struct gw_worker *out, const struct gw_worker_options *options,
                              struct gw_error *error) {
    const struct gw_schedule *schedule = out->schedule;
    out->rank = (size_t)out->hosts->rank;
    out->workers = schedule->workers;
    out->serves = out->rank == schedule->workers;
    out->timed_compression = options->timed_compression;
    out->groups = gw_arena_zeros(out->arena, schedule->group_count, sizeof *out->groups);
    GW_TRY(gw_arena_check(out->arena, "opening a session", error));
    GW_TRY(gw_memory_open(&out->compute, options->compute, error));
    GW_TRY(gw_memory_open(&out->exchange, options->exchange, error));
    if (!out->serves) {
        GW_TRY(open_vectors(&out->vectors, &out->exchange, out, options, error));
    }
    for (uint32_t g = 0; g < schedule->group_count; g++) {
        GW_TRY(open_group(out, g, options, error));
    }
    return GW_OK;
}

void gw_worker_close(struct gw_worker *worker) {
    for (size_t i = 0; worker->groups != NULL && i < worker->schedule->group_count; i++) {
        close_group(&worker->groups[i]);
    }
    for (size_t i = 0; i < GW_VECTORS; i++) {
        gw_buffer_free(&worker->vectors.buffers[i]);
    }
    gw_drawn_gradients_free(&worker->vectors.own);
    gw_buffer_free(&worker->list_copy);
    gw_buffer_free(&worker->dense_copy);
    gw_memory_close(&worker->compute);
    gw_memory_close(&worker->exchange);
}
