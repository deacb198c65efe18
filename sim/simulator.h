/* A schedule made ready to run on a cluster; private to this room. */
#ifndef GW_SIM_SIMULATOR_H
#define GW_SIM_SIMULATOR_H

#include "core/arena.h"
#include "methods/costs.h"
#include "methods/kernel_cost.h"
#include "sim/sim.h"

/* Operations that are slowed alike are a class; those of class 0 slow nothing and are not slowed.
 */
struct gw_interference {
    bool complete; /* the file has factors of all that can run at once */
    bool shares;   /* compressing workers of a machine share its processors */
    size_t class_count;
    uint32_t *class_of;                   /* per operation of the compute stream */
    struct gw_slowing *slowing;           /* an exchange's operation * class_count + class */
    const struct gw_overlap_pair **pairs; /* the same: what it follows from; NULL: 1 and 1 */
    double *crowding; /* per operation, 0: it needs no processor; NULL: ranks share none */
    double *led_s;    /* per compression, of workers that do not lead; NULL: all do the same */
    bool accelerated; /* passes need none of the processors that are shared */
};

/* What a collective takes here, congestion counted in. */
struct gw_price {
    const char *collective;
    struct gw_curve curve;
};

/* Each collective of a schedule once. */
struct gw_prices {
    size_t count, capacity;
    struct gw_price *list;
};

struct gw_simulator {
    struct gw_arena arena; /* what follows lives in it, but for what is borrowed */
    const struct gw_schedule *schedule;
    const struct gw_cluster *cluster;
    struct gw_network network; /* of messages: the cluster's, or one that was derived */
    struct gw_simulation simulation;
    size_t lane_count;
    struct gw_lane *lanes; /* by their first worker */
    /*
     * Per operation, without noise and for a worker without slowdown. Of an exchange as messages:
     * what is done with what they bring.
     */
    double *seconds;
    double byte_factor;      /* on what a byte's exchange takes, by curves */
    struct gw_prices prices; /* of exchanges by curves */
    struct gw_aggregation_costs aggregations[GW_MOST_LEGS]; /* of the legs of its exchange */
    size_t *slots; /* per operation: where its end is kept, or GW_NO_SLOT */
    size_t slot_count;
    struct gw_interference interference; /* all 0 if it is not simulated */
    size_t parameter_count;
    struct gw_parameter *parameters;
    const struct gw_parameter *deviating; /* one of them, or NULL */
    double deviation;
};

/* Of an operation whose end no other stream waits for. */
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

/* By clocks (clocks.c); each repetition's clock starts at 0, so that rounding does not grow with
 * iterations. Lanes are worked on in blocks: as many threads as blocks can be of use. */
extern const struct gw_runner gw_runner_clocks;
size_t gw_clocks_blocks(const struct gw_simulator *simulator);

/* By the ends of operations, whose pace changes as others begin and end (paces.c). */
extern const struct gw_runner gw_runner_interference;

/* Exchanges as messages on links (messages.c); the simulator has lanes for one of all workers, or
 * for each (gw_messages_collapse). */
extern const struct gw_runner gw_runner_messages;

/*
 * Whether one worker stands for all: workers are equal, each exchange has them take the same steps,
 * and nobody shares a link. The answer is then that of simulating each of them, to the bit.
 */
enum gw_status gw_messages_collapse(const struct gw_simulator *simulator, bool *out,
                                    struct gw_error *error);

/* Steps that ranks have begun, and messages that have come, in all repetitions of this state. */
uint64_t gw_messages_events(const void *state);

/*
 * Fills the simulator's seconds and prices; notes derived curves and lost bandwidth in `result`, if
 * not NULL.
 */
enum gw_status gw_operation_costs(struct gw_simulator *simulator, struct gw_result *result,
                                  struct gw_error *error);

/* Whether the server, and no worker, works on what the exchange brings. */
bool gw_server_aggregates(const struct gw_schedule *schedule, const struct gw_operation *operation);

/* Of other elements selected than before, by the same methods: fills their seconds again. */
void gw_operation_costs_again(struct gw_simulator *simulator);

/*
 * What workers that do not lead do meanwhile: they add to their residuals, as the cluster's sum of
 * vectors does. NULL: all do the same, or ranks share no processors, or it was not measured.
 */
static inline const struct gw_kernel_cost *gw_led_cost(const struct gw_simulator *simulator) {
    const struct gw_exchange_kind *exchange = simulator->schedule->exchange;
    bool is_led = exchange != NULL && exchange->led && simulator->interference.shares;
    return is_led
               ? gw_kernel_cost_find(&simulator->cluster->aggregation, gw_aggregator_names[GW_SUM])
               : NULL;
}

/* Fills what that takes of each operation, where it takes anything. */
void gw_led_costs(struct gw_simulator *simulator);

/* What the machine's workers that aggregate at once take of the time together; 0: each is alone. */
static inline double gw_shared_part(const struct gw_simulator *simulator) {
    return simulator->simulation.interference
               ? gw_sharing_part(&simulator->cluster->sharing, simulator->simulation.workers)
               : 0;
}

/* ---- what times hang on ---------------------------------------------------------------------- */

/* Lists them, once the prices are there; says in `result`, if not NULL, how well they are known. */
enum gw_status gw_parameters_open(struct gw_simulator *simulator, struct gw_result *result,
                                  struct gw_error *error);

/*
 * What an operation of that size takes of its time; 1 but for what deviates. `name` NULL: of a kind
 * of which there is one. `share` is how far a
 * kernel is on the way to the second density (methods/kernel_cost.h), 0 of collectives.
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
 * needs one of its processors; they are given to those that came first, of equal ones to the lower
 * worker, until they are done. While two or more compress on a machine each takes `crowding` times
 * as long: all ranks of a machine that begin at once are then done after what was measured. Where
 * one worker selects for all, that is worker 0, and the others take what a sum does.
 *
 * Where a machine has fewer processors than ranks, an exchange needs one of each machine as well,
 * for a moment, each time that it begins one of its rounds, and waits for it in the same order.
 *
 * What a worker waited for a processor its next passes make good, up to one that waits for an
 * exchange, unless passes need those processors themselves.
 */

/* Sets `shares`: whether workers compress, and those of a machine share processors, by what the
 * cluster says. */
void gw_interference_find_sharing(struct gw_simulator *simulator);

/*
 * Fails if the schedule has anything but exchanges and a server's updates on the communication
 * stream, or those elsewhere. Notes in `result` (may be NULL) which factors were taken from
 * elsewhere, and of which operations that run at once none were measured: these slow nothing.
 */
enum gw_status gw_interference_open(struct gw_simulator *simulator, struct gw_result *result,
                                    struct gw_error *error);

/* Other elements selected than before: fills factors and crowding again. */
void gw_interference_again(struct gw_simulator *simulator);

/* ---- what lanes spend an iteration on, in seconds -------------------------------------------- */

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

/* Once all lanes are done: adds to what they idled what their exchanges have left at the end. */
void gw_tally_measure(struct gw_tally *tally, const struct gw_simulator *simulator,
                      struct gw_measure *out);

/* Sets other_s to what the other parts leave of the iteration, but for the rounding of sums. */
void gw_measure_other(struct gw_measure *measure);

static inline double gw_later(double a, double b) {
    return a > b ? a : b;
}

/* 0 s stay 0 s also where the factor is infinite. */
static inline double gw_stretched(double seconds, double factor) {
    return factor > 0 ? seconds * factor : 0;
}

/* ---- timelines ------------------------------------------------------------------------------- */

/* Where a repetition's spans go, moved by `start_s`; remembers the first error. */
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
