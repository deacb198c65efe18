/* A rank with all that it works with: its vectors and its groups; private to this room. */
#ifndef GW_EXEC_WORKER_H
#define GW_EXEC_WORKER_H

#include "core/arena.h"
#include "exec/exec.h"
#include "kernels/gpu.h"
#include "kernels/memory.h"
#include "kernels/sketch.h"
#include "methods/schedule.h"
#include "transport/transport.h"

struct gw_worker;
struct gw_group_state;

/* ---- a worker's gradient, residual and aggregate ------------------------------------------- */

enum { GW_VECTORS = 3 };

/*
 * Flat vectors of `elements` floats hold the groups one after another, as the schedule's slices
 * say.
 */
struct gw_vectors {
    struct gw_buffer
        buffers[GW_VECTORS];       /* of gradients that are not `drawn`, residual, aggregate */
    struct gw_drawn_gradients own; /* where nobody lends any */
    size_t elements;
    const float *noise; /* elements + a margin: bell-shaped values that gradients are windows of */
    const float
        *gradient; /* this iteration's window; a trainer's; NULL: it was added to the residual */
    float *residual;
    float *aggregate; /* sum over workers; zero where nothing was sent */
};

size_t gw_vectors_elements(const struct gw_schedule *schedule);

/* Another gradient for each iteration; nothing is computed, so that it costs no time. */
void gw_vectors_next_gradient(struct gw_vectors *vectors, uint64_t iteration);

/* ---- groups -------------------------------------------------------------------------------- */

/*
 * How compression leaves a group for the first leg of its exchange. `start` is its work; `pack`,
 * once the host knows what was selected, makes of that what the leg sends (NULL: it is as it
 * should be). Where compression is timed waiting, `know` leaves that before an iteration instead.
 */
struct gw_compression {
    enum gw_status (*start)(struct gw_worker *worker, struct gw_group_state *group,
                            struct gw_error *error);
    enum gw_status (*pack)(struct gw_worker *worker, struct gw_group_state *group,
                           struct gw_error *error);
    enum gw_status (*know)(struct gw_worker *worker, struct gw_group_state *group,
                           struct gw_error *error);
};

/* Which elements of the aggregate an exchange wrote. */
enum gw_written {
    GW_WRITTEN_ALL,
    GW_WRITTEN_LAYERS, /* some of the layers, whole; the others are zero */
    GW_WRITTEN_LISTED, /* those in a list, some perhaps several times; the others are zero */
};

/*
 * A group on one rank. Compression and the legs of the exchange hand it on to each other, one at a
 * time, from stream to stream.
 */
struct gw_group_state {
    const struct gw_slice *slice;
    const size_t *layers; /* [slice->layer_count], elements of each, or of what is left of it */
    const struct gw_compressor *compressor;
    const struct gw_compression *compression;
    bool compressed;  /* started in this iteration, and what was selected is not packed yet */
    void *state;      /* the compressor's */
    uint64_t seed;    /* of this group, the same on all ranks */
    double threshold; /* of a compressor that is given one, for the whole run */

    struct gw_selected expected;       /* what legs make room for beforehand */
    size_t selected;                   /* elements, by this worker ... */
    const struct gw_entry *entries;    /* ... these, until the next selection */
    struct gw_gpu_selection selection; /* where they are on a GPU */
    size_t all;                        /* elements whose values travel together */
    size_t *counts;       /* [workers]: how many each selected, once that has travelled */
    size_t maximum_count; /* of them */

    struct gw_buffer sent, received; /* what for, compression and the legs say */
    struct gw_buffer merged, pruned; /* the same */
    struct gw_buffer presence;   /* on the host: float [layers], 1 for those that any worker sent */
    struct gw_buffer announced;  /* uint32_t [workers + 1]: counts that travel; own one last */
    struct gw_buffer beginnings; /* uint32_t [layers], first elements */
    struct gw_buffer common;     /* uint32_t [common_count]: indices that all ranks know ... */
    size_t common_count;         /* ... or, before they do, that this worker selected */
    struct gw_sketch sketch;     /* of this worker, then of all; on a GPU ... */
    struct gw_gpu_sketch gpu_sketch; /* ... this one */
    float *cells;                    /* its */

    enum gw_written written;       /* by the last iteration */
    const struct gw_entry *listed; /* [listed_count]; NULL: those that all ranks know */
    size_t listed_count;
};

/* The elements of a list of entries, or those that all ranks know, are what is written. */
void gw_group_list_entries(struct gw_group_state *group, const struct gw_entry *entries,
                           size_t count);
void gw_group_list_common(struct gw_group_state *group);

/* Makes room for so many bytes in `sent` and in `received`; for so many common indices. */
enum gw_status gw_group_reserve(const struct gw_worker *worker, struct gw_group_state *group,
                                size_t sent, size_t received, struct gw_error *error);
enum gw_status gw_group_reserve_common(const struct gw_memory *memory, struct gw_group_state *group,
                                       size_t count, struct gw_error *error);
static inline uint32_t *gw_group_common(const struct gw_group_state *group) {
    return group->common.memory;
}

/* ---- workers ------------------------------------------------------------------------------- */

/*
 * A worker, or the server of a schedule that has one: the rank after the workers, which has no
 * gradient. Streams share nothing but the groups, of which they have another one each at a time.
 */
struct gw_worker {
    const struct gw_schedule *schedule;
    struct gw_arena *arena; /* of the executor, with which all but travelling data goes */
    struct gw_communicator *communicator; /* of the data path, between memories of the kind ... */
    struct gw_communicator *hosts;        /* ... and between the hosts' */
    size_t rank, workers;
    bool serves;
    bool timed_compression; /* what is selected is known before an iteration */
    uint64_t iteration;
    struct gw_vectors vectors;
    struct gw_group_state *groups; /* one for each group */

    struct gw_memory compute, exchange;     /* the same one, as each stream works on it */
    struct gw_buffer list_copy, dense_copy; /* on the host, of what is in a GPU's */
};

struct gw_worker_options {
    struct gw_device_stream *compute, *exchange; /* of a GPU, or NULL both */
    uint64_t seed;
    struct gw_drawn_gradients *drawn; /* borrowed, or NULL */
    bool trains;                      /* gradients are a trainer's, not generated */
    bool timed_compression;
};

/*
 * With a checked schedule, an arena and communicators, and all else zero. *out is safe to close in
 * any case.
 */
enum gw_status gw_worker_open(struct gw_worker *out, const struct gw_worker_options *options,
                              struct gw_error *error);

/* A group's compressor begins anew, from another threshold. */
enum gw_status gw_group_set_threshold(struct gw_worker *worker, struct gw_group_state *group,
                                      double threshold, struct gw_error *error);
void gw_worker_close(struct gw_worker *worker);

/* The group's part of the flat vectors; of the gradient NULL if it is in the residual already. */
float *gw_worker_residual(const struct gw_worker *worker, const struct gw_group_state *group);
const float *gw_worker_gradient(const struct gw_worker *worker, const struct gw_group_state *group);
float *gw_worker_aggregate(const struct gw_worker *worker, const struct gw_group_state *group);

/* What a compressor is asked to do with the group. */
struct gw_task gw_worker_task(const struct gw_worker *worker, const struct gw_group_state *group);

#endif
