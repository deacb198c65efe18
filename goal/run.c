/*
 * The LogGOPS model as LogGOPSim runs it (Hoefler, Schneider and Lumsdaine, "LogGOPSim - simulating
 * large-scale applications in the LogGOPS model", 2010). Times are whole nanoseconds. As in
 * LogGOPSim, a message of 0 bytes is charged -1 byte.
 */
#include <math.h>
#include <stdlib.h>

#include "goal/run.h"

/* Operations of one rank that became free while an event was handled. */
struct freed {
    uint32_t rank;
    size_t count, capacity;
    uint32_t *operations;
};

struct run {
    struct gw_goal *goal;
    struct gw_loggops p;
    struct gw_queue *queue;
    struct gw_matching *matching;
    struct gw_parking *parking;
    struct gw_start_order start_order;
    /* Times until which resources are busy, rank by rank: first its processors, then its network
     * interfaces as they send, then as they receive. */
    size_t clocks_per_rank;
    uint64_t *clocks;
    struct freed freed_here;  /* of the event's rank */
    struct freed freed_there; /* of the rank that sent a message */
    uint32_t next_order;      /* number of events so far, which orders events of equal times */
    uint32_t waiting;         /* operations that have not ended, or whose message has not arrived */
    bool clocks_go_back; /* clocks may go back: then each waiting operation has a time of its own,
                          * and none is parked */
    uint64_t now;
    const char *path; /* for messages, or NULL */
    struct gw_error *error;
};

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/*
 * The time at which a resource that is charged at `now` is free again. A charge may be negative:
 * for -1 byte, where a byte costs more than a message. Then the clock goes back, as LogGOPSim's
 * does, but not below 0.
 */
static uint64_t charge_clock(uint64_t now, uint64_t charge) {
    uint64_t back = 0 - charge;
    return charge > INT64_MAX && back > now ? 0 : now + charge;
}

/* The charge for bytes. The caller passes one byte less than the message has; 0 - 1 is charged as
 * -1. */
static uint64_t byte_charge(uint64_t each, double part, uint64_t bytes) {
    uint64_t whole = bytes * each;
    return part == 0 ? whole : whole + (uint64_t)llround((double)(int64_t)bytes * part);
}

static uint64_t cpu_byte_charge(const struct run *run, uint64_t bytes) {
    return byte_charge(run->p.O, run->p.O_part, bytes);
}

static uint64_t nic_byte_charge(const struct run *run, uint64_t bytes) {
    return byte_charge(run->p.G, run->p.G_part, bytes);
}

static uint64_t *cpu_clock(struct run *run, uint32_t rank, uint8_t cpu) {
    return &run->clocks[rank * run->clocks_per_rank + cpu];
}

static uint64_t *send_clock(struct run *run, uint32_t rank, uint8_t nic) {
    return &run->clocks[rank * run->clocks_per_rank + run->goal->cpus + nic];
}

static uint64_t *receive_clock(struct run *run, uint32_t rank, uint8_t nic) {
    return &run->clocks[rank * run->clocks_per_rank + run->goal->cpus + run->goal->nics + nic];
}

/* ---- dependencies -------------------------------------------------------------------------- */

static enum gw_status add_freed(struct freed *freed, uint32_t operation, struct gw_error *error) {
    uint32_t *operations =
        gw_grow(freed->operations, freed->count + 1, &freed->capacity, sizeof *operations);
    if (operations == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    freed->operations = operations;
    operations[freed->count++] = operation;
    return GW_OK;
}

/* Counts down the dependents that wait for the operation's start, or (at_end) for its end, and adds
 * those that become free. */
static enum gw_status release_dependents(struct run *run, struct freed *freed, uint32_t index,
                                         bool at_end) {
    const struct gw_goal_operation *operation = &run->goal->operations[index];
    const uint32_t *dependents = gw_goal_dependents(run->goal, operation);
    for (uint32_t i = 0; i < operation->dependent_count; i++) {
        if (((dependents[i] & GW_GOAL_AT_START) == 0) != at_end) {
            continue;
        }
        uint32_t dependent = dependents[i] & ~GW_GOAL_AT_START;
        if (--run->goal->operations[dependent].waits == 0) {
            GW_TRY(add_freed(freed, dependent, run->error));
        }
    }
    return GW_OK;
}

static enum gw_status start_operation(struct run *run, uint32_t operation) {
    run->goal->operations[operation].state |= STARTED;
    return release_dependents(run, &run->freed_here, operation, false);
}

static enum gw_status end_operation(struct run *run, struct freed *freed, uint32_t index) {
    struct gw_goal_operation *operation = &run->goal->operations[index];
    operation->state |= ENDED;
    run->waiting -= operation->kind != GW_GOAL_SEND;
    return release_dependents(run, freed, index, true);
}

/* The time at which an operation that is free now would start, by its rank's clocks. */
static uint64_t ready_time(struct run *run, const struct gw_goal_operation *operation,
                           uint32_t rank) {
    uint64_t cpu = *cpu_clock(run, rank, operation->cpu);
    return operation->kind == GW_GOAL_SEND ? later(cpu, *send_clock(run, rank, operation->nic))
                                           : cpu;
}

/* Orders the operations that became free at a rank, and stores the rank in each of them. */
static enum gw_status order_freed(struct run *run, struct freed *freed, uint32_t rank) {
    struct gw_goal_operation *operations = run->goal->operations;
    GW_TRY(gw_goal_start_order(&run->start_order, operations, freed->operations, freed->count,
                               run->error));
    for (size_t i = 0; i < freed->count; i++) {
        operations[freed->operations[i]].state = FREE;
        operations[freed->operations[i]].waits = rank;
    }
    return GW_OK;
}

/* Pushes the operations that became free. */
static enum gw_status push_freed(struct run *run, struct freed *freed) {
    if (freed->count == 0) {
        return GW_OK;
    }
    GW_TRY(order_freed(run, freed, freed->rank));
    for (size_t i = 0; i < freed->count; i++) {
        uint32_t operation = freed->operations[i];
        struct gw_event event = {
            .time = ready_time(run, &run->goal->operations[operation], freed->rank),
            .order = run->next_order++,
            .id = operation};
        GW_TRY(gw_queue_push(run->queue, event, run->error));
    }
    freed->count = 0;
    return GW_OK;
}

/* ---- busy resources ------------------------------------------------------------------------ */

/*
 * The resource of an operation, or of its message: a processor of a rank with a network interface.
 */
static uint64_t resource_of(const struct gw_goal_operation *operation, uint32_t rank) {
    uint64_t kind = operation->kind == GW_GOAL_CALC ? 0 : (operation->state & STARTED) == 0 ? 1 : 2;
    uint64_t nic = operation->kind == GW_GOAL_CALC ? 0 : operation->nic;
    return ((uint64_t)rank << 18) | (kind << 16) | ((uint64_t)operation->cpu << 8) | nic;
}

/* Delays an event whose resource is busy until `free_at`. */
static enum gw_status delay_event(struct run *run, struct gw_event event, uint32_t rank,
                                  uint64_t free_at) {
    struct gw_goal_operation *operation = &run->goal->operations[event.id];
    bool parked = false;
    event.time = free_at;
    if (run->clocks_go_back) {
        return gw_queue_push(run->queue, event, run->error);
    }
    GW_TRY(gw_park(run->parking, resource_of(operation, rank), event.order, event.id, &parked,
                   run->error));
    if (parked) {
        return GW_OK;
    }
    operation->state |= QUEUED_UP;
    return gw_queue_push(run->queue, event, run->error);
}

/*
 * Pushes the next event in order for a resource that the event has used, busy now until `free_at`.
 */
static enum gw_status push_next(struct run *run, struct gw_event event, uint64_t resource,
                                uint64_t free_at) {
    struct gw_event next = {.time = later(free_at, run->now)};
    if (!gw_unpark(run->parking, resource, event.order, &next.order, &next.id)) {
        return GW_OK;
    }
    run->goal->operations[next.id].state |= QUEUED_UP;
    return gw_queue_push(run->queue, next, run->error);
}

/* ---- events -------------------------------------------------------------------------------- */

static enum gw_status start_calculation(struct run *run, struct gw_event event) {
    struct gw_goal_operation *operation = &run->goal->operations[event.id];
    uint32_t rank = operation->waits;
    uint64_t *cpu = cpu_clock(run, rank, operation->cpu);
    if (*cpu > run->now) {
        return delay_event(run, event, rank, *cpu);
    }
    bool queued_up = (operation->state & QUEUED_UP) != 0;
    uint64_t resource = resource_of(operation, rank);
    *cpu = run->now + operation->size;
    GW_TRY(start_operation(run, event.id));
    GW_TRY(end_operation(run, &run->freed_here, event.id));
    return queued_up ? push_next(run, event, resource, *cpu) : GW_OK;
}

static enum gw_status begin_send(struct run *run, struct gw_event event) {
    struct gw_goal_operation *operation = &run->goal->operations[event.id];
    uint32_t rank = operation->waits;
    uint64_t *cpu = cpu_clock(run, rank, operation->cpu);
    uint64_t *nic = send_clock(run, rank, operation->nic);
    if (later(*cpu, *nic) > run->now) {
        return delay_event(run, event, rank, later(*cpu, *nic));
    }
    bool queued_up = (operation->state & QUEUED_UP) != 0;
    uint64_t resource = resource_of(operation, rank);
    GW_TRY(start_operation(run, event.id));
    operation->state &= (uint8_t)~QUEUED_UP;
    *cpu = charge_clock(run->now, run->p.o + cpu_byte_charge(run, operation->size - 1));
    *nic = charge_clock(run->now, run->p.g + nic_byte_charge(run, operation->size - 1));
    struct gw_event message = {
        .time = run->now + run->p.o + run->p.L, .order = run->next_order++, .id = event.id};
    GW_TRY(gw_queue_push(run->queue, message, run->error));
    if (operation->size <= run->p.S) {
        GW_TRY(end_operation(run, &run->freed_here, event.id));
    }
    return queued_up ? push_next(run, event, resource, later(*cpu, *nic)) : GW_OK;
}

/*
 * Ends the transfer of a message that has arrived and been matched. The sender of a rendezvous has
 * waited, and continues now. Its processor and network interface are those of the same number as at
 * the event that ends the wait. (LogGOPSim takes the receive's size for the message's; they should
 * be equal.)
 */
static enum gw_status deliver_message(struct run *run, uint32_t message,
                                      const struct gw_goal_operation *by) {
    run->goal->operations[message].state |= ARRIVED;
    run->waiting--;
    if ((run->goal->operations[message].state & ENDED) != 0) {
        return GW_OK;
    }
    uint32_t sender = run->goal->operations[message].waits;
    uint64_t *cpu = cpu_clock(run, sender, by->cpu);
    uint64_t *nic = send_clock(run, sender, by->nic);
    *cpu = later(*cpu, run->now);
    *nic = later(*nic, run->now);
    struct freed *freed = &run->freed_here;
    if (sender != run->freed_here.rank) {
        freed = &run->freed_there;
        freed->rank = sender;
    }
    return end_operation(run, freed, message);
}

static enum gw_status begin_receive(struct run *run, struct gw_event event) {
    struct gw_goal_operation *operation = &run->goal->operations[event.id];
    uint32_t message = GW_UNMATCHED;
    GW_TRY(start_operation(run, event.id));
    GW_TRY(gw_match(run->matching, event.id, &message, run->error));
    if (message == GW_UNMATCHED) {
        return GW_OK;
    }
    GW_TRY(deliver_message(run, message, operation));
    return end_operation(run, &run->freed_here, event.id);
}

static enum gw_status receive_message(struct run *run, struct gw_event event) {
    struct gw_goal_operation *message = &run->goal->operations[event.id];
    uint32_t rank = message->peer;
    uint64_t *cpu = cpu_clock(run, rank, message->cpu);
    uint64_t *nic = receive_clock(run, rank, message->nic);
    if (later(*cpu, *nic) > run->now) {
        return delay_event(run, event, rank, later(*cpu, *nic));
    }
    bool queued_up = (message->state & QUEUED_UP) != 0;
    uint64_t resource = resource_of(message, rank);
    uint64_t size = message->size;
    *cpu = charge_clock(
        run->now, run->p.o + later(cpu_byte_charge(run, size - 1), nic_byte_charge(run, size - 1)));
    *nic = charge_clock(run->now, run->p.g + nic_byte_charge(run, size - 1));
    uint64_t free_at = later(*cpu, *nic);
    uint32_t posted = GW_UNMATCHED;
    GW_TRY(gw_match(run->matching, event.id, &posted, run->error));
    if (posted != GW_UNMATCHED) {
        GW_TRY(deliver_message(run, event.id, message));
        GW_TRY(end_operation(run, &run->freed_here, posted));
    }
    return queued_up ? push_next(run, event, resource, free_at) : GW_OK;
}

static enum gw_status handle_event(struct run *run, struct gw_event event) {
    const struct gw_goal_operation *operation = &run->goal->operations[event.id];
    run->now = event.time;
    run->freed_here.rank = operation->waits;
    if (operation->kind == GW_GOAL_CALC) {
        GW_TRY(start_calculation(run, event));
    } else if (operation->kind == GW_GOAL_RECEIVE) {
        GW_TRY(begin_receive(run, event));
    } else if ((operation->state & STARTED) == 0) {
        GW_TRY(begin_send(run, event));
    } else {
        run->freed_here.rank = operation->peer;
        GW_TRY(receive_message(run, event));
    }
    bool here_first = run->freed_there.count == 0 || run->freed_here.rank < run->freed_there.rank;
    GW_TRY(push_freed(run, here_first ? &run->freed_here : &run->freed_there));
    return push_freed(run, here_first ? &run->freed_there : &run->freed_here);
}

/* ---- a run --------------------------------------------------------------------------------- */

/* Handles operations without dependencies: at time 0, in order of rank. Events that follow from
 * them have later orders, so they are handled first and need not go through the queue. */
static enum gw_status run_roots(struct run *run) {
    struct freed roots = {0};
    enum gw_status status = GW_OK;
    uint32_t order = 0;
    for (uint32_t rank = 0; rank < run->goal->rank_count && status == GW_OK; rank++) {
        const struct gw_goal_rank *place = &run->goal->ranks[rank];
        roots.count = 0;
        for (uint32_t i = place->first; i < place->first + place->count && status == GW_OK; i++) {
            if (run->goal->operations[i].waits == 0 && run->goal->operations[i].state == 0) {
                status = add_freed(&roots, i, run->error);
            }
        }
        status = status == GW_OK ? order_freed(run, &roots, rank) : status;
        for (size_t i = 0; i < roots.count; i++) {
            gw_match_soon(run->matching, &run->goal->operations[roots.operations[i]]);
        }
        for (size_t i = 0; i < roots.count && status == GW_OK; i++) {
            struct gw_event event = {.order = order, .id = roots.operations[i]};
            order++;
            status = handle_event(run, event);
        }
    }
    free(roots.operations);
    return status;
}

static bool is_sent(const struct gw_goal_operation *operation) {
    return operation->kind == GW_GOAL_SEND && (operation->state & STARTED) != 0;
}

/* Prefetches memory of future events in stages, since each stage reads memory that the stage before
 * it prefetched. A prefetch that is late costs time only. For ALWAYS_INLINE see gw_match_soon. */
#define ALWAYS_INLINE __attribute__((always_inline)) static inline

ALWAYS_INLINE void prefetch_operation(const struct run *run, uint32_t index) {
    __builtin_prefetch(&run->goal->operations[index], 1);
}

/* Prefetches the dependents of an operation. */
ALWAYS_INLINE void prefetch_dependents(const struct run *run, uint32_t index) {
    const struct gw_goal_operation *operation = &run->goal->operations[index];
    if (operation->dependent_count == 1) {
        prefetch_operation(run, operation->dependents & ~GW_GOAL_AT_START);
    } else {
        __builtin_prefetch(gw_goal_dependents(run->goal, operation));
    }
}

/* Prefetches the clocks of the operation's rank, and the slot where it is matched. */
ALWAYS_INLINE void prefetch_clocks(const struct run *run, uint32_t index) {
    const struct gw_goal_operation *operation = &run->goal->operations[index];
    uint32_t rank = is_sent(operation) ? operation->peer : operation->waits;
    __builtin_prefetch(&run->clocks[rank * run->clocks_per_rank], 1);
    prefetch_dependents(run, index);
    if (operation->kind == GW_GOAL_RECEIVE || is_sent(operation)) {
        gw_match_soon(run->matching, operation);
    }
}

/* The receive that a message will probably match. */
ALWAYS_INLINE uint32_t guess_match(const struct run *run, uint32_t index) {
    const struct gw_goal_operation *operation = &run->goal->operations[index];
    return is_sent(operation) ? gw_match_guess(run->matching, operation) : GW_UNMATCHED;
}

ALWAYS_INLINE void prefetch_match(const struct run *run, uint32_t index) {
    uint32_t match = guess_match(run, index);
    if (match != GW_UNMATCHED) {
        prefetch_operation(run, match);
    }
}

ALWAYS_INLINE void prefetch_match_dependents(const struct run *run, uint32_t index) {
    uint32_t match = guess_match(run, index);
    if (match != GW_UNMATCHED) {
        prefetch_dependents(run, match);
    }
}

ALWAYS_INLINE void prefetch_ahead(const struct run *run, size_t ahead,
                                  void (*stage)(const struct run *run, uint32_t index)) {
    const struct gw_event *event = gw_queue_ahead(run->queue, ahead);
    if (event != NULL) {
        stage(run, event->id);
    }
}

/* Runs each stage for an event that many events ahead. Events that have just been sorted are near,
 * and get only the first two stages: later ones would wait for memory. */
static void prefetch_events(const struct run *run) {
    enum { OPERATION = 28, PLACE = 20, MATCH = 12, MATCH_DEPENDENTS = 6 };
    if (gw_queue_is_warm(run->queue)) {
        prefetch_ahead(run, OPERATION, prefetch_operation);
        prefetch_ahead(run, PLACE, prefetch_clocks);
        prefetch_ahead(run, MATCH, prefetch_match);
        prefetch_ahead(run, MATCH_DEPENDENTS, prefetch_match_dependents);
        return;
    }
    for (size_t ahead = 0; ahead <= OPERATION; ahead++) {
        prefetch_ahead(run, ahead, prefetch_operation);
    }
    for (size_t ahead = 0; ahead <= PLACE; ahead++) {
        prefetch_ahead(run, ahead, prefetch_clocks);
    }
}

static enum gw_status run_events(struct run *run) {
    GW_TRY(run_roots(run));
    for (;;) {
        struct gw_event event;
        bool any = false;
        GW_TRY(gw_queue_pop(run->queue, &event, &any, run->error));
        if (!any) {
            return GW_OK;
        }
        prefetch_events(run);
        if (event.time > GW_GOAL_LONGEST_NS) {
            return gw_goal_fail_late(run->path, event.id, run->error);
        }
        GW_TRY(handle_event(run, event));
    }
}

/* ---- opening and closing ------------------------------------------------------------------- */

static enum gw_status collect_result(struct run *run, struct gw_goal_result *out) {
    out->finish_ns = calloc(run->goal->rank_count + 1, sizeof *out->finish_ns);
    if (out->finish_ns == NULL) {
        return gw_fail_memory(run->error, "simulating");
    }
    for (uint32_t rank = 0; rank < run->goal->rank_count; rank++) {
        for (uint32_t cpu = 0; cpu < run->goal->cpus; cpu++) {
            out->finish_ns[rank] = later(out->finish_ns[rank], *cpu_clock(run, rank, (uint8_t)cpu));
        }
        if (out->finish_ns[rank] > GW_GOAL_LONGEST_NS) {
            return gw_goal_fail_late_rank(run->path, rank, run->error);
        }
    }
    out->events = run->next_order;
    return GW_OK;
}

static enum gw_status open_run(struct run *run) {
    struct gw_matched matched = {0};
    /* Count operations without dependencies, and those that are matched; find whether a charge may
     * be negative. */
    uint64_t gap = run->p.G + (run->p.G_part > 0);
    uint64_t per_byte = later(run->p.O + (run->p.O_part > 0), gap);
    bool negative = run->p.o < per_byte || run->p.g < gap;
    for (uint32_t i = 0; i < run->goal->operation_count; i++) {
        const struct gw_goal_operation *operation = &run->goal->operations[i];
        bool root = operation->waits == 0;
        bool wildcard = operation->tag == GW_GOAL_ANY || operation->peer == GW_GOAL_ANY;
        run->next_order += root;
        matched.posted += root && operation->kind == GW_GOAL_RECEIVE;
        matched.wildcards |= wildcard && operation->kind != GW_GOAL_CALC;
        run->clocks_go_back |= negative && operation->kind == GW_GOAL_SEND && operation->size == 0;
    }
    run->waiting = run->goal->operation_count;
    run->clocks_per_rank = run->goal->cpus + 2 * (size_t)run->goal->nics;
    run->clocks = calloc(run->goal->rank_count * run->clocks_per_rank + 1, sizeof *run->clocks);
    if (run->clocks == NULL) {
        return gw_fail_memory(run->error, "simulating");
    }
    GW_TRY(gw_queue_open(&run->queue, run->error));
    GW_TRY(gw_parking_open(&run->parking, run->error));
    return gw_matching_open(&run->matching, run->goal, &matched, run->error);
}

enum gw_status gw_goal_run(struct gw_goal *goal, const struct gw_loggops *parameters,
                           const char *path, struct gw_goal_result *out, struct gw_error *error) {
    struct run run = {.goal = goal, .p = *parameters, .path = path, .error = error};
    *out = (struct gw_goal_result){0};
    double start_s = gw_clock_now_s();
    enum gw_status status = gw_goal_check_times(goal, parameters, path, error);
    status = status == GW_OK ? open_run(&run) : status;
    status = status == GW_OK ? run_events(&run) : status;
    if (status == GW_OK && run.waiting > 0) {
        status = gw_goal_check_ended(goal, path, error);
    }
    status = status == GW_OK ? collect_result(&run, out) : status;
    out->wall_s = gw_clock_now_s() - start_s;
    free(run.clocks);
    free(run.freed_here.operations);
    free(run.freed_there.operations);
    gw_start_order_free(&run.start_order);
    gw_queue_close(run.queue);
    gw_parking_close(run.parking);
    gw_matching_close(run.matching);
    if (status != GW_OK) {
        free(out->finish_ns);
        *out = (struct gw_goal_result){0};
    }
    return status;
}
