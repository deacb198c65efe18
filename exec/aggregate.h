/* What exchanges have left in the aggregate; private to this room. */
#ifndef GW_EXEC_AGGREGATE_H
#define GW_EXEC_AGGREGATE_H

#include "exec/worker.h"

/* Of what the group's exchange wrote: which elements, and the bits in them. */
enum gw_status gw_aggregate_checksum(struct gw_worker *worker, const struct gw_parcel *parcel,
                                     uint64_t *out, struct gw_error *error);

/* Zeroes what it wrote, if the next iteration may not write it again. */
enum gw_status gw_aggregate_clear(const struct gw_worker *worker, const struct gw_parcel *parcel,
                                  struct gw_error *error);

#endif
