/* What each kind of operation does on this machine; private to this room. */
#ifndef GW_EXEC_OPERATIONS_H
#define GW_EXEC_OPERATIONS_H

#include "exec/buffers.h"
#include "transport/transport.h"

/* What operations work with. Compression and exchange each belong to one stream, as does its
 * scratch. */
struct gw_worker {
    const struct gw_schedule *schedule;
    struct gw_communicator *communicator;
    struct gw_buffers buffers;
    struct gw_workspace workspace;
};

/* Fails, naming it, if an operation's method cannot be run here. */
enum gw_status gw_operations_check(const struct gw_schedule *schedule, struct gw_error *error);

enum gw_status gw_operation_compress(struct gw_worker *worker, const struct gw_operation *operation,
                                     struct gw_error *error);

/* The exchange and the aggregation of what came: into the aggregate's slice, or its touched
 * elements. */
enum gw_status gw_operation_exchange(struct gw_worker *worker, const struct gw_operation *operation,
                                     struct gw_error *error);

/* A checksum of what the exchange left in the aggregate: equal on all ranks, whatever the order of
 * ranks. */
uint64_t gw_operation_checksum(const struct gw_worker *worker,
                               const struct gw_operation *operation);

/* Zeroes what a sparse exchange left in the aggregate. */
void gw_operation_clear(struct gw_worker *worker, const struct gw_operation *operation);

#endif
