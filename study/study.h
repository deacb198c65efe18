/* From a question - a model on a cluster - to its answer: plans, predictions, rankings. */
#ifndef GW_STUDY_STUDY_H
#define GW_STUDY_STUDY_H

#include "core/core.h"
#include "goal/goal.h"
#include "kernels/kernels.h"
#include "methods/costs.h"
#include "methods/methods.h"
#include "methods/schedule.h"
#include "planner/planner.h"
#include "sim/sim.h"
#include "traces/traces.h"

/* ---- the question ---------------------------------------------------------------------------- */

/* Whether operations of a worker, and workers of a machine, that are at work at once slow each
 * other in predictions. */
enum gw_interference_rule {
    GW_INTERFERENCE_KNOWN,   /* as far as the cluster's file says how much */
    GW_INTERFERENCE_NONE,    /* they do not */
    GW_INTERFERENCE_REQUIRED /* as the file says, and one that says nothing of it is refused */
};

/* What a user asks about. */
struct gw_question {
    struct gw_model model;
    struct gw_cluster cluster;
    size_t workers;
    double density;
    double bandwidth; /* of collectives' bytes, a factor of what was measured; startups stay */
    double straggler; /* a factor on the compute times of worker 0, in sweeps; 1: none */
    double noise;     /* of the logarithm of each compute time the standard deviation, in sweeps */
    enum gw_interference_rule interference;
};

enum { GW_MOST_MICRO_BATCHES = 4096 }; /* of an iteration */

/* How it is asked. */
struct gw_question_options {
    const char *model, *cluster; /* names or paths */
    double density;              /* 0: not given, the usual one */
    size_t workers;              /* 0: not given, as many as the cluster has */
    enum gw_interference_rule interference;
    size_t micro_batches; /* of an iteration; 0: not given, 1 */
};

/* Reads a model, by its name or path. */
enum gw_status gw_model_open(const char *name, struct gw_model *out, struct gw_error *error);

/* Reads a cluster, by its name or path. */
enum gw_status gw_cluster_open(const char *name, struct gw_cluster *out, struct gw_error *error);

/*
 * Asks about a model on a cluster, both of which it takes. As many workers as the cluster has,
 * density GW_USUAL_DENSITY.
 */
struct gw_question gw_question_of(struct gw_model model, struct gw_cluster cluster);

/* Whether predictions count it. */
bool gw_question_counts_interference(const struct gw_question *question);

/* Refuses a cluster that says nothing of what the choice requires. */
enum gw_status gw_interference_check(enum gw_interference_rule interference,
                                     const struct gw_cluster *cluster, struct gw_error *error);

/* Asks about both, which it takes, even if it fails. */
enum gw_status gw_question_ask(const struct gw_question_options *options, struct gw_model model,
                               struct gw_cluster cluster, struct gw_question *out,
                               struct gw_error *error);

/* Reads the model and the cluster, and asks about them. */
enum gw_status gw_question_open(const struct gw_question_options *options, struct gw_question *out,
                                struct gw_error *error);
/* A plan brings its own density and workers; options that were given overrule them. */
enum gw_status gw_question_read_plan(const char *path, struct gw_question_options *options,
                                     struct gw_plan *plan, struct gw_error *error);
void gw_question_close(struct gw_question *question);

/* ---- the network ----------------------------------------------------------------------------- */

/* By which algorithms messages carry out collectives. */
enum { GW_MOST_CHOICES = 16 };
struct gw_choices {
    size_t count;
    struct gw_collective_choice each[GW_MOST_CHOICES];
};

/* At which level exchanges are simulated, and the network that messages see. */
struct gw_network_options {
    enum gw_network_level level;
    struct gw_choices choices;
    const char *loggp;                         /* NULL: the cluster's */
    size_t workers_per_node, nodes_per_switch; /* 0: the cluster's */
    double oversubscription;                   /* 0: the cluster's */
};

/* Fails if there is no such collective, or no such algorithm for it. */
enum gw_status gw_choices_check(const struct gw_choices *choices, struct gw_error *error);

/*
 * "L=2500,o=1500,g=1000,O=0,G=6,S=65535": nanoseconds, nanoseconds per byte and bytes, in any
 * order; what is not given is 0, and S without limit.
 */
struct gw_loggp_text {
    double L, o, g, O, G, S;
};

enum gw_status gw_loggp_parse(const char *text, struct gw_loggp_text *out, struct gw_error *error);

/* The parameters for a GOAL schedule, whose times are whole numbers but for those per byte. */
enum gw_status gw_loggp_for_goal(const struct gw_loggp_text *text, struct gw_loggops *out,
                                 struct gw_error *error);

/* Changes the question's cluster as the options say; refuses what there is not. */
enum gw_status gw_network_apply(const struct gw_network_options *options,
                                struct gw_question *question, struct gw_error *error);

/* Has the simulation see the network that the options, which live longer, say. */
void gw_network_simulate(const struct gw_network_options *options, struct gw_simulation *out);

/* ---- plans ----------------------------------------------------------------------------------- */

/* Makes plans for a question, compressed and exchanged in one way; stays where it is. */
struct gw_planning {
    const struct gw_question *question;
    struct gw_compressor unlisted; /* one that only the cluster's file knows */
    struct gw_costs costs;
    struct gw_optimum optimum; /* once it is found */
};

/* The exchange of that name (NULL: the compressor's own), which must carry what that leaves. */
enum gw_status gw_exchange_choose(const char *compressor, const char *name,
                                  const struct gw_exchange_kind **out, struct gw_error *error);

/* Borrows from the question; compressor "none": dense; exchange NULL: the compressor's own. */
enum gw_status gw_planning_open(const struct gw_question *question, const char *compressor,
                                const char *exchange, struct gw_planning *out,
                                struct gw_error *error);
void gw_planning_close(struct gw_planning *planning);

/* Finds the optimum, by which all plans that are made from then on are bounded. */
enum gw_status gw_planning_find_optimum(struct gw_planning *planning, struct gw_error *error);

/* A policy's plan; its notes say what was derived, and what was timed on another device. */
enum gw_status gw_planning_plan(const struct gw_planning *planning, const char *policy,
                                struct gw_plan *out, struct gw_error *error);

/* A policy with its number as `--policy` takes it: "omgs", "threshold:8192". Returns `out`. */
enum { GW_POLICY_TEXT_SIZE = 64 };
const char *gw_policy_text(const struct gw_policy *policy, uint64_t argument,
                           char out[GW_POLICY_TEXT_SIZE]);

/* Plans, the best first, each bounded by the optimum; zero-initialise. */
struct gw_plans {
    size_t count;
    struct gw_plan *plans;
    /* [count]: their iterations with what slows operations that run at once, which plans and their
     * bound leave out; NULL: the question counts nothing of it, or no
     * pipeline has the compressor. */
    double *interfered_s;
    struct gw_arena arena;
};

/* By one policy, or by "all", each with its default argument; gw_plans_free in any case. */
enum gw_status gw_plans_make(const struct gw_question *question, const char *compressor,
                             const char *exchange, const char *policy, struct gw_plans *out,
                             struct gw_error *error);
void gw_plans_free(struct gw_plans *plans);

/* Why a plan takes as long as it does: what each stream does for its groups, and who waits. */
struct gw_explanation {
    const struct gw_question *question;
    const struct gw_plan *plan;
    struct gw_group_times *groups; /* [plan->group_count] */
    double comm_s;                 /* of all exchanges */
    double exposed_comm_s;         /* after the last compression */
    double update_s;               /* after the last exchange */
    /*
     * The group from which on the network does not pause: the iteration lasts as long as the
     * compute until it is compressed, its exchange and those after it, and the update.
     */
    size_t critical_group;
    enum gw_stream bottleneck; /* the stream that has the larger part of that */
};

/*
 * Explains a plan for the question, exchanged as `exchange` says (NULL: as its compressor's own).
 * Borrows both; its groups are in the arena.
 */
enum gw_status gw_explain(const struct gw_question *question, const struct gw_plan *plan,
                          const char *exchange, struct gw_arena *arena, struct gw_explanation *out,
                          struct gw_error *error);

/* Who waits before the exchange of group g: at most one of these is above zero. */
double gw_explanation_gradients_wait_s(const struct gw_explanation *explanation, size_t g);
double gw_explanation_network_wait_s(const struct gw_explanation *explanation, size_t g);

/* Adds an iteration with the spans of both streams to a timeline of one lane. */
enum gw_status gw_explanation_timeline(const struct gw_explanation *explanation,
                                       struct gw_timeline *timeline, struct gw_error *error);

/* ---- predictions ----------------------------------------------------------------------------- */

/* An algorithm with its plan and its schedule. */
struct gw_pipeline {
    const struct gw_algorithm *algorithm;
    const struct gw_plan *plan; /* the given one, or its own */
    struct gw_plan own;
    struct gw_schedule schedule;
};

/* With the plan `given`, which lives longer, or (NULL) one by the algorithm's policy. */
enum gw_status gw_pipeline_open(const struct gw_question *question,
                                const struct gw_algorithm *algorithm, const struct gw_plan *given,
                                struct gw_pipeline *out, struct gw_error *error);
void gw_pipeline_close(struct gw_pipeline *pipeline);

/* Gives a result the algorithm's name, and the choices in which that differs from the preset. */
void gw_result_name(struct gw_result *result, const struct gw_algorithm *algorithm);

/* A result for the pipeline, without any iteration yet. */
struct gw_result gw_pipeline_result(const struct gw_question *question,
                                    const struct gw_pipeline *pipeline);

/* Factors of some workers or nodes, by their numbers. */
enum { GW_MOST_FACTORS = 64 };
struct gw_numbered_factors {
    size_t count;
    struct {
        size_t number;
        double factor;
    } each[GW_MOST_FACTORS];
};

/* What makes a simulated cluster heterogeneous, and how its repetitions are drawn. */
struct gw_heterogeneity {
    const char *noise, *network_noise;     /* as gw_noise_read takes it; NULL: none */
    struct gw_numbered_factors stragglers; /* workers: on their compute times */
    struct gw_numbered_factors bandwidths; /* nodes: on their bandwidth */
    double background;                     /* share of every link that other traffic takes */
    uint64_t seed;
    size_t threads;
};

/* A simulation of the question's cluster that is so; what it holds is the arena's. */
enum gw_status gw_heterogeneity_simulation(const struct gw_heterogeneity *heterogeneity,
                                           const struct gw_question *question,
                                           struct gw_arena *arena, struct gw_simulation *out,
                                           struct gw_error *error);

/* Where numbers of selected elements come from, of compressors where they depend on gradients. */
struct gw_counts_source {
    const char *name;                 /* "asked", "trained" or a file; NULL: as asked */
    const char *out;                  /* file to keep trained counts in, or NULL */
    const struct gw_counts *recorded; /* in place of `name`, or NULL */
    /* To train on, in place of `name`, or NULL; a file may hold some, too. */
    const struct gw_recorded_gradients *gradients;
};

/* Fails unless they are of the question's model, and stand for as many workers. */
enum gw_status gw_recorded_gradients_check(const struct gw_recorded_gradients *recorded,
                                           const struct gw_question *question,
                                           struct gw_error *error);

/* How an iteration is predicted; all 0: a single one on a quiet cluster, counts as asked. */
struct gw_prediction_options {
    struct gw_simulation simulation; /* its workers and interference are the question's */
    size_t iterations;               /* 0 is as 1 */
    struct gw_counts_source counts;
    bool interval; /* also where it is in 95% of cases: iteration_low_s, iteration_high_s */
};

/*
 * Warns where the algorithm compresses, and that was timed on one kind of device, computing on
 * another.
 */
void gw_note_devices(const struct gw_question *question, const struct gw_algorithm *algorithm,
                     struct gw_result *result);

/*
 * Simulates iterations of the pipeline, whose schedule then has the last one's counts; `trace` (or
 * NULL) gets their timeline, and is the caller's.
 */
enum gw_status gw_pipeline_predict(const struct gw_question *question, struct gw_pipeline *pipeline,
                                   const struct gw_prediction_options *options,
                                   struct gw_timeline *trace, struct gw_result *out,
                                   struct gw_error *error);

/* The same of an algorithm with a plan by its own policy. */
enum gw_status gw_predict(const struct gw_question *question, const struct gw_algorithm *algorithm,
                          const struct gw_prediction_options *options, struct gw_result *out,
                          struct gw_error *error);

/*
 * What no curve accounts for, in 95% of cases, relative to the iteration: found on ResNet-50 and
 * VGG-16 and judged on other models (docs/results/validation.md).
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
 * Finds where a prediction is in 95% of cases: simulates again with each of its curves at the ends
 * of what is known of it, and adds what they change as independent errors add, with what no curve
 * accounts for. No interval where nothing is known of any, or where nobody knows how far off one
 * is. `slowed` simulates the same with what the prediction leaves out of how operations that run at
 * once slow each other (NULL: nothing): the longer end counts it, as the uncertainty
 * GW_LEFT_OUT.
 */
enum gw_status gw_interval_find(struct gw_simulator *simulator, const struct gw_simulator *slowed,
                                size_t iterations, struct gw_result *result,
                                struct gw_error *error);

/* Gives the schedule's compressions the durations that the cluster's curve says, for execution that
 * waits so long. */
enum gw_status gw_pipeline_time_compression(const struct gw_question *question,
                                            struct gw_pipeline *pipeline, struct gw_error *error);

/* Fails unless the file has counts of this pipeline. */
enum gw_status gw_pipeline_check_counts(const struct gw_question *question,
                                        const struct gw_pipeline *pipeline, const char *path,
                                        struct gw_error *error);

/* The algorithms in `text`, "all" or names with commas between, each once; the arena's. */
enum gw_status gw_algorithms_parse(const char *text, struct gw_arena *arena,
                                   const struct gw_algorithm ***out, size_t *count,
                                   struct gw_error *error);

/* The compressors in `text`, "all" or names with commas between, each once; then NULL. */
enum gw_status gw_compressors_parse(const char *text, const struct gw_compressor **out,
                                    struct gw_error *error);

/* ---- training to a goal ---------------------------------------------------------------------- */

/* Fails unless all algorithms in the file are known. */
enum gw_status gw_accuracy_check(const struct gw_accuracy *accuracy, struct gw_error *error);

/* How long a pipeline trains until a network has learnt as much as was asked for. */
struct gw_to_goal {
    const struct gw_trainings *trainings; /* of the pipeline; NULL: nothing was recorded */
    double seconds;                       /* INFINITY: never; NAN: not known */
    double low_s, high_s; /* where it is by the iteration's interval and the range of trainings;
                             high_s INFINITY: some never did; 0: not worked out */
};

/*
 * By trainings with as many workers, or the nearest number of them, at the question's density;
 * `notes` gets what differs. Pipelines that compress nothing stand for each other.
 */
void gw_to_goal_find(const struct gw_accuracy *accuracy, const struct gw_question *question,
                     const struct gw_result *result, struct gw_to_goal *out,
                     struct gw_result *notes);

/* Whether the first is known to be faster: what is not known comes last. */
bool gw_to_goal_is_before(const struct gw_to_goal *a, const struct gw_to_goal *b);

/* ---- comparing pipelines --------------------------------------------------------------------- */

/* Pipelines that are compared on a question. */
struct gw_comparison {
    const struct gw_question *question;
    const struct gw_algorithm *const *algorithms;
    size_t count;
    struct gw_choice_changes changes; /* of all of them */
    bool intervals;                   /* predictions also say where they are in 95% of cases */
    /* Counts that depend on gradients are trained, means over GW_COMPARISON_TRAINED iterations; on
     * these in place of generated ones, unless NULL. */
    bool trained;
    const struct gw_recorded_gradients *gradients;
    const struct gw_accuracy *accuracy; /* ranks by the time to its goal; NULL: by an iteration */
    char note[GW_RESULT_NOTE_SIZE];     /* on the question, for the reader; "": none */
};
enum { GW_COMPARISON_TRAINED = 100 };

/* Times that differ by less than this share of them count as equal. */
#define GW_COMPARE_SAME 1e-9

/* What became of a pipeline. */
struct gw_prediction {
    enum gw_status status; /* GW_BAD_INPUT: it cannot be predicted */
    struct gw_result result;
    struct gw_error why;
};

/* Predicts all [count], on all cores. Fails only where a pipeline is not to blame. */
enum gw_status gw_comparison_predict(const struct gw_comparison *comparison,
                                     struct gw_prediction *predictions, struct gw_error *error);

/* An iteration without any exchange or compression: what scaling is measured by. */
double gw_comparison_alone_s(const struct gw_comparison *comparison);

/* Whether it depends on gradients how much a pipeline selects, with the comparison's changes. */
bool gw_comparison_depends_on_data(const struct gw_comparison *comparison, const char *algorithm);

/* A pipeline that cannot be predicted. */
struct gw_infeasible {
    const char *algorithm;
    struct gw_error why;
};

struct gw_ranking {
    const struct gw_comparison *comparison;
    size_t count;
    struct gw_result *results;  /* the fastest first; of equals, as they were asked for */
    struct gw_to_goal *to_goal; /* [count], by which it is ranked; NULL: by an iteration */
    size_t equal_count;         /* results that are as fast as the first; it is one of them */
    size_t rival_count;         /* others that cannot be told apart from the first */
    size_t infeasible_count;
    struct gw_infeasible *infeasible; /* as they were asked for */
    struct gw_result notes;           /* on all of it; nothing else of this is set */
    struct gw_arena arena;            /* of all of this */
};

/* Predicts and ranks; fails, with a reason, if none can be predicted. gw_ranking_free in any case.
 */
enum gw_status gw_rank(const struct gw_comparison *comparison, struct gw_ranking *out,
                       struct gw_error *error);
void gw_ranking_free(struct gw_ranking *ranking);

/*
 * Whether a result that is predicted to be slower than the first may be as fast, in 95% of cases:
 * what is not known of a curve that both hang on is wrong for both by the same.
 */
bool gw_results_meet(const struct gw_result *first, const struct gw_result *second);

/*
 * Where the first's time over the second's is in 95% of cases; NAN where nobody knows. A curve that
 * both hang on is off for both by the same.
 */
void gw_results_ratio(const struct gw_result *first, const struct gw_result *second, double *low,
                      double *high);

/* The same of trainings, both of which come to the goal in the median. */
bool gw_trainings_meet(const struct gw_result *first, const struct gw_trainings *of_first,
                       const struct gw_result *second, const struct gw_trainings *of_second);

/* By what it is ranked: of an iteration, or of a training to its goal. */
double gw_ranking_seconds(const struct gw_ranking *ranking, size_t place);

/* Whether the result in that place is not the first, or as fast, and can't be told apart from it.
 */
bool gw_ranking_is_rival(const struct gw_ranking *ranking, size_t place);

/* ---- GOAL schedules -------------------------------------------------------------------------- */

/* When the ranks of a schedule finish, and under which parameters. */
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

/* One iteration of a pipeline as a schedule: what is asked, and what it was exported for. */
struct gw_goal_export {
    struct gw_question *question; /* gets the network's parameters */
    const char *algorithm, *path;
    struct gw_choice_changes changes;
    struct gw_network_options network;
    char loggp[GW_EXPORT_LOGGP_SIZE];
    struct gw_result notes;
};
enum gw_status gw_goal_export(struct gw_goal_export *export, struct gw_error *error);

/* ---- comparing predictions with measurements ------------------------------------------------- */

/* A pipeline that is predicted and measured. */
struct gw_validation_pair {
    struct gw_pipeline pipeline;
    struct gw_result predicted, measured;
    size_t warm_up, iterations; /* that are measured, and those before */
    double error;               /* (predicted - measured) / measured */
    /* Where counts depend on gradients: */
    bool counts_depend_on_data;
    struct gw_warmed_up warmed_up;
    struct gw_counts recorded;              /* of the measured iterations */
    uint64_t *extents;                      /* [groups], of the last of them */
    const struct gw_difference *difference; /* study/difference.h; NULL: it is not explained */
};

/* The GPUs on which was measured. */
struct gw_validation_device {
    const char *gpu;
    const char *transport; /* "nccl" or "mpi" */
    const char *compute;   /* "wait" or "gemm" */
    const char *cublas;    /* its version, of "gemm" */
    size_t ranks_on_one;   /* the most that share a GPU */
};

/* What was measured beside pipelines, and nobody predicts. */
struct gw_unpredicted {
    const char *name;
    double iteration_s;
    struct gw_spread spread; /* of its iterations; all 0: not known */
};

struct gw_validation {
    struct gw_question question;
    struct gw_noise noise;           /* recorded, by which predictions have their spread; or none */
    size_t warm_up, iterations;      /* before and measured, of each pipeline at most */
    double time_s;                   /* of each pipeline, by its prediction; 0: no limit */
    uint64_t seed;                   /* of the gradients */
    bool timed_compression;          /* in the measurements */
    const char *counts;              /* of predictions: "recorded", "asked", "trained" or a file */
    const char *counts_out;          /* file to keep recorded counts in, or NULL */
    double tolerance;                /* largest error that is allowed; INFINITY: any */
    struct gw_algorithm *algorithms; /* with changed choices, of all that were asked for */
    size_t count;
    struct gw_validation_pair *pairs;
    size_t infeasible_count;
    struct gw_infeasible *infeasible; /* those of all algorithms that cannot be run */
    size_t unpredicted_count;
    struct gw_unpredicted *unpredicted;
    const struct gw_validation_device *device; /* NULL: processors */
    char **doubts; /* why predictions may be about another cluster than measurements */
    size_t doubt_count;
};

/* Refuses sources and files of counts that do not go with what was asked for. */
enum gw_status gw_validation_check_counts(const struct gw_validation *validation,
                                          struct gw_error *error);

/* Prepares to record counts; safe to close in any case. */
enum gw_status gw_validation_pair_open_counts(const struct gw_validation *validation,
                                              struct gw_validation_pair *pair,
                                              struct gw_error *error);
void gw_validation_pair_close_counts(struct gw_validation_pair *pair);

/* Of the measured iterations together: selected elements to those asked for. */
double gw_validation_pair_selected_ratio(const struct gw_validation_pair *pair);

/*
 * Predicts an iteration with counts as asked; compressions that are timed waiting get their
 * durations.
 */
enum gw_status gw_validation_predict(const struct gw_validation *validation,
                                     struct gw_validation_pair *pair, struct gw_error *error);

/* Once it is predicted: at least two iterations that are measured, if so many are asked for, and
 * one before them; of more as many as there is time for, half as long before them. */
void gw_validation_choose_iterations(const struct gw_validation *validation,
                                     struct gw_validation_pair *pair);

/*
 * Once all is measured: predicts again where counts are others than asked for, finds the errors,
 * and writes recorded counts.
 */
enum gw_status gw_validation_compare(struct gw_validation *validation, struct gw_error *error);

/* Collectives and compressors that the pairs hang on, each once, ended by NULL; the arena's. */
enum gw_status gw_validation_costs(const struct gw_validation *validation, struct gw_arena *arena,
                                   const char *const **out, struct gw_error *error);

/* The pair of that algorithm, which must be one of those that are run. */
enum gw_status gw_validation_find_pair(const struct gw_validation *validation,
                                       const char *algorithm, struct gw_validation_pair **out,
                                       struct gw_error *error);

/*
 * After that: finds where the error of a pair comes from, which `measured` has the timeline of, and
 * writes the iteration that is shown, as predicted and as measured, to the file `trace` (or NULL).
 * The difference is in the arena.
 */
enum gw_status gw_validation_explain(const struct gw_validation *validation,
                                     struct gw_validation_pair *pair,
                                     const struct gw_timeline *measured, struct gw_arena *arena,
                                     const char *trace, struct gw_error *error);

/* Of the errors' magnitudes. */
double gw_validation_largest_error(const struct gw_validation *validation);
double gw_validation_mean_error(const struct gw_validation *validation);

#endif
