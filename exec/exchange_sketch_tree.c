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
    (void)worker;
    GW_TRY(gw_sketches_open(parcel, error));
    return gw_room_reserve(&parcel->received, gw_sketches_cells(parcel) * sizeof(float), error);
}

static enum gw_status run_sketch(struct gw_worker *worker, struct gw_parcel *parcel,
                                 uint64_t *bytes, struct gw_error *error) {
    size_t cells = gw_sketches_cells(parcel);
    *bytes = cells * sizeof(float);
    GW_TRY(gw_sum_in_tree(worker->communicator, parcel->sketch.table, parcel->received.memory,
                          cells, error));
    return gw_sketches_find(worker, parcel, error);
}

static enum gw_status prepare_values(struct gw_worker *worker, struct gw_parcel *parcel,
                                     struct gw_error *error) {
    (void)worker;
    return gw_values_reserve(parcel, parcel->slice->kept, error);
}

static enum gw_status run_values(struct gw_worker *worker, struct gw_parcel *parcel,
                                 uint64_t *bytes, struct gw_error *error) {
    size_t count = parcel->known_count;
    float *values = parcel->sent.memory;
    *bytes = count * sizeof *values;
    gw_values_take(worker, parcel);
    GW_TRY(gw_sum_in_tree(worker->communicator, values, parcel->received.memory, count, error));
    gw_values_put(worker, parcel, values);
    return GW_OK;
}

const struct gw_leg_runner gw_leg_sketch_tree = {
    .compress = gw_compress_sketch,
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
