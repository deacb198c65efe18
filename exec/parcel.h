/* What of one group travels, and what of it must be remembered; private to this room. */
#ifndef GW_EXEC_PARCEL_H
#define GW_EXEC_PARCEL_H

#include "exec/memory.h"
#include "kernels/gpu.h"
#include "kernels/sketch.h"
#include "methods/schedule.h"

struct gw_worker;
struct gw_parcel;

/*
 * How compression leaves a group for the first leg of its exchange. `start` is its work; `pack`,
 * once the host knows what was selected, makes of that what the leg sends (NULL: it is as it
 * should be).
 */
struct gw_compression {
    enum gw_status (*start)(struct gw_worker *worker, struct gw_parcel *parcel,
                            struct gw_error *error);
    enum gw_status (*pack)(struct gw_worker *worker, struct gw_parcel *parcel,
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
struct gw_parcel {
    const struct gw_slice *slice;
    const size_t *layers;                   /* [slice->layer_count], elements of each */
    const struct gw_compressor *compressor; /* NULL: nothing is compressed */
    const struct gw_compression *compression;
    bool compressed;  /* started in this iteration, and what was selected is not packed yet */
    void *state;      /* the compressor's */
    uint64_t seed;    /* of this group, the same on all ranks */
    double threshold; /* of a compressor that is given one, for the whole run */

    size_t selected;                   /* elements, by this worker ... */
    const struct gw_entry *entries;    /* ... these, until the next selection */
    struct gw_gpu_selection selection; /* where they are on a GPU */
    size_t all;                        /* elements whose values travel together */
    size_t *counts; /* [workers]: how many each selected, once that has travelled */
    size_t most;    /* of them */

    struct gw_room sent, received; /* what for, compression and the legs say */
    struct gw_room merged, pruned; /* the same */
    struct gw_room any;        /* on the host: float [layers], 1 for those that any worker sent */
    struct gw_room told;       /* uint32_t [workers + 1]: counts that travel; own one last */
    struct gw_room beginnings; /* on a GPU: uint32_t [layers], first elements */
    struct gw_room known;      /* uint32_t [known_count]: indices that all ranks know ... */
    size_t known_count;        /* ... or, before they do, that this worker selected */
    struct gw_sketch sketch;   /* of this worker, then of all; on a GPU ... */
    struct gw_gpu_sketch gpu_sketch; /* ... this one */
    float *cells;                    /* its */

    enum gw_written written;       /* by the last iteration */
    const struct gw_entry *listed; /* [listed_count]; NULL: those that all ranks know */
    size_t listed_count;
};

/* The elements of a list of entries, or those that all ranks know, are what is written. */
void gw_parcel_list_entries(struct gw_parcel *parcel, const struct gw_entry *entries, size_t count);
void gw_parcel_list_known(struct gw_parcel *parcel);

/* Makes room for so many known indices. */
enum gw_status gw_parcel_reserve_known(const struct gw_memory *memory, struct gw_parcel *parcel,
                                       size_t count, struct gw_error *error);
static inline uint32_t *gw_parcel_known(const struct gw_parcel *parcel) {
    return parcel->known.memory;
}

/* Frees what legs and compression have opened in it. */
void gw_parcel_close(struct gw_parcel *parcel);

#endif
