/* The files of a sweep: begun, continued, appended to, put in place. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/sweep.h"

/* ---- documents ------------------------------------------------------------------------------ */

enum gw_status gw_sweep_document(const struct gw_grid *grid, const struct gw_point *point,
                                 const struct gw_prediction *prediction, cJSON **out,
                                 struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    if (prediction->status == GW_OK) {
        gw_result_write(&prediction->result, &writer);
    } else {
        gw_writer_text(&writer, "schema", "gradweave/infeasible@1");
        gw_writer_text(&writer, "reason", prediction->why.message);
    }
    gw_writer_number(&writer, "point", (double)point->number);
    gw_writer_object(&writer, "axes");
    for (size_t a = 0; a < GW_AXES; a++) {
        enum gw_axis axis = (enum gw_axis)a;
        const char *name = gw_axis_kinds[axis].name;
        if (gw_axis_kinds[axis].rule == NULL) {
            gw_writer_text(&writer, name, gw_point_name(grid, point, axis));
        } else {
            gw_writer_number(&writer, name, gw_point_value(grid, point, axis));
        }
    }
    gw_writer_end(&writer);
    return gw_writer_finish(&writer, out, error);
}

/* ---- formats ------------------------------------------------------------------------------- */

struct gw_sweep_format {
    const char *ending;
    const char *like; /* how its files begin */
    void (*put_heading)(FILE *stream);
    enum gw_status (*put)(FILE *stream, const struct gw_grid *grid, const struct gw_point *point,
                          const struct gw_prediction *prediction, struct gw_error *error);
    bool is_quoted; /* a quoted cell of a row may hold newlines */
    bool (*is_infeasible)(const char *line, size_t length); /* a row's last line: has no answer */
};

static void put_csv_heading(FILE *stream) {
    (void)fputs("point", stream);
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        (void)fprintf(stream, ",%s", gw_axis_kinds[axis].name);
    }
    (void)fputs(",iterations,groups,iteration_s,iteration_sd_s,forward_s,backward_s,compress_s,"
                "exposed_comm_s,other_s,comm_s,bytes_per_worker,notes,infeasible\n",
                stream);
}

static void put_cell(FILE *stream, double number) {
    (void)fputc(',', stream);
    gw_csv_number(stream, number);
}

static void put_figures(FILE *stream, const struct gw_result *result) {
    const struct gw_breakdown *parts = &result->breakdown;
    const double figures[] = {parts->forward_s,        parts->backward_s, parts->compress_s,
                              parts->exposed_comm_s,   parts->other_s,    result->comm_s,
                              result->bytes_per_worker};
    put_cell(stream, (double)result->iterations);
    put_cell(stream, (double)result->groups);
    put_cell(stream, result->iteration_s);
    if (result->iterations > 1) {
        put_cell(stream, result->iteration_sd_s);
    } else {
        (void)fputc(',', stream);
    }
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        put_cell(stream, figures[i]);
    }
}

static enum gw_status put_csv(FILE *stream, const struct gw_grid *grid,
                              const struct gw_point *point, const struct gw_prediction *prediction,
                              struct gw_error *error) {
    (void)error;
    (void)fprintf(stream, "%" PRIu64, point->number);
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        (void)fputc(',', stream);
        if (gw_axis_kinds[axis].rule == NULL) {
            gw_csv_text(stream, gw_point_name(grid, point, (enum gw_axis)axis));
        } else {
            gw_csv_number(stream, gw_point_value(grid, point, (enum gw_axis)axis));
        }
    }
    if (prediction->status == GW_OK) {
        put_figures(stream, &prediction->result);
        char notes[sizeof prediction->result.notes +
                   2 * sizeof prediction->result.notes / sizeof *prediction->result.notes] = "";
        size_t length = 0;
        for (size_t i = 0; i < prediction->result.note_count; i++) {
            length += (size_t)snprintf(notes + length, sizeof notes - length, "%s%s",
                                       i == 0 ? "" : "; ", prediction->result.notes[i]);
        }
        (void)fputc(',', stream);
        gw_csv_text(stream, notes);
        (void)fputs(",\n", stream);
    } else {
        (void)fputs(",,,,,,,,,,,,,", stream);
        gw_csv_text(stream, prediction->why.message);
        (void)fputc('\n', stream);
    }
    return GW_OK;
}

static bool is_csv_infeasible(const char *line, size_t length) {
    return length >= 2 && line[length - 2] != ',';
}

static void put_no_heading(FILE *stream) {
    (void)stream;
}

static enum gw_status put_json(FILE *stream, const struct gw_grid *grid,
                               const struct gw_point *point, const struct gw_prediction *prediction,
                               struct gw_error *error) {
    cJSON *document = NULL;
    char *text = NULL;
    GW_TRY(gw_sweep_document(grid, point, prediction, &document, error));
    enum gw_status status = gw_json_print_compact(document, &text, error);
    cJSON_Delete(document);
    if (status == GW_OK) {
        (void)fputs(text, stream);
        free(text);
    }
    return status;
}

/* Within a text a quote has a backslash before it. */
static bool is_json_infeasible(const char *line, size_t length) {
    static const char key[] = ",\"reason\":";
    return memmem(line, length, key, strlen(key)) != NULL;
}

static const struct gw_sweep_format formats[] = {
    {".csv", "point,", put_csv_heading, put_csv, true, is_csv_infeasible},
    {".jsonl", "{\"schema\":\"gradweave/result@1\"", put_no_heading, put_json, false,
     is_json_infeasible},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static const struct gw_sweep_format *find_file_format(const char *path) {
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; i < FORMATS && dot != NULL; i++) {
        if (strcmp(dot, formats[i].ending) == 0) {
            return &formats[i];
        }
    }
    return NULL;
}

static enum gw_status check_paths(const char *const *paths, size_t count, struct gw_error *error) {
    for (size_t i = 0; i < count; i++) {
        const struct gw_sweep_format *format = find_file_format(paths[i]);
        if (format == NULL) {
            return gw_fail(error, GW_BAD_INPUT,
                           "%s: expected the name of a table (.csv) or of JSON lines (.jsonl)",
                           paths[i]);
        }
        for (size_t j = 0; j < i; j++) {
            if (gw_file_is_same(paths[i], paths[j])) {
                return gw_fail(error, GW_BAD_INPUT,
                               "--out: expected each file once, got %s and %s, which are one",
                               paths[j], paths[i]);
            }
        }
        GW_TRY(gw_file_check_target(paths[i], format->like, error));
    }
    return GW_OK;
}

/* ---- rows that are there already ------------------------------------------------------------ */

static enum gw_status fail_to_write(const char *path, struct gw_error *error) {
    return gw_fail(error, GW_FAILED, "%s: cannot be written: %s", path, strerror(errno));
}

/*
 * Counts whole rows, `most` at most, from the stream's position right after the prelude. Returns
 * the bytes of prelude and rows, at which a sweep goes on.
 */
static off_t count_rows(struct gw_sweep_file *file, uint64_t most) {
    char *line = NULL;
    size_t capacity = 0;
    bool in_quotes = false;
    off_t at = (off_t)strlen(file->prelude);
    off_t end = at;
    file->rows = file->infeasible = 0;
    while (file->rows < most) {
        ssize_t length = getline(&line, &capacity, file->stream);
        if (length <= 0 || line[length - 1] != '\n') {
            break;
        }
        at += length;
        for (ssize_t i = 0; file->format->is_quoted && i < length; i++) {
            in_quotes = in_quotes != (line[i] == '"');
        }
        if (!in_quotes) {
            end = at;
            file->rows++;
            file->infeasible += file->format->is_infeasible(line, (size_t)length);
        }
    }
    free(line);
    return end;
}

/* Fails with the reason why a file's first line is another one. */
static enum gw_status refuse_line(const struct gw_sweep_file *file, const char *line,
                                  const struct gw_grid *grid, struct gw_error *error) {
    char inputs[32];
    cJSON *title = cJSON_Parse(line);
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(title, "schema");
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(title, "inputs");
    bool partial =
        cJSON_IsString(schema) && strncmp(schema->valuestring, "gradweave/sweep-partial@",
                                          strlen("gradweave/sweep-partial@")) == 0;
    snprintf(inputs, sizeof inputs, "%016" PRIx64, grid->inputs_fingerprint);
    bool same_inputs = cJSON_IsString(found) && strcmp(found->valuestring, inputs) == 0;
    cJSON_Delete(title);
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: expected the beginning of this sweep, to resume it, got %s", file->partial,
                   !partial ? "something else"
                   : same_inputs
                       ? "another one: other values, names, iterations, seed or version"
                       : "another one: its models or clusters are others, or have changed");
}

/*
 * Reads the file of an interrupted sweep, without changing it: counts its rows, `most` at most.
 * *keep: how many bytes they take with the prelude; 0: the file was cut off before the first row.
 */
static enum gw_status read_partial(struct gw_sweep_file *file, const struct gw_grid *grid,
                                   uint64_t most, off_t *keep, struct gw_error *error) {
    enum { longer = 64 }; /* than ours another sweep's title may be */
    size_t expected = strlen(file->prelude);
    char *text = calloc(expected + longer + 1, 1);
    if (text == NULL) {
        return gw_fail_memory(error, "resuming a sweep");
    }
    rewind(file->stream);
    size_t length = fread(text, 1, expected + longer, file->stream);
    bool begun = length >= expected;
    enum gw_status status = GW_OK;
    if (memcmp(text, file->prelude, begun ? expected : length) != 0) {
        status = refuse_line(file, text, grid, error);
    }
    free(text);
    *keep = 0;
    if (status == GW_OK && begun && fseeko(file->stream, (off_t)expected, SEEK_SET) == 0) {
        *keep = count_rows(file, most);
    }
    return status;
}

/* ---- beginning ----------------------------------------------------------------------------- */

static enum gw_status append_rows(const struct gw_sweep_file *file, const char *text, size_t length,
                                  struct gw_error *error) {
    return fwrite(text, 1, length, file->stream) == length ? GW_OK
                                                           : fail_to_write(file->partial, error);
}

static enum gw_status write_now(struct gw_sweep_file *file, struct gw_error *error) {
    return fflush(file->stream) == 0 &&
                   gw_file_sync_often(fileno(file->stream), &file->synced_s) == 0
               ? GW_OK
               : fail_to_write(file->partial, error);
}

/* Truncates the file after the rows that are kept, or after the prelude, and goes on there. */
static enum gw_status cut_file(struct gw_sweep_file *file, const struct gw_grid *grid,
                               uint64_t rows, struct gw_error *error) {
    off_t keep = 0;
    GW_TRY(read_partial(file, grid, rows, &keep, error));
    if (ftruncate(fileno(file->stream), keep) != 0 || fseeko(file->stream, 0, SEEK_END) != 0) {
        return fail_to_write(file->partial, error);
    }
    if (keep == 0) {
        GW_TRY(append_rows(file, file->prelude, strlen(file->prelude), error));
    }
    file->synced_s = -INFINITY;
    GW_TRY(write_now(file, error));
    return gw_file_sync_folder(file->partial, error);
}

static enum gw_status make_prelude(struct gw_sweep_file *file, const struct gw_grid *grid,
                                   struct gw_error *error) {
    struct gw_text prelude;
    FILE *stream = gw_text_open(&prelude);
    if (stream != NULL) {
        (void)fprintf(stream,
                      "{\"schema\":\"gradweave/sweep-partial@3\",\"points\":%" PRIu64
                      ",\"request\":\"%016" PRIx64 "\",\"inputs\":\"%016" PRIx64 "\"}\n",
                      grid->point_count, grid->request_fingerprint, grid->inputs_fingerprint);
        (void)fflush(stream);
        file->title_length = prelude.length;
        file->format->put_heading(stream);
    }
    GW_TRY(gw_text_close(&prelude, "beginning a sweep", error));
    file->prelude = prelude.text;
    if (asprintf(&file->partial, "%s.partial", file->path) < 0) {
        file->partial = NULL;
        return gw_fail_memory(error, "beginning a sweep");
    }
    return GW_OK;
}

static enum gw_status open_partial(struct gw_sweep_file *file, bool resume,
                                   struct gw_error *error) {
    int descriptor = -1;
    GW_TRY(gw_file_open_partial(file->partial, "sweep", &file->created, &descriptor, error));
    file->stream = fdopen(descriptor, "a+");
    if (file->stream == NULL) {
        enum gw_status status = fail_to_write(file->partial, error);
        (void)close(descriptor);
        return status;
    }
    return file->created || resume
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: expected --resume, to continue the sweep that was interrupted, or no "
                         "such file",
                         file->partial);
}

static enum gw_status open_files(struct gw_sweep_files *files, const char *const *paths,
                                 size_t count, const struct gw_grid *grid, bool resume,
                                 struct gw_error *error) {
    off_t keep = 0;
    for (size_t i = 0; i < count; i++) {
        struct gw_sweep_file *file = &files->files[files->count++];
        *file = (struct gw_sweep_file){.path = paths[i], .format = find_file_format(paths[i])};
        GW_TRY(make_prelude(file, grid, error));
        GW_TRY(open_partial(file, resume, error));
        GW_TRY(read_partial(file, grid, grid->point_count, &keep, error));
        files->done = i == 0 || file->rows < files->done ? file->rows : files->done;
    }
    for (size_t i = 0; i < count; i++) {
        GW_TRY(cut_file(&files->files[i], grid, files->done, error));
        files->infeasible = files->files[i].infeasible;
    }
    return GW_OK;
}

enum gw_status gw_sweep_files_open(const char *const *paths, size_t count,
                                   const struct gw_grid *grid, bool resume,
                                   struct gw_sweep_files *out, struct gw_error *error) {
    *out = (struct gw_sweep_files){0};
    GW_TRY(check_paths(paths, count, error));
    enum gw_status status = open_files(out, paths, count, grid, resume, error);
    if (status != GW_OK) {
        for (size_t i = 0; i < out->count; i++) {
            if (out->files[i].created) {
                (void)unlink(out->files[i].partial);
            }
        }
        gw_sweep_files_close(out);
    }
    return status;
}

/* ---- going on ------------------------------------------------------------------------------ */

enum gw_status gw_sweep_put_row(FILE *stream, const char *path, const struct gw_grid *grid,
                                const struct gw_point *point,
                                const struct gw_prediction *prediction, struct gw_error *error) {
    const struct gw_sweep_format *format = gw_needed(find_file_format(path));
    return format->put(stream, grid, point, prediction, error);
}

enum gw_status gw_sweep_files_append(struct gw_sweep_files *files, const char *rows,
                                     const size_t *lengths, bool now, struct gw_error *error) {
    for (size_t i = 0; i < files->count; i++) {
        GW_TRY(append_rows(&files->files[i], rows, lengths[i], error));
        GW_TRY(now ? write_now(&files->files[i], error) : GW_OK);
        rows += lengths[i];
    }
    return GW_OK;
}

/* ---- the end ------------------------------------------------------------------------------- */

/* Copies all but the title. */
static bool copy_rows(const struct gw_sweep_file *file, FILE *to) {
    char block[1 << 14];
    size_t length = 0;
    bool good = fseeko(file->stream, (off_t)file->title_length, SEEK_SET) == 0;
    while (good && (length = fread(block, 1, sizeof block, file->stream)) > 0) {
        good = fwrite(block, 1, length, to) == length;
    }
    return good && ferror(file->stream) == 0;
}

static enum gw_status write_final(const struct gw_sweep_file *file, const char *temporary,
                                  struct gw_error *error) {
    FILE *to = fopen(temporary, "we");
    bool good = to != NULL && copy_rows(file, to) && fflush(to) == 0;
    int cause = errno;
    if (to != NULL && fclose(to) != 0 && good) {
        good = false;
        cause = errno;
    }
    return good ? GW_OK
                : gw_fail(error, GW_FAILED, "%s: cannot be written: %s", file->path,
                          strerror(cause));
}

enum gw_status gw_sweep_files_finish(struct gw_sweep_files *files, struct gw_error *error) {
    for (size_t i = 0; i < files->count; i++) {
        char *temporary = NULL;
        GW_TRY(gw_file_temporary(files->files[i].path, &temporary, error));
        enum gw_status status = write_final(&files->files[i], temporary, error);
        if (status == GW_OK) {
            status = gw_file_replace(temporary, files->files[i].path, error);
        } else {
            gw_file_discard(temporary);
        }
        free(temporary);
        GW_TRY(status);
    }
    for (size_t i = 0; i < files->count; i++) {
        gw_outputs_remove(files->files[i].partial);
    }
    return GW_OK;
}

void gw_sweep_files_close(struct gw_sweep_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        FILE *stream = files->files[i].stream;
        if (stream != NULL) {
            (void)fflush(stream);
            gw_file_unlock(fileno(stream));
            (void)fclose(stream);
        }
        free(files->files[i].partial);
        free(files->files[i].prelude);
    }
    *files = (struct gw_sweep_files){0};
}
