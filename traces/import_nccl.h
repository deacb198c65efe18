/* What the text and the JSON of nccl-tests have in common; private to this room. */
#ifndef GW_TRACES_IMPORT_NCCL_H
#define GW_TRACES_IMPORT_NCCL_H

#include "traces/import_parts.h"

/*
 * The size is that of a rank's longest buffer: where ranks bring blocks together or share them out,
 * of all blocks (`is_total`), of which each rank contributes one.
 */
struct gw_nccl_test {
    const char *name;
    const char *collective; /* NULL: no exchange has use for it */
    bool is_total;
};

/* Those that have a collective, in words. */
extern const char *const gw_nccl_supported;

/* What a line names as its program is, "all_reduce_perf"; NULL: none. */
const struct gw_nccl_test *gw_nccl_find_program(const char *line);

/* What a file is named after, "AllReduce-8.txt"; NULL: nothing. */
const struct gw_nccl_test *gw_nccl_find_in_name(const char *path);

/* A test among ranks, and what it measured. */
struct gw_nccl_run {
    const struct gw_nccl_test *test; /* NULL: not known yet */
    size_t ranks, ranks_of_first;    /* all, and those on the first one's host */
    int group;                       /* of the first rank */
    char host[256];
    struct gw_import_table table;
};

/* Threads of a process, and GPUs of a thread: from 1 to so many. */
enum { GW_NCCL_MOST_IN_PROCESS = 1024 };
bool gw_nccl_is_process(size_t threads, size_t gpus);

/* So many ranks of a host, from `rank` on. NULL, or what would have been right. */
const char *gw_nccl_add_ranks(struct gw_nccl_run *run, size_t rank, size_t ranks, int group,
                              const char *host);

/* Once the test and all its ranks are known. */
void gw_nccl_begin_table(struct gw_nccl_run *run);

/*
 * Whether bytes are the size of so many elements, the part of one rank: they are not where the test
 * is another one, or ranks are missing. Of types that are not known it is believed.
 */
bool gw_nccl_is_size_of(const struct gw_nccl_run *run, double bytes, double elements,
                        const char *type);

enum gw_status gw_nccl_add_row(struct gw_nccl_run *run, double bytes, double time_us,
                               struct gw_error *error);

/* Reads the whole file as JSON, and adds what it has to the cluster. */
enum gw_status gw_nccl_read_json(const struct gw_import_text *text, struct gw_nccl_run *run,
                                 struct gw_cluster *cluster, struct gw_error *error);

#endif
