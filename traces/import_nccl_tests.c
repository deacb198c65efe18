/* Reads the text of nccl-tests (https://github.com/NVIDIA/nccl-tests), and of RCCL's. */
#include <math.h>
#include <string.h>

#include "traces/import_nccl.h"

enum { MOST_REASON = 256 };

struct reading {
    struct gw_import_text text;
    struct gw_nccl_run run;
    struct gw_nccl_rows rows;
    size_t ranks_per_process;
    size_t workers;   /* of a text that lists no ranks; 0: not said */
    bool has_begun;   /* a line of the run that stands above its table was read */
    bool has_table;   /* the header of its table was read */
    bool is_open;     /* the lines that follow are rows of the run's table */
    bool has_command; /* the command that started the run was logged */
    size_t tables;
};

/* Adds a table to the cluster: at its footer, where the next run begins, or at the file's end. */
static enum gw_status end_table(struct reading *reading, struct gw_error *error) {
    if (!reading->is_open) {
        return GW_OK;
    }
    reading->is_open = false;
    GW_TRY(gw_nccl_end_rows(&reading->text, &reading->rows, &reading->run, error));
    return gw_nccl_end_table(&reading->run, reading->text.path, reading->text.cluster, error);
}

static void forget_run(struct reading *reading) {
    gw_nccl_begin_run(&reading->run);
    reading->has_begun = false;
    reading->has_table = false;
    reading->text.is_useless = false;
    reading->has_command = false;
    reading->ranks_per_process = 1;
}

/* Keeps the repeats that change times: "iters: 20 agg iters: 1 validation: 1 graph: 0". */
static void read_repeats(struct reading *reading) {
    static const char *const keys[][2] = {
        {" agg iters: ", "agg_iters"}, {" graph: ", "graph"}, {" unalign: ", "unalign"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *at = strstr(reading->text.line, keys[i][0]);
        const char *value = at == NULL ? "" : at + strlen(keys[i][0]);
        char word[64];
        (void)snprintf(word, sizeof word, "%s=%.*s", keys[i][1], (int)strspn(value, "0123456789"),
                       value);
        if (at != NULL) {
            gw_import_put_word(reading->run.table.settings[GW_IMPORT_REPEATS], word);
        }
    }
}

/* Forgets a run that may have been cut short, but for its test: the same program began again. */
static enum gw_status begin_again(struct reading *reading, struct gw_error *error) {
    const struct gw_nccl_test *test = reading->run.test;
    GW_TRY(end_table(reading, error));
    forget_run(reading);
    reading->run.test = test;
    return GW_OK;
}

/*
 * Reads "# nThread 1 nGpus 8 minBytes ...": in each process that many threads with that many ranks.
 */
static enum gw_status begin_run(struct reading *reading, const char *line, struct gw_error *error) {
    size_t threads = 0;
    size_t gpus = 0;
    GW_TRY(reading->has_begun ? begin_again(reading, error) : end_table(reading, error));
    reading->has_begun = true;
    reading->text.is_useless = false;
    if (sscanf(line, "nThread %zu nGpus %zu", &threads, &gpus) != 2 ||
        !gw_nccl_is_process(threads, gpus)) {
        return gw_import_pass_over_part(
            &reading->text, error, "expected '# nThread NUMBER nGpus NUMBER ...', from 1 to %d",
            GW_NCCL_MAX_IN_PROCESS);
    }
    reading->ranks_per_process = threads * gpus;
    gw_nccl_put_processes(&reading->run, threads, gpus);
    read_repeats(reading);
    (void)snprintf(reading->run.table.settings[GW_IMPORT_BLOCKING], GW_IMPORT_MAX_SETTING, "no");
    return GW_OK;
}

enum { MOST_HOST = 256 }; /* also in the format of parse_rank, less the zero at its end */

/* Parses "Rank  3 Group  0 Pid  17 on node-a device  3 [0x0a] NVIDIA A100", with or without group.
 */
static bool parse_rank(const char *line, size_t *rank, int *group, char host[MOST_HOST],
                       const char **device) {
    int end = 0;
    *group = 0;
    if (sscanf(line, "Rank %zu Group %d Pid %*d on %255s%n", rank, group, host, &end) != 3 &&
        sscanf(line, "Rank %zu Pid %*d on %255s%n", rank, host, &end) != 2) {
        return false;
    }
    const char *bus = strchr(line + end, ']');
    *device = bus == NULL ? "" : bus + 1 + strspn(bus + 1, " \t");
    return true;
}

/* Reads a line of a rank; rank 0 behind a table begins the next run. */
static enum gw_status read_rank(struct reading *reading, const char *line, struct gw_error *error) {
    size_t rank = 0;
    int group = 0;
    char host[MOST_HOST] = "";
    const char *device = "";
    const char *expected = NULL;
    bool is_rank = parse_rank(line, &rank, &group, host, &device);
    GW_TRY(is_rank && rank == 0 && reading->has_table ? begin_again(reading, error) : GW_OK);
    reading->has_begun = true;
    if (!is_rank) {
        return gw_import_pass_over_part(
            &reading->text, error, "expected '#  Rank NUMBER Group NUMBER Pid NUMBER on HOST ...'");
    }
    GW_TRY(gw_nccl_add_ranks(&reading->run, rank, 1, group, host, &expected, error));
    if (expected != NULL) {
        return gw_import_pass_over_part(
            &reading->text, error, "expected %s, got rank %zu of group %d", expected, rank, group);
    }
    if (rank == 0) {
        (void)snprintf(reading->run.table.settings[GW_IMPORT_DEVICE], GW_IMPORT_MAX_SETTING, "%s",
                       device);
    }
    return GW_OK;
}

/* Finds the reason why the rows of a run are of no use; NULL: they are of use. */
static const char *find_fault(struct reading *reading, bool has_cpu_time, bool has_columns,
                              char message[MOST_REASON]) {
    const struct gw_nccl_run *run = &reading->run;
    if (has_cpu_time) {
        return "expected time, got cputime (-C 1), which is not the duration of a collective";
    }
    if (!has_columns) {
        return "expected the columns size, count and type, then time, algbw, busbw and #wrong";
    }
    if (run->test == NULL) {
        return "expected a line above, or a file name, that names the test, such as "
               "all_reduce_perf";
    }
    if (run->test->collective == NULL) {
        (void)snprintf(message, MOST_REASON, "expected %s, got %s", gw_nccl_supported,
                       run->test->name);
        return message;
    }
    if (run->ranks == 0) {
        return "expected a line '#  Rank ...' above for each rank, or --workers, got none";
    }
    if (run->ranks % reading->ranks_per_process != 0) {
        (void)snprintf(message, MOST_REASON,
                       "expected a line '#  Rank ...' above for each rank, %zu in each process, "
                       "got %zu",
                       reading->ranks_per_process, run->ranks);
        return message;
    }
    return NULL;
}

/* Reads "size  count  type  redop  root  time  algbw  busbw  #wrong  time  ...". */
static enum gw_status begin_table(struct reading *reading, char *line, struct gw_error *error) {
    struct gw_nccl_run *run = &reading->run;
    char *words[GW_NCCL_MAX_WORDS] = {NULL};
    char message[MOST_REASON];
    bool has_cpu_time = strstr(line, " cputime ") != NULL;
    GW_TRY(end_table(reading, error));
    size_t count = gw_import_words(line, words, GW_NCCL_MAX_WORDS);
    bool has_columns = gw_nccl_read_layout(
        words, count > GW_NCCL_MAX_WORDS ? GW_NCCL_MAX_WORDS : count, &reading->rows.layout);
    run->test = run->test == NULL ? gw_nccl_find_in_name(reading->text.path) : run->test;
    run->ranks = run->ranks == 0 ? reading->workers : run->ranks;
    reading->has_begun = true;
    reading->has_table = true;
    reading->tables++;
    const char *fault = find_fault(reading, has_cpu_time, has_columns, message);
    if (fault != NULL || reading->text.is_useless) {
        return gw_import_pass_over_part(&reading->text, error, "%s", fault == NULL ? "" : fault);
    }
    if (reading->has_command && run->table.settings[GW_IMPORT_COMMAND][0] == '\0') {
        gw_import_put_word(run->table.settings[GW_IMPORT_COMMAND], "none");
    }
    gw_nccl_begin_table(run);
    run->table.line = reading->text.number;
    reading->is_open = true;
    return GW_OK;
}

/* Reads "Out of bounds values : 0 OK", which ends table and run. */
static enum gw_status read_footer(struct reading *reading, const char *line,
                                  struct gw_error *error) {
    double wrong = NAN;
    const char *colon = strchr(line, ':');
    bool is_right = colon != NULL && sscanf(colon, ": %lf", &wrong) == 1 && wrong == 0;
    if (!is_right && reading->is_open) {
        return gw_import_bad(&reading->text, error,
                             "expected right results ('Out of bounds values : 0 OK'), got '%s'",
                             line);
    }
    GW_TRY(end_table(reading, error));
    forget_run(reading);
    return GW_OK;
}

/* Keeps "NCCL_ALGO=Ring" and the like of a command that was logged. */
static void read_variables(struct reading *reading, const char *line) {
    static const char separators[] = " \t,;'\"";
    for (const char *at = line + strspn(line, separators); *at != '\0';
         at += strspn(at, separators)) {
        size_t length = strcspn(at, separators);
        if (gw_nccl_is_variable(at) && memchr(at, '=', length) != NULL) {
            char word[GW_IMPORT_MAX_SETTING];
            (void)snprintf(word, sizeof word, "%.*s", (int)length, at);
            gw_import_put_word(reading->run.table.settings[GW_IMPORT_COMMAND], word);
        }
        at += length;
    }
}

/* Keeps "NCCL_ALGO=Ring" of "NCCL INFO NCCL_ALGO set by environment to Ring". */
static void read_logged_variable(struct reading *reading, const char *line) {
    static const char mark[] = " set by environment to ";
    const char *end = strstr(line, mark);
    const char *begin = end;
    char word[GW_IMPORT_MAX_SETTING];
    while (begin != NULL && begin > line && begin[-1] != ' ') {
        begin--;
    }
    if (begin != NULL && gw_nccl_is_variable(begin)) {
        const char *value = end + strlen(mark);
        size_t length = strcspn(value, " \t");
        length -= length > 0 && value[length - 1] == '.';
        (void)snprintf(word, sizeof word, "%.*s=%.*s", (int)(end - begin), begin, (int)length,
                       value);
        gw_import_put_word(reading->run.table.settings[GW_IMPORT_LOGGED], word);
    }
}

/* Ends the run before a line that begins one; the run before may have been cut short. */
static enum gw_status end_run(struct reading *reading, struct gw_error *error) {
    GW_TRY(end_table(reading, error));
    if (reading->has_begun) {
        forget_run(reading);
    }
    reading->text.is_useless = false;
    return GW_OK;
}

/* Reads "Collective test starting: all_reduce_perf", a command that was logged, or another line. */
static enum gw_status read_name(struct reading *reading, struct gw_error *error) {
    static const char starting[] = "Collective test starting:";
    const char *line = reading->text.line;
    const char *start = strstr(line, starting);
    const struct gw_nccl_test *named =
        strstr(line, "concluded") == NULL ? gw_nccl_find_program(line) : NULL;
    bool is_command = named != NULL && strstr(strstr(line, "_perf"), " -") != NULL;
    if (start != NULL || is_command) {
        GW_TRY(end_run(reading, error));
    }
    if (is_command) {
        reading->has_command = true;
        read_variables(reading, line);
    }
    if (start != NULL && named == NULL) {
        return gw_import_pass_over_part(&reading->text, error, "expected %s, got%s",
                                        gw_nccl_supported, start + strlen(starting));
    }
    read_logged_variable(reading, line);
    reading->run.test = named != NULL && !reading->is_open ? named : reading->run.test;
    return GW_OK;
}

/* Keeps "wait after each inner iteration" of "Blocking Enabled: wait after each ... (-m)". */
static enum gw_status read_blocking(struct reading *reading, const char *line) {
    const char *waits = strchr(line, ':') + 1;
    waits += strspn(waits, " ");
    size_t length = strcspn(waits, "(");
    while (length > 0 && waits[length - 1] == ' ') {
        length--;
    }
    (void)snprintf(reading->run.table.settings[GW_IMPORT_BLOCKING], GW_IMPORT_MAX_SETTING, "%.*s",
                   (int)length, waits);
    return GW_OK;
}

/* Tells whether a line is one that nccl-tests alone print. */
static bool is_header(const char *line) {
    size_t numbers[2];
    int group = 0;
    char host[MOST_HOST];
    const char *device = NULL;
    int columns = 0;
    int units = 0;
    if (gw_import_begins(line, "size ")) {
        (void)sscanf(line, "size count type %n", &columns);
    } else if (gw_import_begins(line, "(B)")) {
        (void)sscanf(line, "(B) (elements) %n", &units);
    }
    return (gw_import_begins(line, "nThread ") &&
            sscanf(line, "nThread %zu nGpus %zu", &numbers[0], &numbers[1]) == 2) ||
           (gw_import_begins(line, "Rank ") &&
            parse_rank(line, &numbers[0], &group, host, &device)) ||
           gw_import_begins(line, "nccl-tests version ") ||
           gw_import_begins(line, "Collective test ") ||
           gw_import_begins(line, "Out of bounds values ") ||
           (columns > 0 && strstr(line, "time") != NULL) || units > 0;
}

static enum gw_status read_line(struct reading *reading, struct gw_error *error) {
    bool is_marked = reading->text.line[strspn(reading->text.line, " \t")] == '#';
    size_t offset = (size_t)(gw_import_behind_mark(reading->text.line) - reading->text.line);
    char *line = reading->text.line + offset;
    bool counts = is_marked || is_header(line);
    if (gw_import_begins(line, "nThread ") && counts) {
        return begin_run(reading, line, error);
    }
    if (gw_import_begins(line, "Rank ") && counts) {
        return read_rank(reading, line, error);
    }
    if (gw_import_begins(line, "Out of bounds values")) {
        return read_footer(reading, line, error);
    }
    if (gw_import_begins(line, "size ") && counts) {
        return begin_table(reading, line, error);
    }
    if (gw_import_begins(line, "nccl-tests version ")) {
        GW_TRY(end_run(reading, error)); /* "nccl-tests version 2.17.6 nccl-library=22807" */
        (void)sscanf(line, "nccl-tests version %31s", reading->run.table.version);
        (void)snprintf(reading->run.table.settings[GW_IMPORT_BUILD], GW_IMPORT_MAX_SETTING,
                       "version=%s", line + strlen("nccl-tests version "));
        return GW_OK;
    }
    if (gw_import_begins(line, "Blocking Enabled:")) {
        return read_blocking(reading, line);
    }
    if (reading->is_open && !is_marked && gw_nccl_find_program(line) == NULL) {
        return gw_nccl_read_row(&reading->text, &reading->rows, &reading->run, error);
    }
    return read_name(reading, error);
}

static enum gw_status read_text(struct reading *reading, struct gw_error *error) {
    while (gw_import_next_line(&reading->text)) {
        GW_TRY(read_line(reading, error));
    }
    struct gw_error cut = {0};
    if (reading->is_open &&
        gw_nccl_end_rows(&reading->text, &reading->rows, &reading->run, &cut) != GW_OK) {
        /* a job that was killed left the last row half written */
        GW_TRY(gw_import_pass_over(reading->text.cluster, error, "%s", cut.message));
    }
    GW_TRY(end_table(reading, error));
    if (reading->tables == 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected the output of nccl-tests, with a line '#  size  count  type "
                       "...', got none",
                       reading->text.path);
    }
    return GW_OK;
}

enum gw_status gw_import_nccl_tests(const char *path, size_t workers, struct gw_cluster *cluster,
                                    struct gw_error *error) {
    struct reading reading = {.ranks_per_process = 1, .workers = workers};
    GW_TRY(gw_import_open(path, is_header, &reading.text, error));
    reading.text.cluster = cluster;
    char first = reading.text.next[strspn(reading.text.next, " \t\r\n")];
    enum gw_status status =
        gw_nccl_is_rccl(&reading.text) ? gw_nccl_read_rccl(&reading.text, cluster, error)
        : first == '{' ? gw_nccl_read_json(&reading.text, &reading.run, cluster, error)
                       : read_text(&reading, error);
    gw_nccl_free_run(&reading.run);
    gw_import_close(&reading.text);
    return status;
}
