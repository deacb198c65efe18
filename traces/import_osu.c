/* Reads OSU micro-benchmarks: https://mvapich.cse.ohio-state.edu/benchmarks */
#include <string.h>

#include "traces/import_parts.h"
#include "traces/imports.h"

/* Benchmarks whose sizes are the bytes that one rank contributes (one block of a gather); in an
 * alltoall, those that it sends to each rank. */
static const struct benchmark {
    const char *title;
    const char *collective;
} benchmarks[] = {
    {"Allreduce", "allreduce"},
    {"Allgather", "allgather"},
    {"Allgatherv", "allgatherv"},
    {"Broadcast", "broadcast"},
    {"Reduce", "reduce"},
    {"Gather", "gather"},
    {"Scatter", "scatter"},
    {"All-to-All Personalized Exchange", "alltoall"},
    {"", "sendrecv"}, /* half of a ping-pong */
};

static const char *const supported =
    "osu_allreduce, osu_allgather, osu_allgatherv, osu_bcast, osu_reduce, osu_gather, osu_scatter, "
    "osu_alltoall or osu_latency";

enum { MOST_WORDS = 32 };

struct reading {
    struct gw_import_text text;
    struct gw_import_table table;
    size_t workers; /* 0: not said */
    char tool[64];
    size_t columns, validation; /* numbers of them, and which one has it (0: none) */
    bool is_titled, is_open;    /* a title was read, and a header behind it */
    size_t tables;
};

static enum gw_status end_table(struct reading *reading, struct gw_error *error) {
    bool was_open = reading->is_open;
    reading->is_titled = false;
    reading->is_open = false;
    return was_open
               ? gw_import_add(&reading->table, &(struct gw_import_paths){1, &reading->text.path},
                               reading->text.cluster, error)
               : GW_OK;
}

/* ---- titles and headers -------------------------------------------------------------------- */

/*
 * Cuts "OSU NCCL-CUDA " off "OSU NCCL-CUDA Allreduce Latency Test v7.5", and makes the tool's name
 * of it; MPI, the usual library, has no part in the name.
 */
static const char *cut_library(const char *title, char tool[64]) {
    static const char *const libraries[] = {"MPI", "NCCL", "RCCL", "XCCL"};
    title += strlen("OSU ");
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        const char *buffers = title + strlen(libraries[i]);
        size_t length = strcspn(buffers, " ");
        if (strncmp(title, libraries[i], strlen(libraries[i])) == 0 &&
            (length == 0 || buffers[0] == '-')) {
            (void)snprintf(tool, 64, "OSU micro-benchmarks%s%s%s%.*s", i == 0 ? "" : " of ",
                           i == 0 ? "" : libraries[i], length == 0 ? "" : " on ",
                           length == 0 ? 0 : (int)length - 1, buffers + 1);
            return buffers + length + strspn(buffers + length, " ");
        }
    }
    (void)snprintf(tool, 64, "OSU micro-benchmarks");
    return title;
}

static const struct benchmark *find_benchmark(const char *title) {
    const char *end = strstr(title, "Latency Test");
    for (size_t i = 0; end != NULL && i < sizeof benchmarks / sizeof *benchmarks; i++) {
        size_t length = strlen(benchmarks[i].title);
        const char *behind = title + length + strspn(title + length, " ");
        if (strncmp(title, benchmarks[i].title, length) == 0 && behind == end) {
            return &benchmarks[i];
        }
    }
    return NULL;
}

/* Reads "OSU MPI Allreduce Latency Test v7.5". */
static enum gw_status read_title(struct reading *reading, const char *title,
                                 struct gw_error *error) {
    struct gw_import_table *table = &reading->table;
    GW_TRY(end_table(reading, error));
    reading->text.is_useless = false;
    memset(table->settings, 0, sizeof table->settings);
    table->version[0] = '\0';
    const struct benchmark *found = find_benchmark(cut_library(title, reading->tool));
    if (found == NULL) {
        reading->tables++;
        return gw_import_pass_over_part(&reading->text, error, "expected %s, got '%.60s'",
                                        supported, title);
    }
    bool is_pair = strcmp(found->collective, "sendrecv") == 0;
    if (reading->workers == 0 && !is_pair) {
        return gw_import_bad(&reading->text, error,
                             "expected --workers: this program does not print how many ranks it "
                             "had");
    }
    (void)sscanf(strstr(title, "Latency Test"), "Latency Test v%31s", table->version);
    (void)snprintf(table->settings[GW_IMPORT_BUILD], GW_IMPORT_MAX_SETTING, "version=%s",
                   table->version);
    table->tool = reading->tool;
    table->collective = found->collective;
    table->workers = is_pair ? 2 : reading->workers;
    reading->is_titled = true;
    return GW_OK;
}

/* Skips a column's name, also with other blanks and dots, "Avg. Latency (us)"; NULL: not there. */
static const char *skip_column(const char *at, const char *name) {
    at += strspn(at, " .\t");
    if (strcmp(name, "Tail Lat(us)") == 0 && *at == 'P') {
        at += 1 + strspn(at + 1, "0123456789.");
    }
    for (; *name != '\0'; name++) {
        if (*name != ' ') {
            at += strspn(at, " .\t");
            if (*at++ != *name) {
                return NULL;
            }
        }
    }
    return at;
}

/* Reads "Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations". */
static enum gw_status read_header(struct reading *reading, const char *line,
                                  struct gw_error *error) {
    static const char *const others[] = {"Min Latency(us)", "Max Latency(us)", "Iterations",
                                         "Tail Lat(us)", "Validation"};
    enum { others_count = sizeof others / sizeof *others, validation = others_count - 1 };
    const char *size = skip_column(line, "Size");
    const char *at = size == NULL ? NULL : skip_column(size, "Avg Latency(us)");
    at = size == NULL || at != NULL ? at : skip_column(size, "Latency(us)");
    reading->tables++;
    if (!reading->is_titled) {
        return gw_import_pass_over_part(&reading->text, error,
                                        "expected a line '# OSU MPI ... Latency Test' above");
    }
    if (at == NULL) {
        return gw_import_pass_over_part(&reading->text, error,
                                        "expected the columns Size and Avg Latency(us)");
    }
    reading->columns = 2;
    reading->validation = 0;
    for (at += strspn(at, " \t"); *at != '\0'; at += strspn(at, " \t")) {
        size_t i = 0;
        const char *next = NULL;
        while (i < others_count && (next = skip_column(at, others[i])) == NULL) {
            i++;
        }
        if (next == NULL) {
            return gw_import_pass_over_part(&reading->text, error,
                                            "expected Min and Max Latency(us), Iterations, Tail "
                                            "Lat(us) or Validation, got %.60s",
                                            at);
        }
        reading->validation = i == validation ? reading->columns : reading->validation;
        reading->columns++;
        at = next;
    }
    reading->table.line = reading->text.number;
    reading->is_open = true;
    return GW_OK;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static enum gw_status check_row(const struct reading *reading, char *const *words, size_t count,
                                struct gw_error *error) {
    double number = 0;
    if (count != reading->columns) {
        return gw_import_bad(&reading->text, error, "expected %zu columns, got %zu",
                             reading->columns, count);
    }
    for (size_t i = 1; i < count; i++) {
        if (i != reading->validation && !gw_import_number(words[i], &number)) {
            return gw_import_bad(&reading->text, error, "expected a number in column %zu, got %s",
                                 i + 1, words[i]);
        }
    }
    if (reading->validation > 0 && strcmp(words[reading->validation], "Pass") != 0) {
        return gw_import_bad(&reading->text, error, "expected right results (Pass), got %s",
                             words[reading->validation]);
    }
    return GW_OK;
}

static enum gw_status read_row(struct reading *reading, struct gw_error *error) {
    char *words[MOST_WORDS];
    double bytes = 0;
    double time_us = 0;
    size_t count = gw_import_words(reading->text.line, words, MOST_WORDS);
    if (count < reading->columns && gw_import_is_last(&reading->text)) {
        return gw_import_pass_over(
            reading->text.cluster, error, "%s:%zu: expected %zu columns, got %zu in the last row",
            reading->text.path, reading->text.number, reading->columns, count);
    }
    GW_TRY(check_row(reading, words, count, error));
    if (!gw_import_integer(words[0], &bytes) || !gw_import_number(words[1], &time_us) ||
        time_us > GW_IMPORT_MAX_US) {
        return gw_import_bad(&reading->text, error,
                             "expected a size in bytes and a time in us, up to 1e12, got %s and %s",
                             words[0], words[1]);
    }
    bytes *= strcmp(reading->table.collective, "alltoall") == 0 ? (double)reading->workers : 1;
    return gw_import_point(&reading->table.raw, bytes, time_us, 1, error);
}

static bool is_title(const char *line) {
    return gw_import_begins(line, "OSU ") && strstr(line, " Test") != NULL;
}

/* Tells whether a line begins with "Size" and has the unit of another column. */
static bool is_table_header(const char *line) {
    return gw_import_begins(line, "Size ") && strchr(line, '(') != NULL;
}

static bool is_header(const char *line) {
    return is_title(line) || is_table_header(line);
}

static enum gw_status read_line(struct reading *reading, struct gw_error *error) {
    const char *line = gw_import_behind_mark(reading->text.line);
    if (is_title(line)) {
        return read_title(reading, line, error);
    }
    if (is_table_header(line)) {
        return read_header(reading, line, error);
    }
    if (gw_import_begins(line, "Datatype: ")) {
        (void)sscanf(line, "Datatype: %127[^. ]", reading->table.settings[GW_IMPORT_TYPE]);
    }
    return reading->is_open && gw_import_is_row(reading->text.line) ? read_row(reading, error)
                                                                    : GW_OK;
}

static enum gw_status read_text(struct reading *reading, struct gw_error *error) {
    while (gw_import_next_line(&reading->text)) {
        GW_TRY(read_line(reading, error));
    }
    GW_TRY(end_table(reading, error));
    if (reading->tables == 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected the output of OSU micro-benchmarks, with lines '# OSU MPI ... "
                       "Latency Test' and '# Size ...', got none",
                       reading->text.path);
    }
    return GW_OK;
}

enum gw_status gw_import_osu(const char *path, size_t workers, struct gw_cluster *cluster,
                             struct gw_error *error) {
    struct reading reading = {.workers = workers};
    GW_TRY(gw_import_open(path, is_header, &reading.text, error));
    reading.text.cluster = cluster;
    enum gw_status status = read_text(&reading, error);
    free(reading.table.raw.sizes);
    gw_import_close(&reading.text);
    return status;
}
