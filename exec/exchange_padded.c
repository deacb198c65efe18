/* How many entries each worker has, by an allgather; then the entries, padded to the most. */
#include "exec/compress.h"
#include "exec/exchange.h"

static enum gw_status prepare_counts(struct gw_worker *worker, struct gw_parcel *parcel,
                                     struct gw_error *error) {
    return gw_room_reserve(&parcel->told, &worker->exchange,
                           (worker->workers + 1) * sizeof(uint32_t), error);
}

static enum gw_status run_counts(struct gw_worker *worker, struct gw_parcel *parcel,
                                 uint64_t *bytes, struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    const struct gw_memory *memory = &worker->exchange;
    uint32_t own = (uint32_t)parcel->selected;
    uint32_t *told = parcel->told.memory;
    void *counts = NULL;
    *bytes = sizeof own;
    GW_TRY(memory->does->write(memory, told + worker->workers, &own, sizeof own, error));
    GW_TRY(communicator->transport->allgather(communicator, told + worker->workers, sizeof own,
                                              told, error));
    GW_TRY(memory->does->read(memory, told, worker->workers * sizeof own, &worker->list_copy,
                              &counts, error));
    parcel->most = 0;
    for (size_t i = 0; i < worker->workers; i++) {
        parcel->counts[i] = ((const uint32_t *)counts)[i];
        parcel->most = parcel->counts[i] > parcel->most ? parcel->counts[i] : parcel->most;
    }
    return GW_OK;
}

static enum gw_status prepare_padded(struct gw_worker *worker, struct gw_parcel *parcel,
                                     struct gw_error *error) {
    size_t bytes = parcel->slice->kept * sizeof(struct gw_entry);
    GW_TRY(gw_room_reserve(&parcel->sent, &worker->exchange, bytes, error));
    return gw_room_reserve(&parcel->received, &worker->exchange, worker->workers * bytes, error);
}

/* Where nobody has any entries, nothing travels: all know that by now. */
static enum gw_status run_padded(struct gw_worker *worker, struct gw_parcel *parcel,
                                 uint64_t *bytes, struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    const struct gw_memory *memory = &worker->exchange;
    size_t most = parcel->most;
    *bytes = most * sizeof(struct gw_entry);
    GW_TRY(gw_room_reserve(&parcel->sent, &worker->exchange, *bytes, error));
    GW_TRY(gw_room_reserve(&parcel->received, &worker->exchange, worker->workers * *bytes, error));
    gw_parcel_list_entries(parcel, parcel->received.memory, worker->workers * most);
    if (most == 0) {
        return GW_OK;
    }
    struct gw_entry *own = parcel->sent.memory;
    GW_TRY(memory->does->clear(memory, own + parcel->selected,
                               (most - parcel->selected) * sizeof *own, error));
    struct gw_entry *received = parcel->received.memory;
    GW_TRY(communicator->transport->allgather(communicator, own, *bytes, received, error));
    for (size_t i = 0; i < worker->workers; i++) {
        GW_TRY(memory->does->scatter_add(memory, received + i * most, &parcel->counts[i], 1,
                                         gw_worker_aggregate(worker, parcel), error));
    }
    return GW_OK;
}

const struct gw_leg_runner gw_leg_counts = {.prepare = prepare_counts, .run = run_counts};

const struct gw_leg_runner gw_leg_padded = {
    .compression = &gw_compress_entries,
    .follows = true,
    .after = GW_COUNTS,
    .prepare = prepare_padded,
    .run = run_padded,
};
