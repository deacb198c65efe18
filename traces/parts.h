/* What several documents have, or one that several files read; private to this room. */
#ifndef GW_TRACES_PARTS_H
#define GW_TRACES_PARTS_H

#include "traces/cluster.h"

/* "density", in (0, 1], and "workers", at least 1: of plans and counts (plan.c). */
enum gw_status gw_read_density_and_workers(const struct gw_json *root, double *density,
                                           size_t *workers, struct gw_error *error);

/* ---- "network" and "overlap" as they stand in a cluster file -------------------------------- */

/*
 * Reads the cluster's network, if its file has one. "within" may be absent where each node has one
 * worker, "between" where there is one node: each is then as the other.
 */
enum gw_status gw_network_read(const struct gw_json *root, struct gw_cluster *cluster,
                               struct gw_error *error);

/* Reads the cluster's overlap factors, if its file has any. */
enum gw_status gw_overlap_read(const struct gw_json *root, struct gw_cluster *cluster,
                               struct gw_error *error);

/* Put what the cluster has of these into the document of its file. */
void gw_network_write(const struct gw_cluster *cluster, struct gw_json_writer *writer);
void gw_overlap_write(const struct gw_cluster *cluster, struct gw_json_writer *writer);

void gw_network_free(struct gw_network *network);

#endif
