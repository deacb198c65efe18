/*
 * Sketches summed along a tree, from which all workers find the same elements; then the exact
 * values of these, likewise (gs-SGD, Algorithms 1 and 2).
 */
#include "exec/compress.h"
#include "exec/exchange.h"
#include "exec/sketches.h"
#include "exec/tree.h"
#include "exec/values.h"

static enum gw_status prepare_sketch(struct gw_worker *worker, struct gw_parcel *parcel,
                                     struct gw_error *error) {
    GW_TRY(gw_sketches_open(worker, parcel, error));
    return gw_room_reserve(&parcel->received, &worker->exchange,
                           gw_sketches_cells(parcel) * sizeof(float), error);
}

static enum gw_status run_sketch(struct gw_worker *worker, struct gw_parcel *parcel,
                                 uint64_t *bytes, struct gw_error *error) {
    size_t cells = gw_sketches_cells(parcel);
    *bytes = cells * sizeof(float);
    GW_TRY(gw_sum_in_tree(worker->communicator, &worker->exchange, parcel->cells,
                          parcel->received.memory, cells, error));
    return gw_sketches_find(worker, parcel, error);
}

static enum gw_status prepare_values(struct gw_worker *worker, struct gw_parcel *parcel,
                                     struct gw_error *error) {
    return gw_values_reserve(worker, parcel, parcel->slice->kept, error);
}

static enum gw_status run_values(struct gw_worker *worker, struct gw_parcel *parcel,
                                 uint64_t *bytes, struct gw_error *error) {
    size_t count = parcel->known_count;
    float *values = parcel->sent.memory;
    *bytes = count * sizeof *values;
    GW_TRY(gw_values_take(worker, parcel, error));
    GW_TRY(gw_sum_in_tree(worker->communicator, &worker->exchange, values, parcel->received.memory,
                          count, error));
    return gw_values_put(worker, parcel, values, error);
}

const struct gw_leg_runner gw_leg_sketch_tree = {
    .compression = &gw_compress_sketch,
    .suits = gw_sketches_suit,
    .needed = gw_sketches_needed,
    .prepare = prepare_sketch,
    .run = run_sketch,
};

const struct gw_leg_runner gw_leg_values_tree = {
    .follows = true,
    .after = GW_SKETCH,
    .prepare = prepare_values,
    .run = run_values,
};
