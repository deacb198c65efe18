/*
 * Every worker goes through the schedule's operations in order. What it computes takes the time
 * that it takes; in an exchange it takes the collective's steps, whose messages leave, arrive and
 * queue in the order of time. Times are whole picoseconds.
 */
#include "sim/messages.h"

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "sim/exchanges.h"
#include "sim/links.h"

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
    uint64_t busy;     /* until when it handles messages, which takes overhead */
    uint64_t left;     /* when its step began, or what that sends has left */
    uint32_t exchange; /* that it is in */
    uint32_t step, steps;
    uint32_t from; /* whom the step waits for; GW_NOBODY: for no one */
    bool sending;  /* what the step sends has not left yet */
    bool done;     /* with all exchanges */
    uint64_t sent; /* messages so far, which number the draws of noise */
    uint64_t noise;
    uint32_t early_first, early_last; /* messages that came before the rank waited for them */
};

/* A worker between exchanges: how far it is, and where its time went. */
struct lane {
    size_t operation;
    uint64_t clock[GW_STREAM_COUNT];
    uint64_t spent[GW_ACTIVITY_COUNT];
    uint64_t idle; /* that the compute stream waited between operations */
    uint64_t noise;
};

/* When a lane came to an exchange, and when it left. */
struct visit {
    uint64_t entered, left;
};

struct messages {
    const struct gw_simulator *simulator;
    bool collapsed;
    struct gw_links *links;
    struct gw_queue *queue;
    struct gw_exchanges exchanges;
    uint64_t *last_entered; /* per exchange: when its last worker came to it */
    uint64_t served;        /* when the last server was done */
    size_t lane_count;
    struct rank *ranks;
    struct lane *lanes;
    struct visit *visits; /* lane * exchange_count + exchange */
    uint64_t *ends;       /* slot * lane_count + lane, see gw_slots_assign */
    size_t message_count, message_capacity;
    struct message *messages;
    uint32_t unused; /* messages */
    uint32_t next_order;
    uint64_t events;

    struct gw_timeline *timeline;
    double start_s;
    struct gw_error *error;
};

static inline uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* ---- opening ------------------------------------------------------------------------------- */

static struct gw_links_spec links_of(const struct gw_simulator *simulator, size_t ranks) {
    const struct gw_simulation *simulation = &simulator->simulation;
    return (struct gw_links_spec){.network = &simulator->network,
                                  .ranks = ranks,
                                  .workers = simulation->workers,
                                  .workers_per_node = simulator->cluster->workers_per_node,
                                  .bandwidth = simulation->bandwidth,
                                  .background = simulation->background};
}

enum gw_status gw_messages_collapse(const struct gw_simulator *simulator, bool *out,
                                    struct gw_error *error) {
    const struct gw_simulation *simulation = &simulator->simulation;
    struct gw_links_spec spec = links_of(simulator, simulation->workers);
    struct gw_exchanges exchanges = {0};
    GW_TRY(gw_exchanges_open(&exchanges, simulator->schedule, simulation, error));
    *out = exchanges.symmetric && gw_links_are_symmetric(&spec) && !simulation->every_worker &&
           simulation->compute_noise.kind == GW_NOISE_NONE &&
           simulation->network_noise.kind == GW_NOISE_NONE && simulation->slowdown == NULL;
    gw_exchanges_close(&exchanges);
    return GW_OK;
}

static enum gw_status open_state(struct messages *messages, struct gw_error *error) {
    const struct gw_simulator *simulator = messages->simulator;
    size_t workers = simulator->simulation.workers;
    messages->lane_count = simulator->lane_count;
    messages->collapsed = simulator->lane_count < workers;
    messages->ranks = calloc(messages->exchanges.ranks, sizeof *messages->ranks);
    messages->lanes = calloc(messages->lane_count, sizeof *messages->lanes);
    messages->last_entered = calloc(messages->exchanges.count + 1, sizeof *messages->last_entered);
    messages->visits =
        calloc(messages->exchanges.count + 1, messages->lane_count * sizeof *messages->visits);
    messages->ends =
        calloc(simulator->slot_count + 1, messages->lane_count * sizeof *messages->ends);
    if (messages->ranks == NULL || messages->lanes == NULL || messages->last_entered == NULL ||
        messages->visits == NULL || messages->ends == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    return GW_OK;
}

static void close_messages(void *state) {
    struct messages *messages = state;
    if (messages == NULL) {
        return;
    }
    gw_links_close(messages->links);
    gw_queue_close(messages->queue);
    gw_exchanges_close(&messages->exchanges);
    free(messages->last_entered);
    free(messages->ranks);
    free(messages->lanes);
    free(messages->visits);
    free(messages->ends);
    free(messages->messages);
    free(messages);
}

static enum gw_status open_messages(void **out, const struct gw_simulator *simulator,
                                    struct gw_error *error) {
    struct messages *messages = calloc(1, sizeof *messages);
    if (messages == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    messages->simulator = simulator;
    enum gw_status status =
        gw_exchanges_open(&messages->exchanges, simulator->schedule, &simulator->simulation, error);
    if (status == GW_OK) {
        struct gw_links_spec spec = links_of(simulator, messages->exchanges.ranks);
        status = gw_links_open(&messages->links, &spec, error);
    }
    status = status == GW_OK ? gw_queue_open(&messages->queue, error) : status;
    status = status == GW_OK ? open_state(messages, error) : status;
    if (status != GW_OK) {
        close_messages(messages);
        return status;
    }
    *out = messages;
    return GW_OK;
}

uint64_t gw_messages_events(const void *state) {
    const struct messages *messages = state;
    return messages->events;
}

static void reset(struct messages *messages, uint64_t repetition) {
    const struct gw_simulator *simulator = messages->simulator;
    uint64_t seed = simulator->simulation.seed;
    gw_links_reset(messages->links);
    for (size_t i = 0; i < messages->exchanges.ranks; i++) {
        /* Workers draw noise of their own for what they compute: these are other sources. */
        uint64_t source = ((uint64_t)1 << 40) + i;
        messages->ranks[i] = (struct rank){.from = GW_NOBODY,
                                           .early_first = NO_MESSAGE,
                                           .noise = gw_noise_stream(seed, repetition, source)};
    }
    for (size_t i = 0; i < messages->lane_count; i++) {
        messages->lanes[i] =
            (struct lane){.noise = gw_noise_stream(seed, repetition, simulator->lanes[i].worker)};
    }
    memset(messages->last_entered, 0, messages->exchanges.count * sizeof *messages->last_entered);
    messages->served = 0;
    messages->next_order = 0;
    messages->message_count = 0;
    messages->unused = NO_MESSAGE;
}

/* ---- events and messages ------------------------------------------------------------------- */

static enum gw_status push(struct messages *messages, uint32_t id, uint64_t time) {
    struct gw_event event = {.time = time, .order = messages->next_order++, .id = id};
    return gw_queue_push(messages->queue, event, messages->error);
}

/* Room for a message, whose fields the caller fills. */
static enum gw_status add_message(struct messages *messages, uint32_t *out) {
    if (messages->unused != NO_MESSAGE) {
        *out = messages->unused;
        messages->unused = messages->messages[*out].next;
        return GW_OK;
    }
    struct message *grown = gw_grow(messages->messages, messages->message_count + 1,
                                    &messages->message_capacity, sizeof *grown);
    if (grown == NULL) {
        return gw_fail_memory(messages->error, "simulating");
    }
    messages->messages = grown;
    *out = (uint32_t)messages->message_count++;
    return GW_OK;
}

static void keep_early(struct messages *messages, struct rank *rank, uint32_t index) {
    messages->messages[index].next = NO_MESSAGE;
    if (rank->early_first == NO_MESSAGE) {
        rank->early_first = index;
    } else {
        messages->messages[rank->early_last].next = index;
    }
    rank->early_last = index;
}

static bool is_awaited(const struct rank *rank, const struct message *message) {
    return message->exchange == rank->exchange && rank->from != GW_NOBODY &&
           (rank->from == GW_ANYBODY || rank->from == message->flight.from);
}

/* Takes the first early message that the rank waits for, or NO_MESSAGE. */
static uint32_t take_early(struct messages *messages, struct rank *rank) {
    uint32_t before = NO_MESSAGE;
    uint32_t index = rank->early_first;
    while (index != NO_MESSAGE && !is_awaited(rank, &messages->messages[index])) {
        before = index;
        index = messages->messages[index].next;
    }
    if (index == NO_MESSAGE) {
        return NO_MESSAGE;
    }
    uint32_t after = messages->messages[index].next;
    if (before == NO_MESSAGE) {
        rank->early_first = after;
    } else {
        messages->messages[before].next = after;
    }
    rank->early_last = rank->early_last == index ? before : rank->early_last;
    return index;
}

/* ---- steps --------------------------------------------------------------------------------- */

/* The message is there, and the rank has waited for it: handling it takes its overhead. */
static void receive(struct messages *messages, struct rank *rank, uint32_t index) {
    struct message *message = &messages->messages[index];
    rank->busy = gw_plus_ps(later(rank->busy, message->flight.tail),
                            gw_links_receiving(messages->links, &message->flight));
    rank->from = GW_NOBODY;
    message->next = messages->unused;
    messages->unused = index;
}

/* The message leaves its sender, alone or behind others. */
static enum gw_status depart(struct messages *messages, uint32_t index, uint64_t now) {
    struct message *message = &messages->messages[index];
    struct rank *rank = &messages->ranks[message->flight.from];
    uint64_t arrives = gw_links_depart(messages->links, &message->flight, now);
    rank->left = message->flight.left;
    rank->sending = false;
    return push(messages, index | ARRIVES, arrives);
}

static double slowness_of(const struct messages *messages, struct rank *rank) {
    const struct gw_noise *noise = &messages->simulator->simulation.network_noise;
    return noise->kind == GW_NOISE_NONE ? 1 : gw_noise_factor(noise, rank->noise, rank->sent++);
}

static enum gw_status send(struct messages *messages, uint32_t which, const struct gw_step *step) {
    struct rank *rank = &messages->ranks[which];
    uint32_t index = NO_MESSAGE;
    GW_TRY(add_message(messages, &index));
    struct message *message = &messages->messages[index];
    struct gw_flight *flight = &message->flight;
    flight->from = which;
    flight->to = step->to;
    flight->bytes = step->send_bytes;
    message->exchange = rank->exchange;
    flight->slowness = slowness_of(messages, rank);
    rank->busy = gw_plus_ps(rank->busy, gw_links_sending(messages->links, flight));
    rank->sending = gw_links_shared(messages->links, flight);
    if (rank->sending) {
        return push(messages, index, rank->busy);
    }
    uint64_t arrives = gw_links_depart(messages->links, flight, rank->busy);
    rank->left = flight->left;
    return push(messages, index | ARRIVES, arrives);
}

static enum gw_status take_step(struct messages *messages, uint32_t which, uint64_t now) {
    struct rank *rank = &messages->ranks[which];
    const struct gw_exchange *exchange = &messages->exchanges.list[rank->exchange];
    struct gw_step step;
    exchange->collective->step(&exchange->call, which, rank->step++, &step);
    messages->events++;
    rank->left = rank->busy = now;
    rank->from = step.from;
    if (step.to != GW_NOBODY) {
        GW_TRY(send(messages, which, &step));
    }
    if (step.from != GW_NOBODY && rank->early_first != NO_MESSAGE) {
        uint32_t early = take_early(messages, rank);
        if (early != NO_MESSAGE) {
            receive(messages, rank, early);
        }
    }
    return GW_OK;
}

static enum gw_status leave(struct messages *messages, uint32_t which, uint64_t now);

/* Takes steps, and leaves exchanges, up to one that waits. */
static enum gw_status proceed(struct messages *messages, uint32_t which) {
    struct rank *rank = &messages->ranks[which];
    while (!rank->done && !rank->sending && rank->from == GW_NOBODY) {
        uint64_t now = later(rank->left, rank->busy);
        GW_TRY(rank->step == rank->steps ? leave(messages, which, now)
                                         : take_step(messages, which, now));
    }
    return GW_OK;
}

static enum gw_status arrive(struct messages *messages, uint32_t index, uint64_t now) {
    struct message *message = &messages->messages[index];
    gw_links_arrive(messages->links, &message->flight, now);
    uint32_t which = message->flight.to;
    struct rank *rank = &messages->ranks[which];
    messages->events++;
    if (is_awaited(rank, message)) {
        receive(messages, rank, index);
        return proceed(messages, which);
    }
    keep_early(messages, rank, index);
    return GW_OK;
}

/* ---- operations of workers ----------------------------------------------------------------- */

static enum gw_status record(struct messages *messages, size_t lane, size_t index,
                             enum gw_activity activity, uint64_t start, uint64_t end) {
    const struct gw_operation *operation = &messages->simulator->schedule->operations[index];
    struct gw_span span = {.lane = lane,
                           .stream = operation->stream,
                           .activity = activity,
                           .group = operation->group,
                           .label = operation->label,
                           .elements = operation->elements,
                           .bytes = operation->bytes,
                           .start_s = messages->start_s + gw_seconds(start),
                           .end_s = messages->start_s + gw_seconds(end)};
    messages->lanes[lane].spent[activity] += end - start;
    return messages->timeline == NULL ? GW_OK
                                      : gw_timeline_add(messages->timeline, span, messages->error);
}

/* When the stream and all that the operation waits for have ended. */
static uint64_t start_of(const struct messages *messages, size_t lane, size_t index) {
    const struct gw_simulator *simulator = messages->simulator;
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_operation *operation = &schedule->operations[index];
    uint64_t start = messages->lanes[lane].clock[operation->stream];
    for (size_t d = 0; d < operation->dependency_count; d++) {
        size_t before = schedule->dependencies[operation->first_dependency + d];
        if (schedule->operations[before].stream != operation->stream) {
            start = later(start,
                          messages->ends[simulator->slots[before] * messages->lane_count + lane]);
        }
    }
    return start;
}

/* Moves the stream's clock over an operation, and keeps its end for those that wait for it. */
static void advance(struct messages *messages, size_t lane, size_t index, uint64_t start,
                    uint64_t end) {
    const struct gw_simulator *simulator = messages->simulator;
    enum gw_stream stream = simulator->schedule->operations[index].stream;
    struct lane *state = &messages->lanes[lane];
    if (stream == GW_STREAM_COMPUTE) {
        state->idle += start - state->clock[stream];
    }
    state->clock[stream] = end;
    if (simulator->slots[index] != GW_NO_SLOT) {
        messages->ends[simulator->slots[index] * messages->lane_count + lane] = end;
    }
}

static enum gw_status compute(struct messages *messages, size_t lane, size_t index) {
    const struct gw_simulator *simulator = messages->simulator;
    const struct gw_simulation *simulation = &simulator->simulation;
    double seconds = simulator->seconds[index];
    if (simulation->slowdown != NULL) {
        seconds *= simulation->slowdown[simulator->lanes[lane].worker];
    }
    if (seconds > 0) {
        double factor =
            gw_noise_factor(&simulation->compute_noise, messages->lanes[lane].noise, index);
        seconds = factor > 0 ? seconds * factor : 0;
    }
    uint64_t start = start_of(messages, lane, index);
    uint64_t end = gw_plus_ps(start, gw_picoseconds(seconds));
    advance(messages, lane, index, start, end);
    return record(messages, lane, index, simulator->schedule->operations[index].kind, start, end);
}

/*
 * One worker stands for all: what it sends from `now` on comes back to it as what it receives. All
 * that came before has left the links, so it does not matter what that was.
 */
static uint64_t step_alone(struct messages *messages, const struct gw_exchange *exchange,
                           uint32_t index, uint64_t now) {
    struct gw_step step;
    exchange->collective->step(&exchange->call, 0, index, &step);
    struct gw_flight flight = {.to = step.to, .bytes = step.send_bytes, .slowness = 1};
    uint64_t sent = gw_plus_ps(now, gw_links_sending(messages->links, &flight));
    uint64_t arrives = gw_links_depart(messages->links, &flight, sent);
    flight.from = step.from;
    flight.to = 0;
    gw_links_arrive(messages->links, &flight, arrives);
    uint64_t received =
        gw_plus_ps(later(sent, flight.tail), gw_links_receiving(messages->links, &flight));
    return later(flight.left, received);
}

/* When the worker that stands for all leaves the exchange. */
static uint64_t exchange_alone(struct messages *messages, const struct gw_exchange *exchange,
                               uint64_t now) {
    uint32_t steps = gw_exchange_steps(exchange, 0);
    messages->events += steps;
    if (exchange->collective->uniform && steps > 0) {
        uint64_t all = 0;
        uint64_t each = step_alone(messages, exchange, 0, now) - now;
        bool late = __builtin_mul_overflow(steps, each, &all) || all > GW_LATEST_PS;
        return late ? GW_LATEST_PS : gw_plus_ps(now, all);
    }
    for (uint32_t i = 0; i < steps; i++) {
        now = step_alone(messages, exchange, i, now);
    }
    return now;
}

/* The rank begins the exchange at `now`. */
static void enter(struct messages *messages, uint32_t which, uint64_t now) {
    struct rank *rank = &messages->ranks[which];
    rank->step = 0;
    rank->steps = gw_exchange_steps(&messages->exchanges.list[rank->exchange], which);
    rank->left = rank->busy = later(rank->busy, now);
}

static void leave_as_worker(struct messages *messages, size_t lane, uint32_t number, uint64_t now) {
    struct visit *visit = &messages->visits[lane * messages->exchanges.count + number];
    visit->left = now;
    advance(messages, lane, messages->exchanges.list[number].operation, visit->entered, now);
    messages->lanes[lane].operation++;
}

/* The worker comes to its next exchange; where it stands for all, it leaves it at once. */
static void come_to_exchange(struct messages *messages, size_t lane) {
    struct rank *rank = &messages->ranks[lane];
    uint32_t number = rank->exchange;
    struct visit *visit = &messages->visits[lane * messages->exchanges.count + number];
    visit->entered = start_of(messages, lane, messages->lanes[lane].operation);
    messages->last_entered[number] = later(messages->last_entered[number], visit->entered);
    if (messages->collapsed) {
        uint64_t now = exchange_alone(messages, &messages->exchanges.list[number], visit->entered);
        rank->exchange++;
        leave_as_worker(messages, lane, number, now);
    } else {
        enter(messages, (uint32_t)lane, visit->entered);
    }
}

/* Takes the worker into its next exchange, or to the end. */
static enum gw_status go_on(struct messages *messages, size_t lane) {
    const struct gw_schedule *schedule = messages->simulator->schedule;
    struct lane *state = &messages->lanes[lane];
    while (state->operation < schedule->operation_count) {
        if (schedule->operations[state->operation].kind != GW_EXCHANGE) {
            GW_TRY(compute(messages, lane, state->operation++));
            continue;
        }
        come_to_exchange(messages, lane);
        if (!messages->collapsed) {
            return GW_OK;
        }
    }
    messages->ranks[lane].done = true;
    return GW_OK;
}

/* Servers take part in those exchanges that have servers, as soon as they can. */
static void serve(struct messages *messages, uint32_t which, uint64_t now) {
    struct rank *rank = &messages->ranks[which];
    while (rank->exchange < messages->exchanges.count &&
           messages->exchanges.list[rank->exchange].ranks <= which) {
        rank->exchange++;
    }
    rank->done = rank->exchange == messages->exchanges.count;
    if (!rank->done) {
        enter(messages, which, now);
    }
}

static enum gw_status leave(struct messages *messages, uint32_t which, uint64_t now) {
    struct rank *rank = &messages->ranks[which];
    uint32_t number = rank->exchange++;
    if (which >= messages->simulator->simulation.workers) {
        messages->served = later(messages->served, now);
        serve(messages, which, now);
        return GW_OK;
    }
    leave_as_worker(messages, which, number, now);
    return go_on(messages, which);
}

/* ---- an iteration -------------------------------------------------------------------------- */

static enum gw_status start_all(struct messages *messages) {
    uint32_t workers = (uint32_t)messages->simulator->simulation.workers;
    for (uint32_t lane = 0; lane < messages->lane_count; lane++) {
        GW_TRY(go_on(messages, lane));
        GW_TRY(proceed(messages, lane));
    }
    for (uint32_t server = workers; server < messages->exchanges.ranks; server++) {
        serve(messages, server, 0);
        GW_TRY(proceed(messages, server));
    }
    return GW_OK;
}

static enum gw_status run_events(struct messages *messages) {
    for (;;) {
        struct gw_event event;
        bool any = false;
        GW_TRY(gw_queue_pop(messages->queue, &event, &any, messages->error));
        if (!any) {
            return GW_OK;
        }
        uint32_t index = event.id & ~ARRIVES;
        if (event.id != index) {
            GW_TRY(arrive(messages, index, event.time));
        } else {
            uint32_t sender = messages->messages[index].flight.from;
            GW_TRY(depart(messages, index, event.time));
            GW_TRY(proceed(messages, sender));
        }
    }
}

static enum gw_status check_ended(const struct messages *messages) {
    uint32_t ranks = messages->collapsed ? 1 : messages->exchanges.ranks;
    for (uint32_t which = 0; which < ranks; which++) {
        const struct rank *rank = &messages->ranks[which];
        if (!rank->done) {
            return gw_fail(messages->error, GW_FAILED,
                           "simulation: rank %u waits for ever in step %u of %s", which, rank->step,
                           messages->exchanges.list[rank->exchange].collective->name);
        }
    }
    return GW_OK;
}

/* What has come so late that it is only known to be late. */
static enum gw_status check_times(const struct messages *messages) {
    uint64_t end = messages->served;
    for (size_t lane = 0; lane < messages->lane_count; lane++) {
        const struct lane *state = &messages->lanes[lane];
        end = later(end,
                    later(state->clock[GW_STREAM_COMPUTE], state->clock[GW_STREAM_COMMUNICATION]));
    }
    return end < GW_LATEST_PS
               ? GW_OK
               : gw_fail(messages->error, GW_BAD_INPUT,
                         "simulation: expected messages that take at most 2^62 ps (53 days) in an "
                         "iteration, got a longer one");
}

/* Until the last worker has come to an exchange, those that are in it wait. */
static enum gw_status record_exchanges(struct messages *messages) {
    for (size_t lane = 0; lane < messages->lane_count; lane++) {
        for (size_t i = 0; i < messages->exchanges.count; i++) {
            const struct gw_exchange *exchange = &messages->exchanges.list[i];
            const struct visit *visit = &messages->visits[lane * messages->exchanges.count + i];
            uint64_t last = messages->last_entered[i];
            uint64_t begun = last < visit->left ? later(last, visit->entered) : visit->left;
            if (begun > visit->entered) {
                GW_TRY(record(messages, lane, exchange->operation, GW_WAIT, visit->entered, begun));
            }
            if (visit->left > begun || begun == visit->entered) {
                GW_TRY(
                    record(messages, lane, exchange->operation, GW_EXCHANGE, begun, visit->left));
            }
        }
    }
    return GW_OK;
}

static void measure(struct messages *messages, struct gw_measure *out) {
    double spent_s[GW_ACTIVITY_COUNT] = {0};
    double idle_s = 0;
    uint64_t end = messages->served;
    for (size_t lane = 0; lane < messages->lane_count; lane++) {
        const struct lane *state = &messages->lanes[lane];
        uint64_t compute_end = state->clock[GW_STREAM_COMPUTE];
        uint64_t lane_end = later(compute_end, state->clock[GW_STREAM_COMMUNICATION]);
        end = later(end, lane_end);
        for (int kind = 0; kind < GW_ACTIVITY_COUNT; kind++) {
            spent_s[kind] += gw_seconds(state->spent[kind]) / (double)messages->lane_count;
        }
        idle_s += gw_seconds(state->idle + lane_end - compute_end) / (double)messages->lane_count;
    }
    struct gw_breakdown parts = {.forward_s = spent_s[GW_FORWARD],
                                 .backward_s = spent_s[GW_BACKWARD],
                                 .compress_s = spent_s[GW_COMPRESS],
                                 .exposed_comm_s = idle_s};
    parts.other_s = gw_seconds(end) - parts.forward_s - parts.backward_s - parts.compress_s -
                    parts.exposed_comm_s;
    if (parts.other_s < 1e-12 * gw_seconds(end) && parts.other_s > -1e-12 * gw_seconds(end)) {
        parts.other_s = 0; /* rounding of the sums */
    }
    *out = (struct gw_measure){
        .iteration_s = gw_seconds(end), .breakdown = parts, .comm_s = spent_s[GW_EXCHANGE]};
}

static enum gw_status iterate(void *state, uint64_t repetition, size_t threads,
                              struct gw_timeline *timeline, double start_s, struct gw_measure *out,
                              struct gw_error *error) {
    (void)threads;
    struct messages *messages = state;
    messages->timeline = timeline;
    messages->start_s = start_s;
    messages->error = error;
    reset(messages, repetition);
    GW_TRY(start_all(messages));
    GW_TRY(run_events(messages));
    GW_TRY(check_ended(messages));
    GW_TRY(check_times(messages));
    GW_TRY(record_exchanges(messages));
    measure(messages, out);
    return timeline == NULL
               ? GW_OK
               : gw_timeline_add_iteration(timeline, start_s, start_s + out->iteration_s, error);
}

const struct gw_runner gw_runner_messages = {
    .open = open_messages, .iterate = iterate, .close = close_messages};
