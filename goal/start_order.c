#include "goal/run.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_INSERTION = 16
}; /* the longest range that the sort leaves to insertion, which is stable */

/* An operation that is sorted by its kind; the other members are carried along. */
struct item {
    uint32_t operation;
    uint32_t came; /* its number among those that became free */
    uint32_t peer, tag;
    uint8_t kind;
};

/* ---- quicksort as GCC's std::sort does it --------------------------------------------------- */

static void swap_items(struct item *a, struct item *b) {
    struct item kept = *a;
    *a = *b;
    *b = kept;
}

static struct item *median_of_three(struct item *a, struct item *b, struct item *c) {
    if (a->kind < b->kind) {
        return b->kind < c->kind ? b : a->kind < c->kind ? c : a;
    }
    return a->kind < c->kind ? a : b->kind < c->kind ? c : b;
}

/* Hoare's partition by the kind of first[0]; returns where the second part begins. */
static struct item *partition_items(struct item *first, struct item *last) {
    const struct item *pivot = first++;
    for (;;) {
        while (first->kind < pivot->kind) {
            first++;
        }
        last--;
        while (pivot->kind < last->kind) {
            last--;
        }
        if (first >= last) {
            return first;
        }
        swap_items(first, last);
        first++;
    }
}

/* Leaves ranges of at most MAX_INSERTION items unsorted. With three kinds, all but two partitions
 * halve their range, so the depth at which std::sort would switch to heapsort is not reached. */
static void sort_roughly(struct item *first, struct item *last) {
    while (last - first > MAX_INSERTION) {
        swap_items(first, median_of_three(first + 1, first + (last - first) / 2, last - 1));
        struct item *cut = partition_items(first, last);
        sort_roughly(cut, last);
        last = cut;
    }
}

static void sort_by_insertion(struct item *items, size_t count) {
    for (size_t i = 1; i < count; i++) {
        struct item item = items[i];
        size_t hole = i;
        for (; hole > 0 && item.kind < items[hole - 1].kind; hole--) {
            items[hole] = items[hole - 1];
        }
        items[hole] = item;
    }
}

/* ---- receives ------------------------------------------------------------------------------ */

static int compare_numbers(uint32_t a, uint32_t b) {
    return (a > b) - (a < b);
}

static int by_match_then_came(const void *a, const void *b) {
    const struct item *x = a;
    const struct item *y = b;
    int peers = compare_numbers(x->peer, y->peer);
    int tags = compare_numbers(x->tag, y->tag);
    return peers != 0 ? peers : tags != 0 ? tags : compare_numbers(x->came, y->came);
}

static int by_came(const void *a, const void *b) {
    return compare_numbers(((const struct item *)a)->came, ((const struct item *)b)->came);
}

/* True if two receives match the same messages, or one of them matches any. `places`: scratch
 * memory. */
static bool is_ambiguous(const struct item *receives, size_t count, struct item *places) {
    uint32_t *slots = (uint32_t *)(void *)places; /* more than 4 for each receive */
    size_t slot_count = 4;
    while (slot_count < 2 * count) {
        slot_count *= 2;
    }
    memset(slots, 0, slot_count * sizeof *slots);
    for (size_t i = 0; i < count; i++) {
        const struct item *item = &receives[i];
        if (item->peer == GW_GOAL_ANY || item->tag == GW_GOAL_ANY) {
            return true;
        }
        uint64_t hash = ((uint64_t)item->tag << 32 | item->peer) * 0x9e3779b97f4a7c15u;
        size_t at = (size_t)(hash >> 32) & (slot_count - 1);
        for (; slots[at] != 0; at = (at + 1) & (slot_count - 1)) {
            const struct item *other = &receives[slots[at] - 1];
            if (other->peer == item->peer && other->tag == item->tag) {
                return true;
            }
        }
        slots[at] = (uint32_t)i + 1;
    }
    return false;
}

/* Restores the order of arrival among receives that match the same messages. */
static void restore_receives(struct item *receives, size_t count, struct item *places) {
    if (!is_ambiguous(receives, count, places)) {
        return;
    }
    bool wild = false;
    for (size_t i = 0; i < count; i++) {
        places[i] = receives[i];
        wild = wild || receives[i].peer == GW_GOAL_ANY || receives[i].tag == GW_GOAL_ANY;
    }
    if (!wild) {
        for (size_t i = 0; i < count; i++) {
            places[i].came = (uint32_t)i;
        }
        qsort(places, count, sizeof *places, by_match_then_came);
        qsort(receives, count, sizeof *receives, by_match_then_came);
        for (size_t i = 0; i < count; i++) {
            receives[i].came = places[i].came;
        }
    }
    qsort(receives, count, sizeof *receives, by_came);
}

/* ---- orders of few and of many operations ---------------------------------------------------- */

static void order_few(const struct gw_goal_operation *operations, uint32_t *free_ones,
                      size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint32_t operation = free_ones[i];
        size_t hole = i;
        for (; hole > 0 && operations[operation].kind < operations[free_ones[hole - 1]].kind;
             hole--) {
            free_ones[hole] = free_ones[hole - 1];
        }
        free_ones[hole] = operation;
    }
}

static size_t count_kind(const struct item *items, size_t count, uint8_t kind) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        found += items[i].kind == kind;
    }
    return found;
}

enum gw_status gw_goal_start_order(struct gw_start_order *order,
                                   const struct gw_goal_operation *operations, uint32_t *free_ones,
                                   size_t count, struct gw_error *error) {
    if (count <= MAX_INSERTION) {
        order_few(operations, free_ones, count);
        return GW_OK;
    }
    struct item *items = gw_grow(order->room, 2 * count, &order->capacity, sizeof *items);
    if (items == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    order->room = items;
    for (size_t i = 0; i < count; i++) {
        const struct gw_goal_operation *operation = &operations[free_ones[i]];
        items[i] = (struct item){.operation = free_ones[i],
                                 .came = (uint32_t)i,
                                 .peer = operation->peer,
                                 .tag = operation->tag,
                                 .kind = operation->kind};
    }
    sort_roughly(items, items + count);
    sort_by_insertion(items, count);
    size_t sends = count_kind(items, count, GW_GOAL_SEND);
    restore_receives(items + sends, count_kind(items, count, GW_GOAL_RECEIVE), items + count);
    for (size_t i = 0; i < count; i++) {
        free_ones[i] = items[i].operation;
    }
    return GW_OK;
}

void gw_start_order_free(struct gw_start_order *order) {
    free(order->room);
}
