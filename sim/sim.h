/* The simulator: runs a schedule for P workers in virtual time and yields a timeline. */
#ifndef GW_SIM_SIM_H
#define GW_SIM_SIM_H

#include "core/core.h"
#include "methods/costs.h"
#include "methods/schedule.h"
#include "traces/traces.h"

/*
 * Ways to time exchanges: by the cluster's measured curves, or by their messages, which queue for
 * links with the LogGP parameters of the cluster's network.
 */
enum gw_network_level { GW_LEVEL_CURVES, GW_LEVEL_MESSAGES };

/* A collective and the algorithm that carries it out: "allreduce", "halving-doubling". */
struct gw_collective_choice {
    const char *operation, *name;
};

/* Settings of a simulation. All 0 but workers: a quiet cluster of equals. Borrows pointers. */
struct gw_simulation {
    size_t workers;
    const double *slowdown; /* per worker: factor on compute times (2: half as fast); NULL: all 1 */
    /*
     * Per node (gw_cluster_nodes): factor on its bandwidth (0.5: half of it); NULL: all 1.
     * `background`: share of every link that other traffic takes, from 0 to less than 1. Messages
     * are slowed link by link; by curves an exchange goes at the pace of its slowest node: its time
     * above the startup is divided by the smallest factor and by 1 - background.
     */
    const double *bandwidth;
    double background;
    struct gw_noise compute_noise; /* on each compute time of each worker */
    struct gw_noise network_noise; /* on each message, or on each exchange as a whole */
    enum gw_network_level level;
    bool margins; /* how well measured curves are known is looked up: gw_simulator_parameters */
    /*
     * Whether operations of both streams that run at once slow each other, by the cluster's overlap
     * factors (traces/cluster.h); by curves only.
     */
    bool interference;
    bool timed_compression; /* compression only waits: it slows no exchange and takes no turns */
    bool timed_passes;      /* the same of forward, backward and update */
    /* Assumed slowdowns of an exchange and an operation beside it of which the cluster's file has
     * no factors, with interference; 0: none. */
    struct gw_slowing unmeasured;
    size_t nodes_per_switch; /* of messages, as below: 0: the cluster's */
    double oversubscription;
    size_t choice_count; /* of messages; others take the first algorithm of gw_collectives */
    const struct gw_collective_choice *choices;
    uint64_t seed;
    bool every_worker; /* a lane for every worker, even if several behave alike */
    size_t threads;    /* that share the work; 0 is as 1. No figure depends on it */
    /*
     * Numbers of selected elements, of methods whose iterations differ in them:
     * selected[(i mod selected_count) * group_count + group] in iteration i. NULL: the schedule's.
     */
    size_t selected_count;
    const struct gw_selected *selected;
};

/*
 * Whether the cluster's file has overlap factors, or times of compression by several ranks of a
 * machine at once.
 */
bool gw_cluster_interferes(const struct gw_cluster *cluster);

/* Most workers that are simulated one by one, as noise or factors make them differ. */
enum { GW_MAX_LANES = 1 << 24 };

/* Refuses more workers than GW_MAX_LANES. */
enum gw_status gw_simulation_check_lanes(size_t workers, struct gw_error *error);

struct gw_simulator;

/*
 * Finds the times of the schedule's operations by costs of as many workers: an array of those of
 * each of its ways, or of a schedule without ways the only ones, with a leg for each of its
 * collectives. Workers that behave alike share a lane; in messages, all of them or none. Notes
 * about derived curves go to `result` (may be NULL). Schedule and costs must live longer.
 */
enum gw_status gw_simulator_open(struct gw_simulator **out, const struct gw_schedule *schedule,
                                 const struct gw_costs *costs,
                                 const struct gw_simulation *simulation, struct gw_result *result,
                                 struct gw_error *error);

/* A timeline with the simulator's lanes. */
enum gw_status gw_simulator_timeline(const struct gw_simulator *simulator, struct gw_timeline *out,
                                     struct gw_error *error);

/*
 * Runs independent repetitions of the iteration, number 0 to iterations-1, and measures each. Their
 * timelines are appended to `timeline` (or NULL) one after another; then a single thread works.
 * Noise of a repetition follows from the seed and its number. O(operations * lanes) time each; per
 * thread or, where there are many lanes, in all O(lanes) memory besides the timeline.
 */
enum gw_status gw_simulator_run(const struct gw_simulator *simulator, size_t iterations,
                                struct gw_timeline *timeline, struct gw_measure *measures,
                                struct gw_error *error);

/*
 * Writes the schedule as GOAL: a rank for each worker and server, calculations in nanoseconds on
 * processor 0, messages on processor 1, an exchange's number as their tag. Without noise. Where one
 * processor waits for the other, a byte from the rank to itself carries the time over. `loggp` are
 * the parameters that it is for, between nodes, which the file names as well: under them it takes
 * what messages take, where all ranks are alike; where they are not, `notes` gets one. The
 * simulator's level is that of messages.
 */
enum { GW_EXPORT_LOGGP_SIZE = 128 };
enum gw_status gw_simulator_export_goal(const struct gw_simulator *simulator, const char *path,
                                        char loggp[GW_EXPORT_LOGGP_SIZE], struct gw_result *notes,
                                        struct gw_error *error);

/*
 * Factor by which compression may take longer than simulated, because workers of a machine take
 * turns on its processors; 1: they do not, or the simulation counts turns.
 */
double gw_simulator_turns_left_out(const struct gw_simulator *simulator);

/*
 * Whether the cluster's file has factors of all that the schedule can run at once, and they are
 * counted. Exchanges beside passes of which it has none are left out.
 */
bool gw_simulator_counts_overlap(const struct gw_simulator *simulator);

void gw_simulator_close(struct gw_simulator *simulator);

/* ---- uncertain parameters -------------------------------------------------------------------- */

/*
 * Uncertain inputs of predicted times: curves of a cluster's file, a model's times, and the time
 * that its passes take longer among workers.
 */
enum gw_parameter_kind {
    GW_COLLECTIVE_CURVE,
    GW_COMPRESSOR_CURVE,
    GW_AGGREGATOR_CURVE,
    GW_MODEL_TIMES,
    GW_PASSES /* forward and backward among workers, which only take longer than alone */
};

/* Names, in results, of those that are no curves. */
#define GW_MODEL_TIMES_NAME "compute times"
#define GW_PASSES_NAME "passes beside exchanges"

enum { GW_MAX_MARGINS = GW_COLLECTIVE_MAX_PARTS > 2 ? GW_COLLECTIVE_MAX_PARTS : 2 };

struct gw_parameter {
    enum gw_parameter_kind kind;
    const char *name; /* lives as long as the schedule and the cluster */
    bool derived;     /* from other numbers of workers */
    double law;       /* then gw_cluster_uncertainty, NAN where that is not known */
    /* Margins of a collective's parts, or of the curves that it was derived from; of a kernel's
     * curves, one for each density. */
    size_t margin_count;
    const struct gw_margins *margins[GW_MAX_MARGINS]; /* the cluster's */
    const struct gw_collective_part *parts;           /* of a collective, [margin_count] */
    double smallest, largest;                         /* sizes that the schedule has */
    double relative; /* half of a 95% interval, the largest of the sizes that the schedule has */
};

/*
 * Lists the uncertain parameters of a simulation by curves: derived curves and, with `margins`,
 * curves measured with repeats, but no overlap factors. The simulator owns the list.
 */
const struct gw_parameter *gw_simulator_parameters(const struct gw_simulator *simulator,
                                                   size_t *count);

/*
 * Multiplies times that depend on the parameter (NULL: none) by (1 + margin) ^ deviation from now
 * on, with the margin of each operation's own size: -1 and 1 are the ends of its interval. Passes
 * are never shorter than alone.
 */
void gw_simulator_deviate(struct gw_simulator *simulator, const struct gw_parameter *parameter,
                          double deviation);

#endif
