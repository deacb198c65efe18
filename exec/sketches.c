#include "exec/sketches.h"

const char gw_sketches_needed[] = "sketches";

bool gw_sketches_suit(const struct gw_compressor *compressor) {
    return compressor->sketched;
}

enum gw_status gw_sketches_open(struct gw_parcel *parcel, struct gw_error *error) {
    const struct gw_slice *slice = parcel->slice;
    GW_TRY(gw_parcel_reserve_known(parcel, slice->kept, error));
    return gw_sketch_open(&parcel->sketch, GW_SKETCH_ROWS, slice->sketch_cells / GW_SKETCH_ROWS,
                          parcel->seed, error);
}

size_t gw_sketches_cells(const struct gw_parcel *parcel) {
    return parcel->sketch.rows * parcel->sketch.columns;
}

enum gw_status gw_sketches_find(struct gw_worker *worker, struct gw_parcel *parcel,
                                struct gw_error *error) {
    const struct gw_slice *slice = parcel->slice;
    parcel->known_count = slice->kept;
    return gw_sketch_heavymix(&parcel->sketch, slice->elements, slice->kept, worker->iteration,
                              &worker->exchange_workspace, gw_parcel_known(parcel), NULL, error);
}
