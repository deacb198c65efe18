/*
 * Ranks in exchanges: they take the steps of collectives, whose messages leave, arrive and queue in
 * the order of time. Private to this room. Times are whole picoseconds.
 */
#ifndef GW_SIM_TRAFFIC_H
#define GW_SIM_TRAFFIC_H

#include "sim/exchanges.h"
#include "sim/links.h"

struct gw_traffic;

/* A rank leaves its exchange at `now`; it may enter another one. */
typedef enum gw_status (*gw_traffic_left)(void *context, uint32_t rank, uint64_t now);

/* Pointers are borrowed. */
struct gw_traffic_spec {
    const struct gw_exchanges *exchanges;
    struct gw_links_spec links;
    const struct gw_noise *noise; /* on the time that each message takes on its links */
    gw_traffic_left left;
    void *context; /* of `left` */
};

enum gw_status gw_traffic_open(struct gw_traffic **out, const struct gw_traffic_spec *spec,
                               struct gw_error *error);
void gw_traffic_close(struct gw_traffic *traffic);

/* All links are free, all ranks outside of exchanges; noise is that of the repetition. */
void gw_traffic_reset(struct gw_traffic *traffic, uint64_t seed, uint64_t repetition);

/* The rank, which is in no exchange, begins exchange `number` at `now`. */
void gw_traffic_enter(struct gw_traffic *traffic, uint32_t rank, uint32_t number, uint64_t now);

/* Runs until all have left; fails if a rank waits for ever. */
enum gw_status gw_traffic_run(struct gw_traffic *traffic, struct gw_error *error);

/* When rank 0, which stands for all, leaves the exchange that it begins at `now`. */
uint64_t gw_traffic_alone(struct gw_traffic *traffic, uint32_t number, uint64_t now);

/* Steps that ranks have begun, and messages that have come, since opening. */
uint64_t gw_traffic_events(const struct gw_traffic *traffic);

#endif
