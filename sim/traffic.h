/*
 * Ranks in exchanges: they take the steps of collectives, whose messages leave, arrive and queue in
 * the order of time. Private to this room. Times are whole picoseconds.
 */
#ifndef GW_SIM_TRAFFIC_H
#define GW_SIM_TRAFFIC_H

#include "collectives/collectives.h"
#include "sim/simulator.h"

/* ---- links ----------------------------------------------------------------------------------- */

/* Nodes of ranks, and differences between them. Borrows pointers. */
struct gw_links_spec {
    const struct gw_network *network;
    size_t ranks;
    size_t workers; /* the first ranks; each of the others, servers, has its own node */
    size_t workers_per_node;
    const double *bandwidth; /* per node of workers: factor on its interface's; NULL: all 1 */
    double background;       /* share of every link between nodes that other traffic takes */
};

/* Whether all ranks see the same network: nobody shares a link with another rank. */
bool gw_links_are_symmetric(const struct gw_links_spec *spec);

/*
 * The latest time (53 days): later ones are cut off here, and a simulation that reaches it fails.
 */
static const uint64_t GW_LATEST_PS = UINT64_C(1) << 62;

static inline uint64_t gw_plus_ps(uint64_t a, uint64_t b) {
    return a + b < GW_LATEST_PS ? a + b : GW_LATEST_PS;
}

/* Seconds as picoseconds, rounded. */
uint64_t gw_picoseconds(double seconds);
double gw_seconds(uint64_t picoseconds);

/* ---- the exchanges of a schedule as calls of collectives ------------------------------------- */

struct gw_exchange {
    size_t operation; /* of the schedule */
    const struct gw_collective *collective;
    struct gw_call call;
    uint32_t ranks; /* that take part: workers, and servers */
};

struct gw_exchanges {
    uint32_t ranks; /* of the largest exchange; at least the workers */
    size_t count;
    struct gw_exchange *list;
    bool symmetric; /* in all of them ranks are interchangeable */
};

/*
 * Shares of a call are made equal, in whole elements, where that makes all ranks alike: a message
 * is then at most an element longer. Fails if there is no such collective.
 */
enum gw_status gw_exchanges_open(struct gw_exchanges *out, const struct gw_simulator *simulator,
                                 struct gw_arena *arena, struct gw_error *error);

/* Number of steps that the rank takes; 0 for no bytes. */
static inline uint32_t gw_exchange_steps(const struct gw_exchange *exchange, uint32_t rank) {
    return exchange->call.bytes == 0 ? 0 : exchange->collective->steps(&exchange->call, rank);
}

/* ---- traffic --------------------------------------------------------------------------------- */

struct gw_traffic;

/* A rank leaves its exchange at `now`; it may enter another one. */
typedef void (*gw_traffic_left)(void *context, uint32_t rank, uint64_t now);

/* Pointers are borrowed. */
struct gw_traffic_spec {
    const struct gw_exchanges *exchanges;
    struct gw_links_spec links;
    const struct gw_noise *noise; /* on the time that each message takes on its links */
    gw_traffic_left left;
    void *context; /* of `left` */
};

enum gw_status gw_traffic_open(struct gw_traffic **out, const struct gw_traffic_spec *spec,
                               struct gw_arena *arena, struct gw_error *error);

/* All links are free, all ranks outside of exchanges; noise is that of the repetition. */
void gw_traffic_reset(struct gw_traffic *traffic, uint64_t seed, uint64_t repetition);

/* The rank, which is in no exchange, begins exchange `number` at `now`. */
void gw_traffic_enter(struct gw_traffic *traffic, uint32_t which, uint32_t number, uint64_t now);

/* Runs until all have left; fails if a rank waits for ever. */
enum gw_status gw_traffic_run(struct gw_traffic *traffic, struct gw_error *error);

/* Time at which rank 0, which stands for all, leaves the exchange that it begins at `now`. */
uint64_t gw_traffic_alone(struct gw_traffic *traffic, uint32_t number, uint64_t now);

#endif
