/*
 * On how many ranks collectives are measured: powers of two, three times powers of two, and all of
 * the job's, each as a communicator of the first so many; private to this room.
 */
#ifndef GW_CALIBRATE_WORKER_COUNTS_H
#define GW_CALIBRATE_WORKER_COUNTS_H

#include "transport/transport.h"

enum { GW_MOST_WORKER_COUNTS = 40 };

struct gw_worker_counts {
    struct gw_communicator *world;
    size_t count;
    int workers[GW_MOST_WORKER_COUNTS]; /* ascending from 2 (1 alone: of one rank); the last is the
                                           world's size */
    /* Of the ranks below `workers`; the last is the world itself. */
    struct gw_communicator communicators[GW_MOST_WORKER_COUNTS];
    /* The same for memory of GPUs, beside the world; NULL: there are none. */
    struct gw_communicator *gpu_world;
    struct gw_communicator gpu_communicators[GW_MOST_WORKER_COUNTS];
};

/* Collective over the world and, unless it is NULL, `gpu_world` of the same ranks. With
 * `whole_only` the world alone, as where it is one rank. */
enum gw_status gw_worker_counts_open(struct gw_communicator *world,
                                     struct gw_communicator *gpu_world, bool whole_only,
                                     struct gw_worker_counts *out, struct gw_error *error);
void gw_worker_counts_close(struct gw_worker_counts *counts);

/* Whether this rank is among the first workers[which]. */
bool gw_worker_counts_have(const struct gw_worker_counts *counts, size_t which);

/* The communicator of the first workers[which], which this rank is among. */
struct gw_communicator *gw_worker_counts_communicator(struct gw_worker_counts *counts,
                                                      size_t which);

/* The one that data travels by: for memory of GPUs, where there is one for that. */
struct gw_communicator *gw_worker_counts_data(struct gw_worker_counts *counts, size_t which);

#endif
