/* "overlap" as it stands in a cluster file; private to this room. */
#ifndef GW_TRACES_OVERLAP_JSON_H
#define GW_TRACES_OVERLAP_JSON_H

#include "traces/cluster.h"

/* Reads the cluster's overlap factors, if its file has any. */
enum gw_status gw_overlap_read(const struct gw_json *root, struct gw_cluster *cluster,
                               struct gw_error *error);

/* Puts the cluster's overlap factors, if it has any, into the document of its file. */
enum gw_status gw_overlap_put(const struct gw_cluster *cluster, cJSON *document,
                              struct gw_error *error);

#endif
