/*
 * The network as messages queue for it: every node's network interface in each direction, every
 * worker's way to others of its node, every switch's uplink and downlink. Times are whole
 * picoseconds, so that sums do not depend on their order.
 */
#ifndef GW_SIM_LINKS_H
#define GW_SIM_LINKS_H

#include "core/arena.h"
#include "core/core.h"
#include "traces/traces.h"

/* Where ranks are, and how they differ. Pointers are borrowed. */
struct gw_links_spec {
    const struct gw_network *network;
    size_t ranks;
    size_t workers; /* the first ranks; each of the others, servers, has its own node */
    size_t workers_per_node;
    const double *bandwidth; /* per node of workers: factor on its interface's; NULL: all 1 */
    double background;       /* share of every link between nodes that other traffic takes */
};

/* LogGP parameters in picoseconds; those per byte are fractions. */
struct gw_costs_ps {
    uint64_t latency, overhead, gap;
    double gap_per_byte, overhead_per_byte;
};

struct gw_links;

/* A message on its way: its ranks, its bytes, and a factor on the time it takes on every link. */
struct gw_flight {
    uint32_t from, to;
    uint64_t bytes;
    double slowness;
    /* Set by gw_links_depart, gw_links_arrive: */
    uint64_t left; /* when its last byte has left the sender */
    uint64_t tail; /* when its last byte is there, as far as is known */
};

enum gw_status gw_links_open(struct gw_links **out, const struct gw_links_spec *spec,
                             struct gw_arena *arena, struct gw_error *error);

/* Makes all links free from time 0 on. */
void gw_links_reset(struct gw_links *links);

/* How long a message's sender is busy with it, and then its receiver. */
uint64_t gw_links_sending(const struct gw_links *links, const struct gw_flight *flight);
uint64_t gw_links_receiving(const struct gw_links *links, const struct gw_flight *flight);

/* Whether other ranks send on the link on which the message leaves its sender. */
bool gw_links_shared(const struct gw_links *links, const struct gw_flight *flight);

/*
 * The message begins to leave its sender at `now`, or when the link is free. Returns when its first
 * byte would reach the receiver. Calls for a link must come in order of time.
 */
uint64_t gw_links_depart(struct gw_links *links, struct gw_flight *flight, uint64_t now);

/* Its first byte reaches the receiver: sets when the last one does. Calls in order of time. */
void gw_links_arrive(struct gw_links *links, struct gw_flight *flight, uint64_t now);

/* Whether all ranks see the same network: nobody shares a link with another rank. */
bool gw_links_are_symmetric(const struct gw_links_spec *spec);

/*
 * Times stay at most here (53 days): what would be later is said to be so late, and a simulation in
 * which anything is has failed.
 */
static const uint64_t GW_LATEST_PS = UINT64_C(1) << 62;

static inline uint64_t gw_plus_ps(uint64_t a, uint64_t b) {
    return a + b < GW_LATEST_PS ? a + b : GW_LATEST_PS;
}

/* Seconds as picoseconds, rounded. */
uint64_t gw_picoseconds(double seconds);
double gw_seconds(uint64_t picoseconds);

#endif
