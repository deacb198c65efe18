/* Keeps a run of nccl-tests: its test, its ranks, the settings and the rows of its table. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "core/fingerprint.h"
#include "traces/import_nccl.h"

/* ---- tests --------------------------------------------------------------------------------- */

/* Lists a name behind all names that contain it. */
static const struct gw_nccl_test tests[] = {
    {"all_reduce", "allreduce", GW_NCCL_OWN},
    {"all_gather", "allgather", GW_NCCL_BLOCK_OF_EACH},
    {"reduce_scatter", NULL, GW_NCCL_BLOCK_OF_EACH},
    {"alltoallv", NULL, GW_NCCL_BLOCK_FOR_EACH},
    {"alltoall", "alltoall", GW_NCCL_BLOCK_FOR_EACH},
    {"sendrecv", "sendrecv", GW_NCCL_OWN},
    {"broadcast", "broadcast", GW_NCCL_OWN},
    {"reduce", "reduce", GW_NCCL_OWN},
    {"gather", "gather", GW_NCCL_BLOCK_OF_EACH},
    {"scatter", "scatter", GW_NCCL_BLOCK_OF_EACH},
    {"hypercube", NULL, GW_NCCL_BLOCK_OF_EACH},
};
enum { TESTS = sizeof tests / sizeof *tests, MOST_NAME = 32 /* longer than any of theirs */ };

const char *const gw_nccl_supported =
    "all_reduce, all_gather, broadcast, reduce, gather, scatter, alltoall or sendrecv";

const struct gw_nccl_test *gw_nccl_find_program(const char *line) {
    for (const char *end = strstr(line, "_perf"); end != NULL; end = strstr(end + 1, "_perf")) {
        const char *name = end;
        while (name > line && end - name < MOST_NAME &&
               (isalnum((unsigned char)name[-1]) || name[-1] == '_')) {
            name--;
        }
        for (size_t i = 0; i < TESTS; i++) {
            size_t length = strlen(tests[i].name);
            if ((size_t)(end - name) == length && strncmp(name, tests[i].name, length) == 0) {
                return &tests[i];
            }
        }
    }
    return NULL;
}

/* Writes letters and digits alone, in lower case. */
static void simplify_text(const char *text, char *out, size_t size) {
    size_t length = 0;
    for (; *text != '\0' && length + 1 < size; text++) {
        if (isalnum((unsigned char)*text)) {
            out[length++] = (char)tolower((unsigned char)*text);
        }
    }
    out[length] = '\0';
}

const struct gw_nccl_test *gw_nccl_find_in_name(const char *path) {
    char file[256];
    char name[MOST_NAME];
    const char *slash = strrchr(path, '/');
    simplify_text(slash == NULL ? path : slash + 1, file, sizeof file);
    for (size_t i = 0; i < TESTS; i++) {
        simplify_text(tests[i].name, name, sizeof name);
        if (strstr(file, name) != NULL) {
            return &tests[i];
        }
    }
    return NULL;
}

/* Returns the bytes of an element; 0: not known. */
static double width_of(const char *type) {
    static const struct {
        const char *name;
        double width;
    } types[] = {{"int8", 1},   {"uint8", 1}, {"fp8_e4m3", 1}, {"fp8_e5m2", 1}, {"f8e4m3", 1},
                 {"f8e5m2", 1}, {"half", 2},  {"bfloat16", 2}, {"int32", 4},    {"uint32", 4},
                 {"float", 4},  {"int64", 8}, {"uint64", 8},   {"double", 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(type, types[i].name) == 0) {
            return types[i].width;
        }
    }
    return 0;
}

bool gw_nccl_is_size_of(const struct gw_nccl_run *run, double bytes, double elements,
                        const char *type) {
    double parts = run->test->buffer == GW_NCCL_OWN ? 1 : (double)run->ranks;
    double width = width_of(type);
    return width == 0 || bytes == elements * width * parts;
}

enum gw_status gw_nccl_add_row(struct gw_nccl_run *run, double bytes, double time_us,
                               struct gw_error *error) {
    return gw_import_point(&run->table.raw, bytes / gw_nccl_parts(run->test, run->ranks), time_us,
                           1, error);
}

bool gw_nccl_put_type(struct gw_nccl_run *run, const char *type, const char *operation) {
    char *types = run->table.settings[GW_IMPORT_TYPE];
    char *operations = run->table.settings[GW_IMPORT_OPERATION];
    if (types[0] == '\0') {
        (void)snprintf(types, GW_IMPORT_MAX_SETTING, "%s", type);
        (void)snprintf(operations, GW_IMPORT_MAX_SETTING, "%s", operation);
    }
    bool is_same = strncmp(types, type, GW_IMPORT_MAX_SETTING - 1) == 0 &&
                   strncmp(operations, operation, GW_IMPORT_MAX_SETTING - 1) == 0;
    if (!is_same && run->others++ == 0) {
        (void)snprintf(run->other, sizeof run->other, "%s %s", type, operation);
    }
    return is_same;
}

enum gw_status gw_nccl_end_table(struct gw_nccl_run *run, const char *path,
                                 struct gw_cluster *cluster, struct gw_error *error) {
    char place[512];
    if (run->others > 0) {
        gw_import_print_place(&run->table, path, place, sizeof place);
        GW_TRY(gw_import_pass_over(cluster, error,
                                   "%s: expected all rows of one type and operation, those of the "
                                   "first one (%s %s): got %zu others, such as %s",
                                   place, run->table.settings[GW_IMPORT_TYPE],
                                   run->table.settings[GW_IMPORT_OPERATION], run->others,
                                   run->other));
    }
    return gw_import_add(&run->table, &(struct gw_import_paths){1, &path}, cluster, error);
}

bool gw_nccl_is_variable(const char *word) {
    return gw_import_begins(word, "NCCL_") && !gw_import_begins(word, "NCCL_DEBUG");
}

/* ---- ranks --------------------------------------------------------------------------------- */

bool gw_nccl_is_process(size_t threads, size_t gpus) {
    return threads >= 1 && threads <= GW_NCCL_MAX_IN_PROCESS && gpus >= 1 &&
           gpus <= GW_NCCL_MAX_IN_PROCESS;
}

void gw_nccl_put_processes(struct gw_nccl_run *run, size_t threads, size_t gpus) {
    (void)snprintf(run->table.settings[GW_IMPORT_PROCESSES], GW_IMPORT_MAX_SETTING,
                   "nThread %zu nGpus %zu", threads, gpus);
}

void gw_nccl_begin_run(struct gw_nccl_run *run) {
    memset(run->table.settings, 0, sizeof run->table.settings);
    run->test = NULL;
    run->ranks = 0;
    gw_import_free_names(&run->hosts);
}

void gw_nccl_free_run(struct gw_nccl_run *run) {
    gw_import_free_names(&run->hosts);
    free(run->host_ranks);
    free(run->table.raw.sizes);
}

enum gw_status gw_nccl_add_ranks(struct gw_nccl_run *run, size_t rank, size_t ranks, int group,
                                 const char *host, const char **expected, struct gw_error *error) {
    *expected = NULL;
    if (rank != run->ranks) {
        *expected = rank == 0         ? "each rank once (an MPI build of nccl-tests)"
                    : run->ranks == 0 ? "rank 0 first"
                                      : "ranks one after another";
    } else if (ranks > GW_IMPORT_MAX_RANKS - run->ranks) {
        *expected = "at most 2^24 ranks";
    } else if (rank > 0 && group != run->group) {
        *expected = "all ranks in one group (without NCCL_TESTS_SPLIT): groups slow each other";
    } else {
        size_t known = run->hosts.count;
        size_t number = 0;
        run->group = group;
        run->ranks += ranks;
        GW_TRY(gw_import_find_name(&run->hosts, host, &number, error));
        GW_GROW(run->host_ranks, run->hosts.count, run->host_capacity, "importing ranks", error);
        run->host_ranks[number] = ranks + (number == known ? 0 : run->host_ranks[number]);
    }
    return GW_OK;
}

enum { MOST_LAYOUT = 80 }; /* bytes of a layout's ranks */

void gw_nccl_put_nodes(struct gw_nccl_run *run, const char *ranks, size_t nodes, bool are_even) {
    (void)snprintf(run->table.settings[GW_IMPORT_LAYOUT], GW_IMPORT_MAX_SETTING,
                   "%.*s ranks on %s%zu node%s", MOST_LAYOUT - 1, ranks,
                   are_even && nodes > 1 ? "each of " : "", nodes, nodes == 1 ? "" : "s");
}

/*
 * Keeps "4 ranks on each of 2 nodes", or "8x12+4 ranks on 13 nodes": twelve nodes of 8 ranks before
 * one of 4. A layout that is longer than its room ends in a hash of the whole.
 */
static void put_layout(struct gw_nccl_run *run) {
    char ranks[MOST_LAYOUT] = "";
    const size_t *of_host = run->host_ranks;
    size_t hosts = run->hosts.count;
    size_t length = 0;
    bool is_even = true;
    if (hosts == 0) {
        return;
    }
    for (size_t i = 0, next = 0; i < hosts && length < sizeof ranks; i = next) {
        while (next < hosts && of_host[next] == of_host[i]) {
            next++;
        }
        is_even = next - i == hosts;
        length += (size_t)snprintf(ranks + length, sizeof ranks - length,
                                   is_even || next - i == 1 ? "%s%zu" : "%s%zux%zu",
                                   i == 0 ? "" : "+", of_host[i], next - i);
    }
    if (length >= sizeof ranks) {
        size_t kept = sizeof ranks - sizeof "...0123456789abcdef";
        (void)snprintf(ranks + kept, sizeof ranks - kept, "...%016" PRIx64,
                       gw_fingerprint_add(gw_fingerprint_start, of_host, hosts * sizeof *of_host));
    }
    gw_nccl_put_nodes(run, ranks, hosts, is_even);
}

void gw_nccl_begin_table(struct gw_nccl_run *run) {
    run->table.tool = "nccl-tests";
    run->table.collective = run->test->collective;
    run->table.workers = run->ranks;
    run->table.workers_per_node = run->hosts.count > 0 ? run->host_ranks[0] : 0;
    run->table.settings[GW_IMPORT_TYPE][0] = '\0';
    run->others = 0;
    put_layout(run);
}
