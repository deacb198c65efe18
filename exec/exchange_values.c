/* The values of the elements that all workers know, summed by one allreduce. */
#include "exec/compress.h"
#include "exec/exchange.h"
#include "exec/values.h"

enum gw_status gw_values_reserve(const struct gw_worker *worker, struct gw_parcel *parcel,
                                 size_t count, struct gw_error *error) {
    GW_TRY(gw_room_reserve(&parcel->sent, &worker->exchange, count * sizeof(float), error));
    return gw_room_reserve(&parcel->received, &worker->exchange, count * sizeof(float), error);
}

enum gw_status gw_values_take(const struct gw_worker *worker, struct gw_parcel *parcel,
                              struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    return memory->does->take(memory, gw_worker_residual(worker, parcel), gw_parcel_known(parcel),
                              parcel->known_count, parcel->sent.memory, error);
}

enum gw_status gw_values_put(const struct gw_worker *worker, struct gw_parcel *parcel,
                             const float *sums, struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    gw_parcel_list_known(parcel);
    return memory->does->put(memory, gw_worker_aggregate(worker, parcel), gw_parcel_known(parcel),
                             parcel->known_count, sums, error);
}

/* Where nobody says which elements travel, all workers must have chosen the same. */
static bool suits(const struct gw_compressor *compressor) {
    return compressor->common;
}

static enum gw_status prepare(struct gw_worker *worker, struct gw_parcel *parcel,
                              struct gw_error *error) {
    return gw_values_reserve(worker, parcel, parcel->slice->selected.all, error);
}

static enum gw_status run(struct gw_worker *worker, struct gw_parcel *parcel, uint64_t *bytes,
                          struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    size_t count = parcel->known_count;
    *bytes = count * sizeof(float);
    gw_parcel_list_known(parcel);
    if (count == 0) {
        return GW_OK;
    }
    GW_TRY(gw_values_reserve(worker, parcel, count, error));
    GW_TRY(gw_values_take(worker, parcel, error));
    GW_TRY(communicator->transport->allreduce(communicator, parcel->sent.memory,
                                              parcel->received.memory, count, error));
    return gw_values_put(worker, parcel, parcel->received.memory, error);
}

const struct gw_leg_runner gw_leg_values = {
    .compression = &gw_compress_indices,
    .suits = suits,
    .needed = "selects the same elements on all workers",
    .prepare = prepare,
    .run = run,
};
