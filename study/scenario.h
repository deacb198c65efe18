/* A scenario: a model on a cluster, and the network between its workers. */
#ifndef GW_STUDY_SCENARIO_H
#define GW_STUDY_SCENARIO_H

#include "core/core.h"
#include "goal/goal.h"
#include "methods/costs.h"
#include "sim/sim.h"
#include "traces/traces.h"

/* ---- the scenario -----------------------------------------------------------------------------
 */

/* A model, a cluster and perhaps a plan that were read or made for a scenario. */
struct gw_scenario_inputs {
    struct gw_model model;
    struct gw_cluster cluster;
    struct gw_plan plan;
};

enum { GW_MAX_MICRO_BATCHES = 4096 }; /* of an iteration */

/* A plan file, and what is asked for with it. */
struct gw_plan_options {
    const char *path;      /* NULL: none */
    const char *algorithm; /* NULL: not given */
    const struct gw_choice_changes *changes;
    bool beside; /* given algorithms stand beside a mixed plan, with their own density */
};

/* Options of a scenario. */
struct gw_scenario_options {
    const char *model, *cluster; /* names or paths */
    double density;              /* 0: not given, the usual one */
    size_t workers;              /* 0: not given, as many as the cluster has */
    enum gw_interference_rule interference;
    size_t micro_batches; /* of an iteration; 0: not given, 1 */
    struct gw_plan_options plan;
};

/* Reads a model, by its name or path. */
enum gw_status gw_model_open(const char *name, struct gw_model *out, struct gw_error *error);

/* Reads a cluster, by its name or path. */
enum gw_status gw_cluster_open(const char *name, struct gw_cluster *out, struct gw_error *error);

/* Asks about a model on a cluster, with as many workers as that has and GW_USUAL_DENSITY. */
struct gw_scenario gw_scenario_of(const struct gw_model *model, const struct gw_cluster *cluster);

/* Whether predictions count it. */
bool gw_scenario_counts_interference(const struct gw_scenario *scenario);

/* Refuses a cluster without interference if it is required. */
enum gw_status gw_interference_check(enum gw_interference_rule interference,
                                     const struct gw_cluster *cluster, struct gw_error *error);

/*
 * Asks about both, which become the scenario's inputs, or are freed if it fails. A plan is read; it
 * brings its density and workers, where none are given. A mixed plan, which says how each group
 * travels, takes no algorithm, changed choice or density; another plan needs an algorithm.
 */
enum gw_status gw_scenario_ask(const struct gw_scenario_options *options, struct gw_model model,
                               struct gw_cluster cluster, struct gw_scenario *out,
                               struct gw_error *error);

/* Reads the model and the cluster, and asks about them. */
enum gw_status gw_scenario_open(const struct gw_scenario_options *options, struct gw_scenario *out,
                                struct gw_error *error);

void gw_scenario_close(struct gw_scenario *scenario);

/* ---- the network ------------------------------------------------------------------------------
 */

/* Algorithms by which messages carry out collectives. */
enum { GW_MAX_CHOICES = 16 };
struct gw_choices {
    size_t count;
    struct gw_collective_choice each[GW_MAX_CHOICES];
};

/* At which level exchanges are simulated, and the network that messages see. */
struct gw_network_options {
    enum gw_network_level level;
    struct gw_choices choices;
    const char *loggp;                         /* NULL: the cluster's */
    size_t workers_per_node, nodes_per_switch; /* 0: the cluster's */
    double oversubscription;                   /* 0: the cluster's */
};

/*
 * "L=2500,o=1500,g=1000,O=0,G=6,S=65535": nanoseconds, nanoseconds per byte and bytes, in any
 * order; missing ones are 0, and S without limit.
 */
struct gw_loggp_text {
    double L, o, g, O, G, S;
};

enum gw_status gw_loggp_parse(const char *text, struct gw_loggp_text *out, struct gw_error *error);

/* The parameters for a GOAL schedule, whose times are whole numbers but for those per byte. */
enum gw_status gw_loggp_for_goal(const struct gw_loggp_text *text, struct gw_loggops *out,
                                 struct gw_error *error);

/* Changes the cluster of the scenario's inputs as the options say; refuses unknown collectives and
 * algorithms, and options that only messages use without these. */
enum gw_status gw_network_apply(const struct gw_network_options *options,
                                struct gw_scenario *scenario, struct gw_error *error);

/* Has the simulation see the network that the options, which live longer, say. */
void gw_network_simulate(const struct gw_network_options *options, struct gw_simulation *out);

#endif
