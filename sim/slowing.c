/* Sets how fast operations go that run at once: they slow each other, and ranks of one machine
 * share its processors. */
#include "sim/paces.h"

#include <math.h>

/* ---- work ---------------------------------------------------------------------------------- */

static double left_at(const struct gw_paced_work *work, double now_s) {
    return fmax(0, work->left_s - (now_s - work->since_s) / work->factor);
}

/* Gives the work another factor from now on; INFINITY: it stands still. The end of work that is
 * never slowed stays, to the bit, that of simulation by clocks. */
static void set_pace(struct gw_paced_work *work, double now_s, double factor) {
    if (work->factor == factor) {
        return;
    }
    work->left_s = left_at(work, now_s);
    work->since_s = now_s;
    work->factor = factor;
    work->end_s = work->left_s > 0 ? now_s + work->left_s * factor : now_s;
}

void gw_paces_expect(struct gw_paces *paces, size_t lane, double end_s) {
    size_t node = paces->leaves + lane;
    for (double least = end_s; paces->ends[node] != least;) {
        paces->ends[node] = least;
        if (node == 1) {
            return;
        }
        least = least < paces->ends[node ^ 1] ? least : paces->ends[node ^ 1];
        node /= 2;
    }
}

/* ---- factors ------------------------------------------------------------------------------- */

static const struct gw_slowing *slowing_now(const struct gw_paces *paces) {
    const struct gw_interference *interference = &paces->simulator->interference;
    return interference->slowing + paces->exchange.operation * interference->class_count;
}

/* Factor of the current exchange on the lane's operation; 1: none runs. */
static double slowing_of_lane(const struct gw_paces *paces, size_t lane) {
    uint32_t class = paces->simulator->interference.class_of[paces->lanes[lane].operation];
    return paces->exchange.running ? slowing_now(paces)[class].compute : 1;
}

/* ---- processors ---------------------------------------------------------------------------- */

/* Number of the lane's machine; the cluster's ranks share machines. */
static size_t machine_of(const struct gw_paces *paces, size_t lane) {
    return lane / paces->simulator->cluster->sharing.ranks;
}

/* First lane of the machine; lane_count: it has none. */
static size_t first_of(const struct gw_paces *paces, size_t machine) {
    size_t first = machine * paces->simulator->cluster->sharing.ranks;
    return first < paces->lane_count ? first : paces->lane_count;
}

/* Work that has waited longest for the machine's processors, the first of equals; NULL: none. */
static struct gw_paced_work *next_waiting(struct gw_paces *paces, size_t machine) {
    struct gw_paced_work *next = NULL;
    for (size_t lane = first_of(paces, machine); lane < first_of(paces, machine + 1); lane++) {
        struct gw_paced_work *work = &paces->lanes[lane];
        if (work->running && work->waits && (next == NULL || work->started_s < next->started_s)) {
            next = work;
        }
    }
    return next;
}

/*
 * Longest pause in which a worker keeps its processor: putting a thread to sleep and waking it take
 * longer. Any value from 5 to 100 us gives the same times for ResNet-50, to 0.2%.
 */
static const double shortest_pause_s = 20e-6;

/* Takes the lane's processor from it, unless its operation needs one or ends within
 * shortest_pause_s. */
static void leave_processor(struct gw_paces *paces, size_t lane, double now_s) {
    struct gw_paced_work *work = &paces->lanes[lane];
    if (work->holds && !(work->running && (gw_paces_needs_processor(paces, work->operation) ||
                                           left_at(work, now_s) * slowing_of_lane(paces, lane) <
                                               shortest_pause_s))) {
        work->holds = false;
        paces->busy[machine_of(paces, lane)]--;
    }
}

/* Gives free processors of the machine to waiting lanes. */
static void share_processors(struct gw_paces *paces, size_t machine, double now_s) {
    for (size_t i = first_of(paces, machine); i < first_of(paces, machine + 1); i++) {
        leave_processor(paces, i, now_s);
    }
    for (struct gw_paced_work *next = next_waiting(paces, machine);
         next != NULL && paces->busy[machine] < paces->simulator->cluster->sharing.processors;
         next = next_waiting(paces, machine)) {
        bool *served = &paces->rounds.served[machine];
        *served = *served || paces->rounds.asked_s < next->started_s;
        size_t next_lane = (size_t)(next - paces->lanes);
        bool makes_good = paces->simulator->interference.accelerated;
        paces->late_s[next_lane] += makes_good ? now_s - next->started_s : 0;
        next->waits = false;
        next->holds = true;
        paces->busy[machine]++;
        gw_paces_count(paces, next_lane, true);
    }
}

/*
 * Whether every machine has had a free processor since the round began. Its workers need one to
 * begin the round, but not afterwards; until then the exchange stands still.
 */
static bool is_served(struct gw_paces *paces) {
    const struct gw_sharing *sharing = &paces->simulator->cluster->sharing;
    bool served = true;
    for (size_t machine = 0;
         !paces->rounds.all_served && first_of(paces, machine) < paces->lane_count; machine++) {
        bool *here = &paces->rounds.served[machine];
        *here = *here || paces->busy[machine] < sharing->processors;
        served = served && *here;
    }
    return paces->rounds.all_served = served;
}

/* ---- all paces ----------------------------------------------------------------------------- */

/* Sets the exchange's pace to the slowest lane's; lanes without a class have factor 1. */
static void pace_exchange(struct gw_paces *paces, double now_s) {
    double factor = 0;
    size_t lanes = 0;
    for (size_t class = 1; class < paces->simulator->interference.class_count; class ++) {
        if (paces->active[class] > 0) {
            factor = gw_later(factor, slowing_now(paces)[class].communication);
            lanes += paces->active[class];
        }
    }
    factor = lanes < paces->lane_count ? gw_later(factor, 1) : factor;
    factor = is_served(paces) ? factor : INFINITY;
    set_pace(&paces->exchange, now_s, factor);
}

static void pace_lane(struct gw_paces *paces, size_t lane, double now_s) {
    struct gw_paced_work *work = &paces->lanes[lane];
    if (!work->running || work->waits) {
        return;
    }
    double factor = slowing_of_lane(paces, lane);
    if (gw_paces_needs_processor(paces, work->operation) &&
        paces->busy[machine_of(paces, lane)] > 1) {
        factor *= paces->simulator->interference.crowding[work->operation];
    }
    set_pace(work, now_s, factor);
    gw_paces_expect(paces, lane, work->end_s);
}

void gw_paces_set(struct gw_paces *paces, double now_s) {
    size_t units = (paces->lane_count - 1) / paces->unit_lanes + 1;
    size_t count = paces->all_changed ? units : paces->changed_count;
    for (size_t i = 0; i < paces->changed_count; i++) {
        paces->is_changed[paces->changed[i]] = false;
    }
    for (size_t i = 0; i < count; i++) {
        size_t unit = paces->all_changed ? i : paces->changed[i];
        size_t first = unit * paces->unit_lanes;
        if (paces->simulator->interference.crowding != NULL) {
            share_processors(paces, unit, now_s);
        }
        for (size_t lane = first; lane < first + paces->unit_lanes && lane < paces->lane_count;
             lane++) {
            pace_lane(paces, lane, now_s);
        }
    }
    if (paces->exchange.running) {
        pace_exchange(paces, now_s);
    }
    paces->all_changed = false;
    paces->changed_count = 0;
}
