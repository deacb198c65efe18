#include <stdlib.h>

#include "goal/text.h"

/* ---- labels of a rank ------------------------------------------------------------------------ */

struct label {
    size_t bytes; /* offset in `text` of its length, followed by its bytes */
    uint32_t hash, operation;
};

/* Labels of the current rank. Zero-initialise. Memory is kept from rank to rank. */
struct labels {
    struct label *items;
    size_t count, capacity;
    uint8_t *text;
    size_t text_used, text_capacity;
    /* Open addressing: 1 + the item's index, or 0; slot_count is a power of 2, or 0. */
    uint32_t *slots;
    size_t slot_count, slot_capacity;
};

enum { first_slots = 64 };

static enum gw_status labels_resize(struct labels *labels, size_t slot_count,
                                    struct gw_error *error) {
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

/*
 * Hashes of neighbouring labels ("l1", "l2") differ in their lowest bits, so they rarely collide.
 */
static size_t home_slot(const struct labels *labels, uint32_t hash) {
    return hash & (labels->slot_count - 1);
}

static size_t next_slot(const struct labels *labels, size_t slot) {
    return (slot + 1) & (labels->slot_count - 1);
}

static bool is_label(const struct labels *labels, const struct label *item,
                     const struct gw_word *label) {
    const uint8_t *bytes = labels->text + item->bytes;
    return item->hash == label->hash && bytes[0] == label->length &&
           memcmp(bytes + 1, label->bytes, label->length) == 0;
}

/* Finds the label's slot, or the empty one where it belongs. */
static size_t find_slot(const struct labels *labels, const struct gw_word *label) {
    size_t slot = home_slot(labels, label->hash);
    while (labels->slots[slot] != 0 &&
           !is_label(labels, &labels->items[labels->slots[slot] - 1], label)) {
        slot = next_slot(labels, slot);
    }
    return slot;
}

/* Keeps at least half of the slots empty. */
static enum gw_status labels_reserve(struct labels *labels, struct gw_error *error) {
    if (2 * (labels->count + 1) <= labels->slot_count) {
        return GW_OK;
    }
    GW_TRY(labels_resize(labels, labels->slot_count == 0 ? first_slots : 2 * labels->slot_count,
                         error));
    for (size_t i = 0; i < labels->count; i++) {
        size_t slot = home_slot(labels, labels->items[i].hash);
        while (labels->slots[slot] != 0) {
            slot = next_slot(labels, slot);
        }
        labels->slots[slot] = (uint32_t)(i + 1);
    }
    return GW_OK;
}

static enum gw_status labels_append(struct labels *labels, const struct gw_word *label,
                                    uint32_t operation, struct gw_error *error) {
    struct label *items =
        gw_grow(labels->items, labels->count + 1, &labels->capacity, sizeof *items);
    labels->items = items != NULL ? items : labels->items;
    uint8_t *text =
        gw_grow(labels->text, labels->text_used + 1 + label->length, &labels->text_capacity, 1);
    labels->text = text != NULL ? text : labels->text;
    if (items == NULL || text == NULL) {
        return gw_fail_memory(error, "reading the labels of a schedule");
    }
    items[labels->count++] =
        (struct label){.bytes = labels->text_used, .hash = label->hash, .operation = operation};
    text[labels->text_used] = (uint8_t)label->length;
    memcpy(text + labels->text_used + 1, label->bytes, label->length);
    labels->text_used += 1 + label->length;
    return GW_OK;
}

/* Adds a label. Sets *is_new to false, and adds nothing, if it names an operation already. */
static enum gw_status labels_add(struct labels *labels, const struct gw_word *label,
                                 uint32_t operation, bool *is_new, struct gw_error *error) {
    GW_TRY(labels_reserve(labels, error));
    size_t slot = find_slot(labels, label);
    *is_new = labels->slots[slot] == 0;
    if (*is_new) {
        GW_TRY(labels_append(labels, label, operation, error));
        labels->slots[slot] = (uint32_t)labels->count;
    }
    return GW_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* `after` (with GW_GOAL_AT_START for irequires) depends on `before`. */
struct dependency {
    uint32_t before, after;
};

struct rank_block {
    uint64_t line;
    uint32_t rank;
    struct gw_goal_rank operations;
};

/* A schedule that is being read. */
struct reader {
    struct gw_goal_text text;
    struct gw_statement statement; /* the last one read */
    struct gw_goal goal;
    size_t operation_capacity, dependent_count, dependent_capacity;
    /*
     * Ranks in the file's order. Memory grows with the ranks that the file has, not with num_ranks.
     */
    struct rank_block *ranks;
    size_t rank_count, rank_capacity;
    /* The rank that is being read: */
    struct labels labels;
    struct dependency *dependencies;
    size_t dependency_count, dependency_capacity;
};

static enum gw_status fail_memory(struct gw_error *error) {
    return gw_fail_memory(error, "reading a schedule");
}

void gw_goal_free(struct gw_goal *goal) {
    free(goal->ranks);
    free(goal->operations);
    free(goal->dependents);
    *goal = (struct gw_goal){0};
}

/* ---- statements of a rank ------------------------------------------------------------------ */

static enum gw_status add_operation(struct reader *reader, struct gw_error *error) {
    const struct gw_statement *statement = &reader->statement;
    const struct gw_goal_operation *operation = &statement->operation;
    struct gw_goal *goal = &reader->goal;
    if (statement->label.length > 0) {
        bool is_new = false;
        GW_TRY(
            labels_add(&reader->labels, &statement->label, goal->operation_count, &is_new, error));
        GW_TRY(is_new ? GW_OK
                      : gw_scanner_fail(&reader->text.scanner, statement->line, error,
                                        "a label that is new in its rank, got %.*s again",
                                        (int)statement->label.length, statement->label.bytes));
    }
    if (goal->operation_count == GW_GOAL_MAX_OPERATIONS) {
        return gw_scanner_fail(&reader->text.scanner, statement->line, error,
                               "at most %d operations, got more", GW_GOAL_MAX_OPERATIONS);
    }
    struct gw_goal_operation *operations =
        gw_grow(goal->operations, (size_t)goal->operation_count + 1, &reader->operation_capacity,
                sizeof *operations);
    if (operations == NULL) {
        return fail_memory(error);
    }
    goal->operations = operations;
    operations[goal->operation_count++] = *operation;
    goal->cpus = operation->cpu < goal->cpus ? goal->cpus : operation->cpu + 1u;
    goal->nics = operation->nic < goal->nics ? goal->nics : operation->nic + 1u;
    return GW_OK;
}

static enum gw_status find_operation(const struct reader *reader, const struct gw_word *label,
                                     uint32_t *out, struct gw_error *error) {
    const struct labels *labels = &reader->labels;
    uint32_t found = labels->slot_count == 0 ? 0 : labels->slots[find_slot(labels, label)];
    if (found == 0) {
        return gw_scanner_fail(&reader->text.scanner, reader->statement.line, error,
                               "a label of an operation above in this rank, got %.*s",
                               (int)label->length, label->bytes);
    }
    *out = labels->items[found - 1].operation;
    return GW_OK;
}

static enum gw_status add_dependency(struct reader *reader, struct gw_error *error) {
    const struct gw_statement *statement = &reader->statement;
    uint32_t before = 0;
    uint32_t after = 0;
    GW_TRY(find_operation(reader, &statement->label, &after, error));
    GW_TRY(find_operation(reader, &statement->other, &before, error));
    if (reader->dependent_count + reader->dependency_count >= UINT32_MAX) {
        return gw_scanner_fail(&reader->text.scanner, statement->line, error,
                               "at most %u dependencies, got more", UINT32_MAX);
    }
    struct dependency *dependencies = gw_grow(reader->dependencies, reader->dependency_count + 1,
                                              &reader->dependency_capacity, sizeof *dependencies);
    if (dependencies == NULL) {
        return fail_memory(error);
    }
    reader->dependencies = dependencies;
    dependencies[reader->dependency_count++] = (struct dependency){
        .before = before, .after = after | (statement->at_start ? GW_GOAL_AT_START : 0)};
    reader->goal.operations[after].waits++;
    reader->goal.operations[before].dependent_count++;
    return GW_OK;
}

/* ---- ranks --------------------------------------------------------------------------------- */

static enum gw_status open_rank(struct reader *reader, struct gw_error *error) {
    struct rank_block *ranks =
        gw_grow(reader->ranks, reader->rank_count + 1, &reader->rank_capacity, sizeof *ranks);
    if (ranks == NULL) {
        return fail_memory(error);
    }
    reader->ranks = ranks;
    ranks[reader->rank_count++] = (struct rank_block){
        .line = reader->statement.line,
        .rank = reader->statement.number,
        .operations = {.first = reader->goal.operation_count},
    };
    /* Remove all labels, for the next rank, in time proportional to their number. */
    reader->labels.count = 0;
    reader->labels.text_used = 0;
    reader->labels.slot_count =
        reader->labels.slot_count < first_slots ? reader->labels.slot_count : first_slots;
    if (reader->labels.slot_count > 0) {
        memset(reader->labels.slots, 0, reader->labels.slot_count * sizeof *reader->labels.slots);
    }
    reader->dependency_count = 0;
    return GW_OK;
}

/*
 * Reserves the places of the dependents of each of the rank's operations; *end: the total number.
 */
static enum gw_status lay_out_dependents(struct reader *reader, const struct gw_goal_rank *rank,
                                         uint32_t *end, struct gw_error *error) {
    struct gw_goal *goal = &reader->goal;
    uint32_t *dependents =
        gw_grow(goal->dependents, reader->dependent_count + reader->dependency_count,
                &reader->dependent_capacity, sizeof *dependents);
    if (dependents == NULL) {
        return fail_memory(error);
    }
    goal->dependents = dependents;
    *end = (uint32_t)reader->dependent_count;
    for (uint32_t i = rank->first; i < rank->first + rank->count; i++) {
        struct gw_goal_operation *operation = &goal->operations[i];
        if (operation->dependent_count > 1) {
            operation->dependents = *end;
            *end += operation->dependent_count;
        }
    }
    return GW_OK;
}

/*
 * Appends the dependents that wait for a start (at_start is GW_GOAL_AT_START), or for an end (0).
 */
static void place_dependents(const struct reader *reader, uint32_t at_start) {
    for (size_t i = 0; i < reader->dependency_count; i++) {
        const struct dependency *dependency = &reader->dependencies[i];
        struct gw_goal_operation *before = &reader->goal.operations[dependency->before];
        if ((dependency->after & GW_GOAL_AT_START) != at_start) {
            continue;
        }
        if (before->dependent_count == 1) {
            before->dependents = dependency->after;
        } else {
            reader->goal.dependents[before->dependents++] = dependency->after;
        }
    }
}

/* Sorts the rank's dependencies by the operation that they depend on (counting sort). */
static enum gw_status close_rank(struct reader *reader, struct gw_error *error) {
    struct gw_goal *goal = &reader->goal;
    struct gw_goal_rank *rank = &reader->ranks[reader->rank_count - 1].operations;
    uint32_t end = 0;
    rank->count = goal->operation_count - rank->first;
    GW_TRY(lay_out_dependents(reader, rank, &end, error));
    place_dependents(reader, GW_GOAL_AT_START);
    place_dependents(reader, 0);
    for (uint32_t i = rank->first; i < goal->operation_count; i++) {
        struct gw_goal_operation *operation = &goal->operations[i];
        operation->dependents -= operation->dependent_count > 1 ? operation->dependent_count : 0;
    }
    reader->dependent_count = end;
    return GW_OK;
}

/* ---- the schedule -------------------------------------------------------------------------- */

static int compare_ranks(const void *a, const void *b) {
    const struct rank_block *x = a;
    const struct rank_block *y = b;
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    return x->line < y->line ? -1 : x->line > y->line;
}

/* Each rank must occur once. */
static enum gw_status check_ranks(const struct reader *reader, struct gw_error *error) {
    const struct gw_scanner *scanner = &reader->text.scanner;
    for (size_t i = 0; i < reader->rank_count; i++) {
        const struct rank_block *block = &reader->ranks[i];
        if (i > 0 && block->rank == block[-1].rank) {
            return gw_scanner_fail(scanner, block->line, error,
                                   "a rank that is not above, got %u again", block->rank);
        }
        if (block->rank != i) {
            return gw_scanner_expected(scanner, error, "rank %zu", i);
        }
    }
    return reader->rank_count == reader->text.rank_count
               ? GW_OK
               : gw_scanner_expected(scanner, error, "rank %zu", reader->rank_count);
}

/* Shrinks an array that was reserved; keeps it as it is if that fails. */
static void *shrink_array(void *items, size_t count, size_t size) {
    void *moved = count > 0 ? realloc(items, count * size) : NULL;
    return moved != NULL ? moved : items;
}

static enum gw_status finish_schedule(struct reader *reader, struct gw_error *error) {
    struct gw_goal *goal = &reader->goal;
    if (reader->rank_count > 0) {
        qsort(reader->ranks, reader->rank_count, sizeof *reader->ranks, compare_ranks);
    }
    GW_TRY(check_ranks(reader, error));
    goal->rank_count = reader->text.rank_count;
    goal->ranks = calloc(goal->rank_count, sizeof *goal->ranks);
    if (goal->ranks == NULL) {
        return fail_memory(error);
    }
    for (size_t i = 0; i < reader->rank_count; i++) {
        goal->ranks[i] = reader->ranks[i].operations;
    }
    goal->operations =
        shrink_array(goal->operations, goal->operation_count, sizeof *goal->operations);
    goal->dependents = shrink_array(goal->dependents, reader->dependent_count, sizeof(uint32_t));
    return GW_OK;
}

static enum gw_status read_statements(struct reader *reader, struct gw_error *error) {
    for (;;) {
        GW_TRY(gw_statement_read(&reader->text, &reader->statement, error));
        switch (reader->statement.kind) {
        case GW_STATEMENT_NUM_RANKS:
            break;
        case GW_STATEMENT_RANK:
            GW_TRY(open_rank(reader, error));
            break;
        case GW_STATEMENT_OPERATION:
            GW_TRY(add_operation(reader, error));
            break;
        case GW_STATEMENT_DEPENDENCY:
            GW_TRY(add_dependency(reader, error));
            break;
        case GW_STATEMENT_CLOSE:
            GW_TRY(close_rank(reader, error));
            break;
        case GW_STATEMENT_END:
            return finish_schedule(reader, error);
        }
    }
}

enum gw_status gw_goal_read(const char *path, struct gw_goal *out, struct gw_error *error) {
    struct reader reader = {.goal = {.cpus = 1, .nics = 1}};
    *out = (struct gw_goal){0};
    GW_TRY(gw_scanner_open(&reader.text.scanner, path, error));
    /*
     * Reserve memory for one operation per BYTES_PER_OPERATION bytes of text, which mostly
     * suffices: untouched memory costs nothing, and nothing has to be moved. Without that much
     * memory, arrays grow later. A text that is too long is refused when it is read.
     */
    enum { BYTES_PER_OPERATION = 16 };
    struct gw_goal *goal = &reader.goal;
    uint64_t length = gw_scanner_length(&reader.text.scanner);
    size_t count = length > GW_GOAL_MAX_BYTES ? 1 : (size_t)(length / BYTES_PER_OPERATION) + 1;
    goal->operations = malloc(count * sizeof *goal->operations);
    goal->dependents = malloc(count * sizeof *goal->dependents);
    reader.operation_capacity = goal->operations == NULL ? 0 : count;
    reader.dependent_capacity = goal->dependents == NULL ? 0 : count;
    gw_prefer_large_pages(goal->operations, count * sizeof *goal->operations);
    gw_prefer_large_pages(goal->dependents, count * sizeof *goal->dependents);
    enum gw_status status = read_statements(&reader, error);
    memcpy(reader.goal.loggp, reader.text.scanner.loggp, sizeof reader.goal.loggp);
    gw_scanner_close(&reader.text.scanner);
    free(reader.labels.items);
    free(reader.labels.text);
    free(reader.labels.slots);
    free(reader.dependencies);
    free(reader.ranks);
    if (status == GW_OK) {
        *out = reader.goal;
    } else {
        gw_goal_free(&reader.goal);
    }
    return status;
}
