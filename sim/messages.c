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

/* What an event is about, in the upper bits of its id; the rest says which rank or message. */
enum event_kind {
    STEP,   /* a rank begins its next step */
    DEPART, /* a message comes to its sender's interface */
    ARRIVE, /* a message's first byte comes to its receiver */
};
enum { KIND_SHIFT = 30 };

struct message {
    struct gw_transfer transfer;
    uint32_t exchange; /* that it belongs to */
    uint32_t next;     /* that came too early to the same rank, or that is unused */
    double slowness;
};

/* A worker, or a server, in its exchanges. */
struct rank {
    uint64_t busy;     /* until when it handles messages, which takes overhead */
    uint64_t left;     /* when what the step sends has left */
    uint32_t exchange; /* that it is in, or comes to next */
    uint32_t step, steps;
    uint32_t from; /* whom the step waits for; GW_NOBODY: for no one */
    bool sending;  /* what the step sends has not left yet */
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
    bool *alone;          /* per rank: nobody shares its node */
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

static struct gw_links_spec links_of(const struct gw_cluster *cluster,
                                     const struct gw_simulation *simulation, size_t ranks) {
    return (struct gw_links_spec){.network = cluster->network,
                                  .ranks = ranks,
                                  .workers = simulation->workers,
                                  .workers_per_node = cluster->workers_per_node,
                                  .bandwidth = simulation->bandwidth,
                                  .background = simulation->background};
}

enum gw_status gw_messages_collapse(const struct gw_schedule *schedule,
                                    const struct gw_cluster *cluster,
                                    const struct gw_simulation *simulation, bool *out,
                                    struct gw_error *error) {
    struct gw_links_spec spec = links_of(cluster, simulation, simulation->workers);
    struct gw_exchanges exchanges = {0};
    GW_TRY(gw_exchanges_open(&exchanges, schedule, simulation, error));
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
    messages->alone = calloc(messages->exchanges.ranks, sizeof *messages->alone);
    messages->lanes = calloc(messages->lane_count, sizeof *messages->lanes);
    messages->last_entered = calloc(messages->exchanges.count + 1, sizeof *messages->last_entered);
    messages->visits =
        calloc(messages->exchanges.count + 1, messages->lane_count * sizeof *messages->visits);
    messages->ends =
        calloc(simulator->slot_count + 1, messages->lane_count * sizeof *messages->ends);
    if (messages->ranks == NULL || messages->alone == NULL || messages->lanes == NULL ||
        messages->last_entered == NULL || messages->visits == NULL || messages->ends == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    size_t per_node = simulator->cluster->workers_per_node;
    for (size_t rank = 0; rank < messages->exchanges.ranks; rank++) {
        messages->alone[rank] =
            rank >= workers || per_node == 1 || (workers % per_node == 1 && rank == workers - 1);
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
    free(messages->alone);
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
        struct gw_links_spec spec =
            links_of(simulator->cluster, &simulator->simulation, messages->exchanges.ranks);
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
    messages->message_count = 0;
    messages->unused = NO_MESSAGE;
}

/* ---- events and messages ------------------------------------------------------------------- */

static enum gw_status push(struct messages *messages, enum event_kind kind, uint32_t which,
                           uint64_t time) {
    struct gw_event event = {
        .time = time, .order = messages->next_order++, .id = (uint32_t)kind << KIND_SHIFT | which};
    return gw_queue_push(messages->queue, event, messages->error);
}

static enum gw_status add_message(struct messages *messages, struct message message,
                                  uint32_t *out) {
    if (messages->unused != NO_MESSAGE) {
        *out = messages->unused;
        messages->unused = messages->messages[*out].next;
    } else {
        struct message *grown = gw_grow(messages->messages, messages->message_count + 1,
                                        &messages->message_capacity, sizeof *grown);
        if (grown == NULL) {
            return gw_fail_memory(messages->error, "simulating");
        }
        messages->messages = grown;
        *out = (uint32_t)messages->message_count++;
    }
    messages->messages[*out] = message;
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
           (rank->from == GW_ANYBODY || rank->from == message->transfer.from);
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

static enum gw_status end_step_if_done(struct messages *messages, uint32_t which) {
    struct rank *rank = &messages->ranks[which];
    if (rank->sending || rank->from != GW_NOBODY) {
        return GW_OK;
    }
    rank->step++;
    return push(messages, STEP, which, later(rank->left, rank->busy));
}

/* The message is there, and the rank has waited for it: handling it takes its overhead. */
static enum gw_status receive(struct messages *messages, uint32_t which, uint32_t index) {
    struct rank *rank = &messages->ranks[which];
    struct message *message = &messages->messages[index];
    const struct gw_transfer *transfer = &message->transfer;
    rank->busy = later(rank->busy, transfer->tail) +
                 gw_links_overhead(messages->links, transfer->from, transfer->to, transfer->bytes);
    rank->from = GW_NOBODY;
    message->next = messages->unused;
    messages->unused = index;
    return end_step_if_done(messages, which);
}

static enum gw_status depart(struct messages *messages, uint32_t index, uint64_t now) {
    struct message *message = &messages->messages[index];
    uint32_t sender = message->transfer.from;
    uint64_t arrives = gw_links_depart(messages->links, &message->transfer, now, message->slowness);
    struct rank *rank = &messages->ranks[sender];
    rank->left = message->transfer.left;
    rank->sending = false;
    GW_TRY(push(messages, ARRIVE, index, arrives));
    return end_step_if_done(messages, sender);
}

/* One worker stands for all: what it sends comes back to it as what it receives. */
static void reflect(struct message *message, const struct gw_step *step, uint32_t which) {
    message->transfer.from = step->from;
    message->transfer.to = which;
    message->transfer.bytes = step->receive_bytes;
}

static enum gw_status send(struct messages *messages, uint32_t which, const struct gw_step *step,
                           uint64_t now) {
    struct rank *rank = &messages->ranks[which];
    struct message message = {
        .transfer = {.from = which, .to = step->to, .bytes = step->send_bytes},
        .exchange = rank->exchange,
        .slowness = gw_noise_factor(&messages->simulator->simulation.network_noise, rank->noise,
                                    rank->sent++)};
    rank->busy = later(rank->busy, now) +
                 gw_links_overhead(messages->links, which, step->to, step->send_bytes);
    uint32_t index = NO_MESSAGE;
    rank->sending = !messages->alone[which];
    if (rank->sending) {
        GW_TRY(add_message(messages, message, &index));
        return push(messages, DEPART, index, rank->busy);
    }
    uint64_t arrives =
        gw_links_depart(messages->links, &message.transfer, rank->busy, message.slowness);
    rank->left = message.transfer.left;
    if (messages->collapsed) {
        reflect(&message, step, which);
    }
    GW_TRY(add_message(messages, message, &index));
    return push(messages, ARRIVE, index, arrives);
}

static enum gw_status leave(struct messages *messages, uint32_t which, uint64_t now);

static enum gw_status begin_step(struct messages *messages, uint32_t which, uint64_t now) {
    struct rank *rank = &messages->ranks[which];
    if (rank->step == rank->steps) {
        return leave(messages, which, now);
    }
    const struct gw_exchange *exchange = &messages->exchanges.list[rank->exchange];
    struct gw_step step;
    exchange->collective->step(&exchange->call, which, rank->step, &step);
    rank->left = now;
    rank->busy = later(rank->busy, now);
    rank->from = step.from;
    if (step.to != GW_NOBODY) {
        GW_TRY(send(messages, which, &step, now));
    }
    uint32_t early = step.from == GW_NOBODY ? NO_MESSAGE : take_early(messages, rank);
    return early == NO_MESSAGE ? end_step_if_done(messages, which)
                               : receive(messages, which, early);
}

static enum gw_status arrive(struct messages *messages, uint32_t index, uint64_t now) {
    struct message *message = &messages->messages[index];
    gw_links_arrive(messages->links, &message->transfer, now, message->slowness);
    uint32_t which = message->transfer.to;
    struct rank *rank = &messages->ranks[which];
    if (is_awaited(rank, message)) {
        return receive(messages, which, index);
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
    uint64_t end = start + gw_picoseconds(seconds);
    advance(messages, lane, index, start, end);
    return record(messages, lane, index, simulator->schedule->operations[index].kind, start, end);
}

/* A rank comes to its next exchange, which it begins at `now`. */
static enum gw_status enter(struct messages *messages, uint32_t which, uint64_t now) {
    struct rank *rank = &messages->ranks[which];
    const struct gw_exchange *exchange = &messages->exchanges.list[rank->exchange];
    rank->step = 0;
    rank->steps =
        exchange->call.bytes == 0 ? 0 : exchange->collective->steps(&exchange->call, which);
    return push(messages, STEP, which, now);
}

/* Takes the worker to its next exchange, or to the end. */
static enum gw_status go_on(struct messages *messages, size_t lane) {
    const struct gw_schedule *schedule = messages->simulator->schedule;
    struct lane *state = &messages->lanes[lane];
    for (; state->operation < schedule->operation_count; state->operation++) {
        if (schedule->operations[state->operation].kind == GW_EXCHANGE) {
            uint32_t number = messages->ranks[lane].exchange;
            struct visit *visit = &messages->visits[lane * messages->exchanges.count + number];
            visit->entered = start_of(messages, lane, state->operation);
            messages->last_entered[number] = later(messages->last_entered[number], visit->entered);
            return enter(messages, (uint32_t)lane, visit->entered);
        }
        GW_TRY(compute(messages, lane, state->operation));
    }
    return GW_OK;
}

/* Servers take part in those exchanges that have servers, as soon as they can. */
static enum gw_status serve(struct messages *messages, uint32_t which, uint64_t now) {
    struct rank *rank = &messages->ranks[which];
    while (rank->exchange < messages->exchanges.count &&
           messages->exchanges.list[rank->exchange].ranks <= which) {
        rank->exchange++;
    }
    return rank->exchange < messages->exchanges.count ? enter(messages, which, now) : GW_OK;
}

static enum gw_status leave(struct messages *messages, uint32_t which, uint64_t now) {
    struct rank *rank = &messages->ranks[which];
    uint32_t number = rank->exchange++;
    if (which >= messages->simulator->simulation.workers) {
        messages->served = later(messages->served, now);
        return serve(messages, which, now);
    }
    struct visit *visit = &messages->visits[which * messages->exchanges.count + number];
    visit->left = now;
    advance(messages, which, messages->exchanges.list[number].operation, visit->entered, now);
    messages->lanes[which].operation++;
    return go_on(messages, which);
}

/* ---- an iteration -------------------------------------------------------------------------- */

static enum gw_status start_all(struct messages *messages) {
    size_t workers = messages->simulator->simulation.workers;
    for (size_t lane = 0; lane < messages->lane_count; lane++) {
        GW_TRY(go_on(messages, lane));
    }
    for (size_t server = workers; server < messages->exchanges.ranks; server++) {
        GW_TRY(serve(messages, (uint32_t)server, 0));
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
        uint32_t which = event.id & ((1u << KIND_SHIFT) - 1);
        enum event_kind kind = event.id >> KIND_SHIFT;
        messages->events++;
        GW_TRY(kind == STEP     ? begin_step(messages, which, event.time)
               : kind == DEPART ? depart(messages, which, event.time)
                                : arrive(messages, which, event.time));
    }
}

static enum gw_status check_ended(const struct messages *messages) {
    for (size_t lane = 0; lane < messages->lane_count; lane++) {
        if (messages->ranks[lane].exchange < messages->exchanges.count) {
            const struct gw_exchange *exchange =
                &messages->exchanges.list[messages->ranks[lane].exchange];
            return gw_fail(messages->error, GW_FAILED,
                           "simulation: worker %zu waits for ever in step %u of %s", lane,
                           messages->ranks[lane].step, exchange->collective->name);
        }
    }
    return GW_OK;
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
    GW_TRY(record_exchanges(messages));
    measure(messages, out);
    return timeline == NULL
               ? GW_OK
               : gw_timeline_add_iteration(timeline, start_s, start_s + out->iteration_s, error);
}

const struct gw_runner gw_runner_messages = {
    .open = open_messages, .iterate = iterate, .close = close_messages};
