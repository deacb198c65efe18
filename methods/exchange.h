/*
 * How what a compressor leaves of a group travels, and becomes the same update on all workers: each
 * way is one file that exports one constant descriptor. An exchange is made of legs, collectives
 * one after another.
 */
#ifndef GW_ALGORITHMS_EXCHANGE_H
#define GW_ALGORITHMS_EXCHANGE_H

#include "core/core.h"

/* What a leg carries: how many bytes that is follows from it, and what execution does with it. */
enum gw_payload {
    GW_DENSE,   /* the group's gradient; of a server, back: what it made of all of them */
    GW_SPARSE,  /* the entries that each worker selected, as many on all: 8 bytes each */
    GW_COUNTS,  /* how many entries each worker selected: 4 bytes */
    GW_PADDED,  /* these entries, padded to the most that any worker selected: 8 bytes each */
    GW_INDICES, /* indices alone, padded likewise, after which all workers know them: 4 bytes each
                 */
    GW_VALUES,  /* values of the indices that all workers know, each its own: 4 bytes each */
    GW_SKETCH,  /* a count sketch of the group: 4 bytes a cell */
    GW_LAYERS,  /* of each layer a number that says whether it was chosen, and the chosen ones: 4
                 * bytes an element */
    GW_ALL_LAYERS, /* the same of the layers that any worker chose */
};

/* How many elements of a group were selected. */
struct gw_selected {
    uint64_t most; /* by the worker that selected the most */
    uint64_t all;  /* whose values travel, if those of all workers travel together */
};

/* What a leg's bytes follow from, besides its payload. */
struct gw_extent {
    uint64_t elements, bytes_per_element; /* of the group's gradient */
    uint64_t layers;                      /* that the group is made of */
    uint64_t sketch_cells;
    struct gw_selected selected;
};

/* What one worker contributes to a leg, in bytes. */
uint64_t gw_payload_bytes(enum gw_payload payload, const struct gw_extent *extent);

struct gw_leg {
    const char *collective; /* as in cluster files, or made of such (traces/cluster.h) */
    enum gw_payload payload;
    bool updates; /* the server updates what it was sent before it sends it back: before this leg */
};

enum { GW_MOST_LEGS = 4 };

struct gw_exchange_kind {
    const char *name;  /* as in `--exchange` */
    const char *title; /* one line for a person */
    const char *source;
    /* What it can carry; needed: "of a compressor that ..." */
    const char *needed;
    bool (*carries)(const char *compressor);
    bool server; /* a rank beside the workers takes part */
    size_t leg_count;
    struct gw_leg legs[GW_MOST_LEGS];
};

/* All of them, ended by NULL. */
extern const struct gw_exchange_kind *const gw_exchange_kinds[];

/* The exchange of that name; fails with the list of names. */
enum gw_status gw_exchange_find(const char *name, const struct gw_exchange_kind **out,
                                struct gw_error *error);

/* The first that carries what the compressor ("none": nothing is compressed) leaves, or NULL. */
const struct gw_exchange_kind *gw_exchange_for(const char *compressor);

/*
 * The elements selected of a group if every compressor keeps just what it is asked for: a joint one
 * shares that out evenly among the workers, of which the one with the most has at least one.
 */
struct gw_selected gw_selected_as_asked(const char *compressor, uint64_t kept, size_t workers);

/* The cells of the sketch that finds `kept` of so many elements; 0 of other compressors. */
uint64_t gw_sketch_cells(const char *compressor, uint64_t elements, uint64_t kept);

#endif
