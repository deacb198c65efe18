/* What each kind of operation does on this machine; private to this room. */
#ifndef GW_EXEC_OPERATIONS_H
#define GW_EXEC_OPERATIONS_H

#include "exec/buffers.h"
#include "transport/transport.h"

/*
 * What operations work with. Only compression uses the scratch and the selection, so that streams
 * do not share them.
 */
struct gw_worker {
    const struct gw_schedule *schedule;
    struct gw_communicator *communicator;
    struct gw_buffers buffers;
    struct gw_workspace workspace;
    struct gw_selection selection;
};

enum gw_status gw_operation_compress(struct gw_worker *worker, const struct gw_operation *operation,
                                     struct gw_error *error);

/* The exchange, and the aggregation of what came: the whole slice, or the elements that were sent.
 */
enum gw_status gw_operation_exchange(struct gw_worker *worker, const struct gw_operation *operation,
                                     struct gw_error *error);

/* Of what the exchange left in the aggregate: the same on all ranks, as all add in rank order. */
uint64_t gw_operation_checksum(const struct gw_worker *worker,
                               const struct gw_operation *operation);

/* Zeroes what a sparse exchange left in the aggregate. */
void gw_operation_clear(struct gw_worker *worker, const struct gw_operation *operation);

#endif
