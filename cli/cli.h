/* What the verbs share: options, and what they ask for. */
#ifndef GW_CLI_CLI_H
#define GW_CLI_CLI_H

#include <argp.h>

#include "collectives/collectives.h"
#include "core/core.h"
#include "kernels/kernels.h"
#include "methods/algorithms.h"
#include "planner/planner.h"
#include "report/report.h"
#include "sim/sim.h"
#include "study/study.h"
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

/* ---- what the options ask for --------------------------------------------------------------- */

/* The question that the options ask; gw_question_close frees it. */
enum gw_status gw_question_open(const struct gw_question_options *options, struct gw_question *out,
                                struct gw_error *error);

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

#endif
