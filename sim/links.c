#include "sim/links.h"

#include <stdlib.h>
#include <string.h>

/*
 * A link between two queues: a message occupies it for its bytes, behind those before it. First
 * bytes are held up only where a message leaves its sender. Behind that, messages that share a link
 * share its bandwidth, and only the last bytes show how long it took: a link that has bandwidth for
 * all who use it delays nobody.
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

uint64_t gw_picoseconds(double seconds) {
    double picoseconds = seconds * PS_PER_S;
    return picoseconds < 0x1p62 ? (uint64_t)(picoseconds + 0.5) : (uint64_t)1 << 62;
}

double gw_seconds(uint64_t picoseconds) {
    return (double)picoseconds / PS_PER_S;
}

static uint64_t scaled(double picoseconds) {
    return picoseconds < 0x1p62 ? (uint64_t)(picoseconds + 0.5) : (uint64_t)1 << 62;
}

static struct gw_costs_ps costs_of(const struct gw_loggp *loggp) {
    return (struct gw_costs_ps){.latency = gw_picoseconds(loggp->latency_s),
                                .overhead = gw_picoseconds(loggp->overhead_s),
                                .gap = gw_picoseconds(loggp->gap_s),
                                .gap_per_byte = loggp->gap_s_per_byte * PS_PER_S,
                                .overhead_per_byte = loggp->overhead_s_per_byte * PS_PER_S};
}

/* ---- where things are ---------------------------------------------------------------------- */

static enum gw_status set_nodes(struct gw_links *links, struct gw_error *error) {
    links->node = malloc(links->ranks * sizeof *links->node);
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

static struct link *open_some(size_t count) {
    struct link *links = malloc(count * sizeof *links);
    for (size_t i = 0; links != NULL && i < count; i++) {
        links[i] = (struct link){.slowness = 1};
    }
    return links;
}

static enum gw_status open_direction(struct direction *direction, size_t count,
                                     struct gw_error *error) {
    direction->count = count;
    direction->out = open_some(count);
    direction->in = open_some(count);
    return direction->out == NULL || direction->in == NULL
               ? gw_fail_memory(error, "opening a simulation")
               : GW_OK;
}

static void slow_down(struct gw_links *links, const struct gw_links_spec *spec) {
    for (size_t node = 0; node < links->nodes; node++) {
        double factor = spec->bandwidth == NULL ? 1 : spec->bandwidth[node];
        double slowness = 1 / (factor * (1 - spec->background));
        links->node_links.out[node].slowness = slowness;
        links->node_links.in[node].slowness = slowness;
    }
}

static enum gw_status open_links(struct gw_links *links, const struct gw_links_spec *spec,
                                 struct gw_error *error) {
    const struct gw_network *network = spec->network;
    GW_TRY(set_nodes(links, error));
    links->nodes_per_switch = network->nodes_per_switch;
    links->switches = switch_of(links, links->nodes - 1) + 1;
    if (links->nodes_per_switch > 0) {
        links->uplink_gap_per_byte = links->between.gap_per_byte * network->oversubscription /
                                     ((double)links->nodes_per_switch * (1 - spec->background));
    }
    GW_TRY(open_direction(&links->rank_links, links->ranks, error));
    GW_TRY(open_direction(&links->node_links, links->nodes, error));
    slow_down(links, spec);
    return open_direction(&links->switch_links, links->switches, error);
}

enum gw_status gw_links_open(struct gw_links **out, const struct gw_links_spec *spec,
                             struct gw_error *error) {
    struct gw_links *links = calloc(1, sizeof *links);
    if (links == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    links->ranks = spec->ranks;
    links->workers = spec->workers;
    links->workers_per_node = spec->workers_per_node;
    links->within = costs_of(&spec->network->within);
    links->between = costs_of(&spec->network->between);
    enum gw_status status = open_links(links, spec, error);
    if (status != GW_OK) {
        gw_links_close(links);
        return status;
    }
    *out = links;
    return GW_OK;
}

static void close_direction(struct direction *direction) {
    free(direction->out);
    free(direction->in);
}

void gw_links_close(struct gw_links *links) {
    if (links != NULL) {
        close_direction(&links->rank_links);
        close_direction(&links->node_links);
        close_direction(&links->switch_links);
        free(links->node);
        free(links);
    }
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
    link->free = later(link->free, now) + scaled(picoseconds * link->slowness);
    return link->free;
}

static bool is_within(const struct gw_links *links, const struct gw_transfer *transfer) {
    return links->node[transfer->from] == links->node[transfer->to];
}

static const struct gw_costs_ps *costs_for(const struct gw_links *links,
                                           const struct gw_transfer *transfer) {
    return is_within(links, transfer) ? &links->within : &links->between;
}

/* Of the rank's way to others of its node, or of the node's interface. */
static double occupancy(const struct gw_costs_ps *costs, const struct gw_transfer *transfer) {
    double gap = (double)costs->gap;
    double time = (double)transfer->bytes * costs->gap_per_byte;
    return transfer->slowness * (time > gap ? time : gap);
}

uint64_t gw_links_sending(const struct gw_links *links, const struct gw_transfer *transfer) {
    const struct gw_costs_ps *costs = costs_for(links, transfer);
    return costs->overhead + scaled((double)transfer->bytes * costs->overhead_per_byte);
}

uint64_t gw_links_receiving(const struct gw_links *links, const struct gw_transfer *transfer) {
    return costs_for(links, transfer)->overhead;
}

bool gw_links_shared(const struct gw_links *links, const struct gw_transfer *transfer) {
    uint32_t rank = transfer->from;
    uint32_t node = links->node[rank];
    bool neighbours = (rank > 0 && links->node[rank - 1] == node) ||
                      (rank + 1 < links->ranks && links->node[rank + 1] == node);
    return neighbours && !is_within(links, transfer);
}

uint64_t gw_links_depart(struct gw_links *links, struct gw_transfer *transfer, uint64_t now) {
    const struct gw_costs_ps *costs = costs_for(links, transfer);
    struct link *link = is_within(links, transfer)
                            ? &links->rank_links.out[transfer->from]
                            : &links->node_links.out[links->node[transfer->from]];
    uint64_t start = later(link->free, now);
    transfer->left = occupy(link, now, occupancy(costs, transfer));
    transfer->tail = transfer->left + costs->latency;
    return start + costs->latency;
}

/* Through the uplink of one switch and the downlink of another, if the nodes hang on two. */
static void cross_switches(struct gw_links *links, struct gw_transfer *transfer, uint64_t now) {
    size_t up = switch_of(links, links->node[transfer->from]);
    size_t down = switch_of(links, links->node[transfer->to]);
    if (up == down) {
        return;
    }
    double time = transfer->slowness * (double)transfer->bytes * links->uplink_gap_per_byte;
    uint64_t above = occupy(&links->switch_links.out[up], now, time);
    uint64_t below = occupy(&links->switch_links.in[down], now, time);
    transfer->tail = later(transfer->tail, later(above, below));
}

void gw_links_arrive(struct gw_links *links, struct gw_transfer *transfer, uint64_t now) {
    bool within = is_within(links, transfer);
    struct link *link = within ? &links->rank_links.in[transfer->to]
                               : &links->node_links.in[links->node[transfer->to]];
    if (!within && links->nodes_per_switch > 0) {
        cross_switches(links, transfer, now);
    }
    uint64_t done = occupy(link, now, occupancy(costs_for(links, transfer), transfer));
    transfer->tail = later(transfer->tail, done);
}
