/* The parts of a run: matching, parking, the order of starts, and the errors of schedules that
 * cannot run to their end. Private to this room. */
#ifndef GW_GOAL_RUN_H
#define GW_GOAL_RUN_H

#include "engine/engine.h"
#include "goal/goal.h"

/* ---- matching -------------------------------------------------------------------------------- */

/* Receives that wait for their message, and messages that wait for their receive. */

static const uint32_t GW_UNMATCHED = UINT32_MAX;

/* Operations in order of arrival, linked by their `size`: the lower half is the next operation, the
 * upper half (of the first) the last one. */
struct gw_match_list {
    uint32_t first; /* GW_UNMATCHED: none */
};

/* The receives, or the messages, that wait at a rank for one peer and tag. */
struct gw_match_slot {
    uint32_t hash;
    struct gw_match_list list; /* empty: a free slot */
};

/* Private to matching.c, except for prefetching. */
struct gw_matching {
    struct gw_goal_operation *operations;
    size_t slot_count, used; /* slot_count is a power of two */
    struct gw_match_slot *slots;
    /* Ranks where a receive or a message may match several others have plain lists, searched from
     * the front; NULL if there are no such ranks. */
    struct gw_match_wild {
        bool is;
        struct gw_match_list receives, messages;
    } * wild;
};

/* The operations of a schedule that are matched. */
struct gw_matched {
    uint32_t posted; /* receives that are posted at the start */
    bool wildcards;  /* there are receives from any rank, or tags that match any other */
};

enum gw_status gw_matching_open(struct gw_matching **out, const struct gw_goal *goal,
                                const struct gw_matched *matched, struct gw_error *error);
void gw_matching_close(struct gw_matching *matching);

/*
 * Matches a message that arrives with a receive, or a receive that is posted with a message. *found
 * is the match, which is removed, or GW_UNMATCHED: then the operation is kept until it is found.
 * The index of its send stands for a message. Operations must have started: their `waits` is their
 * rank. `waits` and `size` of an operation that is kept are in use until it is found.
 */
enum gw_status gw_match(struct gw_matching *matching, uint32_t operation, uint32_t *found,
                        struct gw_error *error);

/* ---- matching: prefetching ------------------------------------------------------------------- */

/*
 * The key of a receive, or of a message: a send that has started, at the rank that it is sent to.
 */
struct gw_match_key {
    uint32_t rank, peer, tag;
};

static inline struct gw_match_key gw_match_key_of(const struct gw_goal_operation *operation) {
    bool message = operation->kind == GW_GOAL_SEND;
    return (struct gw_match_key){.rank = message ? operation->peer : operation->waits,
                                 .peer = message ? operation->waits : operation->peer,
                                 .tag = operation->tag};
}

static inline uint32_t gw_match_hash(const struct gw_match_key *key) {
    uint64_t x = ((uint64_t)key->rank << 32 | key->peer) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 32) ^ key->tag) * 0xd6e8feb86659fd93u;
    return (uint32_t)(x >> 32);
}

/* Prefetches memory that matching this operation will read. Always inlined: compilers may take a
 * function that only prefetches for one without effect, and drop its calls. */
__attribute__((always_inline)) static inline void
gw_match_soon(const struct gw_matching *matching, const struct gw_goal_operation *operation) {
    struct gw_match_key key = gw_match_key_of(operation);
    __builtin_prefetch(&matching->slots[gw_match_hash(&key) & (matching->slot_count - 1)], 1);
}

/* The probable match, once that memory has arrived; or GW_UNMATCHED. */
static inline uint32_t gw_match_guess(const struct gw_matching *matching,
                                      const struct gw_goal_operation *operation) {
    struct gw_match_key key = gw_match_key_of(operation);
    uint32_t hash = gw_match_hash(&key);
    const struct gw_match_slot *slot = &matching->slots[hash & (matching->slot_count - 1)];
    return slot->hash == hash ? slot->list.first : GW_UNMATCHED;
}

/* ---- parking --------------------------------------------------------------------------------- */

/*
 * Operations whose processor or network interface is busy. Only the next one in order for a
 * resource is in the event queue; the others are parked here, so that a thousand messages to one
 * host cost a thousand events and not a million.
 */
struct gw_parking;

enum gw_status gw_parking_open(struct gw_parking **out, struct gw_error *error);
void gw_parking_close(struct gw_parking *parking);

/*
 * Sets *parked if the event is parked. Otherwise it is the next in order, and belongs in the queue.
 */
enum gw_status gw_park(struct gw_parking *parking, uint64_t resource, uint32_t order, uint32_t id,
                       bool *parked, struct gw_error *error);

/* Called when the event with order `used`, which is not parked, has used the resource. Returns true
 * if another event is next now; it is removed and returned in *order and *id. */
bool gw_unpark(struct gw_parking *parking, uint64_t resource, uint32_t used, uint32_t *order,
               uint32_t *id);

/* ---- the order of starts --------------------------------------------------------------------- */

/* Scratch memory for ordering operations of a rank that become free at once. */
struct gw_start_order {
    size_t capacity;
    void *room; /* the scratch memory */
};

/*
 * Orders sends before receives before calculations, each kind in LogGOPSim's order: up to 16
 * operations, as they became free. LogGOPSim orders more of them by a sort that is not stable, and
 * start times of sends depend on it; the same sort is used here, except that receives from the same
 * peer with the same tag (or, if there are wildcards, all receives) stay in the order in which they
 * became free.
 */
enum gw_status gw_goal_start_order(struct gw_start_order *order,
                                   const struct gw_goal_operation *operations, uint32_t *free_ones,
                                   size_t count, struct gw_error *error);

void gw_start_order_free(struct gw_start_order *order);

/* ---- the largest time ------------------------------------------------------------------------ */

/* The largest time. The cost of an operation or a message is a sum of two times; added to the time
 * of an event it is below 2^64. Every event's time is checked, so no sum wraps. */
static const uint64_t GW_GOAL_LONGEST_NS = UINT64_C(1) << 62;

/* Fails if a parameter, a calculation, or the charge for the bytes of a message is longer. */
enum gw_status gw_goal_check_times(const struct gw_goal *goal, const struct gw_loggops *parameters,
                                   const char *path, struct gw_error *error);

/* Report an operation, or its message, at a later time, and a rank that ends later. */
enum gw_status gw_goal_fail_late(const char *path, uint32_t operation, struct gw_error *error);
enum gw_status gw_goal_fail_late_rank(const char *path, uint32_t rank, struct gw_error *error);

/* ---- deadlocks ------------------------------------------------------------------------------- */

/* An operation's state, in bits. */
enum {
    FREE = 1,    /* in the queue, or later; its `waits` is now its rank */
    STARTED = 2, /* a send: its events in the queue are now its message's */
    ENDED = 4,
    ARRIVED = 8,   /* a send: its message has arrived */
    QUEUED_UP = 16 /* it is, or was, the next in order for a resource */
};

/* Fails if an operation has not ended, or a message has not been received. */
enum gw_status gw_goal_check_ended(const struct gw_goal *goal, const char *path,
                                   struct gw_error *error);

#endif
