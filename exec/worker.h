/* A rank with all that it works with; private to this room. */
#ifndef GW_EXEC_WORKER_H
#define GW_EXEC_WORKER_H

#include "exec/buffers.h"
#include "exec/parcel.h"
#include "transport/transport.h"

/*
 * A worker, or the server of a schedule that has one: the rank after the workers, which has no
 * gradient. Streams share nothing but the parcels, of which they have another one each at a time.
 */
struct gw_worker {
    const struct gw_schedule *schedule;
    struct gw_communicator *communicator;
    size_t rank, workers;
    bool serves;
    uint64_t iteration;
    struct gw_buffers buffers;
    struct gw_parcel *parcels; /* one for each group */

    struct gw_workspace workspace; /* of compression */
    struct gw_selection selection;
    struct gw_workspace exchange_workspace; /* of exchanges */
    struct gw_selection merged;
};

/* A checked schedule; *out is safe to close in any case. */
enum gw_status gw_worker_open(struct gw_worker *out, const struct gw_schedule *schedule,
                              struct gw_communicator *communicator, uint64_t seed,
                              struct gw_error *error);
void gw_worker_close(struct gw_worker *worker);

/* The parcel's part of the flat vectors. */
float *gw_worker_residual(const struct gw_worker *worker, const struct gw_parcel *parcel);
const float *gw_worker_gradient(const struct gw_worker *worker, const struct gw_parcel *parcel);
float *gw_worker_aggregate(const struct gw_worker *worker, const struct gw_parcel *parcel);

/* What a compressor is asked to do with the parcel. */
struct gw_task gw_worker_task(struct gw_worker *worker, const struct gw_parcel *parcel);

#endif
