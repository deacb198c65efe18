/* What exchanges of sketches share; private to this room. */
#ifndef GW_EXEC_SKETCHES_H
#define GW_EXEC_SKETCHES_H

#include "exec/worker.h"

/* Of a compressor that sketches, though what sketches point to is found by the exchange. */
bool gw_sketches_suit(const struct gw_compressor *compressor);
extern const char gw_sketches_needed[];

/* The parcel's sketch, with the group's columns and hash functions, and room for known indices. */
enum gw_status gw_sketches_open(const struct gw_worker *worker, struct gw_parcel *parcel,
                                struct gw_error *error);
size_t gw_sketches_cells(const struct gw_parcel *parcel);

/* From the parcel's sketch, which is the sum of all workers': the known indices. */
enum gw_status gw_sketches_find(struct gw_worker *worker, struct gw_parcel *parcel,
                                struct gw_error *error);

#endif
