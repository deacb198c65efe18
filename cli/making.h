/*
 * Options by which models and clusters are made: of `model make`, `cluster make`, and of `advise`
 * and `report`, which ask about what is made or read.
 */
#ifndef GW_CLI_MAKING_H
#define GW_CLI_MAKING_H

#include "cli/options.h"
#include "published/published.h"
#include "study/advice.h"

/* --gpu, --precision, --batch, --backward, --forward: for struct gw_model_request. */
extern const struct gw_option gw_model_making_table[];

/* --nodes, --gpus-per-node, --network, --intra: for struct gw_cluster_request. */
extern const struct gw_option gw_cluster_making_table[];

/* A network on a cluster, each made or read. */
struct gw_asking_options {
    const char *model, *cluster;
    double density, price;
    enum gw_interference_rule interference;
    size_t micro_batches; /* of an iteration; 0: not given, 1 */
    struct gw_model_request made_model;
    struct gw_cluster_request made_cluster;
};
extern const struct gw_option gw_asking_table[];

/* In the rules of verbs with that table; messages name its options. */
#define GW_ASKING_RULES                                                                            \
    {NULL, GW_NEEDS, "NETWORK", "expected a NETWORK, such as resnet50 (gradweave list networks)"}, \
        {"batch", GW_NEEDS, "gpu backward",                                                        \
         "--batch: expected --gpu GPU or --backward TIME with it"},                                \
        {"precision", GW_NEEDS, "gpu", "--precision: expected --gpu GPU with it"},                 \
        {NULL, GW_NEEDS, "cluster nodes",                                                          \
         "expected --nodes N --network LINK, or --cluster CLUSTER"},                               \
        {"cluster", GW_EXCLUDES, "nodes network intra gpus-per-node cards",                        \
         "--cluster: expected no option by which clusters are made with it"},                      \
        {"forward", GW_NEEDS, "backward", "--forward: expected --backward with it"}, {             \
        "nodes", GW_NEEDS, "gpu",                                                                  \
            "--nodes: expected --gpu GPU with it, by whose memory compression is assumed"          \
    }

/* Makes or reads both, and advises: gw_advice_free, then gw_question_close, once it is done. */
enum gw_status gw_asking_open(const struct gw_asking_options *options, struct gw_question *question,
                              struct gw_advice *advice, struct gw_error *error);

#endif
