/* nccl-tests: https://github.com/NVIDIA/nccl-tests, and RCCL's, which print the same. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "traces/import_nccl.h"
#include "traces/imports.h"

/* ---- tests --------------------------------------------------------------------------------- */

/* A name that is in another one comes after it. */
static const struct gw_nccl_test tests[] = {
    {"all_reduce", "allreduce", false}, {"all_gather", "allgather", true},
    {"reduce_scatter", NULL, true},     {"alltoallv", NULL, true},
    {"alltoall", NULL, true},           {"sendrecv", "sendrecv", false},
    {"broadcast", "broadcast", false},  {"reduce", "reduce", false},
    {"gather", "gather", true},         {"scatter", "scatter", true},
    {"hypercube", NULL, true},
};
enum { TESTS = sizeof tests / sizeof *tests };

const char *const gw_nccl_supported =
    "all_reduce, all_gather, broadcast, reduce, gather, scatter or sendrecv";

const struct gw_nccl_test *gw_nccl_find_program(const char *line) {
    for (const char *end = strstr(line, "_perf"); end != NULL; end = strstr(end + 1, "_perf")) {
        const char *name = end;
        while (name > line && (isalnum((unsigned char)name[-1]) || name[-1] == '_')) {
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

/* Lower case, without what separates words. */
static void simplify(const char *text, char *out, size_t size) {
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
    char name[32];
    const char *slash = strrchr(path, '/');
    simplify(slash == NULL ? path : slash + 1, file, sizeof file);
    for (size_t i = 0; i < TESTS; i++) {
        simplify(tests[i].name, name, sizeof name);
        if (strstr(file, name) != NULL) {
            return &tests[i];
        }
    }
    return NULL;
}

/* Bytes of an element; 0: not known. */
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
    double parts = run->test->is_total ? (double)run->ranks : 1;
    double width = width_of(type);
    return width == 0 || bytes == elements * width * parts;
}

enum gw_status gw_nccl_add_row(struct gw_nccl_run *run, double bytes, double time_us,
                               struct gw_error *error) {
    double parts = run->test->is_total ? (double)run->ranks : 1;
    return gw_import_point(&run->table, bytes / parts, time_us, 1, error);
}

bool gw_nccl_is_process(size_t threads, size_t gpus) {
    return threads >= 1 && threads <= GW_NCCL_MOST_IN_PROCESS && gpus >= 1 &&
           gpus <= GW_NCCL_MOST_IN_PROCESS;
}

const char *gw_nccl_add_ranks(struct gw_nccl_run *run, size_t rank, size_t ranks, int group,
                              const char *host) {
    if (rank != run->ranks) {
        return "ranks one after another";
    }
    if (ranks > GW_IMPORT_MOST_RANKS - run->ranks) {
        return "at most 2^24 ranks";
    }
    if (rank == 0) {
        run->group = group;
        (void)snprintf(run->host, sizeof run->host, "%s", host);
    }
    if (group != run->group) {
        return "all ranks in one group (without NCCL_TESTS_SPLIT): groups slow each other";
    }
    run->ranks += ranks;
    run->ranks_of_first += strcmp(host, run->host) == 0 ? ranks : 0;
    return NULL;
}

void gw_nccl_begin_table(struct gw_nccl_run *run) {
    run->table.tool = "nccl-tests";
    run->table.collective = run->test->collective;
    run->table.workers = run->ranks;
    run->table.workers_per_node = run->ranks_of_first;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* Where a table's header has what: first what was done, then once or twice what it took. */
struct layout {
    size_t fixed, group, groups; /* numbers of columns, and of groups of them */
    bool has_wrong;              /* each group counts wrong elements */
    bool has_stamp;              /* a date and a time at the end, under one word */
};

struct reading {
    struct gw_import_text text;
    struct gw_nccl_run run;
    size_t ranks_per_process;
    struct gw_cluster *cluster;
    struct layout layout;
    bool is_open; /* rows of the table are being read */
    size_t tables;
};

enum { MOST_WORDS = 32 };

/* A table ends where its footer stands, where the next run begins, or with the file. */
static enum gw_status end_table(struct reading *reading, struct gw_error *error) {
    if (!reading->is_open) {
        return GW_OK;
    }
    reading->is_open = false;
    return gw_import_add(&reading->run.table, &(struct gw_import_paths){1, &reading->text.path},
                         reading->cluster, error);
}

/* "# nThread 1 nGpus 8 minBytes ...": in each process that many threads with that many ranks. */
static enum gw_status begin_run(struct reading *reading, struct gw_error *error) {
    size_t threads = 0;
    size_t gpus = 0;
    GW_TRY(end_table(reading, error));
    if (sscanf(reading->text.line, "# nThread %zu nGpus %zu", &threads, &gpus) != 2 ||
        !gw_nccl_is_process(threads, gpus)) {
        return gw_import_bad(&reading->text, error,
                             "expected '# nThread NUMBER nGpus NUMBER ...', from 1 to %d",
                             GW_NCCL_MOST_IN_PROCESS);
    }
    reading->run.ranks = 0;
    reading->run.ranks_of_first = 0;
    reading->ranks_per_process = threads * gpus;
    return GW_OK;
}

/* "#  Rank  3 Group  0 Pid  17 on node-a device  3 [0x0a] NVIDIA A100", of old without a group. */
static enum gw_status read_rank(struct reading *reading, struct gw_error *error) {
    const char *line = reading->text.line;
    size_t rank = 0;
    int group = 0;
    char host[256] = "";
    if (sscanf(line, "# Rank %zu Group %d Pid %*d on %255s", &rank, &group, host) != 3 &&
        sscanf(line, "# Rank %zu Pid %*d on %255s", &rank, host) != 2) {
        return gw_import_bad(&reading->text, error,
                             "expected '#  Rank NUMBER Group NUMBER Pid NUMBER on HOST ...'");
    }
    const char *expected = gw_nccl_add_ranks(&reading->run, rank, 1, group, host);
    if (expected != NULL) {
        return gw_import_bad(&reading->text, error, "expected %s, got rank %zu of group %d",
                             expected, rank, group);
    }
    return GW_OK;
}

/* Whether the columns from `first` up to `end` are what a collective took. */
static bool is_group(char *const *words, size_t first, size_t end) {
    return end - first >= 4 && strcmp(words[first], "time") == 0 &&
           strcmp(words[first + 1], "algbw") == 0 && strcmp(words[first + 2], "busbw") == 0 &&
           (strcmp(words[first + 3], "#wrong") == 0 || strcmp(words[first + 3], "error") == 0);
}

static bool read_layout(char *const *words, size_t count, struct layout *out) {
    *out = (struct layout){.has_stamp = strcmp(words[count - 1], "timestamp") == 0};
    size_t end = count - out->has_stamp;
    size_t first = 0;
    while (first < end && strcmp(words[first], "time") != 0) {
        first++;
    }
    size_t second = first + 1;
    while (second < end && strcmp(words[second], "time") != 0) {
        second++;
    }
    if (first < 4 || !is_group(words, first, second)) {
        return false;
    }
    out->fixed = first - 1; /* without the # */
    out->group = second - first;
    out->groups = second < end ? 2 : 1;
    out->has_wrong = strcmp(words[first + 3], "#wrong") == 0;
    return second >= end || (is_group(words, second, end) && end - second == out->group);
}

/* What must be known of a run before its rows say anything. */
static enum gw_status check_run(const struct reading *reading, struct gw_error *error) {
    const struct gw_import_text *text = &reading->text;
    if (reading->run.test == NULL) {
        return gw_import_bad(text, error,
                             "expected a line above, or a file name, that says which test it was, "
                             "such as all_reduce_perf");
    }
    if (reading->run.test->collective == NULL) {
        return gw_import_bad(text, error, "expected %s, got %s", gw_nccl_supported,
                             reading->run.test->name);
    }
    if (reading->run.ranks == 0 || reading->run.ranks % reading->ranks_per_process != 0) {
        return gw_import_bad(text, error,
                             "expected a line '#  Rank ...' above for each rank, %zu in each "
                             "process, got %zu",
                             reading->ranks_per_process, reading->run.ranks);
    }
    return GW_OK;
}

/* "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong" */
static enum gw_status begin_table(struct reading *reading, char *const *words, size_t count,
                                  struct gw_error *error) {
    GW_TRY(end_table(reading, error));
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], "cputime") == 0) {
            return gw_import_bad(&reading->text, error,
                                 "expected time, got cputime (-C 1), which is not how long a "
                                 "collective takes");
        }
    }
    if (!read_layout(words, count, &reading->layout)) {
        return gw_import_bad(&reading->text, error,
                             "expected the columns size, count and type, then time, algbw, busbw "
                             "and #wrong");
    }
    reading->run.test =
        reading->run.test == NULL ? gw_nccl_find_in_name(reading->text.path) : reading->run.test;
    GW_TRY(check_run(reading, error));
    gw_nccl_begin_table(&reading->run);
    reading->is_open = true;
    reading->tables++;
    return GW_OK;
}

/* A time, and what was wrong with the results: "N/A" where they were not looked at. */
static enum gw_status check_group(const struct reading *reading, char *const *group,
                                  struct gw_error *error) {
    double time_us = 0;
    double wrong = 0;
    bool is_checked = strcmp(group[3], "N/A") != 0;
    if (!gw_import_number(group[0], &time_us) || time_us > GW_IMPORT_MOST_US) {
        return gw_import_bad(&reading->text, error, "expected a time in us, up to 1e12, got %s",
                             group[0]);
    }
    if (is_checked && !gw_import_number(group[3], &wrong)) {
        return gw_import_bad(&reading->text, error, "expected N/A or a number of errors, got %s",
                             group[3]);
    }
    if (reading->layout.has_wrong && wrong != 0) {
        return gw_import_bad(&reading->text, error, "expected right results, got %s wrong",
                             group[3]);
    }
    return GW_OK;
}

static enum gw_status add_row(struct reading *reading, char *const *words, size_t first,
                              struct gw_error *error) {
    double bytes = 0;
    double elements = 0;
    if (!gw_import_integer(words[0], &bytes) || !gw_import_integer(words[1], &elements)) {
        return gw_import_bad(&reading->text, error,
                             "expected a size in bytes and a count of elements, got %s and %s",
                             words[0], words[1]);
    }
    if (!gw_nccl_is_size_of(&reading->run, bytes, elements, words[2])) {
        return gw_import_bad(&reading->text, error,
                             "expected the size that %s elements of %s have in %s among %zu, got "
                             "%s: is it that test?",
                             words[1], words[2], reading->run.test->name, reading->run.ranks,
                             words[0]);
    }
    return gw_nccl_add_row(&reading->run, bytes, strtod(words[first], NULL), error);
}

/* Out of place if that was measured: of two groups of which one is left blank, in place. */
static enum gw_status read_row(struct reading *reading, struct gw_error *error) {
    const struct layout *layout = &reading->layout;
    char *words[MOST_WORDS];
    size_t stamp = layout->has_stamp ? 2 : 0;
    size_t expected = layout->fixed + layout->groups * layout->group + stamp;
    size_t count = gw_import_words(reading->text.line, words, MOST_WORDS);
    if (count > MOST_WORDS ||
        (count != expected && count != layout->fixed + layout->group + stamp)) {
        return gw_import_bad(&reading->text, error, "expected %zu columns, got %zu", expected,
                             count);
    }
    for (size_t at = layout->fixed; at + stamp < count; at += layout->group) {
        GW_TRY(check_group(reading, &words[at], error));
    }
    return add_row(reading, words, layout->fixed, error);
}

/* "# Out of bounds values : 0 OK" */
static enum gw_status read_footer(struct reading *reading, struct gw_error *error) {
    double wrong = NAN;
    const char *colon = strchr(reading->text.line, ':');
    if (colon == NULL || sscanf(colon, ": %lf", &wrong) != 1 || wrong != 0) {
        return gw_import_bad(&reading->text, error,
                             "expected right results ('Out of bounds values : 0 OK'), got '%s'",
                             reading->text.line + strspn(reading->text.line, "# "));
    }
    reading->run.test = NULL;
    return end_table(reading, error);
}

/* "# Collective test starting: all_reduce_perf", or a command that was logged. */
static enum gw_status read_name(struct reading *reading, struct gw_error *error) {
    static const char starting[] = "Collective test starting:";
    const char *line = reading->text.line;
    const struct gw_nccl_test *named =
        strstr(line, "concluded") == NULL ? gw_nccl_find_program(line) : NULL;
    const char *start = strstr(line, starting);
    if (named == NULL && start != NULL) {
        return gw_import_bad(&reading->text, error, "expected %s, got%s", gw_nccl_supported,
                             start + sizeof starting - 1);
    }
    reading->run.test = named != NULL ? named : reading->run.test;
    return GW_OK;
}

static bool begins(const char *line, const char *word) {
    const char *behind = line + 1 + strspn(line + 1, " ");
    return line[0] == '#' && strncmp(behind, word, strlen(word)) == 0;
}

static enum gw_status read_line(struct reading *reading, struct gw_error *error) {
    char *line = reading->text.line;
    char *words[MOST_WORDS] = {NULL};
    if (begins(line, "nThread ")) {
        return begin_run(reading, error);
    }
    if (begins(line, "Rank ")) {
        return read_rank(reading, error);
    }
    if (begins(line, "Out of bounds values")) {
        return read_footer(reading, error);
    }
    if (begins(line, "size ")) {
        size_t count = gw_import_words(line, words, MOST_WORDS);
        return begin_table(reading, words, count > MOST_WORDS ? MOST_WORDS : count, error);
    }
    if (begins(line, "nccl-tests version ")) {
        (void)sscanf(line, "# nccl-tests version %31s", reading->run.table.version);
    }
    if (reading->is_open && gw_import_is_row(line)) {
        return read_row(reading, error);
    }
    return read_name(reading, error);
}

static enum gw_status read_text(struct reading *reading, struct gw_error *error) {
    while (gw_import_next_line(&reading->text)) {
        GW_TRY(read_line(reading, error));
    }
    GW_TRY(end_table(reading, error));
    if (reading->tables == 0) {
        return gw_fail(
            error, GW_BAD_INPUT,
            "%s: expected what nccl-tests print, with a line '#  size  count  type ...', got none",
            reading->text.path);
    }
    return GW_OK;
}

enum gw_status gw_import_nccl_tests(const char *path, struct gw_cluster *cluster,
                                    struct gw_error *error) {
    struct reading reading = {.cluster = cluster, .ranks_per_process = 1};
    GW_TRY(gw_import_open(path, &reading.text, error));
    bool is_json = reading.text.text[strspn(reading.text.text, " \t\r\n")] == '{';
    enum gw_status status = is_json ? gw_nccl_read_json(&reading.text, &reading.run, cluster, error)
                                    : read_text(&reading, error);
    free(reading.run.table.means);
    gw_import_close(&reading.text);
    return status;
}
