#include "exec/compress.h"

enum gw_status gw_compress_start(struct gw_worker *worker, struct gw_parcel *parcel,
                                 struct gw_error *error) {
    GW_TRY(parcel->compression->start(worker, parcel, error));
    parcel->compressed = true;
    return worker->compute.stream == NULL ? gw_compress_pack(worker, parcel, error) : GW_OK;
}

enum gw_status gw_compress_pack(struct gw_worker *worker, struct gw_parcel *parcel,
                                struct gw_error *error) {
    bool packs = parcel->compressed && parcel->compression->pack != NULL;
    parcel->compressed = false;
    return packs ? parcel->compression->pack(worker, parcel, error) : GW_OK;
}

static enum gw_status select_parcel(struct gw_worker *worker, struct gw_parcel *parcel, bool takes,
                                    struct gw_error *error) {
    struct gw_task task = gw_worker_task(worker, parcel);
    return worker->compute.does->select(&worker->compute, parcel, &task, takes, error);
}

static enum gw_status take(struct gw_worker *worker, struct gw_parcel *parcel,
                           struct gw_error *error) {
    return select_parcel(worker, parcel, true, error);
}

static enum gw_status leave(struct gw_worker *worker, struct gw_parcel *parcel,
                            struct gw_error *error) {
    return select_parcel(worker, parcel, false, error);
}

/* ---- entries ------------------------------------------------------------------------------- */

static enum gw_status pack_entries(struct gw_worker *worker, struct gw_parcel *parcel,
                                   struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    GW_TRY(memory->does->found(&worker->exchange, parcel, error));
    size_t bytes = parcel->selected * sizeof *parcel->entries;
    GW_TRY(gw_room_reserve(&parcel->sent, memory, bytes, error));
    return memory->does->copy(memory, parcel->sent.memory, parcel->entries, bytes, error);
}

const struct gw_compression gw_compress_entries = {.start = take, .pack = pack_entries};

/* ---- indices ------------------------------------------------------------------------------- */

static enum gw_status pack_indices(struct gw_worker *worker, struct gw_parcel *parcel,
                                   struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    GW_TRY(memory->does->found(&worker->exchange, parcel, error));
    GW_TRY(gw_parcel_reserve_known(memory, parcel, parcel->selected, error));
    parcel->known_count = parcel->selected;
    return memory->does->list(memory, parcel->entries, parcel->selected, gw_parcel_known(parcel),
                              error);
}

const struct gw_compression gw_compress_indices = {.start = leave, .pack = pack_indices};

size_t gw_compress_leader(const struct gw_worker *worker) {
    return worker->iteration % worker->workers;
}

static enum gw_status lead(struct gw_worker *worker, struct gw_parcel *parcel,
                           struct gw_error *error) {
    const struct gw_memory *memory = &worker->compute;
    return worker->rank == gw_compress_leader(worker)
               ? leave(worker, parcel, error)
               : memory->does->add(memory, gw_worker_residual(worker, parcel),
                                   gw_worker_gradient(worker, parcel), parcel->slice->elements,
                                   error);
}

static enum gw_status pack_led(struct gw_worker *worker, struct gw_parcel *parcel,
                               struct gw_error *error) {
    return worker->rank == gw_compress_leader(worker) ? pack_indices(worker, parcel, error) : GW_OK;
}

const struct gw_compression gw_compress_led = {.start = lead, .pack = pack_led};

/* ---- sketches ------------------------------------------------------------------------------ */

static enum gw_status sketch(struct gw_worker *worker, struct gw_parcel *parcel,
                             struct gw_error *error) {
    return worker->compute.does->sketch(&worker->compute, parcel,
                                        gw_worker_residual(worker, parcel),
                                        gw_worker_gradient(worker, parcel), error);
}

const struct gw_compression gw_compress_sketch = {.start = sketch};

/* ---- whole layers -------------------------------------------------------------------------- */

static enum gw_status pack_layers(struct gw_worker *worker, struct gw_parcel *parcel,
                                  struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    GW_TRY(memory->does->found(&worker->exchange, parcel, error));
    GW_TRY(gw_room_reserve(&parcel->sent, memory,
                           (parcel->slice->layer_count + parcel->selected) * sizeof(float), error));
    return memory->does->pack_layers(memory, parcel, parcel->sent.memory, error);
}

const struct gw_compression gw_compress_layers = {.start = take, .pack = pack_layers};
