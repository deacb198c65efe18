#include "calibrate/measure/journal.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/timing.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const schema = "gradweave/calibration-partial@4";

/* ---- writing ------------------------------------------------------------------------------- */

static enum gw_status fail_to_write(const struct gw_journal *journal, struct gw_error *error) {
    return gw_fail(error, GW_FAILED, "%s: cannot be written: %s", journal->path, strerror(errno));
}

/* Writes a line at once. */
static enum gw_status __attribute__((format(printf, 3, 4)))
write_line(struct gw_journal *journal, struct gw_error *error, const char *format, ...) {
    char *line = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (length < 0) {
        return gw_fail_memory(error, "writing down measurements");
    }
    bool written = gw_write_all(journal->descriptor, line, (size_t)length) == 0 &&
                   gw_file_sync_often(journal->descriptor, &journal->synced_s) == 0;
    enum gw_status status = written ? GW_OK : fail_to_write(journal, error);
    free(line);
    return status;
}

enum gw_status gw_journal_put_chosen(struct gw_journal *journal, const struct gw_points *points,
                                     struct gw_error *error) {
    if (journal->descriptor < 0) {
        return GW_OK;
    }
    for (size_t i = 0; i < points->count; i++) {
        const struct gw_measured_point *point = &points->items[i];
        const struct gw_series *series = &points->series[point->series];
        if (point->state == GW_POINT_LEFT_OUT) {
            GW_TRY(write_line(journal, error, "{\"left_out\":\"%s\",\"workers\":%d,\"size\":%zu}\n",
                              series->subject.name, series->workers, point->size));
        }
    }
    return write_line(journal, error, "{\"chosen\":true}\n");
}

enum gw_status gw_journal_put_block(struct gw_journal *journal, const struct gw_points *points,
                                    size_t point, const struct gw_block *block, double at_s,
                                    struct gw_error *error) {
    enum { LONGEST_NUMBER = 24 };
    char numbers[GW_LARGEST_BLOCK * LONGEST_NUMBER] = "";
    const struct gw_series *series = &points->series[points->items[point].series];
    if (journal->descriptor < 0) {
        return GW_OK;
    }
    for (size_t i = 0, used = 0; i < block->count; i++) {
        used += (size_t)snprintf(numbers + used, sizeof numbers - used, "%s%.9g", i == 0 ? "" : ",",
                                 block->seconds[i]);
    }
    return write_line(journal, error,
                      "{\"of\":\"%s\",\"workers\":%d,\"size\":%zu,\"late\":%zu,\"skew_s\":%.9g,"
                      "\"at_s\":%.6g,\"seconds\":[%s]}\n",
                      series->subject.name, series->workers, points->items[point].size, block->late,
                      block->skew_s, at_s, numbers);
}

static enum gw_status put_title(struct gw_journal *journal, const struct gw_journal_title *title,
                                struct gw_error *error) {
    return write_line(journal, error,
                      "{\"schema\":\"%s\",\"points\":%zu,\"request\":\"%016" PRIx64
                      "\",\"hosts\":\"%016" PRIx64 "\"}\n",
                      schema, title->point_count, title->request, title->hosts);
}

/* ---- reading ------------------------------------------------------------------------------- */

static double number_in(const cJSON *line, const char *key) {
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(line, key);
    return cJSON_IsNumber(number) && number->valuedouble >= 0 && number->valuedouble < 9e15
               ? number->valuedouble
               : -1;
}

static bool is_text(const cJSON *line, const char *key, const char *expected) {
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(line, key);
    return cJSON_IsString(text) && strcmp(text->valuestring, expected) == 0;
}

static struct gw_measured_point *find_point(const cJSON *line, const char *key,
                                            const struct gw_points *points) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(line, key);
    double workers = number_in(line, "workers");
    double size = number_in(line, "size");
    return cJSON_IsString(name) && workers >= 0 && size >= 0
               ? gw_points_find(points, name->valuestring, (size_t)workers, (size_t)size)
               : NULL;
}

/* Reads the times of a line; 0 if there are none, or too many. */
static size_t read_seconds(const cJSON *line, double seconds[GW_LARGEST_BLOCK]) {
    size_t count = 0;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(line, "seconds")) {
        if (!cJSON_IsNumber(item) || !(item->valuedouble > 0 && item->valuedouble < 1e9) ||
            count == GW_LARGEST_BLOCK) {
            return 0;
        }
        seconds[count++] = item->valuedouble;
    }
    return count;
}

static enum gw_status take_line(struct gw_journal *journal, const cJSON *line,
                                const struct gw_points *points, const struct gw_stop_rule *rule,
                                bool *sensible, struct gw_error *error) {
    struct gw_measured_point *left_out = find_point(line, "left_out", points);
    struct gw_measured_point *point = find_point(line, "of", points);
    *sensible = true;
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(line, "chosen"))) {
        journal->chosen = true;
    } else if (left_out != NULL && !journal->chosen) {
        left_out->state = GW_POINT_LEFT_OUT;
    } else if (point != NULL && journal->chosen) {
        struct gw_block block = {.skew_s = number_in(line, "skew_s")};
        block.count = read_seconds(line, block.seconds);
        double late = number_in(line, "late");
        double at_s = number_in(line, "at_s");
        *sensible = block.count > 0 && block.count + point->count <= GW_MAX_REPEATS && late >= 0 &&
                    late <= (double)block.count && block.skew_s >= 0 && at_s >= 0;
        journal->at_s = *sensible ? at_s : journal->at_s;
        block.late = *sensible ? (size_t)late : 0;
        return *sensible ? gw_point_add(point, &block, rule, error) : GW_OK;
    } else {
        *sensible = false;
    }
    return GW_OK;
}

static enum gw_status check_title(const struct gw_journal *journal, const char *text, size_t length,
                                  const struct gw_journal_title *title, struct gw_error *error) {
    cJSON *line = NULL;
    GW_TRY(gw_json_parse_line(text, length, &line, error));
    char hosts[32];
    char request[32];
    (void)snprintf(hosts, sizeof hosts, "%016" PRIx64, title->hosts);
    (void)snprintf(request, sizeof request, "%016" PRIx64, title->request);
    const char *other = !is_text(line, "schema", schema) ? "something else"
                        : !is_text(line, "hosts", hosts)
                            ? "one of other hosts, or of another number of ranks"
                        : is_text(line, "request", request) &&
                                number_in(line, "points") == (double)title->point_count
                            ? NULL
                            : "one of other collectives, compressors, sizes, density or version";
    cJSON_Delete(line);
    return other == NULL ? GW_OK
                         : gw_fail(error, GW_BAD_INPUT,
                                   "%s: expected the beginning of this calibration, to resume it, "
                                   "got %s",
                                   journal->path, other);
}

/* Reads lines up to the first that is not whole or makes no sense. *keep becomes the length of
 * those before it; before sizes are chosen, only of the title. A file that ends within its title
 * has no lines. */
static enum gw_status read_lines(struct gw_journal *journal, const char *text, size_t length,
                                 const struct gw_journal_title *title, struct gw_points *points,
                                 const struct gw_stop_rule *rule, size_t *keep,
                                 struct gw_error *error) {
    const char *end = memchr(text, '\n', length);
    bool sensible = true;
    *keep = 0;
    if (end == NULL) {
        return GW_OK;
    }
    *keep = (size_t)(end - text) + 1;
    GW_TRY(check_title(journal, text, *keep, title, error));
    enum gw_status status = GW_OK;
    for (size_t at = *keep;
         sensible && status == GW_OK && (end = memchr(text + at, '\n', length - at)) != NULL;
         at = (size_t)(end - text) + 1) {
        cJSON *line = NULL;
        sensible = gw_json_parse_line(text + at, (size_t)(end - text) - at, &line, NULL) == GW_OK;
        status = sensible ? take_line(journal, line, points, rule, &sensible, error) : GW_OK;
        cJSON_Delete(line);
        if (sensible && journal->chosen) {
            *keep = (size_t)(end - text) + 1;
        }
    }
    for (size_t i = 0; i < points->count && !journal->chosen; i++) { /* an unfinished choice */
        points->items[i].state = GW_POINT_OPEN;
    }
    return status;
}

static enum gw_status take_up(struct gw_journal *journal, const struct gw_journal_title *title,
                              struct gw_points *points, const struct gw_stop_rule *rule,
                              struct gw_error *error) {
    char *text = NULL;
    size_t length = 0;
    size_t keep = 0;
    GW_TRY(gw_file_read(journal->path, &text, &length, error));
    enum gw_status status = read_lines(journal, text, length, title, points, rule, &keep, error);
    if (status == GW_OK && keep == 0 && length > 0 &&
        strncmp(text, "{\"schema\"", length < 9 ? length : 9) != 0) {
        status = gw_fail(error, GW_BAD_INPUT,
                         "%s: expected the beginning of this calibration, to resume it, got "
                         "something else",
                         journal->path);
    }
    free(text);
    if (status == GW_OK && ftruncate(journal->descriptor, (off_t)keep) != 0) {
        status = fail_to_write(journal, error);
    }
    return status == GW_OK && keep == 0 ? put_title(journal, title, error) : status;
}

/* ---- starting a journal -------------------------------------------------------------------- */

/* Starts a journal in place of one without measurements, which may be cut off in its title. */
static enum gw_status start_journal(struct gw_journal *journal,
                                    const struct gw_journal_title *title, struct gw_error *error) {
    static const char chosen[] = "{\"chosen\":true}\n";
    char *text = NULL;
    char begins[64];
    size_t length = 0;
    GW_TRY(gw_file_read(journal->path, &text, &length, error));
    size_t title_length = (size_t)snprintf(begins, sizeof begins, "{\"schema\":\"%s", schema);
    bool empty = memcmp(text, begins, gw_lesser(length, title_length)) == 0 &&
                 memmem(text, length, chosen, strlen(chosen)) == NULL;
    free(text);
    if (!empty) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected --resume, to continue the calibration that was interrupted, "
                       "or no such file",
                       journal->path);
    }
    return ftruncate(journal->descriptor, 0) == 0 ? put_title(journal, title, error)
                                                  : fail_to_write(journal, error);
}

/* ---- opening and closing ------------------------------------------------------------------- */

enum gw_status gw_journal_open(const char *path, const struct gw_journal_title *title, bool resume,
                               struct gw_points *points, const struct gw_stop_rule *rule,
                               struct gw_journal *out, struct gw_error *error) {
    bool created = false;
    *out = (struct gw_journal){.descriptor = -1};
    if (path == NULL) {
        return GW_OK;
    }
    out->path = strdup(path);
    if (out->path == NULL) {
        return gw_fail_memory(error, "opening a journal");
    }
    enum gw_status status =
        gw_file_open_partial(path, "calibration", &created, &out->descriptor, error);
    out->synced_s = -INFINITY;
    if (status == GW_OK) {
        status = created  ? put_title(out, title, error)
                 : resume ? take_up(out, title, points, rule, error)
                          : start_journal(out, title, error);
    }
    if (status == GW_OK) {
        status = gw_file_sync_folder(path, error);
    }
    if (status != GW_OK) {
        if (created) {
            (void)unlink(path);
        }
        gw_journal_close(out);
    }
    return status;
}

void gw_journal_close(struct gw_journal *journal) {
    if (journal->descriptor >= 0) {
        gw_file_unlock(journal->descriptor);
        (void)close(journal->descriptor);
    }
    free(journal->path);
    *journal = (struct gw_journal){.descriptor = -1};
}
