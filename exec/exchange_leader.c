/* One worker in turn selects, and broadcasts the indices. */
#include "exec/compress.h"
#include "exec/exchange.h"

static bool suits(const struct gw_compressor *compressor) {
    return compressor->exact && !compressor->common && compressor->open == NULL;
}

static enum gw_status prepare(struct gw_worker *worker, struct gw_parcel *parcel,
                              struct gw_error *error) {
    return gw_parcel_reserve_known(&worker->exchange, parcel, parcel->slice->kept, error);
}

static enum gw_status run(struct gw_worker *worker, struct gw_parcel *parcel, uint64_t *bytes,
                          struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    parcel->known_count = parcel->slice->kept;
    *bytes = parcel->known_count * sizeof(uint32_t);
    return communicator->transport->broadcast(communicator, (int)gw_compress_leader(worker),
                                              parcel->known.memory, *bytes, error);
}

const struct gw_leg_runner gw_leg_leader = {
    .compression = &gw_compress_led,
    .suits = suits,
    .needed = "selects as many elements as it is asked for, without a state, others on each worker",
    .prepare = prepare,
    .run = run,
};
