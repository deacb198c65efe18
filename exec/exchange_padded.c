/* How many entries each worker has, by an allgather; then the entries, padded to the most. */
#include <string.h>

#include "exec/compress.h"
#include "exec/exchange.h"

static enum gw_status run_counts(struct gw_worker *worker, struct gw_parcel *parcel,
                                 uint64_t *bytes, struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    uint32_t own = (uint32_t)parcel->selected;
    *bytes = sizeof own;
    GW_TRY(
        communicator->transport->allgather(communicator, &own, sizeof own, parcel->counts, error));
    parcel->most = 0;
    for (size_t i = 0; i < worker->workers; i++) {
        parcel->most = parcel->counts[i] > parcel->most ? parcel->counts[i] : parcel->most;
    }
    return GW_OK;
}

static enum gw_status prepare_padded(struct gw_worker *worker, struct gw_parcel *parcel,
                                     struct gw_error *error) {
    size_t bytes = parcel->slice->kept * sizeof(struct gw_entry);
    GW_TRY(gw_room_reserve(&parcel->sent, bytes, error));
    return gw_room_reserve(&parcel->received, worker->workers * bytes, error);
}

/* Where nobody has any entries, nothing travels: all know that by now. */
static enum gw_status run_padded(struct gw_worker *worker, struct gw_parcel *parcel,
                                 uint64_t *bytes, struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    size_t most = parcel->most;
    *bytes = most * sizeof(struct gw_entry);
    GW_TRY(gw_room_reserve(&parcel->sent, *bytes, error));
    GW_TRY(gw_room_reserve(&parcel->received, worker->workers * *bytes, error));
    gw_parcel_list_entries(parcel, parcel->received.memory, worker->workers * most);
    if (most == 0) {
        return GW_OK;
    }
    struct gw_entry *own = parcel->sent.memory;
    memset(own + parcel->selected, 0, (most - parcel->selected) * sizeof *own);
    struct gw_entry *received = parcel->received.memory;
    GW_TRY(communicator->transport->allgather(communicator, own, *bytes, received, error));
    for (size_t i = 0; i < worker->workers; i++) {
        gw_scatter_add(received + i * most, parcel->counts[i], gw_worker_aggregate(worker, parcel));
    }
    return GW_OK;
}

const struct gw_leg_runner gw_leg_counts = {.run = run_counts};

const struct gw_leg_runner gw_leg_padded = {
    .compress = gw_compress_entries,
    .follows = true,
    .after = GW_COUNTS,
    .prepare = prepare_padded,
    .run = run_padded,
};
