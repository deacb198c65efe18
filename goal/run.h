/*
 * What a run is made of, each by itself: matching, parking, the order of starts, and what it says
 * of a schedule that it cannot run to its end. Private to this room.
 */
#ifndef GW_GOAL_RUN_H
#define GW_GOAL_RUN_H

#include "engine/engine.h"
#include "goal/goal.h"

/* ---- matching -------------------------------------------------------------------------------- */

/* Receives that wait for their message, and messages that came before their receive. */

static const uint32_t GW_UNMATCHED = UINT32_MAX;

/*
 * Operations in the order in which they came. An operation's size is what links it: its lower half
 * is the next one, the upper half (of the first) the last one.
 */
struct gw_match_list {
    uint32_t first; /* GW_UNMATCHED: none */
};

/* All that wait at a rank for one peer and tag: receives, or messages, never both. */
struct gw_match_slot {
    uint32_t hash;
    struct gw_match_list list; /* empty: a free slot */
};

/* Private to matching.c, but for looking ahead. */
struct gw_matching {
    struct gw_goal_operation *operations;
    size_t slot_count, used; /* a power of two */
    struct gw_match_slot *slots;
    /*
     * Ranks where a receive or a message may match several others keep plain lists, searched from
     * the front; NULL if there are no such ranks.
     */
    struct gw_match_wild {
        bool is;
        struct gw_match_list receives, messages;
    } * wild;
};

/* What of a schedule is matched. */
struct gw_matched {
    uint32_t posted; /* receives that are posted at the start */
    bool wildcards;  /* there are receives from any rank, or tags that match any other */
};

enum gw_status gw_matching_open(struct gw_matching **out, const struct gw_goal *goal,
                                const struct gw_matched *matched, struct gw_error *error);
void gw_matching_close(struct gw_matching *matching);

/*
 * The receive for a message that arrives, or the message for a receive that is posted, which
 * thereby leave; or GW_UNMATCHED: then the operation stays here until it is found. A message goes
 * by the index of its send. Operations must have started: their `waits` is their rank; that of one
 * that stays here is in use until it is found, as is its size.
 */
enum gw_status gw_match(struct gw_matching *matching, uint32_t operation, uint32_t *found,
                        struct gw_error *error);

/* ---- matching: looking ahead ----------------------------------------------------------------- */

/* A message is a send that has started, at the rank that it is sent to. */
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

/*
 * Asks early for the memory that matching this operation will read. Always inlined: compilers may
 * take a function that only asks for memory for one that does nothing, and leave out its calls.
 */
__attribute__((always_inline)) static inline void
gw_match_soon(const struct gw_matching *matching, const struct gw_goal_operation *operation) {
    struct gw_match_key key = gw_match_key_of(operation);
    __builtin_prefetch(&matching->slots[gw_match_hash(&key) & (matching->slot_count - 1)], 1);
}

/* What it will probably be matched with, once that memory has come; or GW_UNMATCHED. */
static inline uint32_t gw_match_guess(const struct gw_matching *matching,
                                      const struct gw_goal_operation *operation) {
    struct gw_match_key key = gw_match_key_of(operation);
    uint32_t hash = gw_match_hash(&key);
    const struct gw_match_slot *slot = &matching->slots[hash & (matching->slot_count - 1)];
    return slot->hash == hash ? slot->list.first : GW_UNMATCHED;
}

/* ---- parking --------------------------------------------------------------------------------- */

/*
 * Operations that found their processor or their network interface busy. Of those that wait for the
 * same, only the one that is next in order is kept in the event queue; the others are parked here,
 * so that a thousand messages for one host cost a thousand events and not a million.
 */
struct gw_parking;

enum gw_status gw_parking_open(struct gw_parking **out, struct gw_error *error);
void gw_parking_close(struct gw_parking *parking);

/* *parked: it is kept here. Otherwise it is the next in order, and belongs in the queue. */
enum gw_status gw_park(struct gw_parking *parking, uint64_t resource, uint32_t order, uint32_t id,
                       bool *parked, struct gw_error *error);

/*
 * The event of that order, which had not been parked, has used the resource. Whether another one is
 * next now: *order and *id, which leave.
 */
bool gw_unpark(struct gw_parking *parking, uint64_t resource, uint32_t used, uint32_t *order,
               uint32_t *id);

/* ---- the order of starts --------------------------------------------------------------------- */

/* In which order operations of a rank start that become free at once. */
struct gw_start_order {
    size_t capacity;
    void *room; /* to work in */
};

/*
 * Sends, then receives, then calculations, each in LogGOPSim's order: up to 16 operations, as they
 * became free. More of them LogGOPSim orders by a sort that is not stable; the time at which a send
 * starts depends on it, so the same is done here, except that receives from the same peer with the
 * same tag (or, if there are wildcards, all receives) stay as they became free.
 */
enum gw_status gw_goal_start_order(struct gw_start_order *order,
                                   const struct gw_goal_operation *operations, uint32_t *free_ones,
                                   size_t count, struct gw_error *error);

void gw_start_order_free(struct gw_start_order *order);

/* ---- times that a run can keep --------------------------------------------------------------- */

/*
 * What an operation or a message costs is a sum of two times; added to a time at which something
 * happens it is less than 2^64. So as long as none of these times is longer than this - and every
 * event's is looked at - no sum wraps.
 */
static const uint64_t GW_GOAL_LONGEST_NS = UINT64_C(1) << 62;

/* Fails if a parameter, a calculation, or what the parameters charge for bytes takes longer. */
enum gw_status gw_goal_check_times(const struct gw_goal *goal, const struct gw_loggops *parameters,
                                   const char *path, struct gw_error *error);

/* Say that an operation, or a message of it, comes later, or that a rank ends later. */
enum gw_status gw_goal_fail_late(const char *path, uint32_t operation, struct gw_error *error);
enum gw_status gw_goal_fail_late_rank(const char *path, uint32_t rank, struct gw_error *error);

/* ---- operations that wait for ever ----------------------------------------------------------- */

/* An operation's state, in bits. */
enum {
    FREE = 1,    /* in the queue, or beyond; its `waits` is now its rank */
    STARTED = 2, /* a send: its events in the queue are now its message's */
    ENDED = 4,
    ARRIVED = 8,   /* a send: its message */
    QUEUED_UP = 16 /* it is, or was, the next in order for a resource */
};

/* Fails if an operation has not ended, or a message has not been received. */
enum gw_status gw_goal_check_ended(const struct gw_goal *goal, const char *path,
                                   struct gw_error *error);

#endif
