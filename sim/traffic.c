#include "sim/traffic.h"

#include <stdlib.h>

#include "engine/engine.h"

static inline uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* ---- links ----------------------------------------------------------------------------------- */

/*
 * The network as messages queue for it: every node's network interface in each direction, every
 * worker's way to others of its node, every switch's uplink and downlink.
 */

/* LogGP parameters in picoseconds; those per byte are fractions. */
struct costs_ps {
    uint64_t latency, overhead, gap;
    double gap_per_byte, overhead_per_byte;
};

/* A message on its way: its ranks, its bytes, and a factor on the time it takes on every link. */
struct flight {
    uint32_t from, to;
    uint64_t bytes;
    double slowness;
    /* Set by depart_link, arrive_link: */
    uint64_t left; /* when its last byte has left the sender */
    uint64_t tail; /* when its last byte is there, as far as is known */
};

/*
 * A message occupies a link for its bytes, behind those before it. First bytes are held up only
 * where a message leaves its sender; behind that, how long a link was busy shows in when last bytes
 * come. So a link that has bandwidth for all who use it at once makes none of them later than the
 * last one would be alone.
 */
struct traffic_link {
    uint64_t free;   /* from when on */
    double slowness; /* factor on the time that messages take */
};

/* The links of nodes (or of single ranks within a node, or of switches) of one kind. */
struct direction {
    size_t count;
    struct traffic_link *out, *in;
};

struct links {
    size_t ranks, workers, workers_per_node;
    size_t nodes, nodes_per_switch, switches;
    struct costs_ps within, between;
    double uplink_gap_per_byte;
    uint32_t *node; /* per rank */
    struct direction rank_links, node_links, switch_links;
};

/* ---- links: units ---------------------------------------------------------------------------- */

static const double PS_PER_S = 1e12;

static uint64_t scaled_ps(double picoseconds) {
    return picoseconds < (double)GW_LATEST_PS ? (uint64_t)(picoseconds + 0.5) : GW_LATEST_PS;
}

uint64_t gw_picoseconds(double seconds) {
    return scaled_ps(seconds * PS_PER_S);
}

double gw_seconds(uint64_t picoseconds) {
    return (double)picoseconds / PS_PER_S;
}

static struct costs_ps costs_of(const struct gw_loggp *loggp) {
    return (struct costs_ps){.latency = gw_picoseconds(loggp->latency_s),
                             .overhead = gw_picoseconds(loggp->overhead_s),
                             .gap = gw_picoseconds(loggp->gap_s),
                             .gap_per_byte = loggp->gap_s_per_byte * PS_PER_S,
                             .overhead_per_byte = loggp->overhead_s_per_byte * PS_PER_S};
}

/* ---- links: where things are ----------------------------------------------------------------- */

static enum gw_status set_nodes(struct links *links, struct gw_arena *arena,
                                struct gw_error *error) {
    links->node = gw_arena_zeros(arena, links->ranks, sizeof *links->node);
    if (links->node == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    for (size_t rank = 0; rank < links->ranks; rank++) {
        links->node[rank] = rank < links->workers ? (uint32_t)(rank / links->workers_per_node)
                                                  : links->node[rank - 1] + 1;
    }
    links->nodes = links->node[links->ranks - 1] + 1;
    return GW_OK;
}

static size_t switch_of(const struct links *links, size_t node) {
    return links->nodes_per_switch == 0 ? 0 : node / links->nodes_per_switch;
}

bool gw_links_are_symmetric(const struct gw_links_spec *spec) {
    bool one_node = spec->workers_per_node >= spec->workers && spec->ranks == spec->workers;
    size_t nodes = (spec->workers + spec->workers_per_node - 1) / spec->workers_per_node;
    size_t per_switch = spec->network->nodes_per_switch;
    bool one_switch = per_switch == 0 || per_switch >= nodes;
    return spec->bandwidth == NULL && (one_node || (spec->workers_per_node == 1 && one_switch));
}

/* ---- links: opening -------------------------------------------------------------------------- */

static struct traffic_link *open_some(size_t count, struct gw_arena *arena) {
    struct traffic_link *links = gw_arena_zeros(arena, count, sizeof *links);
    for (size_t i = 0; links != NULL && i < count; i++) {
        links[i] = (struct traffic_link){.slowness = 1};
    }
    return links;
}

static struct direction open_direction(size_t count, struct gw_arena *arena) {
    return (struct direction){
        .count = count, .out = open_some(count, arena), .in = open_some(count, arena)};
}

static void set_slowness(struct links *links, const struct gw_links_spec *spec) {
    size_t given = spec->bandwidth == NULL ? 0 : links->node[links->workers - 1] + 1;
    for (size_t node = 0; node < links->nodes; node++) {
        double factor = node < given ? spec->bandwidth[node] : 1;
        double slowness = 1 / (factor * (1 - spec->background));
        /* NOLINTBEGIN(clang-analyzer-core.NullDereference): the arena had memory for all */
        links->node_links.out[node].slowness = slowness;
        links->node_links.in[node].slowness = slowness;
        /* NOLINTEND(clang-analyzer-core.NullDereference) */
    }
}

static enum gw_status open_links(struct links *links, const struct gw_links_spec *spec,
                                 struct gw_arena *arena, struct gw_error *error) {
    const struct gw_network *network = spec->network;
    GW_TRY(set_nodes(links, arena, error));
    links->nodes_per_switch = network->nodes_per_switch;
    links->switches = switch_of(links, links->nodes - 1) + 1;
    if (links->nodes_per_switch > 0) {
        links->uplink_gap_per_byte = links->between.gap_per_byte * network->oversubscription /
                                     ((double)links->nodes_per_switch * (1 - spec->background));
    }
    links->rank_links = open_direction(links->ranks, arena);
    links->node_links = open_direction(links->nodes, arena);
    links->switch_links = open_direction(links->switches, arena);
    GW_TRY(gw_arena_check(arena, "opening a simulation", error));
    set_slowness(links, spec);
    return GW_OK;
}

static enum gw_status make_links(struct links **out, const struct gw_links_spec *spec,
                                 struct gw_arena *arena, struct gw_error *error) {
    struct links *links = gw_arena_zeros(arena, 1, sizeof *links);
    if (links == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    links->ranks = spec->ranks;
    links->workers = spec->workers;
    links->workers_per_node = spec->workers_per_node;
    links->within = costs_of(&spec->network->within);
    links->between = costs_of(&spec->network->between);
    *out = links;
    return open_links(links, spec, arena, error);
}

static void reset_direction(struct direction *direction) {
    for (size_t i = 0; i < direction->count; i++) {
        direction->out[i].free = 0;
        direction->in[i].free = 0;
    }
}

/* ---- links: messages ------------------------------------------------------------------------- */

/* Occupies the link from `now` on, behind those before; until when. */
static uint64_t occupy_link(struct traffic_link *link, uint64_t now, double picoseconds) {
    link->free = gw_plus_ps(later(link->free, now), scaled_ps(picoseconds * link->slowness));
    return link->free;
}

static bool is_within(const struct links *links, const struct flight *flight) {
    return links->node[flight->from] == links->node[flight->to];
}

static const struct costs_ps *costs_for(const struct links *links, const struct flight *flight) {
    return is_within(links, flight) ? &links->within : &links->between;
}

/* Time for which a message occupies the rank's way to others of its node, or the interface. */
static double link_occupancy(const struct costs_ps *costs, const struct flight *flight) {
    double gap = (double)costs->gap;
    double time = (double)flight->bytes * costs->gap_per_byte;
    return flight->slowness * (time > gap ? time : gap);
}

/* Times for which a message keeps its sender, and then its receiver, busy. */
static uint64_t sending_time(const struct links *links, const struct flight *flight) {
    const struct costs_ps *costs = costs_for(links, flight);
    return gw_plus_ps(costs->overhead, scaled_ps((double)flight->bytes * costs->overhead_per_byte));
}

static uint64_t receiving_time(const struct links *links, const struct flight *flight) {
    return costs_for(links, flight)->overhead;
}

/* Whether other ranks send on the link on which the message leaves its sender. */
static bool is_shared(const struct links *links, const struct flight *flight) {
    uint32_t rank = flight->from;
    uint32_t node = links->node[rank];
    bool neighbours = (rank > 0 && links->node[rank - 1] == node) ||
                      (rank + 1 < links->ranks && links->node[rank + 1] == node);
    return neighbours && !is_within(links, flight);
}

/*
 * The message begins to leave its sender at `now`, or when the link is free. Returns when its first
 * byte would reach the receiver. Calls for a link must come in order of time.
 */
static uint64_t depart_link(struct links *links, struct flight *flight, uint64_t now) {
    const struct costs_ps *costs = costs_for(links, flight);
    struct traffic_link *link = is_within(links, flight)
                                    ? &links->rank_links.out[flight->from]
                                    : &links->node_links.out[links->node[flight->from]];
    uint64_t start = later(link->free, now);
    flight->left = occupy_link(link, now, link_occupancy(costs, flight));
    flight->tail = gw_plus_ps(flight->left, costs->latency);
    return gw_plus_ps(start, costs->latency);
}

/* Through the uplink of one switch and the downlink of another, if the nodes hang on two. */
static void cross_switches(struct links *links, struct flight *flight, uint64_t now) {
    size_t up = switch_of(links, links->node[flight->from]);
    size_t down = switch_of(links, links->node[flight->to]);
    if (up == down) {
        return;
    }
    double time = flight->slowness * (double)flight->bytes * links->uplink_gap_per_byte;
    uint64_t above = occupy_link(&links->switch_links.out[up], now, time);
    uint64_t below = occupy_link(&links->switch_links.in[down], now, time);
    flight->tail = later(flight->tail, later(above, below));
}

/* Its first byte reaches the receiver: sets when the last one does. Calls in order of time. */
static void arrive_link(struct links *links, struct flight *flight, uint64_t now) {
    bool within = is_within(links, flight);
    struct traffic_link *link =
        within ? &links->rank_links.in[flight->to] : &links->node_links.in[links->node[flight->to]];
    if (!within && links->nodes_per_switch > 0) {
        cross_switches(links, flight, now);
    }
    uint64_t done = occupy_link(link, now, link_occupancy(costs_for(links, flight), flight));
    flight->tail = later(flight->tail, done);
}

/* ---- traffic --------------------------------------------------------------------------------- */

static const uint32_t NO_MESSAGE = UINT32_MAX;

/*
 * An event is a message that comes to its sender's interface, where others may be before it, or one
 * whose first byte comes to its receiver (this bit of the id). Steps need no events: what a rank
 * does by itself may be worked out as soon as it is known when.
 */
static const uint32_t ARRIVES = 1u << 31;

struct traffic_message {
    struct flight flight;
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
    struct links *links;
    struct gw_queue *queue;
    struct rank *ranks;
    size_t message_count, message_capacity;
    struct traffic_message *messages;
    uint32_t unused; /* messages */
    uint32_t next_order;
    struct gw_error *error;
};

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
    GW_TRY(make_links(&traffic->links, &spec->links, arena, error));
    return gw_queue_open(&traffic->queue, error);
}

void gw_traffic_reset(struct gw_traffic *traffic, uint64_t seed, uint64_t repetition) {
    reset_direction(&traffic->links->rank_links);
    reset_direction(&traffic->links->node_links);
    reset_direction(&traffic->links->switch_links);
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

/* ---- events and messages ------------------------------------------------------------------- */

static enum gw_status push_event(struct gw_traffic *traffic, uint32_t id, uint64_t time) {
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
    struct traffic_message *grown = gw_grow(traffic->messages, traffic->message_count + 1,
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

static bool is_awaited(const struct rank *rank, const struct traffic_message *message) {
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
static void receive_message(struct gw_traffic *traffic, struct rank *rank, uint32_t index) {
    struct traffic_message *message = &traffic->messages[index];
    rank->busy = gw_plus_ps(later(rank->busy, message->flight.tail),
                            receiving_time(traffic->links, &message->flight));
    rank->from = GW_NOBODY;
    message->next = traffic->unused;
    traffic->unused = index;
}

/* The message leaves its sender, alone or behind others. */
static enum gw_status depart_message(struct gw_traffic *traffic, uint32_t index, uint64_t now) {
    struct traffic_message *message = &traffic->messages[index];
    struct rank *rank = &traffic->ranks[message->flight.from];
    uint64_t arrives = depart_link(traffic->links, &message->flight, now);
    rank->left = message->flight.left;
    rank->sending = false;
    return push_event(traffic, index | ARRIVES, arrives);
}

static enum gw_status send_message(struct gw_traffic *traffic, uint32_t which,
                                   const struct gw_step *step) {
    struct rank *rank = &traffic->ranks[which];
    uint32_t index = NO_MESSAGE;
    GW_TRY(add_message(traffic, &index));
    struct traffic_message *message = &traffic->messages[index];
    struct flight *flight = &message->flight;
    flight->from = which;
    flight->to = step->to;
    flight->bytes = step->send_bytes;
    message->exchange = rank->exchange;
    flight->slowness = traffic->noise->kind == GW_NOISE_NONE
                           ? 1
                           : gw_noise_factor(traffic->noise, rank->noise, rank->sent++);
    rank->busy = gw_plus_ps(rank->busy, sending_time(traffic->links, flight));
    rank->sending = is_shared(traffic->links, flight);
    if (rank->sending) {
        return push_event(traffic, index, rank->busy);
    }
    uint64_t arrives = depart_link(traffic->links, flight, rank->busy);
    rank->left = flight->left;
    return push_event(traffic, index | ARRIVES, arrives);
}

static enum gw_status take_step(struct gw_traffic *traffic, uint32_t which, uint64_t now) {
    struct rank *rank = &traffic->ranks[which];
    const struct gw_exchange *exchange = &traffic->exchanges->list[rank->exchange];
    struct gw_step step;
    exchange->collective->step(&exchange->call, which, rank->step++, &step);
    rank->left = rank->busy = now;
    rank->from = step.from;
    if (step.to != GW_NOBODY) {
        GW_TRY(send_message(traffic, which, &step));
    }
    if (step.from != GW_NOBODY && rank->early_first != NO_MESSAGE) {
        uint32_t early = take_early(traffic, rank);
        if (early != NO_MESSAGE) {
            receive_message(traffic, rank, early);
        }
    }
    return GW_OK;
}

/* Takes steps, and leaves exchanges, up to one that waits. */
static enum gw_status proceed_flight(struct gw_traffic *traffic, uint32_t which) {
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

static enum gw_status arrive_message(struct gw_traffic *traffic, uint32_t index, uint64_t now) {
    struct traffic_message *message = &traffic->messages[index];
    arrive_link(traffic->links, &message->flight, now);
    uint32_t which = message->flight.to;
    struct rank *rank = &traffic->ranks[which];
    if (is_awaited(rank, message)) {
        receive_message(traffic, rank, index);
        return proceed_flight(traffic, which);
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
 * Time at which a step ends that the worker which stands for all begins at `now`: messages that it
 * sends are those that it receives. Earlier messages have left the links, and make no difference.
 */
static uint64_t step_alone(struct gw_traffic *traffic, const struct gw_exchange *exchange,
                           uint32_t index, uint64_t now) {
    struct gw_step step;
    exchange->collective->step(&exchange->call, 0, index, &step);
    struct flight flight = {.to = step.to, .bytes = step.send_bytes, .slowness = 1};
    uint64_t sent = gw_plus_ps(now, sending_time(traffic->links, &flight));
    uint64_t arrives = depart_link(traffic->links, &flight, sent);
    flight.from = step.from;
    flight.to = 0;
    arrive_link(traffic->links, &flight, arrives);
    uint64_t received =
        gw_plus_ps(later(sent, flight.tail), receiving_time(traffic->links, &flight));
    return later(flight.left, received);
}

uint64_t gw_traffic_alone(struct gw_traffic *traffic, uint32_t number, uint64_t now) {
    const struct gw_exchange *exchange = &traffic->exchanges->list[number];
    uint32_t steps = gw_exchange_steps(exchange, 0);
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
        GW_TRY(proceed_flight(traffic, which));
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
            GW_TRY(arrive_message(traffic, index, event.time));
        } else {
            uint32_t sender = traffic->messages[index].flight.from;
            GW_TRY(depart_message(traffic, index, event.time));
            GW_TRY(proceed_flight(traffic, sender));
        }
    }
}
