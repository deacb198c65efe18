/* Reads output of perftest (https://github.com/linux-rdma/perftest): ib_write_bw and its like. */
#include <string.h>

#include "traces/import_parts.h"
#include "traces/imports.h"

enum { MOST_WORDS = 32 };

/* The smallest messages that fill a link; smaller ones show how fast they are posted. */
static const double least_bytes = 32 << 10;

struct reading {
    struct gw_import_text text;
    bool is_titled;
    struct gw_error other;  /* names the first test of another kind; "": none */
    bool is_both_ways;      /* in one figure */
    size_t average;         /* its column */
    double unit_bytes;      /* of the average, a second; 0: no header yet */
    double fastest_bytes_s; /* of all rows; 0: none */
};

static const char *const tests[] = {"RDMA_Write ", "RDMA_Read ", "Send "};
enum { TESTS = sizeof tests / sizeof *tests };

static bool is_title(const char *line) {
    bool is_named = false;
    for (size_t i = 0; i < TESTS; i++) {
        is_named = is_named || gw_import_begins(line, tests[i]);
    }
    return is_named && strstr(line, " BW Test") != NULL;
}

/* Tells whether a title or the names of the columns stand there. */
static bool is_header(const char *line) {
    return is_title(line) || gw_import_begins(line, "#bytes");
}

/*
 * Reads "RDMA_Write BW Test", "Send Bidirectional BW Test" or "RDMA_Read Post List BW Test". The
 * rows of other tests are passed over.
 */
static void read_title(struct reading *reading) {
    const char *title = reading->text.line + strspn(reading->text.line, " \t");
    reading->is_titled = is_title(title);
    reading->is_both_ways = strstr(title, "Bidirectional") != NULL;
    reading->unit_bytes = 0;
    if (!reading->is_titled && reading->other.message[0] == '\0') {
        (void)gw_import_bad(&reading->text, &reading->other,
                            "expected ib_write_bw, ib_read_bw or ib_send_bw, got '%s'", title);
    }
}

/* Reads " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]". */
static enum gw_status read_header(struct reading *reading, struct gw_error *error) {
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"MB/sec]", 1 << 20}, {"MiB/sec]", 1 << 20}, {"Gb/sec]", 1e9 / 8}};
    static const char average[] = "BW average[";
    const char *line = reading->text.line;
    const char *unit = strstr(line, average);
    reading->unit_bytes = 0;
    if (!reading->is_titled && reading->other.message[0] != '\0') {
        return GW_OK;
    }
    for (size_t i = 0; unit != NULL && i < sizeof units / sizeof *units; i++) {
        if (gw_import_begins(unit + strlen(average), units[i].name)) {
            reading->unit_bytes = units[i].bytes;
        }
    }
    if (!reading->is_titled || reading->unit_bytes == 0 || strstr(line, "BW peak[") == NULL ||
        strstr(line, "BW peak[") > unit) {
        return gw_import_bad(&reading->text, error,
                             "expected a line such as 'RDMA_Write BW Test' above, and the columns "
                             "BW peak and BW average in MB/sec, MiB/sec or Gb/sec");
    }
    reading->average = strstr(line, "#sl") != NULL ? 4 : 3;
    return GW_OK;
}

static enum gw_status read_row(struct reading *reading, struct gw_error *error) {
    char *words[MOST_WORDS] = {NULL};
    double bytes = 0;
    double average = 0;
    size_t count = gw_import_words(reading->text.line, words, MOST_WORDS);
    if (count <= reading->average || !gw_import_integer(words[0], &bytes) ||
        !gw_import_number(words[reading->average], &average)) {
        return gw_import_bad(&reading->text, error,
                             "expected a size in bytes, iterations, BW peak and BW average");
    }
    double bytes_s = average * reading->unit_bytes / (reading->is_both_ways ? 2 : 1);
    if (bytes >= least_bytes && bytes_s > reading->fastest_bytes_s) {
        reading->fastest_bytes_s = bytes_s;
    }
    return GW_OK;
}

static enum gw_status read_line(struct reading *reading, struct gw_error *error) {
    const char *line = reading->text.line;
    if (strstr(line, " BW Test") != NULL || strstr(line, " Latency Test") != NULL) {
        read_title(reading);
        return GW_OK;
    }
    if (strstr(line, "Local results") != NULL) {
        reading->is_both_ways = false; /* each way has its own rows, with --report-both */
    }
    if (gw_import_begins(line + strspn(line, " \t"), "#bytes")) {
        return read_header(reading, error);
    }
    return reading->unit_bytes > 0 && gw_import_is_row(line) ? read_row(reading, error) : GW_OK;
}

enum gw_status gw_import_perftest(const char *path, double *bytes_per_s, struct gw_error *error) {
    struct reading reading = {0};
    enum gw_status status = GW_OK;
    GW_TRY(gw_import_open(path, is_header, &reading.text, error));
    while (status == GW_OK && gw_import_next_line(&reading.text)) {
        status = read_line(&reading, error);
    }
    gw_import_close(&reading.text);
    GW_TRY(status);
    *bytes_per_s = reading.fastest_bytes_s;
    if (reading.fastest_bytes_s == 0 && reading.other.message[0] != '\0') {
        return gw_fail(error, GW_BAD_INPUT, "%s", reading.other.message);
    }
    return reading.fastest_bytes_s > 0
               ? GW_OK
               : gw_fail(
                     error, GW_BAD_INPUT,
                     "%s: expected the output of ib_write_bw, with rows of 32 KiB or more behind "
                     "'#bytes #iterations BW peak ...', got none",
                     path);
}
