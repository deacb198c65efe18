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
    struct gw_communicator *communicator; /* of the data path, between memories of the kind ... */
    struct gw_communicator *hosts;        /* ... and between the hosts' */
    size_t rank, workers;
    bool serves;
    uint64_t iteration;
    struct gw_buffers buffers;
    struct gw_parcel *parcels; /* one for each group */

    struct gw_memory compute, exchange;   /* the same one, as each stream works on it */
    struct gw_room list_copy, dense_copy; /* on the host, of what is in a GPU's */
};

/* What it works with: streams of a GPU, or NULL both. */
struct gw_worker_place {
    struct gw_communicator *communicator, *hosts;
    struct gw_device_stream *compute, *exchange;
};

/* A checked schedule; *out is safe to close in any case. */
enum gw_status gw_worker_open(struct gw_worker *out, const struct gw_schedule *schedule,
                              const struct gw_worker_place *place, uint64_t seed,
                              struct gw_error *error);
void gw_worker_close(struct gw_worker *worker);

/* The parcel's part of the flat vectors. */
float *gw_worker_residual(const struct gw_worker *worker, const struct gw_parcel *parcel);
const float *gw_worker_gradient(const struct gw_worker *worker, const struct gw_parcel *parcel);
float *gw_worker_aggregate(const struct gw_worker *worker, const struct gw_parcel *parcel);

/* What a compressor is asked to do with the parcel. */
struct gw_task gw_worker_task(const struct gw_worker *worker, const struct gw_parcel *parcel);

#endif
