/*
 * Clusters, and models, from what others' programs have measured: nccl-tests, the OSU
 * micro-benchmarks, NCCL's inspector in a job of the user's own, and perftest.
 *
 *     gw_cluster_create(&cluster, name, 0, 0, error);
 *     gw_import_nccl_tests("all_reduce-8.txt", 0, &cluster, error);
 *     gw_import_osu("osu_allgather-8.txt", 8, &cluster, error);
 *     gw_import_finish(&cluster, error);
 *
 * Times come in seconds, sizes in the bytes that one worker contributes. A collective that several
 * files, or several rows of one, measured among as many workers gets one curve of all their sizes;
 * a size that was measured more than once takes the mean, and an interval from least to most. Two
 * that were measured under other settings (layout, type, operation, version, ...) are bad input; so
 * is a row that does not look as these programs print it, and the cluster is then only to be freed.
 * A run that says nothing of any exchange is passed over (gw_import_passed_over). Whatever
 * launchers, containers and mail put before each line is taken off.
 */
#ifndef GW_TRACES_IMPORTS_H
#define GW_TRACES_IMPORTS_H

#include "traces/cluster.h"

/*
 * What a test of nccl-tests printed, in any version since 2.0, or wrote with --output_file (JSON);
 * of text also several runs one after another. Which test it was is in the text ("all_reduce_perf",
 * as later versions print it and as a logged command has it), or else in the file's name. Where the
 * text lists no ranks there were `workers` (0: not said).
 */
enum gw_status gw_import_nccl_tests(const char *path, size_t workers, struct gw_cluster *cluster,
                                    struct gw_error *error);

/*
 * What an OSU latency benchmark printed, or several one after another, which do not say how many
 * ranks took part: `workers`. osu_latency is always between two, and alone does not need it (0).
 */
enum gw_status gw_import_osu(const char *path, size_t workers, struct gw_cluster *cluster,
                             struct gw_error *error);

/* Files of one kind, such as one of each rank. */
struct gw_import_paths {
    size_t count;
    const char *const *list;
};

/*
 * What the inspector, NCCL's profiler plugin, logged in a job: a file of each rank. A call of a
 * collective takes as long as it took the rank that came last, which is the shortest time of all
 * ranks; a size takes the median of its calls. Calls that some rank's files lack are left out, and
 * so are those that were not timed on the GPU. `communicator` is the id or the name of the one to
 * be read; NULL: all, which have different numbers of ranks then.
 */
enum gw_status gw_import_inspector(const struct gw_import_paths *paths, const char *communicator,
                                   struct gw_cluster *cluster, struct gw_error *error);

/*
 * Bytes a second that a link carries one way, by perftest's ib_write_bw, ib_read_bw or ib_send_bw:
 * the fastest of the averages of messages of 32 KiB or more. No cluster by itself (see
 * gw_cluster_make, published.h).
 */
enum gw_status gw_import_perftest(const char *path, double *bytes_per_s, struct gw_error *error);

/* A model of which sizes are known, and how long its passes take in all. */
struct gw_sizes_request {
    const char *name;
    double backward_s, forward_s; /* forward_s 0: half of the backward pass */
    double batch_size;            /* 0: not said */
};

/*
 * A document of gradweave/model@1, the caller's, of a list of parameters in forward order: a line
 * with the name and the shape of each, such as "conv1.weight 64 3 7 7". Its `uncertainty` is of how
 * the backward pass is shared out. Buffers, frozen ones, a total, and names that come again are
 * left out; "notes" of its source say so, and which weights may be tied.
 */
enum gw_status gw_import_sizes(const char *path, const struct gw_sizes_request *request,
                               cJSON **out, struct gw_error *error);

/* Why a part of the files was not imported, from index 0 on; NULL: there are no more. */
const char *gw_import_passed_over(const struct gw_cluster *cluster, size_t index);

/* Names the files in the cluster's source, which is there. */
enum gw_status gw_import_name_files(struct gw_cluster *cluster, const struct gw_import_paths *paths,
                                    struct gw_error *error);

/*
 * After the last file. Fails if nothing was imported, or a curve has one size alone. A row far
 * above larger ones is taken for a disturbance and left out, others are raised to what is before
 * them. Where nobody measured an allgather or an allgatherv, allgathers are assumed from
 * allreduces; where nobody measured an allgatherv alone, it gets the curves of the allgather. The
 * cluster's "source" gets its kind and the files, and "growth" is kept where a collective was
 * measured with several numbers of workers. The cluster has the largest of these at least;
 * workers_per_node, if it is 0, is that of the files, or 1 where none says on which hosts its ranks
 * ran.
 */
enum gw_status gw_import_finish(struct gw_cluster *cluster, struct gw_error *error);

#endif
