/*
 * The indices that each worker selected, other ones on each, padded to the most, by an allgather;
 * then all workers know them, one worker's after the other's.
 */
#include "exec/compress.h"
#include "exec/exchange.h"

static bool suits(const struct gw_compressor *compressor) {
    return compressor->joint;
}

static enum gw_status reserve(const struct gw_worker *worker, struct gw_parcel *parcel, size_t most,
                              struct gw_error *error) {
    GW_TRY(gw_parcel_reserve_known(&worker->exchange, parcel, worker->workers * most, error));
    return gw_room_reserve(&parcel->received, &worker->exchange,
                           worker->workers * most * sizeof(uint32_t), error);
}

static enum gw_status prepare(struct gw_worker *worker, struct gw_parcel *parcel,
                              struct gw_error *error) {
    return reserve(worker, parcel, parcel->slice->selected.most, error);
}

static enum gw_status drop_padding(const struct gw_worker *worker, struct gw_parcel *parcel,
                                   struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    const uint32_t *received = parcel->received.memory;
    uint32_t *known = gw_parcel_known(parcel);
    parcel->known_count = 0;
    for (size_t i = 0; i < worker->workers; i++) {
        GW_TRY(memory->does->copy(memory, known + parcel->known_count, received + i * parcel->most,
                                  parcel->counts[i] * sizeof *known, error));
        parcel->known_count += parcel->counts[i];
    }
    parcel->all = parcel->known_count;
    return GW_OK;
}

static enum gw_status run(struct gw_worker *worker, struct gw_parcel *parcel, uint64_t *bytes,
                          struct gw_error *error) {
    struct gw_communicator *communicator = worker->communicator;
    const struct gw_memory *memory = &worker->exchange;
    *bytes = parcel->most * sizeof(uint32_t);
    parcel->all = 0;
    if (parcel->most == 0) {
        return GW_OK;
    }
    GW_TRY(reserve(worker, parcel, parcel->most, error));
    uint32_t *own = gw_parcel_known(parcel);
    GW_TRY(memory->does->clear(memory, own + parcel->selected,
                               (parcel->most - parcel->selected) * sizeof *own, error));
    GW_TRY(communicator->transport->allgather(communicator, own, *bytes, parcel->received.memory,
                                              error));
    return drop_padding(worker, parcel, error);
}

const struct gw_leg_runner gw_leg_union = {
    .compression = &gw_compress_indices,
    .suits = suits,
    .needed = "shares out the elements among the workers",
    .follows = true,
    .after = GW_COUNTS,
    .prepare = prepare,
    .run = run,
};
