/* Options by which models and clusters are made: of `model make`, `cluster make` and `advise`. */
#ifndef GW_CLI_MAKING_H
#define GW_CLI_MAKING_H

#include "cli/options.h"
#include "published/published.h"

/* --gpu, --precision, --batch, --backward, --forward: for struct gw_model_request. */
extern const struct gw_option gw_model_making_table[];

/* --nodes, --gpus-per-node, --network, --intra: for struct gw_cluster_request. */
extern const struct gw_option gw_cluster_making_table[];

#endif
