/* Compression for exchanges, and elements with common indices. */
#include "exec/exchange.h"

/* ---- selections ---------------------------------------------------------------------------- */

enum gw_status gw_select_start(struct gw_worker *worker, struct gw_group_state *group, bool takes,
                               struct gw_error *error) {
    struct gw_memory *memory = &worker->compute;
    struct gw_task task = gw_worker_task(worker, group);
    GW_TRY(gw_memory_select(memory, group->compressor, &task, takes, &group->selection, error));
    if (memory->stream == NULL) {
        group->entries = memory->selection.entries;
        group->selected = memory->selection.count;
    }
    return GW_OK;
}

enum gw_status gw_select_finish(const struct gw_memory *memory, struct gw_group_state *group,
                                struct gw_error *error) {
    if (memory->stream != NULL) {
        GW_TRY(gw_gpu_selection_finish(&group->selection, memory->stream, &group->selected, error));
        group->entries = group->selection.entries;
    }
    return GW_OK;
}

static enum gw_status start_clearing_selection(struct gw_worker *worker,
                                               struct gw_group_state *group,
                                               struct gw_error *error) {
    return gw_select_start(worker, group, true, error);
}

static enum gw_status start_keeping_selection(struct gw_worker *worker,
                                              struct gw_group_state *group,
                                              struct gw_error *error) {
    return gw_select_start(worker, group, false, error);
}

/* ---- compression --------------------------------------------------------------------------- */

enum gw_status gw_compress_start(struct gw_worker *worker, struct gw_group_state *group,
                                 struct gw_error *error) {
    GW_TRY(group->compression->start(worker, group, error));
    group->compressed = true;
    return worker->compute.stream == NULL ? gw_compress_pack(worker, group, error) : GW_OK;
}

enum gw_status gw_compress_pack(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error) {
    bool packs = group->compressed && group->compression->pack != NULL;
    group->compressed = false;
    return packs ? group->compression->pack(worker, group, error) : GW_OK;
}

static enum gw_status pack_entries(struct gw_worker *worker, struct gw_group_state *group,
                                   struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    GW_TRY(gw_select_finish(memory, group, error));
    size_t bytes = group->selected * sizeof *group->entries;
    GW_TRY(gw_buffer_reserve(&group->sent, memory, bytes, error));
    return memory->does->copy(memory, group->sent.memory, group->entries, bytes, error);
}

const struct gw_compression gw_compress_entries = {
    .start = start_clearing_selection, .pack = pack_entries, .preset = gw_preset_entries};

static enum gw_status pack_indices(struct gw_worker *worker, struct gw_group_state *group,
                                   struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    GW_TRY(gw_select_finish(memory, group, error));
    GW_TRY(gw_group_reserve_common(memory, group, group->selected, error));
    group->common_count = group->selected;
    return memory->does->list_indices(memory, group->entries, group->selected,
                                      gw_group_common(group), error);
}

const struct gw_compression gw_compress_indices = {
    .start = start_keeping_selection, .pack = pack_indices, .preset = gw_preset_indices};

size_t gw_compress_leader(const struct gw_worker *worker) {
    return worker->iteration % worker->workers;
}

/* Adds the gradient to the residual, unless it was added when it arrived. */
static enum gw_status add_gradient(const struct gw_worker *worker,
                                   const struct gw_group_state *group, struct gw_error *error) {
    const struct gw_memory *memory = &worker->compute;
    const float *gradient = gw_worker_gradient(worker, group);
    return gradient == NULL ? GW_OK
                            : memory->does->add(memory, gw_worker_residual(worker, group), gradient,
                                                1, group->slice->size.elements, error);
}

static enum gw_status start_leader_selection(struct gw_worker *worker, struct gw_group_state *group,
                                             struct gw_error *error) {
    return worker->rank == gw_compress_leader(worker)
               ? start_keeping_selection(worker, group, error)
               : add_gradient(worker, group, error);
}

static enum gw_status pack_leader_indices(struct gw_worker *worker, struct gw_group_state *group,
                                          struct gw_error *error) {
    return worker->rank == gw_compress_leader(worker) ? pack_indices(worker, group, error) : GW_OK;
}

const struct gw_compression gw_compress_leader_indices = {
    .start = start_leader_selection, .pack = pack_leader_indices, .preset = gw_preset_indices};

static enum gw_status pack_layers(struct gw_worker *worker, struct gw_group_state *group,
                                  struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    size_t layers = group->slice->size.tensors;
    GW_TRY(gw_select_finish(memory, group, error));
    GW_TRY(
        gw_buffer_reserve(&group->sent, memory, (layers + group->selected) * sizeof(float), error));
    float *flags = group->sent.memory;
    GW_TRY(memory->does->flag_indices(memory, group->entries, group->selected,
                                      group->beginnings.memory, layers, flags, error));
    return memory->does->list_values(memory, group->entries, group->selected, flags + layers,
                                     error);
}

const struct gw_compression gw_compress_layers = {
    .start = start_clearing_selection, .pack = pack_layers, .preset = gw_preset_layers};

/* ---- sketches ------------------------------------------------------------------------------ */

static size_t group_columns(const struct gw_group_state *group) {
    return group->slice->sketch_cells / GW_SKETCH_ROWS;
}

size_t gw_sketches_cells(const struct gw_group_state *group) {
    return GW_SKETCH_ROWS * group_columns(group);
}

enum gw_status gw_sketches_open(const struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    GW_TRY(gw_group_reserve_common(memory, group, group->slice->kept, error));
    if (memory->stream == NULL) {
        GW_TRY(gw_sketch_open(&group->sketch, GW_SKETCH_ROWS, group_columns(group), group->seed,
                              error));
        group->cells = group->sketch.table;
        return GW_OK;
    }
    GW_TRY(gw_gpu_sketch_open(&group->gpu_sketch, memory->device, GW_SKETCH_ROWS,
                              group_columns(group), group->seed, error));
    group->cells = group->gpu_sketch.table;
    return gw_gpu_sketch_prepare(&group->gpu_sketch, group->slice->size.elements, memory->stream,
                                 error);
}

static enum gw_status start_sketch(struct gw_worker *worker, struct gw_group_state *group,
                                   struct gw_error *error) {
    const struct gw_memory *memory = &worker->compute;
    size_t n = group->slice->size.elements;
    float *u = gw_worker_residual(worker, group);
    if (memory->stream == NULL) {
        GW_TRY(add_gradient(worker, group, error));
        gw_sketch_clear(&group->sketch);
        return gw_sketch_encode(&group->sketch, u, 0, n, error);
    }
    GW_TRY(gw_gpu_sketch_clear(&group->gpu_sketch, memory->stream, error));
    return gw_gpu_sketch_encode(&group->gpu_sketch, u, gw_worker_gradient(worker, group), n,
                                memory->stream, memory->gpu_workspace, error);
}

const struct gw_compression gw_compress_sketch = {.start = start_sketch,
                                                  .preset = gw_preset_indices};

enum gw_status gw_sketches_find(struct gw_worker *worker, struct gw_group_state *group,
                                struct gw_error *error) {
    struct gw_memory *memory = &worker->exchange;
    size_t n = group->slice->size.elements;
    size_t k = group->slice->kept;
    if (worker->timed_compression) {
        return GW_OK;
    }
    group->common_count = k;
    return memory->stream == NULL
               ? gw_sketch_heavymix(&group->sketch, n, k, worker->iteration, &memory->workspace,
                                    gw_group_common(group), NULL, error)
               : gw_gpu_sketch_heavymix(&group->gpu_sketch, n, k, worker->iteration, memory->stream,
                                        memory->gpu_workspace, gw_group_common(group), NULL, error);
}

/* ---- values -------------------------------------------------------------------------------- */

enum gw_status gw_values_take(const struct gw_worker *worker, struct gw_group_state *group,
                              struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    return memory->does->take(memory, gw_worker_residual(worker, group), gw_group_common(group),
                              group->common_count, group->sent.memory, error);
}

enum gw_status gw_values_put(const struct gw_worker *worker, struct gw_group_state *group,
                             const float *sums, struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    gw_group_list_common(group);
    return memory->does->put(memory, gw_worker_aggregate(worker, group), gw_group_common(group),
                             group->common_count, sums, error);
}
