#include "goal/run.h"

#include <stdlib.h>

static uint32_t next_in_list(const struct gw_matching *matching, uint32_t operation) {
    return (uint32_t)matching->operations[operation].size;
}

static uint32_t last_in_list(const struct gw_matching *matching, const struct gw_match_list *list) {
    return (uint32_t)(matching->operations[list->first].size >> 32);
}

static void set_next(struct gw_matching *matching, uint32_t operation, uint32_t next_one) {
    uint64_t *size = &matching->operations[operation].size;
    *size = (*size & ~(uint64_t)UINT32_MAX) | next_one;
}

static void set_last(struct gw_matching *matching, const struct gw_match_list *list,
                     uint32_t last_one) {
    if (list->first != GW_UNMATCHED) {
        uint64_t *size = &matching->operations[list->first].size;
        *size = (uint32_t)*size | (uint64_t)last_one << 32;
    }
}

static void list_append(struct gw_matching *matching, struct gw_match_list *list,
                        uint32_t operation) {
    set_next(matching, operation, GW_UNMATCHED);
    if (list->first == GW_UNMATCHED) {
        list->first = operation;
    } else {
        set_next(matching, last_in_list(matching, list), operation);
    }
    set_last(matching, list, operation);
}

/* Removes the operation after `before` (GW_UNMATCHED: the first), and returns it. */
static uint32_t list_remove(struct gw_matching *matching, struct gw_match_list *list,
                            uint32_t before) {
    uint32_t last_one = last_in_list(matching, list);
    uint32_t taken = before == GW_UNMATCHED ? list->first : next_in_list(matching, before);
    if (before == GW_UNMATCHED) {
        list->first = next_in_list(matching, taken);
    } else {
        set_next(matching, before, next_in_list(matching, taken));
    }
    set_last(matching, list, last_one == taken ? before : last_one);
    return taken;
}

/* ---- ranks with wildcards -------------------------------------------------------------------- */

static enum gw_status find_wild_ranks(struct gw_matching *matching, const struct gw_goal *goal,
                                      struct gw_error *error) {
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        const struct gw_goal_rank *place = &goal->ranks[rank];
        for (uint32_t i = place->first; i < place->first + place->count; i++) {
            const struct gw_goal_operation *operation = &goal->operations[i];
            if (operation->kind == GW_GOAL_CALC ||
                (operation->tag != GW_GOAL_ANY && operation->peer != GW_GOAL_ANY)) {
                continue;
            }
            if (matching->wild == NULL) {
                matching->wild = calloc(goal->rank_count, sizeof *matching->wild);
                if (matching->wild == NULL) {
                    return gw_fail_memory(error, "simulating");
                }
            }
            bool send = operation->kind == GW_GOAL_SEND;
            struct gw_match_wild *wild = &matching->wild[send ? operation->peer : rank];
            *wild = (struct gw_match_wild){.is = true,
                                           .receives = {.first = GW_UNMATCHED},
                                           .messages = {.first = GW_UNMATCHED}};
        }
    }
    return GW_OK;
}

static bool are_matching(uint32_t a, uint32_t b) {
    return a == b || a == GW_GOAL_ANY || b == GW_GOAL_ANY;
}

/* Removes the first matching operation from the list, and returns it, or GW_UNMATCHED. */
static uint32_t list_match(struct gw_matching *matching, struct gw_match_list *list,
                           const struct gw_match_key *key) {
    uint32_t before = GW_UNMATCHED;
    for (uint32_t i = list->first; i != GW_UNMATCHED; before = i, i = next_in_list(matching, i)) {
        struct gw_match_key other = gw_match_key_of(&matching->operations[i]);
        if (!are_matching(other.peer, key->peer) || !are_matching(other.tag, key->tag)) {
            continue;
        }
        return list_remove(matching, list, before);
    }
    return GW_UNMATCHED;
}

static uint32_t match_wild(struct gw_matching *matching, uint32_t operation,
                           const struct gw_match_key *key) {
    struct gw_match_wild *wild = &matching->wild[key->rank];
    bool message = matching->operations[operation].kind == GW_GOAL_SEND;
    uint32_t found = list_match(matching, message ? &wild->receives : &wild->messages, key);
    if (found == GW_UNMATCHED) {
        list_append(matching, message ? &wild->messages : &wild->receives, operation);
    }
    return found;
}

/* ---- ranks with exact keys ------------------------------------------------------------------- */

static struct gw_match_slot *free_slots(size_t count) {
    struct gw_match_slot *slots = malloc(count * sizeof *slots);
    gw_prefer_large_pages(slots, count * sizeof *slots);
    for (size_t i = 0; slots != NULL && i < count; i++) {
        slots[i].list.first = GW_UNMATCHED;
    }
    return slots;
}

/* Doubles the number of slots. */
static enum gw_status double_slots(struct gw_matching *matching, struct gw_error *error) {
    size_t count = 2 * matching->slot_count;
    struct gw_match_slot *slots = free_slots(count);
    if (slots == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    for (size_t i = 0; i < matching->slot_count; i++) {
        if (matching->slots[i].list.first == GW_UNMATCHED) {
            continue;
        }
        size_t at = matching->slots[i].hash & (count - 1);
        while (slots[at].list.first != GW_UNMATCHED) {
            at = (at + 1) & (count - 1);
        }
        slots[at] = matching->slots[i];
    }
    free(matching->slots);
    matching->slots = slots;
    matching->slot_count = count;
    return GW_OK;
}

/* Frees a slot. Moves up slots behind it that linear probing would no longer find. */
static void vacate_slot(struct gw_matching *matching, size_t hole) {
    size_t mask = matching->slot_count - 1;
    size_t at = hole;
    for (;;) {
        at = (at + 1) & mask;
        if (matching->slots[at].list.first == GW_UNMATCHED) {
            break;
        }
        size_t home = matching->slots[at].hash & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            matching->slots[hole] = matching->slots[at];
            hole = at;
        }
    }
    matching->slots[hole].list.first = GW_UNMATCHED;
    matching->used--;
}

static enum gw_status match_exact(struct gw_matching *matching, uint32_t operation,
                                  const struct gw_match_key *key, uint32_t *found,
                                  struct gw_error *error) {
    uint32_t hash = gw_match_hash(key);
    size_t at = hash & (matching->slot_count - 1);
    for (;; at = (at + 1) & (matching->slot_count - 1)) {
        struct gw_match_slot *slot = &matching->slots[at];
        if (slot->list.first == GW_UNMATCHED) {
            slot->hash = hash;
            list_append(matching, &slot->list, operation);
            *found = GW_UNMATCHED;
            return 2 * ++matching->used > matching->slot_count ? double_slots(matching, error)
                                                               : GW_OK;
        }
        if (slot->hash != hash) {
            continue;
        }
        const struct gw_goal_operation *first = &matching->operations[slot->list.first];
        struct gw_match_key other = gw_match_key_of(first);
        if (other.rank != key->rank || other.peer != key->peer || other.tag != key->tag) {
            continue;
        }
        if (first->kind == matching->operations[operation].kind) {
            list_append(matching, &slot->list, operation);
            *found = GW_UNMATCHED;
            return GW_OK;
        }
        *found = list_remove(matching, &slot->list, GW_UNMATCHED);
        if (slot->list.first == GW_UNMATCHED) {
            vacate_slot(matching, at);
        }
        return GW_OK;
    }
}

enum gw_status gw_match(struct gw_matching *matching, uint32_t operation, uint32_t *found,
                        struct gw_error *error) {
    struct gw_match_key key = gw_match_key_of(&matching->operations[operation]);
    if (matching->wild != NULL && matching->wild[key.rank].is) {
        *found = match_wild(matching, operation, &key);
        return GW_OK;
    }
    return match_exact(matching, operation, &key, found, error);
}

enum gw_status gw_matching_open(struct gw_matching **out, const struct gw_goal *goal,
                                const struct gw_matched *matched, struct gw_error *error) {
    struct gw_matching *matching = calloc(1, sizeof *matching);
    if (matching == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    matching->operations = goal->operations;
    matching->slot_count = 1024; /* or a power of two that leaves half of the slots free at first */
    while (matching->slot_count < 2 * (size_t)matched->posted) {
        matching->slot_count *= 2;
    }
    matching->slots = free_slots(matching->slot_count);
    enum gw_status status = matching->slots == NULL ? gw_fail_memory(error, "simulating")
                            : matched->wildcards    ? find_wild_ranks(matching, goal, error)
                                                    : GW_OK;
    if (status != GW_OK) {
        gw_matching_close(matching);
        return status;
    }
    *out = matching;
    return GW_OK;
}

void gw_matching_close(struct gw_matching *matching) {
    if (matching != NULL) {
        free(matching->slots);
        free(matching->wild);
        free(matching);
    }
}
