#include "goal/run.h"

#include <stdlib.h>

static const uint32_t NONE = UINT32_MAX;

/* A pairing heap's node (Fredman, Sedgewick, Sleator and Tarjan, 1986). */
struct node {
    uint32_t order, id;
    uint32_t child, sibling;
};

/* A resource that operations wait for. */
struct slot {
    uint64_t resource;
    uint32_t next_order; /* order of the one in the event queue */
    uint32_t root;       /* heap of parked operations, or NONE */
    bool used;
};

struct gw_parking {
    size_t slot_count, used; /* slot_count is a power of two */
    struct slot *slots;
    size_t node_count, node_capacity;
    struct node *nodes;
    uint32_t free_node;
};

/* ---- heaps --------------------------------------------------------------------------------- */

static uint32_t merge_heaps(struct node *nodes, uint32_t a, uint32_t b) {
    if (a == NONE || b == NONE) {
        return a == NONE ? b : a;
    }
    uint32_t first = nodes[a].order < nodes[b].order ? a : b;
    uint32_t second = first == a ? b : a;
    nodes[second].sibling = nodes[first].child;
    nodes[first].child = second;
    return first;
}

/* Merges the children in pairs from the front, then the pairs from the back. */
static uint32_t merge_children(struct node *nodes, uint32_t child) {
    uint32_t pairs = NONE;
    while (child != NONE) {
        uint32_t a = child;
        uint32_t b = nodes[a].sibling;
        child = b == NONE ? NONE : nodes[b].sibling;
        nodes[a].sibling = NONE;
        if (b != NONE) {
            nodes[b].sibling = NONE;
        }
        uint32_t pair = merge_heaps(nodes, a, b);
        nodes[pair].sibling = pairs;
        pairs = pair;
    }
    uint32_t root = NONE;
    while (pairs != NONE) {
        uint32_t next = nodes[pairs].sibling;
        nodes[pairs].sibling = NONE;
        root = merge_heaps(nodes, root, pairs);
        pairs = next;
    }
    return root;
}

static enum gw_status add_node(struct gw_parking *parking, uint32_t order, uint32_t id,
                               uint32_t *out, struct gw_error *error) {
    if (parking->free_node == NONE) {
        struct node *nodes = gw_grow(parking->nodes, parking->node_count + 1,
                                     &parking->node_capacity, sizeof *nodes);
        if (nodes == NULL) {
            return gw_fail_memory(error, "simulating");
        }
        parking->nodes = nodes;
        *out = (uint32_t)parking->node_count++;
    } else {
        *out = parking->free_node;
        parking->free_node = parking->nodes[*out].sibling;
    }
    parking->nodes[*out] = (struct node){.order = order, .id = id, .child = NONE, .sibling = NONE};
    return GW_OK;
}

/* ---- resources ----------------------------------------------------------------------------- */

static size_t home_of(uint64_t resource, size_t slot_count) {
    return (size_t)(resource * 0x9e3779b97f4a7c15u >> 32) & (slot_count - 1);
}

/* Finds the resource's slot, or the free one where it belongs. */
static struct slot *find_slot(struct slot *slots, size_t count, uint64_t resource) {
    size_t at = home_of(resource, count);
    while (slots[at].used && slots[at].resource != resource) {
        at = (at + 1) & (count - 1);
    }
    return &slots[at];
}

static enum gw_status double_slots(struct gw_parking *parking, struct gw_error *error) {
    size_t count = 2 * parking->slot_count;
    struct slot *slots = calloc(count, sizeof *slots);
    if (slots == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    for (size_t i = 0; i < parking->slot_count; i++) {
        if (parking->slots[i].used) {
            *find_slot(slots, count, parking->slots[i].resource) = parking->slots[i];
        }
    }
    free(parking->slots);
    parking->slots = slots;
    parking->slot_count = count;
    return GW_OK;
}

/* Frees a slot. Moves up slots behind it that linear probing would no longer find. */
static void vacate_slot(struct gw_parking *parking, struct slot *slot) {
    size_t mask = parking->slot_count - 1;
    size_t hole = (size_t)(slot - parking->slots);
    size_t at = hole;
    for (;;) {
        at = (at + 1) & mask;
        if (!parking->slots[at].used) {
            break;
        }
        size_t home = home_of(parking->slots[at].resource, parking->slot_count);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            parking->slots[hole] = parking->slots[at];
            hole = at;
        }
    }
    parking->slots[hole].used = false;
    parking->used--;
}

enum gw_status gw_park(struct gw_parking *parking, uint64_t resource, uint32_t order, uint32_t id,
                       bool *parked, struct gw_error *error) {
    if (2 * (parking->used + 1) > parking->slot_count) {
        GW_TRY(double_slots(parking, error));
    }
    struct slot *slot = find_slot(parking->slots, parking->slot_count, resource);
    *parked = slot->used && order > slot->next_order;
    if (*parked) {
        uint32_t node = NONE;
        GW_TRY(add_node(parking, order, id, &node, error));
        slot->root = merge_heaps(parking->nodes, slot->root, node);
        return GW_OK;
    }
    if (!slot->used) {
        *slot = (struct slot){.resource = resource, .root = NONE, .used = true};
        parking->used++;
    }
    slot->next_order = order;
    return GW_OK;
}

bool gw_unpark(struct gw_parking *parking, uint64_t resource, uint32_t used, uint32_t *order,
               uint32_t *id) {
    struct slot *slot = find_slot(parking->slots, parking->slot_count, resource);
    if (!slot->used || slot->next_order != used) {
        return false;
    }
    uint32_t root = slot->root;
    if (root == NONE) {
        vacate_slot(parking, slot);
        return false;
    }
    struct node *node = &parking->nodes[root];
    *order = node->order;
    *id = node->id;
    slot->next_order = node->order;
    slot->root = merge_children(parking->nodes, node->child);
    node->sibling = parking->free_node;
    parking->free_node = root;
    return true;
}

enum gw_status gw_parking_open(struct gw_parking **out, struct gw_error *error) {
    enum { FIRST_SLOTS = 256 };
    struct gw_parking *parking = calloc(1, sizeof *parking);
    if (parking == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    parking->slots = calloc(FIRST_SLOTS, sizeof *parking->slots);
    parking->slot_count = FIRST_SLOTS;
    parking->free_node = NONE;
    if (parking->slots == NULL) {
        gw_parking_close(parking);
        return gw_fail_memory(error, "simulating");
    }
    *out = parking;
    return GW_OK;
}

void gw_parking_close(struct gw_parking *parking) {
    if (parking != NULL) {
        free(parking->slots);
        free(parking->nodes);
        free(parking);
    }
}
