/*
 * The runner once more, the slow way: pending events in one list that is searched from end to end,
 * operations that find their resource busy put back, receives and messages in plain lists searched
 * from the front, dependents found by looking at every dependency. After goal_patterns.h.
 */
#ifndef GW_TESTS_GOAL_REFERENCE_H
#define GW_TESTS_GOAL_REFERENCE_H

#include "tests/support.h"

enum { reference_clocks = 4 }; /* processors and interfaces of a rank, at most */

struct reference_event {
    uint64_t time, order;
    uint32_t rank, operation;
    uint32_t from; /* a message: its sender; rank is its receiver */
    bool message;
};

struct reference_list {
    struct reference_event *events;
    size_t count, capacity;
};

struct reference_rank {
    uint64_t cpu[reference_clocks], sends[reference_clocks], receives[reference_clocks];
    uint32_t *waits;               /* per operation */
    bool *ended;                   /* per operation */
    struct reference_list freed;   /* of the event at work, in order */
    struct reference_list posted;  /* receives */
    struct reference_list arrived; /* messages */
};

struct reference {
    const struct pattern *pattern;
    struct gw_loggops p;
    struct reference_rank *ranks;
    struct reference_list pending;
    uint64_t now, order;
};

static inline uint64_t reference_max(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* -1 byte may take a clock back, but not below 0. */
static inline uint64_t reference_after(uint64_t now, uint64_t cost) {
    int64_t signed_cost = (int64_t)cost;
    return signed_cost < 0 && (uint64_t)-signed_cost > now ? 0 : now + cost;
}

static inline void reference_append(struct reference_list *list, struct reference_event event) {
    list->events = gw_grow(list->events, list->count + 1, &list->capacity, sizeof *list->events);
    assert_non_null(list->events);
    list->events[list->count++] = event;
}

static inline struct reference_event reference_remove(struct reference_list *list, size_t index) {
    struct reference_event removed = list->events[index];
    memmove(&list->events[index], &list->events[index + 1],
            (list->count - index - 1) * sizeof *list->events);
    list->count--;
    return removed;
}

static inline const struct gw_goal_operation *
reference_operation(const struct reference *reference, const struct reference_event *event) {
    uint32_t rank = event->message ? event->from : event->rank;
    return &reference->pattern->ranks[rank].operations[event->operation];
}

/* ---- the order in which they start --------------------------------------------------------- */

static inline uint8_t reference_kind(const struct reference *reference,
                                     const struct reference_event *event) {
    return reference_operation(reference, event)->kind;
}

static inline void reference_swap(struct reference_event *events, size_t a, size_t b) {
    struct reference_event kept = events[a];
    events[a] = events[b];
    events[b] = kept;
}

/* libstdc++'s introsort without its heaps: stretches of up to 16 are left as they are. */
static inline void reference_rough(const struct reference *reference,
                                   struct reference_event *events, size_t begin, size_t end) {
    if (end - begin <= 16) {
        return;
    }
    size_t places[3] = {begin + 1, begin + (end - begin) / 2, end - 1};
    uint8_t kinds[3];
    for (int i = 0; i < 3; i++) {
        kinds[i] = reference_kind(reference, &events[places[i]]);
    }
    int middle = 0; /* of three: which of equals is taken is libstdc++'s choice */
    if (kinds[0] < kinds[1]) {
        middle = kinds[1] < kinds[2] ? 1 : kinds[0] < kinds[2] ? 2 : 0;
    } else {
        middle = kinds[0] < kinds[2] ? 0 : kinds[1] < kinds[2] ? 2 : 1;
    }
    reference_swap(events, begin, places[middle]);
    uint8_t pivot = reference_kind(reference, &events[begin]);
    size_t low = begin + 1;
    size_t high = end;
    for (;; low++) {
        for (; reference_kind(reference, &events[low]) < pivot; low++) {
        }
        for (high--; pivot < reference_kind(reference, &events[high]); high--) {
        }
        if (low >= high) {
            break;
        }
        reference_swap(events, low, high);
    }
    reference_rough(reference, events, low, end);
    reference_rough(reference, events, begin, low);
}

static inline bool reference_is_wild(const struct gw_goal_operation *operation) {
    return operation->peer == GW_GOAL_ANY || operation->tag == GW_GOAL_ANY;
}

/* Whether receives keep their order among each other: `wild` if there is a wildcard in the list. */
static inline bool reference_is_tied(const struct gw_goal_operation *a,
                                     const struct gw_goal_operation *b, bool wild) {
    return a->kind == GW_GOAL_RECEIVE && b->kind == GW_GOAL_RECEIVE &&
           (wild || (a->peer == b->peer && a->tag == b->tag));
}

/* `order` says in which order they became free. */
static inline void reference_sort(const struct reference *reference, struct reference_list *list) {
    bool wild = false;
    for (size_t i = 0; i < list->count; i++) {
        const struct gw_goal_operation *operation =
            reference_operation(reference, &list->events[i]);
        list->events[i].order = i;
        wild = wild || (operation->kind == GW_GOAL_RECEIVE && reference_is_wild(operation));
    }
    reference_rough(reference, list->events, 0, list->count);
    for (size_t i = 1; i < list->count; i++) {
        for (size_t j = i; j > 0 && reference_kind(reference, &list->events[j]) <
                                        reference_kind(reference, &list->events[j - 1]);
             j--) {
            reference_swap(list->events, j, j - 1);
        }
    }
    for (size_t i = 0; i < list->count; i++) {
        for (size_t j = i + 1; j < list->count; j++) {
            if (list->events[j].order < list->events[i].order &&
                reference_is_tied(reference_operation(reference, &list->events[i]),
                                  reference_operation(reference, &list->events[j]), wild)) {
                reference_swap(list->events, i, j);
            }
        }
    }
}

/* ---- events -------------------------------------------------------------------------------- */

static inline void reference_let_go(struct reference *reference, uint32_t rank, uint32_t operation,
                                    bool at_start) {
    const struct pattern_rank *from = &reference->pattern->ranks[rank];
    struct reference_rank *state = &reference->ranks[rank];
    for (size_t i = 0; i < from->dependency_count; i++) {
        const struct pattern_dependency *dependency = &from->dependencies[i];
        if (dependency->before == operation && dependency->at_start == at_start &&
            --state->waits[dependency->after] == 0) {
            reference_append(&state->freed, (struct reference_event){
                                                .rank = rank, .operation = dependency->after});
        }
    }
}

static inline void reference_end(struct reference *reference, uint32_t rank, uint32_t operation) {
    reference->ranks[rank].ended[operation] = true;
    reference_let_go(reference, rank, operation, false);
}

/* Queues the operations that became free at all ranks. */
static inline void reference_queue(struct reference *reference) {
    for (uint32_t rank = 0; rank < reference->pattern->rank_count; rank++) {
        struct reference_rank *state = &reference->ranks[rank];
        reference_sort(reference, &state->freed);
        for (size_t i = 0; i < state->freed.count; i++) {
            struct reference_event event = state->freed.events[i];
            const struct gw_goal_operation *operation = reference_operation(reference, &event);
            event.time = state->cpu[operation->cpu];
            if (operation->kind == GW_GOAL_SEND) {
                event.time = reference_max(event.time, state->sends[operation->nic]);
            }
            event.order = reference->order++;
            reference_append(&reference->pending, event);
        }
        state->freed.count = 0;
    }
}

/* The first in the list that matches leaves it: a receive for a message, or the other way round. */
static inline bool reference_match(struct reference *reference, struct reference_list *list,
                                   uint32_t peer, uint32_t tag, struct reference_event *found) {
    for (size_t i = 0; i < list->count; i++) {
        const struct reference_event *event = &list->events[i];
        const struct gw_goal_operation *other = reference_operation(reference, event);
        uint32_t other_peer = event->message ? event->from : other->peer;
        if ((peer == GW_GOAL_ANY || other_peer == GW_GOAL_ANY || peer == other_peer) &&
            (tag == GW_GOAL_ANY || other->tag == GW_GOAL_ANY || tag == other->tag)) {
            *found = reference_remove(list, i);
            return true;
        }
    }
    return false;
}

static inline void reference_release(struct reference *reference,
                                     const struct reference_event *message,
                                     const struct gw_goal_operation *by) {
    if (reference_operation(reference, message)->size > reference->p.S) {
        struct reference_rank *sender = &reference->ranks[message->from];
        sender->cpu[by->cpu] = reference_max(sender->cpu[by->cpu], reference->now);
        sender->sends[by->nic] = reference_max(sender->sends[by->nic], reference->now);
        reference_end(reference, message->from, message->operation);
    }
}

static inline void reference_send(struct reference *reference, struct reference_event event) {
    const struct gw_goal_operation *send = reference_operation(reference, &event);
    struct reference_rank *state = &reference->ranks[event.rank];
    uint64_t extra = send->size - 1;
    reference_let_go(reference, event.rank, event.operation, true);
    state->cpu[send->cpu] =
        reference_after(reference->now, reference->p.o + extra * reference->p.O);
    state->sends[send->nic] =
        reference_after(reference->now, reference->p.g + extra * reference->p.G);
    struct reference_event message = {.time = reference->now + reference->p.o + reference->p.L,
                                      .order = reference->order++,
                                      .rank = send->peer,
                                      .operation = event.operation,
                                      .from = event.rank,
                                      .message = true};
    reference_append(&reference->pending, message);
    if (send->size <= reference->p.S) {
        reference_end(reference, event.rank, event.operation);
    }
}

static inline void reference_receive(struct reference *reference, struct reference_event event) {
    const struct gw_goal_operation *receive = reference_operation(reference, &event);
    struct reference_rank *state = &reference->ranks[event.rank];
    struct reference_event message;
    reference_let_go(reference, event.rank, event.operation, true);
    if (reference_match(reference, &state->arrived, receive->peer, receive->tag, &message)) {
        reference_release(reference, &message, receive);
        reference_end(reference, event.rank, event.operation);
    } else {
        reference_append(&state->posted, event);
    }
}

static inline void reference_arrive(struct reference *reference, struct reference_event event) {
    const struct gw_goal_operation *send = reference_operation(reference, &event);
    struct reference_rank *state = &reference->ranks[event.rank];
    uint64_t extra = send->size - 1;
    struct reference_event posted;
    state->cpu[send->cpu] =
        reference_after(reference->now, reference->p.o + reference_max(extra * reference->p.O,
                                                                       extra * reference->p.G));
    state->receives[send->nic] =
        reference_after(reference->now, reference->p.g + extra * reference->p.G);
    if (reference_match(reference, &state->posted, event.from, send->tag, &posted)) {
        reference_release(reference, &event, send);
        reference_end(reference, event.rank, posted.operation);
    } else {
        reference_append(&state->arrived, event);
    }
}

/* Until when what the event needs is busy. */
static inline uint64_t reference_busy(const struct reference *reference,
                                      const struct reference_event *event) {
    const struct gw_goal_operation *operation = reference_operation(reference, event);
    const struct reference_rank *state = &reference->ranks[event->rank];
    uint64_t cpu = state->cpu[operation->cpu];
    if (event->message) {
        return reference_max(cpu, state->receives[operation->nic]);
    }
    return operation->kind == GW_GOAL_SEND      ? reference_max(cpu, state->sends[operation->nic])
           : operation->kind == GW_GOAL_RECEIVE ? 0
                                                : cpu;
}

static inline void reference_handle(struct reference *reference, struct reference_event event) {
    const struct gw_goal_operation *operation = reference_operation(reference, &event);
    reference->now = event.time;
    if (reference_busy(reference, &event) > event.time) {
        event.time = reference_busy(reference, &event);
        reference_append(&reference->pending, event);
        return;
    }
    if (event.message) {
        reference_arrive(reference, event);
    } else if (operation->kind == GW_GOAL_SEND) {
        reference_send(reference, event);
    } else if (operation->kind == GW_GOAL_RECEIVE) {
        reference_receive(reference, event);
    } else {
        reference_let_go(reference, event.rank, event.operation, true);
        reference->ranks[event.rank].cpu[operation->cpu] = event.time + operation->size;
        reference_end(reference, event.rank, event.operation);
    }
    reference_queue(reference);
}

/* ---- a run --------------------------------------------------------------------------------- */

static inline void reference_open(struct reference *reference, const struct pattern *pattern,
                                  const struct gw_loggops *parameters) {
    *reference = (struct reference){.pattern = pattern, .p = *parameters};
    reference->ranks = calloc(pattern->rank_count, sizeof *reference->ranks);
    assert_non_null(reference->ranks);
    for (uint32_t rank = 0; rank < pattern->rank_count; rank++) {
        const struct pattern_rank *from = &pattern->ranks[rank];
        struct reference_rank *state = &reference->ranks[rank];
        state->waits = calloc(from->count + 1, sizeof *state->waits);
        state->ended = calloc(from->count + 1, sizeof *state->ended);
        assert_non_null(state->waits);
        assert_non_null(state->ended);
        for (size_t i = 0; i < from->dependency_count; i++) {
            state->waits[from->dependencies[i].after]++;
        }
        for (uint32_t i = 0; i < from->count; i++) {
            if (state->waits[i] == 0) {
                reference_append(&state->freed,
                                 (struct reference_event){.rank = rank, .operation = i});
            }
        }
    }
}

/* Whether all has ended; frees what the run has used. */
static inline bool reference_close(struct reference *reference) {
    bool all = true;
    for (uint32_t rank = 0; rank < reference->pattern->rank_count; rank++) {
        struct reference_rank *state = &reference->ranks[rank];
        all = all && state->arrived.count == 0;
        for (size_t i = 0; i < reference->pattern->ranks[rank].count; i++) {
            all = all && state->ended[i];
        }
        free(state->waits);
        free(state->ended);
        free(state->freed.events);
        free(state->posted.events);
        free(state->arrived.events);
    }
    free(reference->ranks);
    free(reference->pending.events);
    return all;
}

/* Each rank's finish, and how many events there were; false if something waits for ever. */
static inline bool reference_run(const struct pattern *pattern, const struct gw_loggops *parameters,
                                 uint64_t *finish_ns, uint64_t *events) {
    struct reference reference;
    reference_open(&reference, pattern, parameters);
    reference_queue(&reference);
    while (reference.pending.count > 0) {
        size_t first = 0;
        for (size_t i = 1; i < reference.pending.count; i++) {
            const struct reference_event *a = &reference.pending.events[i];
            const struct reference_event *b = &reference.pending.events[first];
            first = a->time < b->time || (a->time == b->time && a->order < b->order) ? i : first;
        }
        reference_handle(&reference, reference_remove(&reference.pending, first));
    }
    for (uint32_t rank = 0; rank < pattern->rank_count; rank++) {
        finish_ns[rank] = 0;
        for (int cpu = 0; cpu < reference_clocks; cpu++) {
            finish_ns[rank] = reference_max(finish_ns[rank], reference.ranks[rank].cpu[cpu]);
        }
    }
    *events = reference.order;
    return reference_close(&reference);
}

#endif
