/*
 * Clusters from what benchmarks of others have measured: nccl-tests and the OSU micro-benchmarks.
 *
 *     gw_cluster_create(&cluster, name, 0, 0, error);
 *     gw_import_nccl_tests("all_reduce-8.txt", &cluster, error);
 *     gw_import_osu("osu_allgather-8.txt", 8, &cluster, error);
 *     gw_import_finish(&cluster, error);
 *
 * Times come in seconds, sizes in the bytes that one worker contributes. A collective that several
 * files, or several rows of one, measured among as many workers gets one curve of all their sizes;
 * a size that was measured more than once takes the mean. Whatever does not look as these programs
 * print it is bad input, and the cluster is then only to be freed.
 */
#ifndef GW_TRACES_IMPORTS_H
#define GW_TRACES_IMPORTS_H

#include "traces/cluster.h"

/*
 * What a test of nccl-tests printed, in any version since 2.0, or wrote with --output_file (JSON);
 * of text also several runs one after another. Which test it was is in the text ("all_reduce_perf",
 * as later versions print it and as a logged command has it), or else in the file's name.
 */
enum gw_status gw_import_nccl_tests(const char *path, struct gw_cluster *cluster,
                                    struct gw_error *error);

/*
 * What an OSU latency benchmark printed, or several one after another, which do not say how many
 * ranks took part: `workers`. osu_latency is always between two, and alone does not need it (0).
 */
enum gw_status gw_import_osu(const char *path, size_t workers, struct gw_cluster *cluster,
                             struct gw_error *error);

/*
 * After the last file. Fails if a curve has one size alone. Where nobody measured an allgatherv, it
 * gets the curves of the allgather. The cluster's "source" gets its kind and the files, and
 * "growth" is kept where a collective was measured with several numbers of workers. The cluster has
 * the largest of these at least; workers_per_node, if it is 0, is that of the files, or 1 where
 * none says on which hosts its ranks ran.
 */
enum gw_status gw_import_finish(struct gw_cluster *cluster, struct gw_error *error);

#endif
