/* A server's round: all workers push, it adds, all pull; private to this room. */
#ifndef GW_EXEC_SERVER_H
#define GW_EXEC_SERVER_H

#include "exec/worker.h"

/* Room at the server for `bytes` of each rank. */
enum gw_status gw_prepare_server(const struct gw_worker *worker, struct gw_parcel *parcel,
                                 size_t bytes, struct gw_error *error);

/* All workers' `data`, of `bytes` on each, come to the server's `received`, one after another. */
enum gw_status gw_push_to_server(struct gw_worker *worker, struct gw_parcel *parcel,
                                 const void *data, size_t bytes, struct gw_error *error);

/* At the server: adds the workers' `count` floats up in the order of ranks, to *sums. */
enum gw_status gw_sum_at_server(const struct gw_worker *worker, struct gw_parcel *parcel,
                                size_t count, float **sums, struct gw_error *error);

/* The server's `data`, which may be the sums, comes to all workers' `out`. */
enum gw_status gw_pull_from_server(struct gw_worker *worker, struct gw_parcel *parcel,
                                   const void *data, size_t bytes, void *out,
                                   struct gw_error *error);

#endif
