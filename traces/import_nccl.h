/* Declarations that the readers of nccl-tests' text and files share; private to this room. */
#ifndef GW_TRACES_IMPORT_NCCL_H
#define GW_TRACES_IMPORT_NCCL_H

#include "traces/import_parts.h"

/*
 * A test, whose sizes are those of a rank's longest buffer: what it contributes; the blocks of all
 * ranks, of which it contributes one; or blocks for all ranks, which it contributes.
 */
enum gw_nccl_buffer { GW_NCCL_OWN, GW_NCCL_BLOCK_OF_EACH, GW_NCCL_BLOCK_FOR_EACH };
struct gw_nccl_test {
    const char *name;
    const char *collective; /* NULL: no exchange has use for it */
    enum gw_nccl_buffer buffer;
};

/* Returns how many times a rank's contribution a size is. */
static inline double gw_nccl_parts(const struct gw_nccl_test *test, size_t ranks) {
    return test->buffer == GW_NCCL_BLOCK_OF_EACH ? (double)ranks : 1;
}

/* Names of the tests that have a collective, for messages. */
extern const char *const gw_nccl_supported;

/* Finds the test whose program a line names, "all_reduce_perf"; NULL: none. */
const struct gw_nccl_test *gw_nccl_find_program(const char *line);

/* Finds the test that a file is named after, "AllReduce-8.txt"; NULL: none. */
const struct gw_nccl_test *gw_nccl_find_in_name(const char *path);

/* ---- runs (import_nccl_runs.c) --------------------------------------------------------------- */

/* A test among ranks, and the times that it measured. */
struct gw_nccl_run {
    const struct gw_nccl_test *test; /* NULL: not known yet */
    size_t ranks;
    int group;                    /* of the first rank */
    struct gw_import_names hosts; /* in the order of their first ranks */
    size_t *host_ranks;           /* [hosts.count], owned */
    size_t host_capacity;
    struct gw_import_table table;
    size_t others;  /* rows that have another type or operation than the first one */
    char other[64]; /* type and operation of the first of these */
};

void gw_nccl_free_run(struct gw_nccl_run *run);

/* Tells whether a word begins with a variable of NCCL that may change times: "NCCL_ALGO=Ring". */
bool gw_nccl_is_variable(const char *word);

/* Forgets test, ranks and settings, for those of the next run. */
void gw_nccl_begin_run(struct gw_nccl_run *run);

/* Threads of a process, and GPUs of a thread: from 1 to so many. */
enum { GW_NCCL_MAX_IN_PROCESS = 1024 };
bool gw_nccl_is_process(size_t threads, size_t gpus);

/* Keeps with the run how its ranks share processes. */
void gw_nccl_put_processes(struct gw_nccl_run *run, size_t threads, size_t gpus);

/* Adds so many ranks of a host, from `rank` on. *expected: NULL, or a message of the right ones. */
enum gw_status gw_nccl_add_ranks(struct gw_nccl_run *run, size_t rank, size_t ranks, int group,
                                 const char *host, const char **expected, struct gw_error *error);

/* Keeps how many ranks each node has: "4", and "3+1" where nodes differ. */
void gw_nccl_put_nodes(struct gw_nccl_run *run, const char *ranks, size_t nodes, bool are_even);

/* Begins the table of a run whose test and ranks are all known; its types are not. */
void gw_nccl_begin_table(struct gw_nccl_run *run);

/*
 * Tells whether bytes are the size of so many elements of each rank: another test has another size,
 * and so have fewer ranks. A type that is not known passes.
 */
bool gw_nccl_is_size_of(const struct gw_nccl_run *run, double bytes, double elements,
                        const char *type);

/* Keeps type and operation of the first row; false: a row has others, and is not to be added. */
bool gw_nccl_put_type(struct gw_nccl_run *run, const char *type, const char *operation);

enum gw_status gw_nccl_add_row(struct gw_nccl_run *run, double bytes, double time_us,
                               struct gw_error *error);

/* Adds the table to the cluster, and says how many of its rows have another type or operation. */
enum gw_status gw_nccl_end_table(struct gw_nccl_run *run, const char *path,
                                 struct gw_cluster *cluster, struct gw_error *error);

/* ---- rows of text (import_nccl_rows.c) ------------------------------------------------------- */

enum { GW_NCCL_MAX_WORDS = 32 };

/* Columns of a table: first the operation and its size, then once or twice its time. */
struct gw_nccl_layout {
    size_t fixed, group, groups; /* numbers of columns, and of groups of them */
    size_t operation;            /* its column; 0: none */
    size_t behind;               /* words behind the groups, such as a date and a time */
    bool has_wrong;              /* each group counts wrong elements */
};

/* A table's rows, and the part of one that other output has cut. */
struct gw_nccl_rows {
    struct gw_nccl_layout layout;
    char part[512]; /* "": none */
    size_t part_line;
};

/* Reads the names of columns; false: they are those of no known table. */
bool gw_nccl_read_layout(char *const *words, size_t count, struct gw_nccl_layout *out);

/* Reads the current line, if it is a row or a part of one. */
enum gw_status gw_nccl_read_row(struct gw_import_text *text, struct gw_nccl_rows *rows,
                                struct gw_nccl_run *run, struct gw_error *error);

/* Reads the part of a row that was cut, where no other part can follow. */
enum gw_status gw_nccl_end_rows(const struct gw_import_text *text, struct gw_nccl_rows *rows,
                                struct gw_nccl_run *run, struct gw_error *error);

/* ---- files ----------------------------------------------------------------------------------- */

/* Tells whether RCCL's tests wrote the file (import_rccl.c), and adds its tables to the cluster. */
bool gw_nccl_is_rccl(const struct gw_import_text *text);
enum gw_status gw_nccl_read_rccl(struct gw_import_text *text, struct gw_cluster *cluster,
                                 struct gw_error *error);

/* Reads the whole file as JSON, and adds its table to the cluster. */
enum gw_status gw_nccl_read_json(const struct gw_import_text *text, struct gw_nccl_run *run,
                                 struct gw_cluster *cluster, struct gw_error *error);

#endif
