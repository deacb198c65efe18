#include "sim/traffic.h"

/*
 * A message occupies a link for its bytes, behind those before it. First bytes are held up only
 * where a message leaves its sender; behind that, how long a link was busy shows in when last bytes
 * come. So a link that has bandwidth for all who use it at once makes none of them later than the
 * last one would be alone.
 */
struct link {
    uint64_t free;   /* from when on */
    double slowness; /* factor on the time that messages take */
};

/* The links of nodes (or of single ranks within a node, or of switches) of one kind. */
struct direction {
    size_t count;
    struct link *out, *in;
};

struct gw_links {
    size_t ranks, workers, workers_per_node;
    size_t nodes, nodes_per_switch, switches;
    struct gw_costs_ps within, between;
    double uplink_gap_per_byte;
    uint32_t *node; /* per rank */
    struct direction rank_links, node_links, switch_links;
};

/* ---- units --------------------------------------------------------------------------------- */

static const double PS_PER_S = 1e12;

static uint64_t scaled(double picoseconds) {
    return picoseconds < (double)GW_LATEST_PS ? (uint64_t)(picoseconds + 0.5) : GW_LATEST_PS;
}

uint64_t gw_picoseconds(double seconds) {
    return scaled(seconds * PS_PER_S);
}

double gw_seconds(uint64_t picoseconds) {
    return (double)picoseconds / PS_PER_S;
}

static struct gw_costs_ps costs_of(const struct gw_loggp *loggp) {
    return (struct gw_costs_ps){.latency = gw_picoseconds(loggp->latency_s),
                                .overhead = gw_picoseconds(loggp->overhead_s),
                                .gap = gw_picoseconds(loggp->gap_s),
                                .gap_per_byte = loggp->gap_s_per_byte * PS_PER_S,
                                .overhead_per_byte = loggp->overhead_s_per_byte * PS_PER_S};
}

/* ---- where things are ---------------------------------------------------------------------- */

static enum gw_status set_nodes(struct gw_links *links, struct gw_arena *arena,
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

static size_t switch_of(const struct gw_links *links, size_t node) {
    return links->nodes_per_switch == 0 ? 0 : node / links->nodes_per_switch;
}

bool gw_links_are_symmetric(const struct gw_links_spec *spec) {
    bool one_node = spec->workers_per_node >= spec->workers && spec->ranks == spec->workers;
    size_t nodes = (spec->workers + spec->workers_per_node - 1) / spec->workers_per_node;
    size_t per_switch = spec->network->nodes_per_switch;
    bool one_switch = per_switch == 0 || per_switch >= nodes;
    return spec->bandwidth == NULL && (one_node || (spec->workers_per_node == 1 && one_switch));
}

/* ---- opening ------------------------------------------------------------------------------- */

static struct link *open_some(size_t count, struct gw_arena *arena) {
    struct link *links = gw_arena_zeros(arena, count, sizeof *links);
    for (size_t i = 0; links != NULL && i < count; i++) {
        links[i] = (struct link){.slowness = 1};
    }
    return links;
}

static struct direction open_direction(size_t count, struct gw_arena *arena) {
    return (struct direction){
        .count = count, .out = open_some(count, arena), .in = open_some(count, arena)};
}

static void set_slowness(struct gw_links *links, const struct gw_links_spec *spec) {
    size_t given = spec->bandwidth == NULL ? 0 : links->node[links->workers - 1] + 1;
    for (size_t node = 0; node < links->nodes; node++) {
        double factor = node < given ? spec->bandwidth[node] : 1;
        double slowness = 1 / (factor * (1 - spec->background));
        links->node_links.out[node].slowness = slowness;
        links->node_links.in[node].slowness = slowness;
    }
}

static enum gw_status open_links(struct gw_links *links, const struct gw_links_spec *spec,
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

enum gw_status gw_links_open(struct gw_links **out, const struct gw_links_spec *spec,
                             struct gw_arena *arena, struct gw_error *error) {
    struct gw_links *links = gw_arena_zeros(arena, 1, sizeof *links);
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

void gw_links_reset(struct gw_links *links) {
    reset_direction(&links->rank_links);
    reset_direction(&links->node_links);
    reset_direction(&links->switch_links);
}

/* ---- messages ------------------------------------------------------------------------------ */

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Occupies the link from `now` on, behind those before; until when. */
static uint64_t occupy(struct link *link, uint64_t now, double picoseconds) {
    link->free = gw_plus_ps(later(link->free, now), scaled(picoseconds * link->slowness));
    return link->free;
}

static bool is_within(const struct gw_links *links, const struct gw_flight *flight) {
    return links->node[flight->from] == links->node[flight->to];
}

static const struct gw_costs_ps *costs_for(const struct gw_links *links,
                                           const struct gw_flight *flight) {
    return is_within(links, flight) ? &links->within : &links->between;
}

/* Of the rank's way to others of its node, or of the node's interface. */
static double occupancy(const struct gw_costs_ps *costs, const struct gw_flight *flight) {
    double gap = (double)costs->gap;
    double time = (double)flight->bytes * costs->gap_per_byte;
    return flight->slowness * (time > gap ? time : gap);
}

uint64_t gw_links_sending(const struct gw_links *links, const struct gw_flight *flight) {
    const struct gw_costs_ps *costs = costs_for(links, flight);
    return gw_plus_ps(costs->overhead, scaled((double)flight->bytes * costs->overhead_per_byte));
}

uint64_t gw_links_receiving(const struct gw_links *links, const struct gw_flight *flight) {
    return costs_for(links, flight)->overhead;
}

bool gw_links_shared(const struct gw_links *links, const struct gw_flight *flight) {
    uint32_t rank = flight->from;
    uint32_t node = links->node[rank];
    bool neighbours = (rank > 0 && links->node[rank - 1] == node) ||
                      (rank + 1 < links->ranks && links->node[rank + 1] == node);
    return neighbours && !is_within(links, flight);
}

uint64_t gw_links_depart(struct gw_links *links, struct gw_flight *flight, uint64_t now) {
    const struct gw_costs_ps *costs = costs_for(links, flight);
    struct link *link = is_within(links, flight)
                            ? &links->rank_links.out[flight->from]
                            : &links->node_links.out[links->node[flight->from]];
    uint64_t start = later(link->free, now);
    flight->left = occupy(link, now, occupancy(costs, flight));
    flight->tail = gw_plus_ps(flight->left, costs->latency);
    return gw_plus_ps(start, costs->latency);
}

/* Through the uplink of one switch and the downlink of another, if the nodes hang on two. */
static void cross_switches(struct gw_links *links, struct gw_flight *flight, uint64_t now) {
    size_t up = switch_of(links, links->node[flight->from]);
    size_t down = switch_of(links, links->node[flight->to]);
    if (up == down) {
        return;
    }
    double time = flight->slowness * (double)flight->bytes * links->uplink_gap_per_byte;
    uint64_t above = occupy(&links->switch_links.out[up], now, time);
    uint64_t below = occupy(&links->switch_links.in[down], now, time);
    flight->tail = later(flight->tail, later(above, below));
}

void gw_links_arrive(struct gw_links *links, struct gw_flight *flight, uint64_t now) {
    bool within = is_within(links, flight);
    struct link *link =
        within ? &links->rank_links.in[flight->to] : &links->node_links.in[links->node[flight->to]];
    if (!within && links->nodes_per_switch > 0) {
        cross_switches(links, flight, now);
    }
    uint64_t done = occupy(link, now, occupancy(costs_for(links, flight), flight));
    flight->tail = later(flight->tail, done);
}
