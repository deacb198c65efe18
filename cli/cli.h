/* What the verbs share: options, and what they ask for. */
#ifndef GW_CLI_CLI_H
#define GW_CLI_CLI_H

#include "cli/options.h"
#include "collectives/collectives.h"
#include "core/core.h"
#include "goal/goal.h"
#include "kernels/kernels.h"
#include "methods/methods.h"
#include "methods/schedule.h"
#include "planner/planner.h"
#include "report/report.h"
#include "sim/sim.h"
#include "study/study.h"
#include "traces/traces.h"

/* ---- verbs --------------------------------------------------------------------------------- */

/* Each verb is one file. */
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
extern const struct gw_verb gw_verb_completion;

/*
 * Prints the message on stderr, with the name that was meant by a misspelt one, and returns the
 * exit status that it stands for.
 */
int gw_cli_fail(const struct gw_error *error);

/* ---- options that several verbs have ------------------------------------------------------- */

/* --json, --quiet, --verbose: for every verb. */
struct gw_output_options {
    bool json;
};
extern const struct gw_option gw_output_table[]; /* for struct gw_output_options */

/* MODEL, --cluster, --density, --workers: for the verbs that ask about a model on a cluster. */
struct gw_question_options {
    const char *model, *cluster;
    double density; /* 0: not given, 0.001 */
    size_t workers; /* 0: not given, as many as the cluster has */
};
/* For struct gw_question_options: MODEL; --cluster, --density; --workers; and all of these. */
extern const struct gw_option gw_model_table[], gw_cluster_table[], gw_workers_table[],
    gw_question_table[];

/* Rules that one of `others` be given, MODEL or "cluster" among them. */
#define GW_NEEDS_MODEL(others)                                                                     \
    { NULL, GW_NEEDS, others, "expected a MODEL: a file, or the name of one that ships" }
#define GW_NEEDS_CLUSTER(others)                                                                   \
    { NULL, GW_NEEDS, others, "expected --cluster CLUSTER: a file, or the name of one that ships" }

/* --policy, --compressor, --exchange: for verbs that ask about algorithms. */
extern const struct gw_option gw_changes_table[]; /* for struct gw_choice_changes */

/* By which algorithms messages carry out collectives. */
enum { GW_MOST_CHOICES = 16 };
struct gw_choices {
    size_t count;
    struct gw_collective_choice each[GW_MOST_CHOICES];
};
extern const struct gw_option gw_choices_table[]; /* for struct gw_choices */

/* At which level exchanges are simulated, and the network that messages see. */
struct gw_network_options {
    enum gw_network_level level;
    struct gw_choices choices;
    const char *loggp;                         /* NULL: the cluster's */
    size_t workers_per_node, nodes_per_switch; /* 0: the cluster's */
    double oversubscription;                   /* 0: the cluster's */
};
extern const struct gw_option gw_network_table[]; /* for struct gw_network_options */

/* The compressors in `text`, "all" or names with commas between, each once; then NULL. */
enum { GW_MOST_COMPRESSORS = 64 };
enum gw_status gw_compressors_parse(const char *text, const struct gw_compressor **out,
                                    struct gw_error *error);

/* ---- what the options ask for --------------------------------------------------------------- */

/* The question that the options ask; gw_question_close frees it. */
enum gw_status gw_question_open(const struct gw_question_options *options, struct gw_question *out,
                                struct gw_error *error);

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

/* The parameters for a GOAL schedule, whose times are whole numbers. */
enum gw_status gw_loggp_for_goal(const struct gw_loggp_text *text, struct gw_loggops *out,
                                 struct gw_error *error);

/* The parameters for a cluster's messages. */
struct gw_loggp gw_loggp_for_network(const struct gw_loggp_text *text);

/* Changes the question's cluster as the options say; refuses what there is not. */
enum gw_status gw_network_apply(const struct gw_network_options *options,
                                struct gw_question *question, struct gw_error *error);

#endif
