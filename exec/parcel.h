/* What of one group travels, and what of it must be remembered; private to this room. */
#ifndef GW_EXEC_PARCEL_H
#define GW_EXEC_PARCEL_H

#include "algorithms/schedule.h"
#include "exec/room.h"
#include "kernels/kernels.h"
#include "kernels/sketch.h"

struct gw_worker;
struct gw_parcel;

/* How compression leaves a group for the first leg of its exchange. */
typedef enum gw_status gw_parcel_compress(struct gw_worker *worker, struct gw_parcel *parcel,
                                          struct gw_error *error);

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
    gw_parcel_compress *compress;
    void *state;      /* the compressor's */
    uint64_t seed;    /* of this group, the same on all ranks */
    double threshold; /* of a compressor that is given one, for the whole run */

    size_t selected;  /* elements, by this worker */
    size_t all;       /* elements whose values travel together */
    uint32_t *counts; /* [workers]: how many each selected, once that has travelled */
    uint32_t most;    /* of them */

    struct gw_room sent, received; /* what for, compression and the legs say */
    struct gw_room merged, pruned; /* the same */
    struct gw_room known;          /* uint32_t [known_count]: indices that all ranks know ... */
    size_t known_count;            /* ... or, before they do, that this worker selected */
    struct gw_sketch sketch;       /* of this worker, then of all */

    enum gw_written written; /* by the last iteration */
    const uint32_t *listed;  /* index i is at listed[i * stride], listed_count of them */
    size_t stride, listed_count;
};

/* The elements of a list of entries, or of what all ranks know, are what is written. */
void gw_parcel_list_entries(struct gw_parcel *parcel, const struct gw_entry *entries, size_t count);
void gw_parcel_list_known(struct gw_parcel *parcel);

/* Makes room for so many known indices. */
enum gw_status gw_parcel_reserve_known(struct gw_parcel *parcel, size_t count,
                                       struct gw_error *error);
static inline uint32_t *gw_parcel_known(const struct gw_parcel *parcel) {
    return parcel->known.memory;
}

/* Frees what legs and compression have opened in it. */
void gw_parcel_close(struct gw_parcel *parcel);

#endif
