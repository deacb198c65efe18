/* Predictions: a pipeline on a cluster, and how long an iteration of it takes. */
#ifndef GW_STUDY_PREDICT_H
#define GW_STUDY_PREDICT_H

#include "goal/goal.h"
#include "kernels/kernels.h"
#include "methods/schedule.h"
#include "study/learning.h"
#include "study/plans.h"
#include "study/scenario.h"

/* ---- predictions ------------------------------------------------------------------------------
 */

/* A scenario and its method, with their costs, a plan and a schedule. */
struct gw_pipeline {
    struct gw_scenario scenario;
    struct gw_costs *costs;     /* of each of the schedule's ways, once they are open */
    const struct gw_plan *plan; /* the given one, or its own */
    struct gw_plan own;
    struct gw_schedule schedule;
};

/* Opens a pipeline with the plan `given`, which lives longer, or (NULL) one by the algorithm's
 * policy. */
enum gw_status gw_pipeline_open(const struct gw_scenario *scenario,
                                const struct gw_algorithm *algorithm, const struct gw_plan *given,
                                struct gw_pipeline *out, struct gw_error *error);
void gw_pipeline_close(struct gw_pipeline *pipeline);

/* Opens the pipeline's costs, unless they are: it planned by them, or was simulated. `messages`:
 * they need no curves of collectives. */
enum gw_status gw_pipeline_open_costs(bool messages, struct gw_pipeline *pipeline,
                                      struct gw_error *error);

/* Gives a result the algorithm's name, and the choices in which that differs from the preset. */
void gw_result_name(struct gw_result *result, const struct gw_algorithm *algorithm);

/* A result for the pipeline, without any iteration yet. */
struct gw_result gw_pipeline_result(const struct gw_pipeline *pipeline);

/* Factors of some workers or nodes, by their numbers. */
enum { GW_MAX_FACTORS = 64 };
struct gw_numbered_factors {
    size_t count;
    struct {
        size_t number;
        double factor;
    } each[GW_MAX_FACTORS];
};

/* Noise and factors of a heterogeneous cluster; seed and threads of repetitions. */
struct gw_heterogeneity {
    const char *noise, *network_noise;     /* as gw_noise_read takes it; NULL: none */
    struct gw_numbered_factors stragglers; /* workers: on their compute times */
    struct gw_numbered_factors bandwidths; /* nodes: on their bandwidth */
    double background;                     /* share of every link that other traffic takes */
    uint64_t seed;
    size_t threads;
};

/* Makes a simulation of the scenario's cluster with them; its lists are in the arena. */
enum gw_status gw_heterogeneity_simulation(const struct gw_heterogeneity *heterogeneity,
                                           const struct gw_scenario *scenario,
                                           struct gw_arena *arena, struct gw_simulation *out,
                                           struct gw_error *error);

/* Source of numbers of selected elements, for compressors that select depending on gradients. */
struct gw_counts_source {
    const char *name;                 /* "asked", "trained" or a file; NULL: as planned */
    const char *out;                  /* file to keep trained counts in, or NULL */
    const struct gw_counts *recorded; /* in place of `name`, or NULL */
    /* Gradients to train on, in place of `name`, or NULL; the file `name` may hold some, too. */
    const struct gw_recorded_gradients *gradients;
};

/* Fails unless they are of the scenario's model, and stand for as many workers. */
enum gw_status gw_recorded_gradients_check(const struct gw_recorded_gradients *recorded,
                                           const struct gw_scenario *scenario,
                                           struct gw_error *error);

/* How an iteration is predicted; all 0: a single one on a quiet cluster, counts as planned. */
struct gw_prediction_options {
    struct gw_simulation simulation; /* its workers and interference are the scenario's */
    size_t iterations;               /* 0 is as 1 */
    struct gw_counts_source counts;
    bool interval; /* also finds its 95% interval: iteration_low_s, iteration_high_s */
};

/*
 * Warns if the algorithm compresses, and compression was timed on another kind of device than
 * computing.
 */
void gw_note_devices(const struct gw_scenario *scenario, const struct gw_algorithm *algorithm,
                     struct gw_result *result);

/*
 * Simulates iterations of the pipeline, whose schedule then has the last one's counts; `trace` (or
 * NULL) gets their timeline, and is the caller's.
 */
enum gw_status gw_pipeline_predict(struct gw_pipeline *pipeline,
                                   const struct gw_prediction_options *options,
                                   struct gw_timeline *trace, struct gw_result *out,
                                   struct gw_error *error);

/* The same of an algorithm with a plan by its own policy. */
enum gw_status gw_predict(const struct gw_scenario *scenario, const struct gw_algorithm *algorithm,
                          const struct gw_prediction_options *options, struct gw_result *out,
                          struct gw_error *error);

/*
 * Model error that no curve covers, half of a 95% interval relative to the iteration: found on
 * ResNet-50 and VGG-16 and judged on other models (docs/results/validation.md).
 */
#define GW_UNEXPLAINED 0.004

/* Name, in results, of interference that a prediction leaves out. */
#define GW_LEFT_OUT "interference"

/* Whether the iteration may take longer by an uncertainty of its result, and not less. */
bool gw_uncertainty_only_lengthens(const struct gw_result_uncertainty *uncertainty);

/* The command that measures it, as the cluster was measured. */
const char *gw_uncertainty_command(const struct gw_result_uncertainty *uncertainty,
                                   const struct gw_cluster *cluster);

/*
 * Finds the 95% interval of a prediction: simulates again with each of its curves at the ends of
 * the curve's interval, and adds the changes and GW_UNEXPLAINED as independent errors. No interval
 * without any uncertainty, or with an unknown one. `slowed` is the same simulation with the
 * interference that the prediction leaves out (NULL: none): the upper end includes it, as the
 * uncertainty GW_LEFT_OUT.
 */
enum gw_status gw_interval_find(struct gw_simulator *simulator, const struct gw_simulator *slowed,
                                size_t iterations, struct gw_result *result,
                                struct gw_error *error);

/* Gives the schedule's compressions the durations that the cluster's curve says, for execution that
 * waits so long. */
enum gw_status gw_pipeline_time_compression(struct gw_pipeline *pipeline, struct gw_error *error);

/* Fails unless the file has counts of this pipeline. */
enum gw_status gw_pipeline_check_counts(const struct gw_pipeline *pipeline, const char *path,
                                        struct gw_error *error);

/* The algorithms in `text`, "all" or names with commas between, each once; the arena's. */
enum gw_status gw_algorithms_parse(const char *text, struct gw_arena *arena,
                                   const struct gw_algorithm ***out, size_t *count,
                                   struct gw_error *error);

/* The compressors in `text`, "all" or names with commas between, each once; then NULL. */
enum gw_status gw_compressors_parse(const char *text, const struct gw_compressor **out,
                                    struct gw_error *error);

/* ---- training to a goal -----------------------------------------------------------------------
 */

/* Fails unless all algorithms in the file are known, or PyTorch's hooks. */
enum gw_status gw_accuracy_check(const struct gw_accuracy *accuracy, struct gw_error *error);

/* Time in which a pipeline trains a network to its goal. */
struct gw_to_goal {
    const struct gw_trainings *trainings; /* of the pipeline; NULL: nothing was recorded */
    double seconds;                       /* INFINITY: never; NAN: not known */
    double low_s, high_s; /* range by the iteration's interval and the range of trainings;
                             high_s INFINITY: some never did; 0: not worked out */
};

/*
 * Finds the time by trainings with the nearest number of workers at the scenario's density; `notes`
 * gets differences from the scenario. Trainings of one dense pipeline serve for all of them.
 */
void gw_to_goal_find(const struct gw_accuracy *accuracy, const struct gw_scenario *scenario,
                     const struct gw_result *result, struct gw_to_goal *out,
                     struct gw_result *notes);

/* Iterations of dense exchange that set the goal where trainings are of other networks. */
enum { GW_DENSE_ITERATIONS = 1000 };

/*
 * Finds the time until a pipeline has learnt as much as GW_DENSE_ITERATIONS iterations of dense
 * exchange, by the factors of recorded trainings; runs that never did are repeated at dense_s an
 * iteration. `trainings` gets its iterations.
 */
void gw_to_goal_learn(const struct gw_learning *learning, const struct gw_scenario *scenario,
                      const struct gw_result *result, double dense_s,
                      struct gw_trainings *trainings, struct gw_to_goal *out);

/* Whether the first is known to be faster; unknown times come last. */
bool gw_to_goal_is_before(const struct gw_to_goal *a, const struct gw_to_goal *b);

/* ---- GOAL schedules ---------------------------------------------------------------------------
 */

/* End times of the ranks of a schedule, and the parameters of its run. */
struct gw_goal_answer {
    const char *path;
    struct gw_goal goal;
    struct gw_goal_result result;
    const char *loggp, *loggp_source; /* as --loggp takes them; "option", "file" or "default" */
    double read_s;                    /* that reading took */
};

/* Reads and runs a schedule; `loggp` NULL: as it names, or LogGOPSim's own. Freed in any case. */
enum gw_status gw_goal_ask(const char *path, const char *loggp, struct gw_goal_answer *out,
                           struct gw_error *error);
void gw_goal_answer_free(struct gw_goal_answer *answer);

/* Request to export one iteration of a pipeline as a GOAL schedule, and its answer. */
struct gw_goal_export {
    struct gw_scenario *scenario; /* gets the network's parameters */
    const char *algorithm, *path;
    struct gw_choice_changes changes;
    struct gw_network_options network;
    char loggp[GW_EXPORT_LOGGP_SIZE];
    struct gw_result notes;
};
enum gw_status gw_goal_export(struct gw_goal_export *export, struct gw_error *error);

#endif
