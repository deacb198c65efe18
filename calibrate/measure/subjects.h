/*
 * What calibration measures: the transport's collectives and messages, and compressors; private to
 * this room.
 */
#ifndef GW_CALIBRATE_SUBJECTS_H
#define GW_CALIBRATE_SUBJECTS_H

#include "calibrate/measure/points.h"
#include "calibrate/measure/report.h"
#include "calibrate/measure/worker_counts.h"

/* Adds the collectives asked for, for each number of workers. They need `*out`, until it is closed.
 */
struct gw_collective_series;
enum gw_status gw_collective_series_open(struct gw_worker_counts *counts,
                                         const struct gw_calibration *calibration,
                                         struct gw_series_list *list,
                                         struct gw_collective_series **out, struct gw_error *error);
void gw_collective_series_close(struct gw_collective_series *exchanges);

/*
 * Adds the compressors asked for, on all ranks at once, as exec runs them: on CPUs, or on each
 * rank's GPU, where the time is the GPU's (gpu_timer.h).
 */
struct gw_compressor_series;
enum gw_status gw_compressor_series_open(struct gw_communicator *communicator,
                                         const struct gw_calibration *calibration,
                                         struct gw_series_list *list,
                                         struct gw_compressor_series **out, struct gw_error *error);
void gw_compressor_series_close(struct gw_compressor_series *compressions);

/* LogGP parameters, of one pair of ranks within a node and one between nodes, as far as there are.
 */
enum gw_status gw_calibrate_network(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error);

/* How much compression and collectives that run at once slow each other. */
enum gw_status gw_calibrate_overlap(struct gw_communicator *communicator,
                                    const struct gw_calibration *calibration,
                                    const struct gw_report *report, struct gw_cluster *cluster,
                                    struct gw_error *error);

/*
 * Compares the hosts and the links between them, within 2 s, and puts what is doubtful into
 * "warnings" of the cluster's source, and what was found into "speeds" and "links".
 */
enum gw_status gw_calibrate_hosts(struct gw_communicator *communicator,
                                  const struct gw_calibration *calibration,
                                  const struct gw_report *report, struct gw_cluster *cluster,
                                  struct gw_error *error);

/*
 * "source" of the cluster: date, command, versions, hosts and what they are made of, where ranks
 * may run, and the environment; sets its workers_per_node.
 */
enum gw_status gw_put_provenance(struct gw_communicator *communicator,
                                 const struct gw_calibration *calibration,
                                 struct gw_cluster *cluster, struct gw_error *error);

#endif
