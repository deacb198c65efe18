/* Numbers of workers that collectives are measured on; private to this room. */
#ifndef GW_CALIBRATE_WORKER_COUNTS_H
#define GW_CALIBRATE_WORKER_COUNTS_H

#include "transport/transport.h"

enum { GW_MAX_WORKER_COUNTS = 40 };

/*
 * The numbers of ranks that collectives are measured on: powers of two, three times powers of two,
 * and all ranks of the job, each as a communicator of the first ranks. Compressors add one, and the
 * number that take equal time slices (gw_sharing_find).
 */
static inline bool gw_is_measured(int workers) {
    int odd = workers;
    while (odd % 2 == 0) {
        odd /= 2;
    }
    return odd == 1 || odd == 3;
}

struct gw_worker_counts {
    struct gw_communicator *world;
    size_t count;
    int workers[GW_MAX_WORKER_COUNTS]; /* ascending; from 1 if compressors are measured */
    /* Those of the ranks below `workers`; the last is the world itself. */
    struct gw_communicator communicators[GW_MAX_WORKER_COUNTS];
    /* The same for memory of GPUs, besides the world; NULL without GPUs. */
    struct gw_communicator *gpu_world;
    struct gw_communicator gpu_communicators[GW_MAX_WORKER_COUNTS];
};

/* The communicator of the first workers[which] ranks, for a rank among them ... */
static inline struct gw_communicator *gw_worker_counts_hosts(struct gw_worker_counts *counts,
                                                             size_t which) {
    return counts->workers[which] == counts->world->size ? counts->world
                                                         : &counts->communicators[which];
}

/* ... and the one for data: for memory of GPUs, if there is one. */
static inline struct gw_communicator *gw_worker_counts_data(struct gw_worker_counts *counts,
                                                            size_t which) {
    if (counts->gpu_world == NULL) {
        return gw_worker_counts_hosts(counts, which);
    }
    return counts->workers[which] == counts->world->size ? counts->gpu_world
                                                         : &counts->gpu_communicators[which];
}

#endif
