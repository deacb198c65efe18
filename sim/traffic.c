#include "sim/traffic.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

/* ---- the exchanges of a schedule as calls of collectives ------------------------------------- */

static enum gw_status find_collective(const struct gw_simulation *simulation, const char *operation,
                                      const struct gw_collective **out, struct gw_error *error) {
    const char *name = NULL;
    for (size_t i = 0; i < simulation->choice_count; i++) {
        const struct gw_collective_choice *choice = &simulation->choices[i];
        name = strcmp(choice->operation, operation) == 0 ? choice->name : name;
    }
    return gw_collective_find(operation, name, out, error);
}

static struct gw_call call_of(const struct gw_collective *collective, uint64_t bytes,
                              size_t workers) {
    struct gw_call call = {.workers = (uint32_t)workers, .bytes = bytes};
    uint64_t multiple = 4 * (uint64_t)workers;
    if (collective->shares && gw_collective_symmetric(collective, call.workers) &&
        bytes % multiple > 0) {
        call.bytes += multiple - bytes % multiple;
    }
    return call;
}

enum gw_status gw_exchanges_open(struct gw_exchanges *out, const struct gw_simulator *simulator,
                                 struct gw_arena *arena, struct gw_error *error) {
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_simulation *simulation = &simulator->simulation;
    enum { MOST_WORKERS = 1 << 29 };
    *out = (struct gw_exchanges){.symmetric = true};
    if (simulation->workers > MOST_WORKERS) {
        return gw_fail(error, GW_BAD_INPUT,
                       "workers: expected at most %d where messages are simulated, got %zu",
                       MOST_WORKERS, simulation->workers);
    }
    out->list = gw_arena_zeros(arena, schedule->operation_count + 1, sizeof *out->list);
    if (out->list == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    out->ranks = (uint32_t)simulation->workers;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        if (operation->kind != GW_EXCHANGE) {
            continue;
        }
        struct gw_exchange *exchange = &out->list[out->count++];
        exchange->operation = i;
        GW_TRY(find_collective(simulation, operation->method, &exchange->collective, error));
        exchange->call = call_of(exchange->collective, operation->bytes, simulation->workers);
        exchange->ranks = gw_collective_ranks(exchange->collective, exchange->call.workers);
        out->ranks = exchange->ranks > out->ranks ? exchange->ranks : out->ranks;
        out->symmetric =
            out->symmetric && gw_collective_symmetric(exchange->collective, exchange->call.workers);
    }
    return GW_OK;
}

void gw_exchanges_again(struct gw_exchanges *exchanges, const struct gw_schedule *schedule) {
    for (size_t i = 0; i < exchanges->count; i++) {
        struct gw_exchange *exchange = &exchanges->list[i];
        uint64_t bytes = schedule->operations[exchange->operation].bytes;
        exchange->call = call_of(exchange->collective, bytes, exchange->call.workers);
    }
}

uint32_t gw_exchange_steps(const struct gw_exchange *exchange, uint32_t rank) {
    return exchange->call.bytes == 0 ? 0 : exchange->collective->steps(&exchange->call, rank);
}

/* ---- traffic --------------------------------------------------------------------------------- */

static const uint32_t NO_MESSAGE = UINT32_MAX;

/*
 * An event is a message that comes to its sender's interface, where others may be before it, or one
 * whose first byte comes to its receiver (this bit of the id). Steps need no events: what a rank
 * does by itself may be worked out as soon as it is known when.
 */
static const uint32_t ARRIVES = 1u << 31;

struct message {
    struct gw_flight flight;
    uint32_t exchange; /* that it belongs to */
    uint32_t next;     /* that came too early to the same rank, or that is unused */
};

/* A worker, or a server, in its exchanges. */
struct rank {
    uint64_t busy; /* until when it handles messages, which takes overhead */
    uint64_t left; /* when its step began, or what that sends has left */
    bool inside;   /* an exchange: this one */
    uint32_t exchange;
    uint32_t step, steps;
    uint32_t from;                    /* whom the step waits for; GW_NOBODY: for no one */
    bool sending;                     /* what the step sends has not left yet */
    uint64_t sent;                    /* messages so far, which number the draws of noise */
    uint64_t noise;                   /* its stream of noise */
    uint32_t early_first, early_last; /* messages that came before the rank waited for them */
};

struct gw_traffic {
    const struct gw_exchanges *exchanges;
    const struct gw_noise *noise; /* on each message */
    gw_traffic_left left;
    void *context;
    struct gw_links *links;
    struct gw_queue *queue;
    struct rank *ranks;
    size_t message_count, message_capacity;
    struct message *messages;
    uint32_t unused; /* messages */
    uint32_t next_order;
    uint64_t events;
    struct gw_error *error;
};

static inline uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* ---- opening ------------------------------------------------------------------------------- */

static void release_traffic(void *object) {
    struct gw_traffic *traffic = object;
    gw_queue_close(traffic->queue);
    free(traffic->messages);
}

enum gw_status gw_traffic_open(struct gw_traffic **out, const struct gw_traffic_spec *spec,
                               struct gw_arena *arena, struct gw_error *error) {
    struct gw_traffic *traffic = gw_arena_zeros(arena, 1, sizeof *traffic);
    if (gw_arena_own(arena, traffic, release_traffic) == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    traffic->exchanges = spec->exchanges;
    traffic->noise = spec->noise;
    traffic->left = spec->left;
    traffic->context = spec->context;
    traffic->ranks = gw_arena_zeros(arena, spec->exchanges->ranks, sizeof *traffic->ranks);
    if (traffic->ranks == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    *out = traffic;
    GW_TRY(gw_links_open(&traffic->links, &spec->links, arena, error));
    return gw_queue_open(&traffic->queue, error);
}

void gw_traffic_reset(struct gw_traffic *traffic, uint64_t seed, uint64_t repetition) {
    gw_links_reset(traffic->links);
    for (size_t i = 0; i < traffic->exchanges->ranks; i++) {
        /* Workers draw noise of their own for what they compute: these are other sources. */
        uint64_t source = ((uint64_t)1 << 40) + i;
        traffic->ranks[i] = (struct rank){.from = GW_NOBODY,
                                          .early_first = NO_MESSAGE,
                                          .noise = gw_noise_stream(seed, repetition, source)};
    }
    traffic->next_order = 0;
    traffic->message_count = 0;
    traffic->unused = NO_MESSAGE;
}

uint64_t gw_traffic_events(const struct gw_traffic *traffic) {
    return traffic->events;
}

/* ---- events and messages ------------------------------------------------------------------- */

static enum gw_status push(struct gw_traffic *traffic, uint32_t id, uint64_t time) {
    struct gw_event event = {.time = time, .order = traffic->next_order++, .id = id};
    return gw_queue_push(traffic->queue, event, traffic->error);
}

/* Room for a message, whose fields the caller fills. */
static enum gw_status add_message(struct gw_traffic *traffic, uint32_t *out) {
    if (traffic->unused != NO_MESSAGE) {
        *out = traffic->unused;
        traffic->unused = traffic->messages[*out].next;
        return GW_OK;
    }
    struct message *grown = gw_grow(traffic->messages, traffic->message_count + 1,
                                    &traffic->message_capacity, sizeof *grown);
    if (grown == NULL) {
        return gw_fail_memory(traffic->error, "simulating");
    }
    traffic->messages = grown;
    *out = (uint32_t)traffic->message_count++;
    return GW_OK;
}

static void keep_early(struct gw_traffic *traffic, struct rank *rank, uint32_t index) {
    traffic->messages[index].next = NO_MESSAGE;
    if (rank->early_first == NO_MESSAGE) {
        rank->early_first = index;
    } else {
        traffic->messages[rank->early_last].next = index;
    }
    rank->early_last = index;
}

static bool is_awaited(const struct rank *rank, const struct message *message) {
    return message->exchange == rank->exchange && rank->from != GW_NOBODY &&
           (rank->from == GW_ANYBODY || rank->from == message->flight.from);
}

/* Takes the first early message that the rank waits for, or NO_MESSAGE. */
static uint32_t take_early(struct gw_traffic *traffic, struct rank *rank) {
    uint32_t before = NO_MESSAGE;
    uint32_t index = rank->early_first;
    while (index != NO_MESSAGE && !is_awaited(rank, &traffic->messages[index])) {
        before = index;
        index = traffic->messages[index].next;
    }
    if (index == NO_MESSAGE) {
        return NO_MESSAGE;
    }
    uint32_t after = traffic->messages[index].next;
    if (before == NO_MESSAGE) {
        rank->early_first = after;
    } else {
        traffic->messages[before].next = after;
    }
    rank->early_last = rank->early_last == index ? before : rank->early_last;
    return index;
}

/* ---- steps --------------------------------------------------------------------------------- */

/* The message is there, and the rank has waited for it: handling it takes its overhead. */
static void receive(struct gw_traffic *traffic, struct rank *rank, uint32_t index) {
    struct message *message = &traffic->messages[index];
    rank->busy = gw_plus_ps(later(rank->busy, message->flight.tail),
                            gw_links_receiving(traffic->links, &message->flight));
    rank->from = GW_NOBODY;
    message->next = traffic->unused;
    traffic->unused = index;
}

/* The message leaves its sender, alone or behind others. */
static enum gw_status depart(struct gw_traffic *traffic, uint32_t index, uint64_t now) {
    struct message *message = &traffic->messages[index];
    struct rank *rank = &traffic->ranks[message->flight.from];
    uint64_t arrives = gw_links_depart(traffic->links, &message->flight, now);
    rank->left = message->flight.left;
    rank->sending = false;
    return push(traffic, index | ARRIVES, arrives);
}

static double slowness_of(const struct gw_traffic *traffic, struct rank *rank) {
    const struct gw_noise *noise = traffic->noise;
    return noise->kind == GW_NOISE_NONE ? 1 : gw_noise_factor(noise, rank->noise, rank->sent++);
}

static enum gw_status send(struct gw_traffic *traffic, uint32_t which, const struct gw_step *step) {
    struct rank *rank = &traffic->ranks[which];
    uint32_t index = NO_MESSAGE;
    GW_TRY(add_message(traffic, &index));
    struct message *message = &traffic->messages[index];
    struct gw_flight *flight = &message->flight;
    flight->from = which;
    flight->to = step->to;
    flight->bytes = step->send_bytes;
    message->exchange = rank->exchange;
    flight->slowness = slowness_of(traffic, rank);
    rank->busy = gw_plus_ps(rank->busy, gw_links_sending(traffic->links, flight));
    rank->sending = gw_links_shared(traffic->links, flight);
    if (rank->sending) {
        return push(traffic, index, rank->busy);
    }
    uint64_t arrives = gw_links_depart(traffic->links, flight, rank->busy);
    rank->left = flight->left;
    return push(traffic, index | ARRIVES, arrives);
}

static enum gw_status take_step(struct gw_traffic *traffic, uint32_t which, uint64_t now) {
    struct rank *rank = &traffic->ranks[which];
    const struct gw_exchange *exchange = &traffic->exchanges->list[rank->exchange];
    struct gw_step step;
    exchange->collective->step(&exchange->call, which, rank->step++, &step);
    traffic->events++;
    rank->left = rank->busy = now;
    rank->from = step.from;
    if (step.to != GW_NOBODY) {
        GW_TRY(send(traffic, which, &step));
    }
    if (step.from != GW_NOBODY && rank->early_first != NO_MESSAGE) {
        uint32_t early = take_early(traffic, rank);
        if (early != NO_MESSAGE) {
            receive(traffic, rank, early);
        }
    }
    return GW_OK;
}

/* Takes steps, and leaves exchanges, up to one that waits. */
static enum gw_status proceed(struct gw_traffic *traffic, uint32_t which) {
    struct rank *rank = &traffic->ranks[which];
    while (rank->inside && !rank->sending && rank->from == GW_NOBODY) {
        uint64_t now = later(rank->left, rank->busy);
        if (rank->step < rank->steps) {
            GW_TRY(take_step(traffic, which, now));
        } else {
            rank->inside = false;
            traffic->left(traffic->context, which, now);
        }
    }
    return GW_OK;
}

static enum gw_status arrive(struct gw_traffic *traffic, uint32_t index, uint64_t now) {
    struct message *message = &traffic->messages[index];
    gw_links_arrive(traffic->links, &message->flight, now);
    uint32_t which = message->flight.to;
    struct rank *rank = &traffic->ranks[which];
    traffic->events++;
    if (is_awaited(rank, message)) {
        receive(traffic, rank, index);
        return proceed(traffic, which);
    }
    keep_early(traffic, rank, index);
    return GW_OK;
}

/* ---- for workers and servers ----------------------------------------------------------------- */

void gw_traffic_enter(struct gw_traffic *traffic, uint32_t which, uint32_t number, uint64_t now) {
    struct rank *rank = &traffic->ranks[which];
    rank->inside = true;
    rank->exchange = number;
    rank->step = 0;
    rank->steps = gw_exchange_steps(&traffic->exchanges->list[number], which);
    rank->left = rank->busy = later(rank->busy, now);
}

static enum gw_status check_ended(const struct gw_traffic *traffic) {
    for (uint32_t which = 0; which < traffic->exchanges->ranks; which++) {
        const struct rank *rank = &traffic->ranks[which];
        if (rank->inside) {
            return gw_fail(traffic->error, GW_FAILED,
                           "simulation: rank %u waits for ever in step %u of %s", which, rank->step,
                           traffic->exchanges->list[rank->exchange].collective->name);
        }
    }
    return GW_OK;
}

/*
 * One worker stands for all: what it sends from `now` on comes back to it as what it receives. All
 * that came before has left the links, so it does not matter what that was.
 */
static uint64_t step_alone(struct gw_traffic *traffic, const struct gw_exchange *exchange,
                           uint32_t index, uint64_t now) {
    struct gw_step step;
    exchange->collective->step(&exchange->call, 0, index, &step);
    struct gw_flight flight = {.to = step.to, .bytes = step.send_bytes, .slowness = 1};
    uint64_t sent = gw_plus_ps(now, gw_links_sending(traffic->links, &flight));
    uint64_t arrives = gw_links_depart(traffic->links, &flight, sent);
    flight.from = step.from;
    flight.to = 0;
    gw_links_arrive(traffic->links, &flight, arrives);
    uint64_t received =
        gw_plus_ps(later(sent, flight.tail), gw_links_receiving(traffic->links, &flight));
    return later(flight.left, received);
}

uint64_t gw_traffic_alone(struct gw_traffic *traffic, uint32_t number, uint64_t now) {
    const struct gw_exchange *exchange = &traffic->exchanges->list[number];
    uint32_t steps = gw_exchange_steps(exchange, 0);
    traffic->events += steps;
    if (exchange->collective->uniform && steps > 0) {
        uint64_t all = 0;
        uint64_t each = step_alone(traffic, exchange, 0, now) - now;
        bool late = __builtin_mul_overflow(steps, each, &all) || all > GW_LATEST_PS;
        return late ? GW_LATEST_PS : gw_plus_ps(now, all);
    }
    for (uint32_t i = 0; i < steps; i++) {
        now = step_alone(traffic, exchange, i, now);
    }
    return now;
}

enum gw_status gw_traffic_run(struct gw_traffic *traffic, struct gw_error *error) {
    traffic->error = error;
    for (uint32_t which = 0; which < traffic->exchanges->ranks; which++) {
        GW_TRY(proceed(traffic, which));
    }
    for (;;) {
        struct gw_event event;
        bool any = false;
        GW_TRY(gw_queue_pop(traffic->queue, &event, &any, traffic->error));
        if (!any) {
            return check_ended(traffic);
        }
        uint32_t index = event.id & ~ARRIVES;
        if (event.id != index) {
            GW_TRY(arrive(traffic, index, event.time));
        } else {
            uint32_t sender = traffic->messages[index].flight.from;
            GW_TRY(depart(traffic, index, event.time));
            GW_TRY(proceed(traffic, sender));
        }
    }
}
