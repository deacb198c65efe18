/*
 * What calibration measures: the transport's collectives and messages, and compressors; private to
 * this room.
 */
#ifndef GW_CALIBRATE_SUBJECTS_H
#define GW_CALIBRATE_SUBJECTS_H

#include "calibrate/curves.h"

/* Each adds its curves to the cluster; `report` is for all of them together. */
enum gw_status gw_calibrate_collectives(struct gw_communicator *communicator,
                                        const struct gw_calibration *calibration,
                                        const struct gw_report *report, struct gw_cluster *cluster,
                                        struct gw_error *error);

enum gw_status gw_calibrate_compressors(struct gw_communicator *communicator,
                                        const struct gw_calibration *calibration,
                                        const struct gw_report *report, struct gw_cluster *cluster,
                                        struct gw_error *error);

/* LogGP parameters, of one pair of ranks within a node and one between nodes, as far as there are.
 */
enum gw_status gw_calibrate_network(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error);

/* The next part of `length` bytes of a buffer that is used round and round. */
static inline size_t gw_next_part(size_t *position, size_t length, size_t capacity) {
    if (*position + length > capacity) {
        *position = 0;
    }
    size_t part = *position;
    *position += length;
    return part;
}

/* "source" of the cluster: hosts, CPU, GPUs, MPI, date, command; sets its workers_per_node. */
enum gw_status gw_put_provenance(struct gw_communicator *communicator,
                                 const struct gw_calibration *calibration,
                                 struct gw_cluster *cluster, struct gw_error *error);

#endif
