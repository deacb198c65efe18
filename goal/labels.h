/* The labels of one rank, and the operations that they name. */
#ifndef GW_GOAL_LABELS_H
#define GW_GOAL_LABELS_H

#include "goal/scanner.h"

struct gw_label {
    size_t bytes; /* where they are in `text`: the length, then as many */
    uint32_t hash, operation;
};

/* All zeros at first. What a rank needed is kept for the next. */
struct gw_labels {
    struct gw_label *items;
    size_t count, capacity;
    uint8_t *text;
    size_t text_used, text_capacity;
    /* Open addressing: 1 + the item's index, or 0; slot_count is a power of 2, or 0. */
    uint32_t *slots;
    size_t slot_count, slot_capacity;
};

void gw_labels_free(struct gw_labels *labels);

/* Forgets them all, for the next rank: work as for the labels that were there. */
void gw_labels_clear(struct gw_labels *labels);

/* *is_new: false if the label names an operation already; nothing is added then. */
enum gw_status gw_labels_add(struct gw_labels *labels, const struct gw_word *label,
                             uint32_t operation, bool *is_new, struct gw_error *error);

/* NULL: it names nothing. */
const struct gw_label *gw_labels_find(const struct gw_labels *labels, const struct gw_word *label);

#endif
