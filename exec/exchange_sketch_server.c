/*
 * Sketches to a server, which finds in their sum whose exact values to ask for; then those values,
 * and back their sums (Ivkin et al., 2019).
 */
#include "exec/compress.h"
#include "exec/exchange.h"
#include "exec/server.h"
#include "exec/sketches.h"
#include "exec/values.h"

static enum gw_status prepare_sketch(struct gw_worker *worker, struct gw_parcel *parcel,
                                     struct gw_error *error) {
    GW_TRY(gw_sketches_open(worker, parcel, error));
    return gw_prepare_server(worker, parcel, gw_sketches_cells(parcel) * sizeof(float), error);
}

static enum gw_status push_sketch(struct gw_worker *worker, struct gw_parcel *parcel,
                                  uint64_t *bytes, struct gw_error *error) {
    *bytes = gw_sketches_cells(parcel) * sizeof(float);
    return gw_push_to_server(worker, parcel, parcel->cells, *bytes, error);
}

static enum gw_status find(struct gw_worker *worker, struct gw_parcel *parcel,
                           struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    size_t cells = gw_sketches_cells(parcel);
    float *sums = NULL;
    GW_TRY(gw_sum_at_server(worker, parcel, cells, &sums, error));
    GW_TRY(memory->does->copy(memory, parcel->cells, sums, cells * sizeof *sums, error));
    return gw_sketches_find(worker, parcel, error);
}

static enum gw_status pull_indices(struct gw_worker *worker, struct gw_parcel *parcel,
                                   uint64_t *bytes, struct gw_error *error) {
    if (worker->serves) {
        GW_TRY(find(worker, parcel, error));
    }
    parcel->known_count = parcel->slice->kept;
    *bytes = parcel->known_count * sizeof(uint32_t);
    return gw_pull_from_server(worker, parcel, parcel->known.memory, *bytes, parcel->known.memory,
                               error);
}

static enum gw_status prepare_values(struct gw_worker *worker, struct gw_parcel *parcel,
                                     struct gw_error *error) {
    size_t bytes = parcel->slice->kept * sizeof(float);
    return worker->serves ? gw_prepare_server(worker, parcel, bytes, error)
                          : gw_values_reserve(worker, parcel, parcel->slice->kept, error);
}

static enum gw_status push_values(struct gw_worker *worker, struct gw_parcel *parcel,
                                  uint64_t *bytes, struct gw_error *error) {
    *bytes = parcel->known_count * sizeof(float);
    if (!worker->serves) {
        GW_TRY(gw_values_take(worker, parcel, error));
    }
    return gw_push_to_server(worker, parcel, parcel->sent.memory, *bytes, error);
}

static enum gw_status pull_values(struct gw_worker *worker, struct gw_parcel *parcel,
                                  uint64_t *bytes, struct gw_error *error) {
    float *sums = NULL;
    if (worker->serves) {
        GW_TRY(gw_sum_at_server(worker, parcel, parcel->known_count, &sums, error));
    }
    *bytes = parcel->known_count * sizeof(float);
    GW_TRY(gw_pull_from_server(worker, parcel, sums, *bytes, parcel->received.memory, error));
    return worker->serves ? GW_OK : gw_values_put(worker, parcel, parcel->received.memory, error);
}

const struct gw_leg_runner gw_leg_sketch_push = {
    .compression = &gw_compress_sketch,
    .suits = gw_sketches_suit,
    .needed = gw_sketches_needed,
    .prepare = prepare_sketch,
    .run = push_sketch,
};
const struct gw_leg_runner gw_leg_indices_pull = {
    .follows = true, .after = GW_SKETCH, .run = pull_indices};
const struct gw_leg_runner gw_leg_values_push = {
    .follows = true, .after = GW_INDICES, .prepare = prepare_values, .run = push_values};
const struct gw_leg_runner gw_leg_values_pull = {
    .follows = true, .after = GW_VALUES, .run = pull_values};
