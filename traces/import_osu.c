/* OSU micro-benchmarks: https://mvapich.cse.ohio-state.edu/benchmarks */
#include <string.h>

#include "traces/import_parts.h"
#include "traces/imports.h"

/* All sizes are what one rank contributes: of gathers and scatters those of one block. */
static const struct benchmark {
    const char *title;
    const char *collective;
} benchmarks[] = {
    {"Allreduce", "allreduce"}, {"Allgather", "allgather"}, {"Allgatherv", "allgatherv"},
    {"Broadcast", "broadcast"}, {"Reduce", "reduce"},       {"Gather", "gather"},
    {"Scatter", "scatter"},     {"", "sendrecv"}, /* half of a ping-pong */
};

static const char *const supported =
    "osu_allreduce, osu_allgather, osu_allgatherv, osu_bcast, osu_reduce, osu_gather, osu_scatter "
    "or osu_latency";

enum { MOST_COLUMNS = 16, COLUMN_SIZE = 24, MOST_WORDS = 32 };

struct reading {
    struct gw_import_text text;
    struct gw_import_table table;
    struct gw_cluster *cluster;
    size_t workers;  /* 0: not said */
    char buffers[8]; /* of a GPU: "CUDA"; "": of the host */
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
                               reading->cluster, error)
               : GW_OK;
}

/* ---- titles and headers -------------------------------------------------------------------- */

/* The next word's length, and where the line goes on behind it and its blanks. */
static size_t next_word(const char **at, const char **word) {
    *word = *at;
    size_t length = strcspn(*at, " ");
    *at += length;
    *at += strspn(*at, " ");
    return length;
}

/* Between "# OSU MPI-CUDA " and "Latency Test v7.5", of which it takes buffers and version. */
static bool cut_title(struct reading *reading, char *title, size_t size) {
    const char *at = reading->text.line + strlen("# OSU ");
    const char *word = at;
    const char *end = strstr(reading->text.line, "Latency Test");
    reading->buffers[0] = '\0';
    reading->table.version[0] = '\0';
    if (end == NULL) {
        return false;
    }
    if (strncmp(at, "MPI", 3) == 0 && strchr(" -", at[3]) != NULL) {
        size_t length = next_word(&at, &word);
        (void)snprintf(reading->buffers, sizeof reading->buffers, "%.*s",
                       length > 4 ? (int)length - 4 : 0, word + 4);
    }
    size_t length = end > at ? (size_t)(end - at) : 0;
    while (length > 0 && at[length - 1] == ' ') {
        length--;
    }
    (void)snprintf(title, size, "%.*s", (int)length, at);
    (void)sscanf(end, "Latency Test v%31s", reading->table.version);
    return true;
}

static const struct benchmark *find_benchmark(const char *title) {
    for (size_t i = 0; i < sizeof benchmarks / sizeof *benchmarks; i++) {
        if (strcmp(title, benchmarks[i].title) == 0) {
            return &benchmarks[i];
        }
    }
    return NULL;
}

/* "# OSU MPI Allreduce Latency Test v7.5" */
static enum gw_status read_title(struct reading *reading, struct gw_error *error) {
    struct gw_import_table *table = &reading->table;
    char title[64] = "";
    GW_TRY(end_table(reading, error));
    const struct benchmark *found =
        cut_title(reading, title, sizeof title) ? find_benchmark(title) : NULL;
    if (found == NULL) {
        return gw_import_bad(&reading->text, error, "expected %s, got '%s'", supported,
                             reading->text.line + strlen("# "));
    }
    bool is_pair = strcmp(found->collective, "sendrecv") == 0;
    if (reading->workers == 0 && !is_pair) {
        return gw_import_bad(&reading->text, error,
                             "expected --workers: this program does not print how many ranks it "
                             "had");
    }
    (void)snprintf(reading->tool, sizeof reading->tool, "OSU micro-benchmarks%s%s",
                   reading->buffers[0] == '\0' ? "" : " on ", reading->buffers);
    table->tool = reading->tool;
    table->collective = found->collective;
    table->workers = is_pair ? 2 : reading->workers;
    reading->is_titled = true;
    return GW_OK;
}

/* A column's name, which may have single blanks in it; where the line goes on behind it. */
static const char *cut_column(const char *at, char *out, size_t size) {
    size_t length = 0;
    while (at[length] != '\0' && at[length] != '\t' && strncmp(at + length, "  ", 2) != 0) {
        length++;
    }
    (void)snprintf(out, size, "%.*s", (int)length, at);
    at += length;
    return at + strspn(at, " \t");
}

/* Versions differ in blanks and dots: "Avg. Latency (us)". */
static bool is_named(const char *column, const char *name) {
    for (; *column != '\0'; column++) {
        if (*column != ' ' && *column != '.' && *column != *name++) {
            return false;
        }
    }
    return *name == '\0';
}

static bool is_known(const char *column) {
    return is_named(column, "MinLatency(us)") || is_named(column, "MaxLatency(us)") ||
           is_named(column, "Iterations") || is_named(column, "Validation") ||
           strstr(column, "Tail Lat(us)") != NULL;
}

/* "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations" */
static enum gw_status read_header(struct reading *reading, struct gw_error *error) {
    char names[MOST_COLUMNS][COLUMN_SIZE] = {""};
    size_t count = 0;
    const char *at = reading->text.line + 1;
    at += strspn(at, " ");
    while (*at != '\0' && count < MOST_COLUMNS) {
        at = cut_column(at, names[count++], COLUMN_SIZE);
    }
    if (!reading->is_titled) {
        return gw_import_bad(&reading->text, error,
                             "expected a line '# OSU MPI ... Latency Test' above");
    }
    if (!is_named(names[0], "Size") ||
        (!is_named(names[1], "AvgLatency(us)") && !is_named(names[1], "Latency(us)"))) {
        return gw_import_bad(&reading->text, error,
                             "expected the columns Size and Avg Latency(us)");
    }
    reading->columns = count;
    reading->validation = 0;
    for (size_t i = 2; i < count; i++) {
        if (!is_known(names[i])) {
            return gw_import_bad(&reading->text, error,
                                 "expected Min and Max Latency(us), Iterations, Tail Lat(us) or "
                                 "Validation, got %s",
                                 names[i]);
        }
        reading->validation = is_named(names[i], "Validation") ? i : reading->validation;
    }
    reading->is_open = true;
    reading->tables++;
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
    GW_TRY(check_row(reading, words, count, error));
    if (!gw_import_integer(words[0], &bytes) || !gw_import_number(words[1], &time_us) ||
        time_us > GW_IMPORT_MOST_US) {
        return gw_import_bad(&reading->text, error,
                             "expected a size in bytes and a time in us, up to 1e12, got %s and %s",
                             words[0], words[1]);
    }
    return gw_import_point(&reading->table, bytes, time_us, 1, error);
}

static enum gw_status read_line(struct reading *reading, struct gw_error *error) {
    const char *line = reading->text.line;
    if (strncmp(line, "# OSU ", strlen("# OSU ")) == 0) {
        return read_title(reading, error);
    }
    if (strncmp(line, "# Size", strlen("# Size")) == 0) {
        return read_header(reading, error);
    }
    return reading->is_open && gw_import_is_row(line) ? read_row(reading, error) : GW_OK;
}

static enum gw_status read_text(struct reading *reading, struct gw_error *error) {
    while (gw_import_next_line(&reading->text)) {
        GW_TRY(read_line(reading, error));
    }
    GW_TRY(end_table(reading, error));
    if (reading->tables == 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected what OSU micro-benchmarks print, with lines '# OSU MPI ... "
                       "Latency Test' and '# Size ...', got none",
                       reading->text.path);
    }
    return GW_OK;
}

enum gw_status gw_import_osu(const char *path, size_t workers, struct gw_cluster *cluster,
                             struct gw_error *error) {
    struct reading reading = {.cluster = cluster, .workers = workers};
    GW_TRY(gw_import_open(path, &reading.text, error));
    enum gw_status status = read_text(&reading, error);
    free(reading.table.means);
    gw_import_close(&reading.text);
    return status;
}
