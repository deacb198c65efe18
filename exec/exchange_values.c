/* The values of the elements that all workers know, summed by one allreduce. */
#include "exec/compress.h"
#include "exec/exchange.h"
#include "exec/values.h"

enum gw_status gw_values_reserve(struct gw_parcel *parcel, size_t count, struct gw_error *error) {
    GW_TRY(gw_room_reserve(&parcel->sent, count * sizeof(float), error));
    return gw_room_reserve(&parcel->received, count * sizeof(float), error);
}

void gw_values_take(const struct gw_worker *worker, struct gw_parcel *parcel) {
    const uint32_t *known = gw_parcel_known(parcel);
    float *u = gw_worker_residual(worker, parcel);
    float *values = parcel->sent.memory;
    for (size_t i = 0; i < parcel->known_count; i++) {
        values[i] = u[known[i]];
        u[known[i]] = 0;
    }
}

void gw_values_put(const struct gw_worker *worker, struct gw_parcel *parcel, const float *sums) {
    const uint32_t *known = gw_parcel_known(parcel);
    float *aggregate = gw_worker_aggregate(worker, parcel);
    for (size_t i = 0; i < parcel->known_count; i++) {
        aggregate[known[i]] = sums[i];
    }
    gw_parcel_list_known(parcel);
}

/* Where nobody says which elements travel, all workers must have chosen the same. */
static bool suits(const struct gw_compressor *compressor) {
    return compressor->common;
}

static enum gw_status prepare(struct gw_worker *worker, struct gw_parcel *parcel,
                              struct gw_error *error) {
    (void)worker;
    return gw_values_reserve(parcel, parcel->slice->selected.all, error);
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
    GW_TRY(gw_values_reserve(parcel, count, error));
    gw_values_take(worker, parcel);
    GW_TRY(communicator->transport->allreduce(communicator, parcel->sent.memory,
                                              parcel->received.memory, count, error));
    gw_values_put(worker, parcel, parcel->received.memory);
    return GW_OK;
}

const struct gw_leg_runner gw_leg_values = {
    .compress = gw_compress_indices,
    .suits = suits,
    .needed = "selects the same elements on all workers",
    .prepare = prepare,
    .run = run,
};
