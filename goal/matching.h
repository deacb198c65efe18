/* Receives that wait for their message, and messages that came before their receive. */
#ifndef GW_GOAL_MATCHING_H
#define GW_GOAL_MATCHING_H

#include "goal/goal.h"

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

/* ---- looking ahead ------------------------------------------------------------------------- */

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

#endif
