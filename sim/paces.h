/*
 * State of an iteration in which operations slow each other; private to this room. paces.c lets
 * operations begin and end, slowing.c sets how fast those go that run.
 */
#ifndef GW_SIM_PACES_H
#define GW_SIM_PACES_H

#include "sim/order.h"
#include "sim/simulator.h"

/* An operation with left_s of work left at time since_s, which takes `factor` times as long. */
struct gw_paced_work {
    bool running;
    bool waits; /* for a processor: its factor is infinite */
    bool holds; /* a processor, until it does something that needs none */
    size_t operation;
    double started_s, since_s, left_s, factor, end_s;
};

/* Rounds of the exchange; paces.exchange is the current one. */
struct gw_rounds {
    size_t left;     /* behind this one */
    double seconds;  /* of each */
    double asked_s;  /* when this one's workers began to wait for processors */
    bool *served;    /* per machine: they have got one, ... */
    bool all_served; /* ... or all machines have */
};

struct gw_paces {
    const struct gw_simulator *simulator;
    size_t lane_count;

    struct gw_order order;
    struct gw_paced_work *lanes; /* per lane: what its compute stream does */
    size_t *next_compute;        /* per lane: its next operation, or what it is at */
    struct gw_paced_work exchange;
    struct gw_rounds rounds;
    size_t exchanges_done;
    size_t *arrived; /* per exchange: lanes that have computed what it waits for */
    size_t *active;  /* per class: lanes that run such an operation */
    /* Units are lanes, or machines whose lanes share processors. */
    size_t unit_lanes;
    bool all_changed;     /* an exchange has begun or ended at this time */
    size_t changed_count; /* units with lanes that have begun something at this time */
    size_t *changed;
    bool *is_changed; /* per unit: it is in that list */
    size_t *busy;     /* per machine: processors that compressions have */
    double *late_s;   /* per lane: waited for processors, and not made good yet */
    /* A tree: ends[leaves + lane] is the end of the lane's work, and above ends[n] is the lesser of
     * ends[2 n] and ends[2 n + 1]; INFINITY: none. */
    size_t leaves;
    double *ends;

    struct gw_tally tally;
    uint64_t *noise; /* per lane */
    uint64_t network_noise;
    struct gw_recorder recorder;
    double *arrivals; /* exchange * lane_count + lane, when it arrived; 0: it waits for nothing */
};

/* Whether the operation needs one of its machine's processors. */
static inline bool gw_paces_needs_processor(const struct gw_paces *paces, size_t index) {
    const double *crowding = paces->simulator->interference.crowding;
    return crowding != NULL && crowding[index] > 0;
}

static inline void gw_paces_count(struct gw_paces *paces, size_t lane, bool runs) {
    uint32_t class = paces->simulator->interference.class_of[paces->lanes[lane].operation];
    paces->active[class] += runs ? 1 : (size_t)-1;
}

/* Sets the end of a lane's work. */
void gw_paces_expect(struct gw_paces *paces, size_t lane, double end_s);

/* Sets the paces of all that runs, where something has begun or ended at this time. */
void gw_paces_set(struct gw_paces *paces, double now_s);

#endif
