#include "exec/compress.h"

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

static enum gw_status select_entries(struct gw_worker *worker, struct gw_group_state *group,
                                     bool takes, struct gw_error *error) {
    struct gw_task task = gw_worker_task(worker, group);
    return worker->compute.does->select(&worker->compute, group, &task, takes, error);
}

static enum gw_status take(struct gw_worker *worker, struct gw_group_state *group,
                           struct gw_error *error) {
    return select_entries(worker, group, true, error);
}

static enum gw_status leave(struct gw_worker *worker, struct gw_group_state *group,
                            struct gw_error *error) {
    return select_entries(worker, group, false, error);
}

/* ---- entries ------------------------------------------------------------------------------- */

static enum gw_status pack_entries(struct gw_worker *worker, struct gw_group_state *group,
                                   struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    GW_TRY(memory->does->found(&worker->exchange, group, error));
    size_t bytes = group->selected * sizeof *group->entries;
    GW_TRY(gw_buffer_reserve(&group->sent, memory, bytes, error));
    return memory->does->copy(memory, group->sent.memory, group->entries, bytes, error);
}

const struct gw_compression gw_compress_entries = {.start = take, .pack = pack_entries};

/* ---- indices ------------------------------------------------------------------------------- */

static enum gw_status pack_indices(struct gw_worker *worker, struct gw_group_state *group,
                                   struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    GW_TRY(memory->does->found(&worker->exchange, group, error));
    GW_TRY(gw_group_reserve_common(memory, group, group->selected, error));
    group->common_count = group->selected;
    return memory->does->list(memory, group->entries, group->selected, gw_group_common(group),
                              error);
}

const struct gw_compression gw_compress_indices = {.start = leave, .pack = pack_indices};

size_t gw_compress_leader(const struct gw_worker *worker) {
    return worker->iteration % worker->workers;
}

static enum gw_status lead(struct gw_worker *worker, struct gw_group_state *group,
                           struct gw_error *error) {
    const struct gw_memory *memory = &worker->compute;
    return worker->rank == gw_compress_leader(worker)
               ? leave(worker, group, error)
               : memory->does->add(memory, gw_worker_residual(worker, group),
                                   gw_worker_gradient(worker, group), group->slice->elements,
                                   error);
}

static enum gw_status pack_led(struct gw_worker *worker, struct gw_group_state *group,
                               struct gw_error *error) {
    return worker->rank == gw_compress_leader(worker) ? pack_indices(worker, group, error) : GW_OK;
}

const struct gw_compression gw_compress_led = {.start = lead, .pack = pack_led};

/* ---- sketches ------------------------------------------------------------------------------ */

static enum gw_status sketch(struct gw_worker *worker, struct gw_group_state *group,
                             struct gw_error *error) {
    return worker->compute.does->sketch(&worker->compute, group, gw_worker_residual(worker, group),
                                        gw_worker_gradient(worker, group), error);
}

const struct gw_compression gw_compress_sketch = {.start = sketch};

/* ---- whole layers -------------------------------------------------------------------------- */

static enum gw_status pack_layers(struct gw_worker *worker, struct gw_group_state *group,
                                  struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    GW_TRY(memory->does->found(&worker->exchange, group, error));
    GW_TRY(gw_buffer_reserve(&group->sent, memory,
                             (group->slice->layer_count + group->selected) * sizeof(float), error));
    return memory->does->pack_layers(memory, group, group->sent.memory, error);
}

const struct gw_compression gw_compress_layers = {.start = take, .pack = pack_layers};
