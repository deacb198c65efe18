#include "exec/sketches.h"

const char gw_sketches_needed[] = "sketches";

bool gw_sketches_suit(const struct gw_compressor *compressor) {
    return compressor->sketched;
}

static size_t columns_of(const struct gw_parcel *parcel) {
    return parcel->slice->sketch_cells / GW_SKETCH_ROWS;
}

enum gw_status gw_sketches_open(const struct gw_worker *worker, struct gw_parcel *parcel,
                                struct gw_error *error) {
    const struct gw_memory *memory = &worker->exchange;
    GW_TRY(gw_parcel_reserve_known(memory, parcel, parcel->slice->kept, error));
    return memory->does->open_sketch(memory, parcel, columns_of(parcel), error);
}

size_t gw_sketches_cells(const struct gw_parcel *parcel) {
    return GW_SKETCH_ROWS * columns_of(parcel);
}

enum gw_status gw_sketches_find(struct gw_worker *worker, struct gw_parcel *parcel,
                                struct gw_error *error) {
    parcel->known_count = parcel->slice->kept;
    return worker->exchange.does->find(&worker->exchange, parcel, worker->iteration,
                                       gw_parcel_known(parcel), error);
}
