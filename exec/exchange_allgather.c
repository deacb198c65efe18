/* As many entries of each worker, by one allgather. */
#include "exec/compress.h"
#include "exec/exchange.h"

static bool suits(const struct gw_compressor *compressor) {
    return compressor->exact;
}

static enum gw_status prepare(struct gw_worker *worker, struct gw_parcel *parcel,
                              struct gw_error *error) {
    size_t bytes = parcel->slice->kept * sizeof(struct gw_entry);
    for (size_t i = 0; i < worker->workers; i++) {
        parcel->counts[i] = parcel->slice->kept;
    }
    GW_TRY(gw_room_reserve(&parcel->sent, &worker->exchange, bytes, error));
    return gw_room_reserve(&parcel->received, &worker->exchange, worker->workers * bytes, error);
}

static enum gw_status run(struct gw_worker *worker, struct gw_parcel *parcel, uint64_t *bytes,
                          struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    const struct gw_memory *memory = &worker->exchange;
    struct gw_entry *received = parcel->received.memory;
    size_t count = worker->workers * parcel->slice->kept;
    *bytes = parcel->slice->kept * sizeof *received;
    GW_TRY(communicator->transport->allgather(communicator, parcel->sent.memory, *bytes, received,
                                              error));
    gw_parcel_list_entries(parcel, received, count);
    return memory->does->scatter_add(memory, received, parcel->counts, worker->workers,
                                     gw_worker_aggregate(worker, parcel), error);
}

const struct gw_leg_runner gw_leg_allgather = {
    .compression = &gw_compress_entries,
    .suits = suits,
    .needed = "selects as many elements as it is asked for",
    .prepare = prepare,
    .run = run,
};
