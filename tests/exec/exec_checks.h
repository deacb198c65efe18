/*
 * Checks of each iteration of a rank: aggregates and residuals equal those of the sequential
 * reference (exec_reference.h), bit for bit; so do selections, the bytes sent, and the order of
 * operations.
 */
#ifndef GW_TESTS_EXEC_CHECKS_H
#define GW_TESTS_EXEC_CHECKS_H

#include "tests/exec/exec_reference.h"
#include "tests/exec/exec_scene.h"
#include "tests/timeline_order.h"

/* ---- checks, on rank 0 --------------------------------------------------------------------- */

/* The slice of an element of all. */
static inline const struct gw_slice *slice_of(const struct rank *rank, size_t element) {
    const struct gw_slice *slice = rank->scenario->schedule.groups;
    while (element >= slice->first + slice->size.elements) {
        slice++;
    }
    return slice;
}

/* MPI adds up in an order of its own; halves are rounded after each addition. */
static inline bool close_enough(const struct rank *rank, size_t element, float got,
                                float expected) {
    const struct gw_way *way = slice_of(rank, element)->way;
    double magnitude = 0;
    double rounding = way->exchange == &gw_exchange_halves ? 0.01 : 1e-6;
    if (way->compressor->rank > 0) { /* all workers' alike, and nothing lost: below */
        return got == rank->aggregates[element];
    }
    for (size_t w = 0; w < rank->scenario->workers; w++) {
        magnitude += fabs((double)rank->before[w * rank->elements + element]) +
                     fabs((double)rank->gradients[w * rank->elements + element]);
    }
    return fabs((double)got - (double)expected) <= rounding * magnitude;
}

static inline void check_aggregates(const struct rank *rank, const struct reference *reference) {
    bool exact = strcmp(rank->communicator->transport->name, "local") == 0;
    for (size_t i = 0; i < rank->scenario->workers * rank->elements; i++) {
        float expected = reference->aggregate[i % rank->elements];
        require(
            rank,
            rank->aggregates[i] == expected ||
                (!exact && close_enough(rank, i % rank->elements, rank->aggregates[i], expected)),
            "the aggregate is not the reference's");
    }
}

/* Those of factors follow sums, which MPI adds up in an order of its own. */
static inline void check_residuals(const struct rank *rank, const struct reference *reference) {
    bool exact = strcmp(rank->communicator->transport->name, "local") == 0;
    for (size_t i = 0; i < rank->scenario->workers * rank->elements; i++) {
        bool follows = slice_of(rank, i % rank->elements)->way->compressor->rank > 0;
        require(rank, rank->residuals[i] == reference->residuals[i] || (follows && !exact),
                "a residual is not the reference's");
    }
}

/* The sum of all vectors before equals that after plus what was sent: to the rounding of float
 * sums. */
static inline void check_conservation(const struct rank *rank) {
    const struct gw_slice *slice = rank->scenario->schedule.groups;
    for (size_t i = 0; i < rank->elements; i++) {
        slice += i == slice->first + slice->size.elements;
        const struct gw_compressor *compressor = slice->way->compressor;
        if (!gw_compressor_selects(compressor) && compressor->rank == 0) {
            continue;
        }
        double had = 0;
        double have = (double)rank->aggregates[i];
        double magnitude = 0;
        for (size_t w = 0; w < rank->scenario->workers; w++) {
            size_t place = w * rank->elements + i;
            float accumulated = rank->before[place] + rank->gradients[place];
            had += (double)accumulated;
            have += (double)rank->residuals[place];
            magnitude += fabs((double)accumulated);
        }
        /* a product of factors errs by the magnitude of its terms, which is about a gradient's */
        double most = compressor->rank > 0 ? 1e-6 * (magnitude + 0.01) : 3e-7 * magnitude;
        require(rank, fabs(had - have) <= most, "something was lost");
    }
}

/* ---- counts and bytes, on all ranks -------------------------------------------------------- */

static inline uint64_t most_selected(const struct rank *rank, uint32_t group) {
    size_t groups;
    const uint64_t *selected =
        gw_session_selected(rank->executor, &groups) + group * rank->scenario->workers;
    uint64_t most = 0;
    for (size_t w = 0; w < rank->scenario->workers; w++) {
        most = selected[w] > most ? selected[w] : most;
    }
    return most;
}

static inline void check_counts(const struct rank *rank, const struct reference *reference) {
    size_t groups;
    const uint64_t *selected = gw_session_selected(rank->executor, &groups);
    require(rank, groups == rank->scenario->schedule.group_count, "other groups were selected");
    for (uint32_t g = 0; g < groups; g++) {
        for (size_t w = 0; w < rank->scenario->workers; w++) {
            require(rank, selected[g * rank->scenario->workers + w] == reference->selected[g][w],
                    "the number of selected elements is not the reference's");
        }
    }
}

/* The bytes of so many codes. */
static inline uint64_t code_bytes_by_hand(const char *name, uint64_t n) {
    return strstr(name, "16") != NULL    ? 2 * n
           : strcmp(name, "onebit") == 0 ? (n + 7) / 8 + 4
           : strcmp(name, "qsgd") == 0   ? (n + 1) / 2 + 4 * ((n + 511) / 512)
                                         : n + 4 * ((n + 255) / 256);
}

/* The bytes of factors of rank 4 of matrices, or of all other tensors. */
static inline uint64_t factor_bytes_by_hand(const struct gw_slice *slice, enum gw_payload payload) {
    uint64_t numbers = 0;
    for (size_t i = 0; i < slice->size.tensors; i++) {
        size_t tensor = TENSORS - 1 - slice->first_layer - i;
        uint64_t rows = tensor_rows[tensor];
        uint64_t columns = rows == 0 ? 0 : tensor_elements[tensor] / rows;
        bool factored = tensor_elements[tensor] > 64 && rows > 0;
        numbers += payload == GW_RAW        ? (factored ? 0 : tensor_elements[tensor])
                   : !factored              ? 0
                   : payload == GW_FACTOR_P ? 4 * rows
                                            : 4 * columns;
    }
    return 4 * numbers;
}

/* The bytes that a worker sends in a leg, counted by hand from its selection. */
static inline uint64_t bytes_by_hand(const struct rank *rank, const struct gw_operation *operation,
                                     size_t worker) {
    size_t groups;
    const struct gw_slice *slice = &rank->scenario->schedule.groups[operation->group];
    uint64_t own = gw_session_selected(
        rank->executor, &groups)[operation->group * rank->scenario->workers + worker];
    uint64_t all = gw_session_extents(rank->executor)[operation->group].all;
    switch (operation->payload) {
    case GW_DENSE:
        return 4 * slice->size.elements;
    case GW_SPARSE:
        return 8 * slice->kept;
    case GW_COUNTS:
        return 4;
    case GW_PADDED:
        return 8 * most_selected(rank, operation->group);
    case GW_INDICES:
        return 4 * most_selected(rank, operation->group);
    case GW_VALUES:
        return 4 * all;
    case GW_SKETCH:
        return 4 * slice->sketch_cells;
    case GW_LAYERS:
        return 4 * (own + slice->size.tensors);
    case GW_ALL_LAYERS:
        return 4 * (all + slice->size.tensors);
    case GW_CODES:
        return code_bytes_by_hand(slice->way->compressor->name, slice->size.elements);
    case GW_CODES_PART: {
        uint64_t workers = rank->scenario->workers;
        return code_bytes_by_hand(slice->way->compressor->name,
                                  (slice->size.elements + workers - 1) / workers);
    }
    case GW_RAW:
    case GW_FACTOR_P:
    case GW_FACTOR_Q:
        return factor_bytes_by_hand(slice, operation->payload);
    }
    return 0;
}

/*
 * And what the schedule says of it, once it is told what was selected: the most of any worker, or
 * of what all push through one link, the mean.
 */
static inline void check_bytes(const struct rank *rank) {
    struct gw_schedule told = rank->scenario->schedule;
    size_t count = told.operation_count;
    struct gw_operation *operations = calloc(count, sizeof *operations);
    struct gw_slice *groups = calloc(told.group_count, sizeof *groups);
    memcpy(operations, told.operations, count * sizeof *operations);
    memcpy(groups, told.groups, told.group_count * sizeof *groups);
    told.operations = operations;
    told.groups = groups;
    gw_schedule_select(&told, gw_session_extents(rank->executor));
    for (size_t i = 0; i < count; i++) {
        uint64_t most = 0;
        uint64_t numbers = 0;
        uint64_t workers = rank->scenario->workers;
        for (size_t w = 0; w < rank->scenario->workers && operations[i].kind == GW_EXCHANGE; w++) {
            uint64_t bytes = rank->timeline.spans[w * count + i].bytes;
            require(rank, bytes == bytes_by_hand(rank, &operations[i], w),
                    "other bytes travelled than were selected");
            most = bytes > most ? bytes : most;
            numbers += bytes / 4;
        }
        uint64_t mean = 4 * ((numbers + workers - 1) / workers);
        require(rank, operations[i].bytes == (operations[i].payload == GW_LAYERS ? mean : most),
                "the schedule tells other bytes");
    }
    free(operations);
    free(groups);
}

/* No operation began before those that it depends on had ended. */
static inline void check_order(const struct rank *rank) {
    const struct gw_schedule *schedule = &rank->scenario->schedule;
    size_t count = schedule->operation_count;
    require(rank, spans_are_ordered(&rank->timeline), "spans overlap");
    for (size_t i = 0; i < rank->scenario->workers * count; i++) {
        const struct gw_operation *operation = &schedule->operations[i % count];
        for (size_t d = 0; d < operation->dependency_count; d++) {
            size_t before = schedule->dependencies[operation->first_dependency + d];
            require(rank,
                    rank->timeline.spans[i - i % count + before].end_s <=
                        rank->timeline.spans[i].start_s,
                    "an operation began before what it depends on had ended");
        }
    }
}

/* Extents that exchanges of values and layers have. */
static inline void check_extents(const struct rank *rank, const struct reference *reference) {
    for (uint32_t g = 0; g < rank->scenario->schedule.group_count; g++) {
        const char *exchange = rank->scenario->schedule.groups[g].way->exchange->name;
        if (strcmp(exchange, "union") == 0 || strcmp(exchange, "layer-server") == 0) {
            require(rank, gw_session_extents(rank->executor)[g].all == reference->all[g],
                    "the number of elements that travelled together is not the reference's");
        }
    }
}

#endif
