/* A schedule made ready to run on a cluster; private to this room. */
#ifndef GW_SIM_SIMULATOR_H
#define GW_SIM_SIMULATOR_H

#include "sim/sim.h"

/* Operations that are slowed alike are a class; those of class 0 slow nothing and are not slowed.
 */
struct gw_interference {
    size_t class_count;
    uint32_t *class_of;                   /* per operation of the compute stream */
    struct gw_slowing *slowing;           /* an exchange's operation * class_count + class */
    const struct gw_overlap_pair **pairs; /* the same: what it follows from; NULL: 1 and 1 */
};

/* What a collective takes here, congestion counted in. */
struct gw_price {
    const char *collective;
    struct gw_curve curve;
    double uncertainty; /* relative, of one that was derived; NAN: not known */
};

/* Each collective of a schedule once. */
struct gw_prices {
    size_t count, capacity;
    struct gw_price *list;
};

struct gw_simulator {
    const struct gw_schedule *schedule;
    const struct gw_cluster *cluster;
    struct gw_network network; /* of messages: the cluster's, or one that was derived */
    struct gw_simulation simulation;
    size_t lane_count;
    struct gw_lane *lanes;   /* by their first worker */
    double *seconds;         /* per operation, without noise and for a worker without slowdown */
    struct gw_prices prices; /* of exchanges by curves */
    size_t *slots;           /* per operation: where its end is kept, or GW_NO_SLOT */
    size_t slot_count;
    struct gw_interference interference; /* all 0 if it is not simulated */
};

/* Lanes for the workers; those of equal slowdown share one unless each is to be seen or noise tells
 * them apart. O(P + K log K) for K workers that are not as the first. */
enum gw_status gw_lanes_open(const struct gw_simulation *simulation, struct gw_lane **lanes,
                             size_t *count, struct gw_error *error);

/*
 * Where operations leave their ends for those that wait for them. A stream's clock says when its
 * last operation ended, so only ends that another stream waits for are kept, each from the
 * operation to the last one that waits for it: as many slots as ends are kept at a time. Fails if
 * an operation depends on one that does not stand before it.
 */
static const size_t GW_NO_SLOT = SIZE_MAX;
enum gw_status gw_slots_assign(const struct gw_schedule *schedule, size_t *slots,
                               size_t *slot_count, struct gw_error *error);

/*
 * A way to run repetitions: by clocks (run.c), or by messages (messages.c). A runner's state is
 * used again for its next repetition. `iterate` measures repetition number `repetition`; spans in
 * `timeline` (or NULL; then one thread) are moved by `start_s`.
 */
struct gw_runner {
    enum gw_status (*open)(void **out, const struct gw_simulator *simulator,
                           struct gw_error *error);
    enum gw_status (*iterate)(void *state, uint64_t repetition, size_t threads,
                              struct gw_timeline *timeline, double start_s, struct gw_measure *out,
                              struct gw_error *error);
    void (*close)(void *state); /* NULL: nothing to close */
};

/* Sets other_s to what the other parts leave of the iteration, but for the rounding of sums. */
void gw_measure_other(struct gw_measure *measure);

/*
 * Fills the simulator's seconds, except for exchanges that are messages, and prices; notes derived
 * curves and lost bandwidth in `result`, if not NULL.
 */
enum gw_status gw_operation_costs(struct gw_simulator *simulator, struct gw_result *result,
                                  struct gw_error *error);
void gw_prices_free(struct gw_prices *prices);

/* Exchanges of other bytes than before, with the same collectives: fills their seconds again. */
void gw_operation_costs_again(struct gw_simulator *simulator);

#endif
