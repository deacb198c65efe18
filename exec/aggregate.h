/* What exchanges have left in the aggregate; private to this room. */
#ifndef GW_EXEC_AGGREGATE_H
#define GW_EXEC_AGGREGATE_H

#include "exec/worker.h"

/* Of what the group's exchange wrote: which elements, and the bits in them. */
uint64_t gw_aggregate_checksum(const struct gw_worker *worker, const struct gw_parcel *parcel);

/* Zeroes what it wrote, if the next iteration may not write it again. */
void gw_aggregate_clear(const struct gw_worker *worker, const struct gw_parcel *parcel);

#endif
