/* Declares the verbs and the options that they share. */
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

/* Each verb has a file of its own. */
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
extern const struct gw_verb gw_verb_check;
extern const struct gw_verb gw_verb_advise;
extern const struct gw_verb gw_verb_report;
extern const struct gw_verb gw_verb_reproduce;
extern const struct gw_verb gw_verb_cluster;
extern const struct gw_verb gw_verb_model;

/*
 * Prints the message on stderr, with the known name nearest to a misspelt one. Returns the exit
 * status.
 */
int gw_cli_fail(const struct gw_error *error);

/* ---- options that several verbs have ------------------------------------------------------- */

/* --json, --quiet, --verbose: for every verb; --strict too, for verbs that read files; and --force,
 * for those that also write them. For struct gw_output_options. */
struct gw_output_options {
    bool json;
};
extern const struct gw_option gw_output_table[], gw_reading_table[], gw_writing_table[];

/*
 * For struct gw_scenario_options of verbs that ask about a model on a cluster: --cluster,
 * --density; --workers; and these with MODEL.
 */
extern const struct gw_option gw_cluster_table[], gw_workers_table[], gw_scenario_table[];
extern const struct gw_option gw_interference_table[]; /* for an enum gw_interference_rule */
extern const struct gw_option gw_accumulate_table[];   /* --accumulate, for a size_t */

/* Rules that require one of `others`, with MODEL or "cluster" among them. */
#define GW_NEEDS_MODEL(others)                                                                     \
    { NULL, GW_NEEDS, others, "expected a MODEL: a file, or the name of one that ships" }
#define GW_NEEDS_CLUSTER(others)                                                                   \
    { NULL, GW_NEEDS, others, "expected --cluster CLUSTER: a file, or the name of one that ships" }
#define GW_NEEDS_ANY_CLUSTER(others)                                                               \
    {                                                                                              \
        NULL, GW_NEEDS, others,                                                                    \
            "expected --cluster CLUSTER: a file, or the name of one that ships; or --nodes N "     \
            "--network LINK --gpu GPU"                                                             \
    }

/* --policy, --compressor, --exchange: for verbs that ask about algorithms. */
extern const struct gw_option gw_changes_table[]; /* for struct gw_choice_changes */

/* --collective alone, and with --loggp and the other options of the message network. */
extern const struct gw_option gw_choices_table[]; /* for struct gw_choices */
extern const struct gw_option gw_network_table[]; /* for struct gw_network_options */

#endif
