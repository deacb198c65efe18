/* "network" as it stands in a cluster file; private to this room. */
#ifndef GW_TRACES_NETWORK_JSON_H
#define GW_TRACES_NETWORK_JSON_H

#include "traces/cluster.h"

/*
 * Reads the cluster's network, if its file has one. "within" may be absent where each node has one
 * worker, "between" where there is one node: each is then as the other.
 */
enum gw_status gw_network_read(const struct gw_json *root, struct gw_cluster *cluster,
                               struct gw_error *error);

/* Puts the cluster's network, if it has one, into the document of its file. */
enum gw_status gw_network_put(const struct gw_cluster *cluster, cJSON *document,
                              struct gw_error *error);

void gw_network_free(struct gw_network *network);

#endif
