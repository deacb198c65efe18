#include "goal/labels.h"

#include <stdlib.h>

enum { first_slots = 64 };

void gw_labels_free(struct gw_labels *labels) {
    free(labels->items);
    free(labels->text);
    free(labels->slots);
    *labels = (struct gw_labels){0};
}

static enum gw_status resize(struct gw_labels *labels, size_t slot_count, struct gw_error *error) {
    uint32_t *slots =
        gw_grow(labels->slots, slot_count, &labels->slot_capacity, sizeof *labels->slots);
    if (slots == NULL) {
        return gw_fail_memory(error, "reading the labels of a schedule");
    }
    labels->slots = slots;
    labels->slot_count = slot_count;
    memset(slots, 0, slot_count * sizeof *slots);
    return GW_OK;
}

void gw_labels_clear(struct gw_labels *labels) {
    labels->count = 0;
    labels->text_used = 0;
    labels->slot_count = labels->slot_count < first_slots ? labels->slot_count : first_slots;
    if (labels->slot_count > 0) {
        memset(labels->slots, 0, labels->slot_count * sizeof *labels->slots);
    }
}

/* Neighbouring labels ("l1", "l2") differ in their hashes' lowest bits, so they rarely collide. */
static size_t first_slot(const struct gw_labels *labels, uint32_t hash) {
    return hash & (labels->slot_count - 1);
}

static size_t next_slot(const struct gw_labels *labels, size_t slot) {
    return (slot + 1) & (labels->slot_count - 1);
}

static bool is_label(const struct gw_labels *labels, const struct gw_label *item,
                     const struct gw_word *label) {
    const uint8_t *bytes = labels->text + item->bytes;
    return item->hash == label->hash && bytes[0] == label->length &&
           memcmp(bytes + 1, label->bytes, label->length) == 0;
}

/* The slot of the label, or the empty one in which it belongs. */
static size_t find_slot(const struct gw_labels *labels, const struct gw_word *label) {
    size_t slot = first_slot(labels, label->hash);
    while (labels->slots[slot] != 0 &&
           !is_label(labels, &labels->items[labels->slots[slot] - 1], label)) {
        slot = next_slot(labels, slot);
    }
    return slot;
}

const struct gw_label *gw_labels_find(const struct gw_labels *labels, const struct gw_word *label) {
    if (labels->slot_count == 0) {
        return NULL;
    }
    uint32_t found = labels->slots[find_slot(labels, label)];
    return found == 0 ? NULL : &labels->items[found - 1];
}

/* Keeps at least half of the slots empty. */
static enum gw_status make_slots(struct gw_labels *labels, struct gw_error *error) {
    if (2 * (labels->count + 1) <= labels->slot_count) {
        return GW_OK;
    }
    GW_TRY(resize(labels, labels->slot_count == 0 ? first_slots : 2 * labels->slot_count, error));
    for (size_t i = 0; i < labels->count; i++) {
        size_t slot = first_slot(labels, labels->items[i].hash);
        while (labels->slots[slot] != 0) {
            slot = next_slot(labels, slot);
        }
        labels->slots[slot] = (uint32_t)(i + 1);
    }
    return GW_OK;
}

static enum gw_status append(struct gw_labels *labels, const struct gw_word *label,
                             uint32_t operation, struct gw_error *error) {
    struct gw_label *items =
        gw_grow(labels->items, labels->count + 1, &labels->capacity, sizeof *items);
    labels->items = items != NULL ? items : labels->items;
    uint8_t *text =
        gw_grow(labels->text, labels->text_used + 1 + label->length, &labels->text_capacity, 1);
    labels->text = text != NULL ? text : labels->text;
    if (items == NULL || text == NULL) {
        return gw_fail_memory(error, "reading the labels of a schedule");
    }
    items[labels->count++] =
        (struct gw_label){.bytes = labels->text_used, .hash = label->hash, .operation = operation};
    text[labels->text_used] = (uint8_t)label->length;
    memcpy(text + labels->text_used + 1, label->bytes, label->length);
    labels->text_used += 1 + label->length;
    return GW_OK;
}

enum gw_status gw_labels_add(struct gw_labels *labels, const struct gw_word *label,
                             uint32_t operation, bool *is_new, struct gw_error *error) {
    GW_TRY(make_slots(labels, error));
    size_t slot = find_slot(labels, label);
    *is_new = labels->slots[slot] == 0;
    if (*is_new) {
        GW_TRY(append(labels, label, operation, error));
        labels->slots[slot] = (uint32_t)labels->count;
    }
    return GW_OK;
}
