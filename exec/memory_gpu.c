/* A GPU's memory. */
#include <stdlib.h>

#include "exec/worker.h"
#include "kernels/gpu.h"

static enum gw_status allocate(const struct gw_memory *memory, size_t bytes, void **out,
                               struct gw_error *error) {
    return gw_device_allocate(memory->device, bytes, out, error);
}

/* Work on other streams may still be at it, of which the driver waits for all before it frees. */
static void release(const struct gw_memory *memory, void *block) {
    gw_device_free(memory->device, block);
}

static enum gw_status copy(const struct gw_memory *memory, void *to, const void *from, size_t bytes,
                           struct gw_error *error) {
    return to == from ? GW_OK : gw_device_copy(memory->stream, to, from, bytes, error);
}

static enum gw_status clear(const struct gw_memory *memory, void *to, size_t bytes,
                            struct gw_error *error) {
    return gw_device_clear(memory->stream, to, bytes, error);
}

static enum gw_status fetch(const struct gw_memory *memory, const void *from, size_t bytes,
                            struct gw_buffer *copy, void **out, struct gw_error *error) {
    GW_TRY(gw_buffer_reserve(copy, NULL, bytes, error));
    GW_TRY(gw_device_copy(memory->stream, copy->memory, from, bytes, error));
    *out = copy->memory;
    return gw_device_stream_finish(memory->stream, error);
}

static enum gw_status send_up(const struct gw_memory *memory, void *to, const void *from,
                              size_t bytes, struct gw_error *error) {
    GW_TRY(gw_device_copy(memory->stream, to, from, bytes, error));
    return gw_device_stream_finish(memory->stream, error);
}

/* ---- vectors and lists --------------------------------------------------------------------- */

static enum gw_status add(const struct gw_memory *memory, float *sums, const float *values,
                          size_t count, struct gw_error *error) {
    return gw_gpu_add(sums, values, count, memory->stream, error);
}

static enum gw_status sum_blocks(const struct gw_memory *memory, float *sums, size_t blocks,
                                 size_t count, struct gw_error *error) {
    return gw_gpu_add_all(sums, sums + count, blocks - 1, count, memory->stream, error);
}

static enum gw_status scatter_add(const struct gw_memory *memory, const struct gw_entry *entries,
                                  const size_t *counts, size_t lists, float *dense,
                                  struct gw_error *error) {
    return gw_gpu_scatter_add(entries, counts, lists, dense, memory->stream, error);
}

static enum gw_status scatter_add_where(const struct gw_memory *memory,
                                        const struct gw_entry *entries, size_t count,
                                        const struct gw_entry *list, size_t list_count, bool listed,
                                        float *dense, struct gw_error *error) {
    return gw_gpu_scatter_add_where(entries, count, list, list_count, listed, dense, memory->stream,
                                    error);
}

static enum gw_status prepare_merge(struct gw_memory *memory, size_t k, struct gw_error *error) {
    return gw_gpu_merge_reserve(k, memory->gpu_workspace, error);
}

static enum gw_status merge(struct gw_memory *memory, struct gw_entry *entries,
                            const struct gw_entry *came, size_t k, struct gw_entry *pruned,
                            struct gw_error *error) {
    return gw_gpu_merge(entries, came, k, pruned, memory->stream, memory->gpu_workspace, error);
}

static enum gw_status clear_entries(const struct gw_memory *memory, const struct gw_entry *entries,
                                    size_t count, float *dense, struct gw_error *error) {
    return gw_gpu_clear_entries(entries, count, dense, memory->stream, error);
}

static enum gw_status list(const struct gw_memory *memory, const struct gw_entry *entries,
                           size_t count, uint32_t *indices, struct gw_error *error) {
    return gw_gpu_list_indices(entries, count, indices, memory->stream, error);
}

static enum gw_status take(const struct gw_memory *memory, float *dense, const uint32_t *indices,
                           size_t count, float *values, struct gw_error *error) {
    GW_TRY(gw_gpu_take(dense, indices, count, values, memory->stream, error));
    return gw_gpu_put(dense, indices, count, NULL, memory->stream, error);
}

static enum gw_status put(const struct gw_memory *memory, float *dense, const uint32_t *indices,
                          size_t count, const float *values, struct gw_error *error) {
    return gw_gpu_put(dense, indices, count, values, memory->stream, error);
}

/* Where the group's layers begin, once and for all. */
static enum gw_status list_beginnings(const struct gw_memory *memory, struct gw_group_state *group,
                                      struct gw_error *error) {
    size_t layers = group->slice->layer_count;
    size_t bytes = layers * sizeof(uint32_t);
    if (group->beginnings.capacity > 0 || layers == 0) {
        return GW_OK;
    }
    uint32_t *beginnings = malloc(bytes);
    if (beginnings == NULL) {
        return gw_fail_memory(error, "listing layers");
    }
    for (size_t layer = 0, first = 0; layer < layers; layer++) {
        beginnings[layer] = (uint32_t)first;
        first += group->layers[layer];
    }
    enum gw_status status = gw_buffer_reserve(&group->beginnings, memory, bytes, error);
    if (status == GW_OK) {
        status = send_up(memory, group->beginnings.memory, beginnings, bytes, error);
    }
    free(beginnings);
    return status;
}

static enum gw_status pack_layers(const struct gw_memory *memory, struct gw_group_state *group,
                                  float *out, struct gw_error *error) {
    size_t layers = group->slice->layer_count;
    GW_TRY(list_beginnings(memory, group, error));
    GW_TRY(gw_gpu_flag_indices(group->entries, group->selected, group->beginnings.memory, layers,
                               out, memory->stream, error));
    return gw_gpu_list_values(group->entries, group->selected, out + layers, memory->stream, error);
}

/* ---- selections and sketches --------------------------------------------------------------- */

static enum gw_status prepare(const struct gw_memory *memory, struct gw_group_state *group,
                              struct gw_error *error) {
    size_t capacity =
        gw_gpu_selection_capacity(group->compressor, group->slice->elements, group->slice->kept);
    return gw_gpu_selection_reserve(&group->selection, memory->device, capacity, error);
}

static enum gw_status choose(struct gw_memory *memory, struct gw_group_state *group,
                             struct gw_task *task, bool takes, struct gw_error *error) {
    const struct gw_gpu_kernel *compressor = gw_gpu_kernel_of(group->compressor);
    struct gw_gpu_selection *selection = &group->selection;
    return takes
               ? gw_gpu_compress(compressor, task, memory->stream, memory->gpu_workspace, selection,
                                 error)
               : compressor->select(task, memory->stream, memory->gpu_workspace, selection, error);
}

static enum gw_status found(struct gw_memory *memory, struct gw_group_state *group,
                            struct gw_error *error) {
    GW_TRY(gw_gpu_selection_finish(&group->selection, memory->stream, &group->selected, error));
    group->entries = group->selection.entries;
    return GW_OK;
}

static enum gw_status open_sketch(const struct gw_memory *memory, struct gw_group_state *group,
                                  size_t columns, struct gw_error *error) {
    GW_TRY(gw_gpu_sketch_open(&group->gpu_sketch, memory->device, GW_SKETCH_ROWS, columns,
                              group->seed, error));
    group->cells = group->gpu_sketch.table;
    return gw_gpu_sketch_prepare(&group->gpu_sketch, group->slice->elements, memory->stream, error);
}

static enum gw_status sketch(struct gw_memory *memory, struct gw_group_state *group, float *u,
                             const float *gradient, struct gw_error *error) {
    GW_TRY(gw_gpu_sketch_clear(&group->gpu_sketch, memory->stream, error));
    return gw_gpu_sketch_encode(&group->gpu_sketch, u, gradient, group->slice->elements,
                                memory->stream, memory->gpu_workspace, error);
}

static enum gw_status find(struct gw_memory *memory, struct gw_group_state *group,
                           uint64_t iteration, uint32_t *indices, struct gw_error *error) {
    return gw_gpu_sketch_heavymix(&group->gpu_sketch, group->slice->elements, group->slice->kept,
                                  iteration, memory->stream, memory->gpu_workspace, indices, NULL,
                                  error);
}

const struct gw_memory_operations gw_memory_on_gpu = {
    .allocate = allocate,
    .free = release,
    .copy = copy,
    .clear = clear,
    .read = fetch,
    .write = send_up,
    .add = add,
    .sum_blocks = sum_blocks,
    .scatter_add = scatter_add,
    .scatter_add_where = scatter_add_where,
    .prepare_merge = prepare_merge,
    .merge = merge,
    .clear_entries = clear_entries,
    .list = list,
    .take = take,
    .put = put,
    .pack_layers = pack_layers,
    .prepare = prepare,
    .select = choose,
    .found = found,
    .open_sketch = open_sketch,
    .sketch = sketch,
    .find = find,
};
