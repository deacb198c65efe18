/*
 * Imports clusters from measurements of other projects' programs (nccl-tests, the OSU
 * micro-benchmarks, NCCL's inspector in a job of the user's own, and perftest), and models from
 * lists of parameters.
 *
 *     gw_cluster_create(&cluster, name, 0, 0, error);
 *     gw_import_nccl_tests("all_reduce-8.txt", 0, &cluster, error);
 *     gw_import_osu("osu_allgather-8.txt", 8, &cluster, error);
 *     gw_import_finish(&cluster, error);
 *
 * Times come in seconds, sizes in the bytes that one worker contributes. A collective that several
 * files, or several rows of one, measured among as many workers gets one curve of all their sizes;
 * a size that was measured more than once takes the mean, and an interval from least to most. Two
 * tables of a curve under two settings (layout, type, operation, version, ...) are bad input; so is
 * a row that does not look as these programs print it, and the cluster is then only to be freed. A
 * run of no use to any exchange is passed over (gw_import_passed_over). Prefixes that launchers,
 * containers and mail put before lines are taken off.
 */
#ifndef GW_TRACES_IMPORTS_H
#define GW_TRACES_IMPORTS_H

#include "traces/cluster.h"

/*
 * Imports output of nccl-tests since version 2.0: text, of one run or several, or JSON that
 * --output_file wrote. The text names the test ("all_reduce_perf", printed by later versions, or in
 * a logged command), or else the file's name does. `workers` is the number of ranks of a text that
 * lists none (0: not said).
 */
enum gw_status gw_import_nccl_tests(const char *path, size_t workers, struct gw_cluster *cluster,
                                    struct gw_error *error);

/*
 * Imports output of an OSU latency benchmark, or of several one after another. They do not print
 * the number of ranks: `workers`. osu_latency is always between two, and alone does not need it
 * (0).
 */
enum gw_status gw_import_osu(const char *path, size_t workers, struct gw_cluster *cluster,
                             struct gw_error *error);

/* Files of one kind, such as one of each rank. */
struct gw_import_paths {
    size_t count;
    const char *const *list;
};

/*
 * Imports the files of all ranks of a job that NCCL's profiler plugin, the inspector, logged. A
 * call of a collective takes the time of the rank that came last, the shortest of all ranks' times;
 * a size takes the median of its calls. Calls that a rank's file lacks are left out, and so are
 * calls that were not timed on the GPU. `communicator` is the id or the name of the communicator to
 * read; NULL: all, if no two have as many ranks.
 */
enum gw_status gw_import_inspector(const struct gw_import_paths *paths, const char *communicator,
                                   struct gw_cluster *cluster, struct gw_error *error);

/*
 * Reads from output of perftest's ib_write_bw, ib_read_bw or ib_send_bw the bytes a second that a
 * link carries one way: the fastest average of messages of 32 KiB or more. gw_cluster_make
 * (published.h) makes a cluster with it.
 */
enum gw_status gw_import_perftest(const char *path, double *bytes_per_s, struct gw_error *error);

/* The passes of a model whose sizes a list has. */
struct gw_sizes_request {
    const char *name;
    double backward_s, forward_s; /* forward_s 0: half of the backward pass */
    double batch_size;            /* 0: not said */
};

/*
 * Makes a document of gradweave/model@1, the caller's to delete, from a list of parameters in
 * forward order: a line with the name and the shape of each, such as "conv1.weight 64 3 7 7".
 * `uncertainty` in it is the error of sharing out the backward pass by sizes. Buffers, frozen
 * parameters, totals and names that come again are left out. The "notes" of its source name these,
 * and weights that may be tied; behind eight notes stands how many more there were.
 */
enum gw_status gw_import_sizes(const char *path, const struct gw_sizes_request *request,
                               cJSON **out, struct gw_error *error);

/* Returns the reason why a part of the files was not imported, from index 0 on; behind 20 reasons
 * stands how many more there were. NULL: no reason is left. */
const char *gw_import_passed_over(const struct gw_cluster *cluster, size_t index);

/* Adds the files' names to the cluster's source, which must be there. */
enum gw_status gw_import_name_files(struct gw_cluster *cluster, const struct gw_import_paths *paths,
                                    struct gw_error *error);

/*
 * Makes curves of all rows, once the last file is read. A row far above larger ones counts as
 * disturbed and is left out; a row that is a little below a smaller one gets a time between those
 * that rise. A curve of one size alone is taken out. Fails if no curve is left. Without a measured
 * allgather or allgatherv, allgathers are assumed from allreduces. The cluster's "source" gets its
 * kind and the files, and "growth" is kept if a collective was measured with several numbers of
 * workers. The cluster gets the largest of these at least; workers_per_node, if it is 0, becomes
 * that of the files, or 1 if no file names its ranks' hosts.
 */
enum gw_status gw_import_finish(struct gw_cluster *cluster, struct gw_error *error);

#endif
