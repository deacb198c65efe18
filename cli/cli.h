/* What the verbs share: options, inputs, the way from a question to a prediction, tables. */
#ifndef GW_CLI_CLI_H
#define GW_CLI_CLI_H

#include <argp.h>

#include "collectives/collectives.h"
#include "core/core.h"
#include "kernels/kernels.h"
#include "methods/algorithms.h"
#include "methods/exchange_cost.h"
#include "planner/planner.h"
#include "sim/sim.h"
#include "traces/traces.h"

/* ---- verbs --------------------------------------------------------------------------------- */

/* Each verb is one file; run() returns the exit status. */
struct gw_verb {
    const char *name;
    const char *title;
    int (*run)(int argc, char **argv);
};

extern const struct gw_verb gw_verb_calibrate;
extern const struct gw_verb gw_verb_plan;
extern const struct gw_verb gw_verb_simulate;
extern const struct gw_verb gw_verb_compare;
extern const struct gw_verb gw_verb_sweep;
extern const struct gw_verb gw_verb_validate;
extern const struct gw_verb gw_verb_list;
extern const struct gw_verb gw_verb_plot;
extern const struct gw_verb gw_verb_bench;
extern const struct gw_verb gw_verb_export;

/* Prints the message on stderr and returns the exit status that it stands for. */
int gw_cli_fail(const struct gw_error *error);

/* Parses as "gradweave VERB"; wrong usage ends the program with status 2. */
void gw_cli_parse(const struct argp *argp, const char *verb, int argc, char **argv, void *input);

/* ---- options that several verbs have ------------------------------------------------------- */

/* --json, --quiet, --verbose: for every verb. */
struct gw_output_options {
    bool json;
};
extern const struct argp gw_output_argp; /* its input: struct gw_output_options */

/* MODEL, --cluster, --density, --workers: for the verbs that ask about a model on a cluster. */
struct gw_question_options {
    const char *model, *cluster;
    double density; /* 0: not given, 0.001 */
    size_t workers; /* 0: not given, as many as the cluster has */
    bool partial;   /* set by a verb that looks itself whether MODEL and --cluster are there */
    const char **several_workers; /* set by a verb that reads itself what --workers says */
};
extern const struct argp gw_question_argp; /* its input: struct gw_question_options */

/* A question's options and the output's, in this order: the children of a verb without others. */
extern const struct argp_child gw_question_children[];

/* --policy, --compressor, --exchange: for verbs that ask about algorithms. */
extern const struct argp gw_changes_argp; /* its input: struct gw_choice_changes */

/* What makes a simulated cluster uneven, and how its repetitions are drawn: for simulate. */
enum { GW_MOST_FACTORS = 64 };
struct gw_numbered_factors {
    size_t count;
    struct {
        size_t number; /* of a worker or a node */
        double factor;
    } each[GW_MOST_FACTORS];
};
struct gw_uneven_options {
    const char *noise, *network_noise; /* NULL: none */
    struct gw_numbered_factors stragglers, bandwidths;
    double background;
    uint64_t seed;
    size_t threads;
};
extern const struct argp gw_uneven_argp; /* its input: struct gw_uneven_options */

/* By which algorithms messages carry out collectives. */
enum { GW_MOST_CHOICES = 16 };
struct gw_choices {
    size_t count;
    struct gw_collective_choice each[GW_MOST_CHOICES];
};
extern const struct argp gw_choices_argp; /* its input: struct gw_choices */

/* At which level exchanges are simulated, and the network that messages see. */
struct gw_network_options {
    enum gw_network_level level;
    struct gw_choices choices;
    const char *loggp;                         /* NULL: the cluster's */
    size_t workers_per_node, nodes_per_switch; /* 0: the cluster's */
    double oversubscription;                   /* 0: the cluster's */
};
extern const struct argp gw_network_argp; /* its input: struct gw_network_options */

/* The value of an option, or the end of the program with a message that says what is expected. */
double gw_parse_positive(const char *text, const char *option, double maximum,
                         struct argp_state *state);
double gw_parse_not_negative(const char *text, const char *option, struct argp_state *state);
size_t gw_parse_count(const char *text, const char *option, struct argp_state *state);
uint64_t gw_parse_seed(const char *text, struct argp_state *state);

/* The compressors in `text`, "all" or names with commas between, each once; then NULL. */
enum { GW_MOST_COMPRESSORS = 64 };
enum gw_status gw_compressors_parse(const char *text, const struct gw_compressor **out,
                                    struct gw_error *error);

/* The shape of a gradient by its name. */
enum gw_status gw_shape_parse(const char *name, enum gw_shape *out, struct gw_error *error);

/*
 * A gradient of one tensor, by the name of its shape: an iteration of what a seed gives. Its norm
 * is about 1, for which ExDyna's first threshold is made.
 */
enum gw_status gw_draw_gradient(const char *shape, size_t elements, uint64_t seed,
                                uint32_t iteration, float *out, struct gw_error *error);

/* ---- from a question to an answer ---------------------------------------------------------- */

/* What a user asks about. */
struct gw_question {
    struct gw_model model;
    struct gw_cluster cluster;
    size_t workers;
    double density;
};

enum gw_status gw_question_open(const struct gw_question_options *options, struct gw_question *out,
                                struct gw_error *error);
void gw_question_close(struct gw_question *question);

/* The question's cluster made as uneven as the options say; reads samples of noise. */
enum gw_status gw_uneven_open(const struct gw_uneven_options *options,
                              const struct gw_question *question, struct gw_simulation *out,
                              struct gw_error *error);
void gw_uneven_close(struct gw_simulation *simulation);

/* Fails if there is no such collective, or no such algorithm for it. */
enum gw_status gw_choices_check(const struct gw_choices *choices, struct gw_error *error);

/* Changes the question's cluster as the options say; refuses what there is not. */
enum gw_status gw_network_apply(const struct gw_network_options *options,
                                struct gw_question *question, struct gw_error *error);

/* What plans for a question are made with. Its planning points into it: it stays where it is. */
struct gw_costs {
    const struct gw_question *question;
    struct gw_planning planning;
    struct gw_planning_legs legs;
    struct gw_optimum optimum; /* once it is found */
    struct gw_exchange_cost exchange;
};

/* The exchange of that name (NULL: the compressor's own), which must carry what that leaves. */
enum gw_status gw_exchange_choose(const char *compressor, const char *name,
                                  const struct gw_exchange_kind **out, struct gw_error *error);

/* Borrows from the question; compressor "none": dense; exchange NULL: the compressor's own. */
enum gw_status gw_costs_open(const struct gw_question *question, const char *compressor,
                             const char *exchange, struct gw_costs *out, struct gw_error *error);
void gw_costs_close(struct gw_costs *costs);

/* Finds the optimum, by which all plans made with the costs from then on are bounded. */
enum gw_status gw_costs_find_optimum(struct gw_costs *costs, struct gw_error *error);

/* A policy's plan; its notes say what was derived. */
enum gw_status gw_costs_plan(const struct gw_costs *costs, const char *policy, struct gw_plan *out,
                             struct gw_error *error);

/* A policy with its number as `--policy` takes it: "omgs", "threshold:8192". Returns `out`. */
enum { GW_POLICY_TEXT_SIZE = 64 };
const char *gw_policy_text(const struct gw_policy *policy, uint64_t argument,
                           char out[GW_POLICY_TEXT_SIZE]);

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

/* Simulates `iterations`; `trace` (or NULL) gets their timeline, and is the caller's. */
enum gw_status gw_pipeline_predict(const struct gw_question *question,
                                   const struct gw_pipeline *pipeline,
                                   const struct gw_simulation *simulation, size_t iterations,
                                   struct gw_timeline *trace, struct gw_result *out,
                                   struct gw_error *error);

/*
 * The result of an algorithm with its own plan, one iteration, all workers alike, with or without
 * the interference of what runs at once.
 */
enum gw_status gw_predict(const struct gw_question *question, const struct gw_algorithm *algorithm,
                          bool interference, struct gw_result *out, struct gw_error *error);

/* The algorithms in `text`, "all" or names with commas between, then NULL; the caller's. */
enum gw_status gw_algorithms_parse(const char *text, const struct gw_algorithm ***out,
                                   size_t *count, struct gw_error *error);

/* ---- printing ------------------------------------------------------------------------------ */

/* Prints a document on stdout and frees it. */
enum gw_status gw_print_document(cJSON *document, struct gw_error *error);

/* The same of a document that was filled with that status; otherwise frees it and fails so too. */
enum gw_status gw_print_filled(cJSON *document, enum gw_status filled, struct gw_error *error);

/*
 * A table with aligned columns, whose cells are added row by row. `alignment`, which lives longer,
 * has a character for each column: 'l' or 'r'.
 */
struct gw_table;
struct gw_table *gw_table_open(const char *const *headings, const char *alignment);
void gw_table_cell(struct gw_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void gw_table_print_and_close(struct gw_table *table);
void gw_table_close(struct gw_table *table);

/* "resnet50, 16 workers, density 0.001, cluster p102-1gbe-16" */
void gw_print_heading(const struct gw_question *question);

/* " with policy optimal, compressor dgc"; "" where nothing was changed. Returns `out`. */
enum { GW_CHANGES_SIZE = 128 };
const char *gw_changes_text(const struct gw_choice_changes *changes, char out[GW_CHANGES_SIZE]);
const char *gw_result_changes_text(const struct gw_result *result, char out[GW_CHANGES_SIZE]);

void gw_print_notes(const char *const *notes, size_t count);
void gw_print_result_notes(const struct gw_result *result);

/* Whether they differ in nothing but their numbers. */
bool gw_notes_are_alike(const char *a, const char *b);

/* Adds a result's notes to those of `all`, each once. */
void gw_collect_notes(struct gw_result *all, const struct gw_result *result);

#endif
