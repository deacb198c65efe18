/*
 * What a communication thread does where overlap is measured: one collective after the other, of
 * memory of the host or of GPUs; private to this room.
 */
#ifndef GW_CALIBRATE_OVERLAP_EXCHANGES_H
#define GW_CALIBRATE_OVERLAP_EXCHANGES_H

#include "calibrate/calibrate.h"
#include "calibrate/measure/pool.h"

struct gw_overlap_exchanges {
    struct gw_communicator *communicator; /* what they go through ... */
    struct gw_communicator *world;        /* ... and what the ranks agree on the host by */
    struct gw_pool send, receive;
    bool reduces;  /* allreduce; otherwise allgather */
    size_t bytes;  /* of one worker */
    size_t series; /* between GPUs: exchanges until rank 0 may end them */
};

/* Of the calibration's device, up to so many bytes; *out is safe to close in any case. */
enum gw_status gw_overlap_exchanges_open(struct gw_overlap_exchanges *out,
                                         struct gw_communicator *world,
                                         const struct gw_calibration *calibration,
                                         size_t largest_bytes, struct gw_error *error);
void gw_overlap_exchanges_close(struct gw_overlap_exchanges *exchanges);

/*
 * With other `reduces` or `bytes`, before they run: what one exchange takes the slowest rank, once
 * connections stand.
 */
enum gw_status gw_overlap_exchanges_time(struct gw_overlap_exchanges *exchanges, double *seconds,
                                         struct gw_error *error);

/* A gw_communicate of exchanges: one on the host, a series between GPUs. */
enum gw_status gw_overlap_exchanges_run(void *exchanges, bool last, bool *was_last,
                                        struct gw_error *error);

#endif
