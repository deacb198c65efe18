#include "sim/links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * A link between two queues: a message occupies it for its bytes, behind those before it. First
 * bytes are held up only where a message leaves its sender. Behind that, messages that share a link
 * share its bandwidth, and only the last bytes show how long it took: a link that has bandwidth for
 * all who use it delays nobody.
 */
struct link {
    uint64_t free; /* from when on */
};

/* The links of nodes (or of single ranks within a node, or of switches) of one kind. */
struct direction {
    struct link *out, *in;
};

struct gw_links {
    size_t ranks, workers, workers_per_node;
    size_t nodes, nodes_per_switch, switches;
    struct gw_costs_ps within, between;
    double uplink_gap_per_byte;
    double *node_slowness; /* per node: factor on its interface's time */
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

static size_t node_of(const struct gw_links *links, uint32_t rank) {
    if (rank < links->workers) {
        return rank / links->workers_per_node;
    }
    return (links->workers + links->workers_per_node - 1) / links->workers_per_node +
           (rank - links->workers);
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

static enum gw_status open_direction(struct direction *direction, size_t count,
                                     struct gw_error *error) {
    direction->out = calloc(count + 1, sizeof *direction->out);
    direction->in = calloc(count + 1, sizeof *direction->in);
    return direction->out == NULL || direction->in == NULL
               ? gw_fail_memory(error, "opening a simulation")
               : GW_OK;
}

static enum gw_status set_slowness(struct gw_links *links, const struct gw_links_spec *spec,
                                   struct gw_error *error) {
    links->node_slowness = malloc((links->nodes + 1) * sizeof *links->node_slowness);
    if (links->node_slowness == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    for (size_t node = 0; node < links->nodes; node++) {
        double factor = spec->bandwidth == NULL ? 1 : spec->bandwidth[node];
        links->node_slowness[node] = 1 / (factor * (1 - spec->background));
    }
    return GW_OK;
}

enum gw_status gw_links_open(struct gw_links **out, const struct gw_links_spec *spec,
                             struct gw_error *error) {
    struct gw_links *links = calloc(1, sizeof *links);
    if (links == NULL) {
        return gw_fail_memory(error, "opening a simulation");
    }
    const struct gw_network *network = spec->network;
    links->ranks = spec->ranks;
    links->workers = spec->workers;
    links->workers_per_node = spec->workers_per_node;
    links->nodes = node_of(links, (uint32_t)spec->ranks - 1) + 1;
    links->nodes_per_switch = network->nodes_per_switch;
    links->switches = switch_of(links, links->nodes - 1) + 1;
    links->within = costs_of(&network->within);
    links->between = costs_of(&network->between);
    if (links->nodes_per_switch > 0) {
        links->uplink_gap_per_byte = links->between.gap_per_byte * network->oversubscription /
                                     ((double)links->nodes_per_switch * (1 - spec->background));
    }
    enum gw_status status = set_slowness(links, spec, error);
    status = status == GW_OK ? open_direction(&links->rank_links, links->ranks, error) : status;
    status = status == GW_OK ? open_direction(&links->node_links, links->nodes, error) : status;
    status =
        status == GW_OK ? open_direction(&links->switch_links, links->switches, error) : status;
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
        free(links->node_slowness);
        free(links);
    }
}

static void reset_direction(struct direction *direction, size_t count) {
    memset(direction->out, 0, count * sizeof *direction->out);
    memset(direction->in, 0, count * sizeof *direction->in);
}

void gw_links_reset(struct gw_links *links) {
    reset_direction(&links->rank_links, links->ranks);
    reset_direction(&links->node_links, links->nodes);
    reset_direction(&links->switch_links, links->switches);
}

/* ---- messages ------------------------------------------------------------------------------ */

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Occupies the link from `now` on, behind those before; until when. */
static uint64_t occupy(struct link *link, uint64_t now, double picoseconds) {
    link->free = later(link->free, now) + scaled(picoseconds);
    return link->free;
}

static double occupancy(const struct gw_costs_ps *costs, uint64_t bytes) {
    return fmax((double)costs->gap, (double)bytes * costs->gap_per_byte);
}

uint64_t gw_links_overhead(const struct gw_links *links, uint32_t from, uint32_t to,
                           uint64_t bytes) {
    bool within = node_of(links, from) == node_of(links, to);
    const struct gw_costs_ps *costs = within ? &links->within : &links->between;
    return costs->overhead + scaled((double)bytes * costs->overhead_per_byte);
}

uint64_t gw_links_depart(struct gw_links *links, struct gw_transfer *transfer, uint64_t now,
                         double slowness) {
    size_t from = node_of(links, transfer->from);
    bool within = from == node_of(links, transfer->to);
    const struct gw_costs_ps *costs = within ? &links->within : &links->between;
    struct link *link =
        within ? &links->rank_links.out[transfer->from] : &links->node_links.out[from];
    uint64_t start = later(link->free, now);
    double time = slowness * occupancy(costs, transfer->bytes);
    transfer->left = occupy(link, now, within ? time : time * links->node_slowness[from]);
    transfer->tail = transfer->left + costs->latency;
    return start + costs->latency;
}

void gw_links_arrive(struct gw_links *links, struct gw_transfer *transfer, uint64_t now,
                     double slowness) {
    size_t from = node_of(links, transfer->from);
    size_t to = node_of(links, transfer->to);
    if (from == to) {
        double time = slowness * occupancy(&links->within, transfer->bytes);
        uint64_t done = occupy(&links->rank_links.in[transfer->to], now, time);
        transfer->tail = later(transfer->tail, done);
        return;
    }
    size_t up = switch_of(links, from);
    size_t down = switch_of(links, to);
    if (up != down) {
        double time = slowness * (double)transfer->bytes * links->uplink_gap_per_byte;
        uint64_t above = occupy(&links->switch_links.out[up], now, time);
        uint64_t below = occupy(&links->switch_links.in[down], now, time);
        transfer->tail = later(transfer->tail, later(above, below));
    }
    double time = slowness * occupancy(&links->between, transfer->bytes);
    uint64_t done = occupy(&links->node_links.in[to], now, time * links->node_slowness[to]);
    transfer->tail = later(transfer->tail, done);
}
