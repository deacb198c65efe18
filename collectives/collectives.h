/*
 * Collectives as the messages that they are made of: each algorithm is a row that says what a
 * rank does in its i-th step. Nothing is stored: steps are worked out when they are asked for.
 *
 * Workers are ranks 0 .. workers-1. A parameter server is a rank of its own, number `workers`.
 */
#ifndef GW_COLLECTIVES_COLLECTIVES_H
#define GW_COLLECTIVES_COLLECTIVES_H

#include "core/core.h"

/* Whom a step does not send to or receive from, and a receive that takes whoever comes first. */
enum { GW_NOBODY = UINT32_MAX, GW_ANYBODY = UINT32_MAX - 1 };

/*
 * Which of the call's data travels: `count` blocks from `first` on, where block 0 comes after the
 * last one. What a block is, the algorithm says (`cut`, `shares`).
 */
struct gw_blocks {
    uint32_t first, count;
};

/*
 * A step sends and receives at once. It ends when what it sends has left the rank and what it
 * receives has come; then the rank's next step begins. What it sends is what the rank held when the
 * step began. Ranks send to each other in the order in which they receive from each other, so
 * within a call no message needs a tag. Calls that overlap do: a receive from GW_ANYBODY must not
 * take a message of a later call.
 */
struct gw_step {
    uint32_t to, from;       /* ranks, or GW_NOBODY; from also GW_ANYBODY */
    uint64_t send_bytes;     /* 0 is a message too, if there is somebody to send to */
    uint64_t receive_bytes;  /* what comes from `from` */
    uint64_t combined_bytes; /* of these, what is added to or merged with what the rank holds */
    struct gw_blocks send;
    struct gw_blocks
        receive; /* the ones that are sent; from GW_ANYBODY `first` is only known there */
};

/*
 * One call: as in cluster files, `bytes` is what one worker contributes (contract, "Cluster"); for
 * scatter and pull, what one worker gets. 1 to 2^30 workers. A message or an offset of 2^64 bytes
 * or more, which no machine holds, counts as UINT64_MAX.
 */
struct gw_call {
    uint32_t workers;
    uint64_t bytes;
};

struct gw_collective {
    const char *operation; /* "allgather": what calibrate measures and schedules name */
    const char *name;      /* "ring" */
    const char *title;     /* one line for a person */
    const char *source;    /* who published it */
    enum { GW_SYMMETRIC_NEVER, GW_SYMMETRIC_POWERS_OF_TWO, GW_SYMMETRIC_ALWAYS } symmetric;
    bool uniform; /* where ranks are interchangeable, all steps are alike but for their ranks */
    bool server;  /* beside the workers there is a server */
    uint32_t (*steps)(const struct gw_call *call, uint32_t rank); /* how many the rank takes */
    void (*step)(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out);
    /*
     * The data, in order, is so many blocks; the core is the largest power of two that is not above
     * the workers. If they are shares, the blocks together have the call's bytes, in whole elements
     * of 4 bytes if these are (otherwise in single bytes), and the first ones have one element more
     * where they cannot be equal. If not, each has all of them.
     */
    enum { GW_ONE_BLOCK, GW_BLOCK_PER_WORKER, GW_BLOCK_PER_CORE_WORKER } cut;
    bool shares;
    /*
     * The literature's closed form for equal, uncontended links, on which a message of n bytes
     * takes alpha_s + n * beta_s_per_byte and ranks send and receive at the same time
     * (docs/collectives.md says where it is exact). Unequal shares count as the largest.
     */
    double (*cost)(const struct gw_call *call, double alpha_s, double beta_s_per_byte);
};

/* All of them, ended by NULL; the first of an operation is the one that is meant without a name. */
extern const struct gw_collective *const gw_collectives[];

/*
 * The algorithm `name` (NULL: the first) of an operation; fails with the list of what there is.
 */
enum gw_status gw_collective_find(const char *operation, const char *name,
                                  const struct gw_collective **out, struct gw_error *error);

/*
 * Whether ranks are interchangeable: with equal links and an equal start, all of them take every
 * step at the same time. Promised is that all ranks take equally many steps, that in step i each of
 * them sends to one rank and receives from one rank (never GW_ANYBODY), and that the bytes of step
 * i are the same on all ranks if `bytes` is a multiple of 4 * workers (with shares false: always).
 * With other bytes ranks may be a step's few bytes apart.
 */
bool gw_collective_symmetric(const struct gw_collective *collective, uint32_t workers);

/* With servers. */
uint32_t gw_collective_ranks(const struct gw_collective *collective, uint32_t workers);

uint32_t gw_collective_blocks(const struct gw_collective *collective, uint32_t workers);

/* Where a block begins in the call's data, in bytes; block number `blocks`: how long the data is.
 */
uint64_t gw_collective_offset(const struct gw_collective *collective, const struct gw_call *call,
                              uint32_t block);

#endif
