/*
 * Options by which models and clusters are made: of `model make` and `cluster make`, and of the
 * verbs that ask about what is made or read.
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

/* Parts of which a question is made where it is not read. */
struct gw_making_options {
    struct gw_model_request model;
    struct gw_cluster_request cluster; /* its `gpu` is the model's */
    const struct gw_cluster *made;     /* of these, for gw_make_for_grid; NULL: none is made */
};

/* Makes nothing unless options say so. */
#define GW_MAKING_NOTHING                                                                          \
    { .model.precision = GW_PRECISIONS }

/* MODEL, which may be made, for struct gw_question_options. */
extern const struct gw_option gw_any_model_table[];

/* All of these options but --network, and with it. */
extern const struct gw_option gw_making_but_network_table[], gw_making_table[];

/* In the rules of verbs with one of these tables; `network`: " network" where it names a link
 * alone. */
#define GW_MAKING_RULES(network)                                                                   \
    {"batch", GW_NEEDS, "gpu backward", "--batch: expected --gpu GPU or --backward TIME with it"}, \
        {"precision", GW_NEEDS, "gpu", "--precision: expected --gpu GPU with it"},                 \
        {"cluster", GW_EXCLUDES, "nodes intra gpus-per-node cards" network,                        \
         "--cluster: expected no option by which clusters are made with it"},                      \
        {"forward", GW_NEEDS, "backward", "--forward: expected --backward with it"}, {             \
        "nodes", GW_NEEDS, "gpu",                                                                  \
            "--nodes: expected --gpu GPU with it, by whose memory compression is assumed"          \
    }

/*
 * A model and a cluster, each made or read: a model is made where `asked` names a network and
 * `made` has a GPU or a time, a cluster where `asked` names none.
 */
enum gw_status gw_question_make(const struct gw_question_options *asked,
                                const struct gw_making_options *made, struct gw_question *out,
                                struct gw_error *error);

/* For gw_grid_request: documents of what is made by `context`, a struct gw_making_options. */
enum gw_status gw_make_for_grid(const void *context, enum gw_axis axis, const char *name,
                                cJSON **out, struct gw_error *error);

/* The cluster alone: read, or made where `name` is NULL. */
enum gw_status gw_cluster_open_or_make(const struct gw_making_options *made, const char *name,
                                       struct gw_cluster *out, struct gw_error *error);

/* ---- advice ---------------------------------------------------------------------------------- */

struct gw_asking_options {
    struct gw_question_options question;
    struct gw_making_options made;
    double price;
};
extern const struct gw_option gw_asking_table[];

/* In the rules of verbs with that table. */
#define GW_ASKING_RULES                                                                            \
    {NULL, GW_NEEDS, "NETWORK", "expected a NETWORK, such as resnet50 (gradweave list networks)"}, \
        {NULL, GW_NEEDS, "cluster nodes",                                                          \
         "expected --nodes N --network LINK, or --cluster CLUSTER"},                               \
        GW_MAKING_RULES(" network")

/* Makes or reads both, and advises: gw_advice_free, then gw_question_close, once it is done. */
enum gw_status gw_asking_open(const struct gw_asking_options *options, struct gw_question *question,
                              struct gw_advice *advice, struct gw_error *error);

#endif
