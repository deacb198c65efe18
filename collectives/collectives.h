/*
 * Collectives as messages: each algorithm is a row of functions that compute what a rank does in
 * its i-th step. Steps are computed on demand and not stored.
 *
 * Workers are ranks 0 .. workers-1. A parameter server is rank number `workers`.
 */
#ifndef GW_COLLECTIVES_COLLECTIVES_H
#define GW_COLLECTIVES_COLLECTIVES_H

#include "core/core.h"

/* GW_NOBODY: a step has no receiver, or no sender. GW_ANYBODY: it receives from any rank. */
enum { GW_NOBODY = UINT32_MAX, GW_ANYBODY = UINT32_MAX - 1 };

/*
 * A part of the call's data: `count` blocks from `first` on; block 0 follows the last one. The
 * algorithm defines the blocks (`cut`, `shares`). In an alltoall block r is a worker's data for
 * rank r; Bruck's sends blocks that are not adjacent, of which `first` says the first place.
 */
struct gw_blocks {
    uint32_t first, count;
};

/*
 * A step sends and receives at once. It ends when its message has left the rank and the message
 * that it receives has arrived; then the rank's next step begins. It sends the data that the rank
 * held when the step began. Ranks send to each other in the order in which they receive from each
 * other, so messages of one call need no tags. Calls that overlap need them: a receive from
 * GW_ANYBODY must not take a message of a later call.
 */
struct gw_step {
    uint32_t to, from;       /* ranks, or GW_NOBODY; `from` may be GW_ANYBODY */
    uint64_t send_bytes;     /* 0: an empty message, if `to` is a rank */
    uint64_t receive_bytes;  /* of the message from `from` */
    uint64_t combined_bytes; /* part of receive_bytes that is added to, or merged with, data of the
                              * rank */
    struct gw_blocks send;
    struct gw_blocks receive; /* as sent; from GW_ANYBODY, `first` depends on the sender */
};

/*
 * One call. `bytes` is one worker's contribution, as in cluster files (docs/files.md); for scatter
 * and pull, what one worker receives; for alltoall, what one worker sends to all, its own part
 * included. 1 to 2^30 workers. A message or an offset of 2^64 bytes or
 * more counts as UINT64_MAX.
 */
struct gw_call {
    uint32_t workers;
    uint64_t bytes;
};

struct gw_collective {
    const char *operation; /* "allgather": the name in calibrations and schedules */
    const char *name;      /* "ring" */
    const char *title;     /* one line for readers */
    const char *source;    /* the publication */
    enum { GW_SYMMETRIC_NEVER, GW_SYMMETRIC_POWERS_OF_TWO, GW_SYMMETRIC_ALWAYS } symmetric;
    bool uniform; /* if ranks are interchangeable: steps differ in ranks only */
    bool server;  /* there is a server besides the workers */
    uint32_t (*steps)(const struct gw_call *call, uint32_t rank); /* number of the rank's steps */
    void (*step)(const struct gw_call *call, uint32_t rank, uint32_t index, struct gw_step *out);
    /*
     * How the call's data is cut into blocks. The core is the largest power of two that is not
     * above the workers. GW_COPIES: each block has the call's bytes. GW_SHARES: all blocks together
     * have them: whole elements of 4 bytes if these divide the bytes, otherwise single bytes; the
     * first blocks have one element more where blocks cannot be equal. GW_EQUAL_SHARES: the same,
     * but all blocks are as long as the longest; of single bytes.
     */
    enum { GW_ONE_BLOCK, GW_BLOCK_PER_WORKER, GW_BLOCK_PER_CORE_WORKER } cut;
    enum { GW_COPIES, GW_SHARES, GW_EQUAL_SHARES } shares;
    /*
     * The literature's closed form for equal, uncontended links on which a message of n bytes takes
     * alpha_s + n * beta_s_per_byte and ranks send and receive at the same time
     * (docs/methods.md says where it is exact). Unequal shares count as the largest.
     */
    double (*cost)(const struct gw_call *call, double alpha_s, double beta_s_per_byte);
};

/* All algorithms, ended by NULL. The first of an operation is its default. */
extern const struct gw_collective *const gw_collectives[];

/* Finds the algorithm `name` (NULL: the first) of an operation. An error lists the valid names. */
enum gw_status gw_collective_find(const char *operation, const char *name,
                                  const struct gw_collective **out, struct gw_error *error);

/*
 * True if ranks are interchangeable: with equal links and an equal start, all ranks take every step
 * at the same time. Then all ranks take equally many steps; in step i each sends to one rank and
 * receives from one rank (never GW_ANYBODY); and the bytes of step i are equal on all ranks if
 * `bytes` is a multiple of 4 * workers (unless GW_SHARES: always). With other bytes, ranks may
 * differ by a step's few bytes.
 */
bool gw_collective_symmetric(const struct gw_collective *collective, uint32_t workers);

/* The number of ranks, servers included. */
uint32_t gw_collective_ranks(const struct gw_collective *collective, uint32_t workers);

#endif
