/* A schedule made ready to run on a cluster; private to this room. */
#ifndef GW_SIM_SIMULATOR_H
#define GW_SIM_SIMULATOR_H

#include "core/arena.h"
#include "methods/kernel_cost.h"
#include "sim/sim.h"

/* Classes of operations with the same overlap factors; class 0 slows nothing and is not slowed. */
struct gw_interference {
    bool complete; /* the file has factors of all that can run at once */
    bool shares;   /* compressing workers of a machine share its processors */
    size_t class_count;
    uint32_t *class_of;                   /* per operation of the compute stream */
    struct gw_slowing *slowing;           /* an exchange's operation * class_count + class */
    const struct gw_overlap_pair **pairs; /* the same: source of its factors; NULL: 1 and 1 */
    double *crowding; /* per operation, 0: it needs no processor; NULL: ranks share none */
    double *led_s;    /* per operation, of workers that do not lead; NULL, -1: all do the same */
    bool accelerated; /* passes need none of the processors that are shared */
};

struct gw_simulator {
    struct gw_arena arena; /* owns all lists below that are not borrowed */
    const struct gw_schedule *schedule;
    size_t costs_count;
    const struct gw_costs *costs;     /* of each of the schedule's ways */
    const struct gw_cluster *cluster; /* of the costs */
    struct gw_network network;        /* of messages: the cluster's, or one that was derived */
    struct gw_simulation simulation;
    size_t lane_count;
    struct gw_lane *lanes; /* by their first worker */
    /*
     * Per operation, without noise and for a worker without slowdown. Of an exchange as messages:
     * seconds of aggregating their data.
     */
    double *seconds;
    const struct gw_leg_cost **legs;       /* per operation, of exchanges: the costs' */
    const struct gw_kernel_cost **kernels; /* per operation, of compressions: the cluster's */
    double congestion; /* factor on a byte's time by slow nodes and other traffic, by curves */
    struct gw_curve *congested; /* [costs_count * GW_MAX_LEGS]: legs' curves with it, unless it is 1
                                 */
    size_t *slots;              /* per operation: where its end is kept, or GW_NO_SLOT */
    size_t slot_count;
    struct gw_interference interference; /* all 0 if it is not simulated */
    size_t parameter_count;
    struct gw_parameter *parameters;
    const struct gw_parameter *deviating; /* one of them, or NULL */
    double deviation;
};

/* Slot of an operation whose end no other stream waits for. */
static const size_t GW_NO_SLOT = SIZE_MAX;

/*
 * A way to run repetitions. Its state, which lives in the arena, is used again for its next
 * repetition. `iterate` measures repetition number `repetition`; spans in `timeline` (or NULL; then
 * one thread) are moved by `start_s`.
 */
struct gw_runner {
    enum gw_status (*open)(void **out, const struct gw_simulator *simulator, struct gw_arena *arena,
                           struct gw_error *error);
    enum gw_status (*iterate)(void *state, uint64_t repetition, size_t threads,
                              struct gw_timeline *timeline, double start_s, struct gw_measure *out,
                              struct gw_error *error);
};

/* Runs by clocks (clocks.c); each repetition's clock starts at 0, so that rounding does not grow
 * with iterations. Threads share blocks of lanes: more threads than blocks are of no use. */
extern const struct gw_runner gw_runner_clocks;
size_t gw_clocks_blocks(const struct gw_simulator *simulator);

/* Runs by the ends of operations, whose pace changes as others begin and end (paces.c). */
extern const struct gw_runner gw_runner_interference;

/* Exchanges as messages on links (messages.c); the simulator has lanes for one of all workers, or
 * for each (gw_messages_collapse). */
extern const struct gw_runner gw_runner_messages;

/*
 * Whether one worker stands for all: workers are equal, take the same steps in each exchange, and
 * share no links. Times are then, to the bit, those of simulating each worker.
 */
enum gw_status gw_messages_collapse(const struct gw_simulator *simulator, bool *out,
                                    struct gw_error *error);

/* Costs of an operation's way; of an operation without one, the first. */
static inline const struct gw_costs *gw_costs_of(const struct gw_simulator *simulator,
                                                 const struct gw_operation *operation) {
    return &simulator->costs[gw_schedule_way_number(simulator->schedule, operation)];
}

/* Finds the legs of all exchanges and the kernels of all compressions. */
enum gw_status gw_operation_sources(struct gw_simulator *simulator, struct gw_error *error);

/* The leg's aggregator number `which` behind an exchange; NULL: the simulation does not count it.
 */
static inline const struct gw_aggregator_cost *
gw_aggregator_behind(const struct gw_simulator *simulator, size_t index, size_t which) {
    const struct gw_schedule *schedule = simulator->schedule;
    const struct gw_aggregator_cost *one = &simulator->legs[index]->aggregators[which];
    bool is_timed = simulator->simulation.timed_compression && one->by == GW_HEAVYMIX;
    bool has_legs = gw_schedule_way(schedule, &schedule->operations[index]) != NULL;
    return has_legs && !is_timed ? one : NULL;
}

/*
 * Fills the simulator's seconds; notes derived curves and lost bandwidth in `result`, if not NULL.
 */
enum gw_status gw_operation_costs(struct gw_simulator *simulator, struct gw_result *result,
                                  struct gw_error *error);

/* Whether the server, and no worker, aggregates the exchange's data. */
bool gw_server_aggregates(const struct gw_schedule *schedule, const struct gw_operation *operation);

/* Fills seconds again after other numbers of elements were selected, by the same methods. */
void gw_operation_costs_again(struct gw_simulator *simulator);

/*
 * Cost of workers that do not lead while worker 0 selects for all: they add to their residuals, as
 * the cluster's sum of vectors does. NULL: no such operation, or ranks share no processors, or the
 * sum was not measured.
 */
static inline const struct gw_kernel_cost *gw_led_cost(const struct gw_simulator *simulator,
                                                       const struct gw_operation *operation) {
    const struct gw_way *way = gw_schedule_way(simulator->schedule, operation);
    bool is_led = way != NULL && way->exchange != NULL && way->exchange->led &&
                  operation->kind == GW_COMPRESS && simulator->interference.shares;
    return is_led
               ? gw_kernel_cost_find(&simulator->cluster->aggregation, gw_aggregator_names[GW_SUM])
               : NULL;
}

/* Part of the time together that workers of a machine take to aggregate; 0: each is alone. */
static inline double gw_shared_part(const struct gw_simulator *simulator) {
    return simulator->simulation.interference
               ? gw_sharing_part(&simulator->cluster->sharing, simulator->simulation.workers)
               : 0;
}

/* ---- uncertain parameters -------------------------------------------------------------------- */

/* Lists uncertain parameters, after legs and kernels; notes uncertainties in `result`, if not NULL.
 */
enum gw_status gw_parameters_open(struct gw_simulator *simulator, struct gw_result *result,
                                  struct gw_error *error);

/* The kind of curve that the aggregator takes its time from. */
static inline enum gw_parameter_kind gw_aggregator_curve(enum gw_aggregator by) {
    return by == GW_ENCODE ? GW_COMPRESSOR_CURVE : GW_AGGREGATOR_CURVE;
}

/*
 * Factor of the deviating parameter on an operation of that size; 1 of others. `name` NULL: of a
 * kind that has one parameter. `share` is a kernel's interpolation weight of the second density
 * (methods/kernel_cost.h), 0 of collectives.
 */
double gw_parameter_factor(const struct gw_simulator *simulator, enum gw_parameter_kind kind,
                           const char *name, double size, double share);

/* ---- compression and exchanges that run at once slow each other ------------------------------ */

/*
 * While a compute operation and the exchange of its worker's communication stream both run, the
 * one proceeds at 1 / compute and the other at 1 / communication of its usual pace, by the
 * cluster's overlap factors. An exchange goes at the pace of its slowest worker.
 *
 * Neighbouring workers share a machine, as many as the cluster's `sharing` says. A compression
 * needs one of its processors until it ends; processors go to workers in the order in which they
 * came, of equals to the lower one. While two or more workers compress on a machine, each takes
 * `crowding` times as long, so that all ranks of a machine that begin at once end after the
 * measured time. If one worker selects for all, it is worker 0, and the others take a sum's time.
 *
 * On machines with fewer processors than ranks, an exchange too needs a processor of each machine,
 * for a moment at the beginning of each round, and waits for it in the same order. A long exchange
 * has a round for each of its pieces, so that it stands still while all processors compress.
 *
 * A worker makes up for time that it waited for a processor in its next passes, up to one that
 * waits for an exchange, unless passes need those processors themselves.
 */

/* Sets `shares`: whether workers compress and, by the cluster's file, share their machine's
 * processors. */
void gw_interference_find_sharing(struct gw_simulator *simulator);

/*
 * Fails if the schedule has other operations than exchanges and a server's updates on the
 * communication stream, or those elsewhere. Notes in `result` (may be NULL) substitutes for
 * unmeasured factors, and operations without any, which slow nothing.
 */
enum gw_status gw_interference_open(struct gw_simulator *simulator, struct gw_result *result,
                                    struct gw_error *error);

/* Other elements selected than before: fills factors and crowding again. */
void gw_interference_again(struct gw_simulator *simulator);

/* ---- times of lanes in an iteration, in seconds ---------------------------------------------- */

enum { GW_TALLIED = GW_WAIT }; /* forward, backward and compress, which stand before it */

/* Per lane, but for exchanges_s, which all spend. */
struct gw_tally {
    double *clock[GW_STREAM_COUNT]; /* when the stream's last operation ended */
    double *busy[GW_TALLIED];       /* time spent in such operations */
    double *idle;                   /* that the compute stream waited between operations */
    double exchanges_s;
};

/* All 0. */
enum gw_status gw_tally_open(struct gw_tally *out, size_t lane_count, struct gw_arena *arena,
                             struct gw_error *error);
void gw_tally_reset(struct gw_tally *tally, size_t lane_count);

/* Fills *out after all lanes are done. Exchanges that end after computing count as idle time. */
void gw_tally_measure(struct gw_tally *tally, const struct gw_simulator *simulator,
                      struct gw_measure *out);

/* Sets other_s to the rest of the iteration beside the other parts; 0 if it is only rounding. */
void gw_measure_other(struct gw_measure *measure);

static inline double gw_later(double a, double b) {
    return a > b ? a : b;
}

/* 0 s stay 0 s also where the factor is infinite. */
static inline double gw_stretched(double seconds, double factor) {
    return factor > 0 ? seconds * factor : 0;
}

/* ---- timelines ------------------------------------------------------------------------------- */

/* Destination of a repetition's spans, moved by `start_s`; remembers the first error. */
struct gw_recorder {
    struct gw_timeline *timeline; /* NULL: nowhere */
    double start_s;
    enum gw_status status;
    struct gw_error *error;
};

void gw_record_span(struct gw_recorder *recorder, const struct gw_operation *operation, size_t lane,
                    enum gw_activity activity, double start_s, double end_s);

static inline void gw_record(struct gw_recorder *recorder, const struct gw_operation *operation,
                             size_t lane, enum gw_activity activity, double start_s, double end_s) {
    if (recorder->timeline != NULL) {
        gw_record_span(recorder, operation, lane, activity, start_s, end_s);
    }
}

/* Ends the iteration, which took as long as measured. */
enum gw_status gw_record_iteration(const struct gw_recorder *recorder,
                                   const struct gw_measure *measure);

#endif
