/* As many entries of each worker, by one allgather. */
#include "exec/compress.h"
#include "exec/exchange.h"

static bool suits(const struct gw_compressor *compressor) {
    return compressor->exact;
}

static enum gw_status prepare(struct gw_worker *worker, struct gw_parcel *parcel,
                              struct gw_error *error) {
    size_t bytes = parcel->slice->kept * sizeof(struct gw_entry);
    GW_TRY(gw_room_reserve(&parcel->sent, bytes, error));
    return gw_room_reserve(&parcel->received, worker->workers * bytes, error);
}

static enum gw_status run(struct gw_worker *worker, struct gw_parcel *parcel, uint64_t *bytes,
                          struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    struct gw_entry *received = parcel->received.memory;
    size_t count = worker->workers * parcel->slice->kept;
    *bytes = parcel->slice->kept * sizeof *received;
    GW_TRY(communicator->transport->allgather(communicator, parcel->sent.memory, *bytes, received,
                                              error));
    gw_scatter_add(received, count, gw_worker_aggregate(worker, parcel));
    gw_parcel_list_entries(parcel, received, count);
    return GW_OK;
}

const struct gw_leg_runner gw_leg_allgather = {
    .compress = gw_compress_entries,
    .suits = suits,
    .needed = "selects as many elements as it is asked for",
    .prepare = prepare,
    .run = run,
};
