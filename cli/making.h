/*
 * Options for making models and clusters, shared by `model make`, `cluster make` and verbs that ask
 * about made or read ones.
 */
#ifndef GW_CLI_MAKING_H
#define GW_CLI_MAKING_H

#include "cli/options.h"
#include "published/published.h"
#include "study/advice.h"
#include "study/axes.h"

/* --gpu, --precision, --batch, --backward, --forward: for struct gw_model_request. */
extern const struct gw_option gw_model_making_table[];

/* --nodes, --gpus-per-node, --intra, --cards, --network: for struct gw_cluster_request. */
extern const struct gw_option gw_cluster_making_table[];

/* Requests for the parts of a scenario that are made instead of read. */
struct gw_making_options {
    struct gw_model_request model;
    struct gw_cluster_request cluster; /* its `gpu` is the model's */
    const struct gw_cluster *made;     /* of these, for gw_make_for_grid; NULL: none is made */
};

/* Initial value: options decide whether a model or cluster is made. */
#define GW_MAKING_NOTHING                                                                          \
    { .model.precision = GW_PRECISIONS }

/* MODEL, a file or a network to make; for struct gw_scenario_options. */
extern const struct gw_option gw_any_model_table[];

/* The options above without --network, and with it. */
extern const struct gw_option gw_making_but_network_table[], gw_making_table[];

/* Rules for verbs with one of these tables; `network`: " network" if it only names a link. */
#define GW_MAKING_RULES(network)                                                                   \
    {"batch", GW_NEEDS, "gpu backward", "--batch: expected --gpu GPU or --backward TIME with it"}, \
        {"precision", GW_NEEDS, "gpu", "--precision: expected --gpu GPU with it"},                 \
        {"cluster", GW_EXCLUDES, "nodes intra gpus-per-node cards" network,                        \
         "--cluster: expected without --nodes and other options that make a cluster"},             \
        {"forward", GW_NEEDS, "backward", "--forward: expected --backward with it"}, {             \
        "nodes", GW_NEEDS, "gpu",                                                                  \
            "--nodes: expected --gpu GPU with it, whose memory sets the assumed costs of "         \
            "compression"                                                                          \
    }

/*
 * Makes or reads a model and a cluster: makes a model if `asked` names a network and `made` has a
 * GPU or a time, and a cluster if `asked` names none.
 */
enum gw_status gw_scenario_make(const struct gw_scenario_options *asked,
                                const struct gw_making_options *made, struct gw_scenario *out,
                                struct gw_error *error);

/* Makes a document by `context`, a struct gw_making_options; for gw_grid_request. */
enum gw_status gw_make_for_grid(const void *context, enum gw_axis axis, const char *name,
                                cJSON **out, struct gw_error *error);

/* Reads the cluster, or makes it if `name` is NULL. */
enum gw_status gw_cluster_open_or_make(const struct gw_making_options *made, const char *name,
                                       struct gw_cluster *out, struct gw_error *error);

/* ---- advice ---------------------------------------------------------------------------------- */

/* Measures by which pipelines are ranked. */
enum gw_ranked_by { GW_BY_LEARNING, GW_BY_ITERATION, GW_GOALS };
extern const char *const gw_goal_names[];

struct gw_goal_options {
    enum gw_ranked_by goal;
    const char *learning; /* file or folder of trainings; NULL: those that ship */
};
extern const struct gw_option gw_learning_table[]; /* --learning */

struct gw_asking_options {
    struct gw_scenario_options scenario;
    struct gw_making_options made;
    double price;
    struct gw_goal_options goal;
};
extern const struct gw_option gw_asking_table[];

/* Rules for verbs with that table. */
#define GW_ASKING_RULES                                                                            \
    {NULL, GW_NEEDS, "NETWORK", "expected a NETWORK, such as resnet50 (gradweave list networks)"}, \
        {NULL, GW_NEEDS, "cluster nodes",                                                          \
         "expected --nodes N --network LINK, or --cluster CLUSTER"},                               \
        GW_MAKING_RULES(" network")

/* Makes or reads both, and advises. The caller ends with gw_advice_free, then gw_scenario_close. */
enum gw_status gw_asking_open(const struct gw_asking_options *options, struct gw_scenario *scenario,
                              struct gw_advice *advice, struct gw_error *error);

#endif
