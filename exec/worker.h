/* A rank's vectors and groups; private to this room. */
#ifndef GW_EXEC_WORKER_H
#define GW_EXEC_WORKER_H

#include "core/arena.h"
#include "exec/exec.h"
#include "kernels/codes.h"
#include "kernels/gpu.h"
#include "kernels/memory.h"
#include "kernels/sketch.h"
#include "methods/schedule.h"
#include "transport/transport.h"

struct gw_worker;
struct gw_group_state;

/* ---- a worker's gradient, residual and aggregate ------------------------------------------- */

enum { GW_VECTORS = 3 };

/* Flat vectors of `elements` floats hold the groups in order, as in the schedule's slices. */
struct gw_vectors {
    struct gw_buffer buffers[GW_VECTORS]; /* a GPU's copy of the noise; residual; aggregate */
    struct gw_drawn_gradients own;        /* if none are borrowed */
    size_t elements;
    size_t sums; /* elements after them in the residual: of sums of parts that this worker owns */
    const float *noise; /* elements + a margin: bell-shaped values, of which gradients are windows
                         */
    const float *gradient; /* this iteration's window; NULL: a trainer's, which is in ... */
    float *residual;       /* ... the residual or, of groups without a compressor, in its place */
    float *aggregate;      /* sum over workers; zero for elements that were not sent */
};

size_t gw_vectors_elements(const struct gw_schedule *schedule);

/* Moves to the next window for each iteration, which costs no time. */
void gw_vectors_next_gradient(struct gw_vectors *vectors, uint64_t iteration);

/* ---- groups -------------------------------------------------------------------------------- */

/*
 * How compression prepares a group for the first leg of its exchange. `start` does the work;
 * `pack`, when the host knows the count, forms the data that the leg sends (NULL: it is formed
 * already). `preset` replaces both, before an iteration, if compression is timed waiting.
 */
struct gw_compression {
    enum gw_status (*start)(struct gw_worker *worker, struct gw_group_state *group,
                            struct gw_error *error);
    enum gw_status (*pack)(struct gw_worker *worker, struct gw_group_state *group,
                           struct gw_error *error);
    enum gw_status (*preset)(struct gw_worker *worker, struct gw_group_state *group,
                             struct gw_error *error);
};

/* The elements of the aggregate that an exchange wrote. */
enum gw_written {
    GW_WRITTEN_ALL,
    GW_WRITTEN_LAYERS, /* some of the layers, whole; the others are zero */
    GW_WRITTEN_LISTED, /* those of a list, perhaps repeatedly; the others are zero */
};

/* A group on one rank. Compression and the legs of the exchange use it one at a time, on their
 * streams. */
struct gw_group_state {
    const struct gw_slice *slice;
    const size_t *layers; /* [slice->size.tensors]: elements of each layer, or of its preset part */
    const size_t *rows;   /* likewise: of its matrix; 0: it is none */
    const struct gw_compressor *compressor;
    const struct gw_compression *compression;
    bool compressed;            /* in this iteration, and not packed yet */
    enum gw_number_type number; /* that gradients travel as, if they are not compressed */
    void *state;                /* the compressor's */
    uint64_t seed;              /* of this group, equal on all ranks */
    double threshold;           /* of a compressor with a fixed one */

    struct gw_selected expected;       /* counts that legs reserve memory for */
    size_t selected;                   /* number of elements, by this worker ... */
    const struct gw_entry *entries;    /* ... and the elements, valid until the next selection */
    struct gw_gpu_selection selection; /* the same on a GPU */
    size_t all;                        /* number of elements whose values are sent jointly */
    size_t *counts;                    /* [workers]: number that each selected, once exchanged */
    size_t maximum_count;              /* of counts */
    size_t first_of_sums;              /* of the residual of sums that this worker encodes */

    struct gw_buffer sent, received; /* as compression and the legs use them */
    struct gw_codes aggregate_codes; /* in `received`: the aggregate, which is not decoded yet; of a
                                      * trainer's session on the host */
    struct gw_buffer merged, pruned; /* likewise */
    struct gw_buffer presence;   /* on the host: float [layers], 1 for layers that any worker sent
                                  */
    struct gw_buffer announced;  /* uint32_t [workers + 1]: exchanged counts, the own one last */
    struct gw_buffer beginnings; /* uint32_t [layers], first elements */
    struct gw_buffer common;     /* uint32_t [common_count]: indices that all ranks have ... */
    size_t common_count;         /* ... or, before the exchange, this worker's own */
    struct gw_sketch sketch;     /* of this worker, then the sum; on a GPU ... */
    struct gw_gpu_sketch gpu_sketch; /* ... this one */
    float *cells;                    /* of the sketch in use */

    enum gw_written written;       /* by the last iteration */
    const struct gw_entry *listed; /* [listed_count]; NULL: the common indices */
    size_t listed_count;
};

/* Set the written elements: those of a list of entries, or the common ones. */
void gw_group_list_entries(struct gw_group_state *group, const struct gw_entry *entries,
                           size_t count);
void gw_group_list_common(struct gw_group_state *group);

/* Reserve bytes in `sent` and `received`; reserve common indices. */
enum gw_status gw_group_reserve(const struct gw_worker *worker, struct gw_group_state *group,
                                size_t sent, size_t received, struct gw_error *error);
enum gw_status gw_group_reserve_common(const struct gw_memory *memory, struct gw_group_state *group,
                                       size_t count, struct gw_error *error);
static inline uint32_t *gw_group_common(const struct gw_group_state *group) {
    return group->common.memory;
}

/* ---- workers ------------------------------------------------------------------------------- */

/* A worker, or the server of a schedule that has one: the rank after the workers, which has no
 * gradient. Streams share only the groups, and never use one at the same time. */
struct gw_worker {
    const struct gw_schedule *schedule;
    struct gw_arena *arena; /* the executor's; holds everything but data that is sent */
    struct gw_communicator *communicator; /* of the data path, in the memory of the session ... */
    struct gw_communicator *hosts;        /* ... and in memory of the host */
    size_t rank, workers;
    bool serves;
    bool timed_compression;   /* selections are preset before an iteration */
    enum gw_number_type half; /* of dense exchanges of 2 bytes an element */
    uint64_t iteration;
    struct gw_vectors vectors;
    struct gw_group_state *groups; /* one for each group */

    struct gw_memory compute, exchange;     /* the same one, for each stream */
    struct gw_buffer list_copy, dense_copy; /* copies of a GPU's data on the host */
};

struct gw_worker_options {
    struct gw_device_stream *compute, *exchange; /* of a GPU, or both NULL */
    uint64_t seed;
    struct gw_drawn_gradients *drawn; /* borrowed, or NULL */
    bool trains;                      /* gradients are a trainer's, not generated */
    bool timed_compression;
};

/* Opens a worker with a checked schedule, an arena and communicators, and all else zero. *out may
 * be closed on failure too. */
enum gw_status gw_worker_open(struct gw_worker *out, const struct gw_worker_options *options,
                              struct gw_error *error);

/* Opens the group's compressor again, with another threshold. */
enum gw_status gw_group_set_threshold(struct gw_worker *worker, struct gw_group_state *group,
                                      double threshold, struct gw_error *error);
void gw_worker_close(struct gw_worker *worker);

/* The group's part of the flat vectors; the gradient is NULL if it is in the residual already. */
float *gw_worker_residual(const struct gw_worker *worker, const struct gw_group_state *group);
const float *gw_worker_gradient(const struct gw_worker *worker, const struct gw_group_state *group);
float *gw_worker_aggregate(const struct gw_worker *worker, const struct gw_group_state *group);

/* Decodes the group's aggregate if that is only in codes yet. */
void gw_group_decode(const struct gw_worker *worker, struct gw_group_state *group);

/* The compressor's task for the group. */
struct gw_task gw_worker_task(const struct gw_worker *worker, const struct gw_group_state *group);

#endif
