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
    bool (*is_infeasible)(const char *row, size_t length); /* the row of a point without answer */
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

static void put_notes(FILE *stream, const struct gw_result *result) {
    char notes[sizeof result->notes + 2 * sizeof result->notes / sizeof *result->notes] = "";
    size_t length = 0;
    for (size_t i = 0; i < result->note_count; i++) {
        length += (size_t)snprintf(notes + length, sizeof notes - length, "%s%s",
                                   i == 0 ? "" : "; ", result->notes[i]);
    }
    (void)fputc(',', stream);
    gw_csv_text(stream, notes);
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
        put_notes(stream, &prediction->result);
        (void)fputs(",\n", stream);
    } else {
        (void)fputs(",,,,,,,,,,,,,", stream);
        gw_csv_text(stream, prediction->why.message);
        (void)fputc('\n', stream);
    }
    return GW_OK;
}

static bool is_csv_infeasible(const char *row, size_t length) {
    return length >= 2 && row[length - 2] != ',';
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
static bool is_json_infeasible(const char *row, size_t length) {
    static const char key[] = ",\"reason\":";
    return memmem(row, length, key, strlen(key)) != NULL;
}

static const struct gw_sweep_format formats[] = {
    {".csv", "point,", put_csv_heading, put_csv, is_csv_infeasible},
    {".jsonl", "{\"schema\":\"gradweave/result@1\"", put_no_heading, put_json, is_json_infeasible},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static const struct gw_sweep_format *find_format(const char *path) {
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
        const struct gw_sweep_format *format = find_format(paths[i]);
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

/* ---- what is there already ----------------------------------------------------------------- */

static enum gw_status fail_to_write(const char *path, struct gw_error *error) {
    return gw_fail(error, GW_FAILED, "%s: cannot be written: %s", path, strerror(errno));
}

struct row_reader {
    FILE *stream;
    char *row; /* behind its frame; the reader's */
    size_t capacity, length;
};

/* Whether that point's row comes next, whole and as it was written: no row is empty. */
static bool read_row(struct row_reader *reader, uint64_t number) {
    char expected[GW_FRAME_SIZE + 1];
    char frame[GW_FRAME_SIZE + 1] = "";
    if (fread(frame, 1, GW_FRAME_SIZE, reader->stream) != GW_FRAME_SIZE ||
        gw_frame_length(frame) == 0 || gw_frame_length(frame) > GW_FILE_MOST_BYTES) {
        return false;
    }
    size_t length = gw_frame_length(frame);
    reader->length = 0;
    while (reader->length < length) {
        enum { most_at_once = 1 << 16 }; /* as the length may be damaged */
        size_t left = length - reader->length;
        size_t step = left < most_at_once ? left : most_at_once;
        char *larger = gw_grow(reader->row, reader->length + step, &reader->capacity, 1);
        if (larger == NULL) {
            return false;
        }
        reader->row = larger;
        if (fread(larger + reader->length, 1, step, reader->stream) != step) {
            return false;
        }
        reader->length += step;
    }
    gw_frame_make(number, reader->row, length, expected);
    return memcmp(frame, expected, GW_FRAME_SIZE) == 0;
}

/*
 * Counts the rows that are whole and in order, `most` at most, behind the prelude, and how many
 * bytes they take with it. Whatever follows was cut off, or damaged: those points are done again.
 */
static size_t count_rows(struct gw_sweep_file *file, FILE *stream, uint64_t most) {
    struct row_reader reader = {.stream = stream};
    size_t bytes = strlen(file->prelude);
    file->rows = file->infeasible = 0;
    (void)fseeko(stream, (off_t)bytes, SEEK_SET);
    while (file->rows < most && read_row(&reader, file->rows)) {
        bytes += GW_FRAME_SIZE + reader.length;
        file->rows++;
        file->infeasible += file->format->is_infeasible(reader.row, reader.length);
    }
    free(reader.row);
    return bytes;
}

/* Why a file's first line is another one. */
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

/* Whether the file begins as it must, or was cut off before that. */
static enum gw_status check_prelude(const struct gw_sweep_file *file, FILE *stream,
                                    const struct gw_grid *grid, bool *begun,
                                    struct gw_error *error) {
    enum { longer = 64 }; /* than ours another sweep's title may be */
    size_t expected = strlen(file->prelude);
    char *text = calloc(expected + longer + 1, 1);
    if (text == NULL) {
        return gw_fail_memory(error, "resuming a sweep");
    }
    size_t length = fread(text, 1, expected + longer, stream);
    enum gw_status status = GW_OK;
    *begun = length >= expected;
    if (memcmp(text, file->prelude, *begun ? expected : length) != 0) {
        status = refuse_line(file, text, grid, error);
    }
    free(text);
    return status;
}

/* Looks at what an interrupted sweep left; changes nothing. */
static enum gw_status look(struct gw_sweep_file *file, const struct gw_grid *grid,
                           struct gw_error *error) {
    FILE *stream = fopen(file->partial, "re");
    bool begun = false;
    if (stream == NULL) {
        return fail_to_write(file->partial, error);
    }
    enum gw_status status = check_prelude(file, stream, grid, &begun, error);
    if (status == GW_OK && begun) {
        (void)count_rows(file, stream, grid->point_count);
    }
    (void)fclose(stream);
    return status;
}

/* ---- beginning ----------------------------------------------------------------------------- */

static enum gw_status append(const struct gw_sweep_file *file, const char *text, size_t length,
                             struct gw_error *error) {
    return fwrite(text, 1, length, file->stream) == length ? GW_OK
                                                           : fail_to_write(file->partial, error);
}

static enum gw_status append_row(struct gw_sweep_file *file, const char *row, size_t length,
                                 struct gw_error *error) {
    char frame[GW_FRAME_SIZE + 1];
    gw_frame_make(file->rows++, row, length, frame);
    GW_TRY(append(file, frame, GW_FRAME_SIZE, error));
    return append(file, row, length, error);
}

static enum gw_status write_now(struct gw_sweep_file *file, struct gw_error *error) {
    return fflush(file->stream) == 0 && gw_rows_sync(fileno(file->stream), &file->synced_s) == 0
               ? GW_OK
               : fail_to_write(file->partial, error);
}

/* Leaves the rows that all files have, or the prelude alone. */
static enum gw_status cut(struct gw_sweep_file *file, uint64_t rows, struct gw_error *error) {
    size_t keep = 0;
    file->rows = file->infeasible = 0;
    if (rows > 0) {
        FILE *stream = fopen(file->partial, "re");
        if (stream == NULL) {
            return fail_to_write(file->partial, error);
        }
        keep = count_rows(file, stream, rows);
        (void)fclose(stream);
    }
    if (ftruncate(fileno(file->stream), (off_t)keep) != 0) {
        return fail_to_write(file->partial, error);
    }
    if (keep == 0) {
        GW_TRY(append(file, file->prelude, strlen(file->prelude), error));
    }
    file->synced_s = -INFINITY;
    GW_TRY(write_now(file, error));
    return gw_file_sync_folder(file->partial, error);
}

static void print_title(const struct gw_grid *grid, FILE *stream) {
    (void)fprintf(stream,
                  "{\"schema\":\"gradweave/sweep-partial@2\",\"points\":%" PRIu64
                  ",\"request\":\"%016" PRIx64 "\",\"inputs\":\"%016" PRIx64 "\"}\n",
                  grid->point_count, grid->request_fingerprint, grid->inputs_fingerprint);
}

static enum gw_status make_prelude(struct gw_sweep_file *file, const struct gw_grid *grid,
                                   struct gw_error *error) {
    struct gw_text prelude;
    FILE *stream = gw_text_open(&prelude);
    if (stream != NULL) {
        print_title(grid, stream);
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
    file->stream = fdopen(descriptor, "a");
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
    for (size_t i = 0; i < count; i++) {
        struct gw_sweep_file *file = &files->files[files->count++];
        *file = (struct gw_sweep_file){.path = paths[i], .format = find_format(paths[i])};
        GW_TRY(make_prelude(file, grid, error));
        GW_TRY(open_partial(file, resume, error));
        GW_TRY(look(file, grid, error));
        files->done = i == 0 || file->rows < files->done ? file->rows : files->done;
    }
    for (size_t i = 0; i < count; i++) {
        GW_TRY(cut(&files->files[i], files->done, error));
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
    const struct gw_sweep_format *format = gw_needed(find_format(path));
    return format->put(stream, grid, point, prediction, error);
}

enum gw_status gw_sweep_files_append(struct gw_sweep_files *files, const char *rows,
                                     const size_t *lengths, bool now, struct gw_error *error) {
    for (size_t i = 0; i < files->count; i++) {
        GW_TRY(append_row(&files->files[i], rows, lengths[i], error));
        GW_TRY(now ? write_now(&files->files[i], error) : GW_OK);
        rows += lengths[i];
    }
    return GW_OK;
}

/* ---- the end ------------------------------------------------------------------------------- */

/* All but the title and frames, into a stream. */
static bool copy(const struct gw_sweep_file *file, FILE *from, FILE *to) {
    struct row_reader reader = {.stream = from};
    const char *heading = file->prelude + file->title_length;
    bool good =
        fputs(heading, to) >= 0 && fseeko(from, (off_t)strlen(file->prelude), SEEK_SET) == 0;
    errno = EIO; /* says of what was written and is not there any more */
    for (uint64_t number = 0; good && number < file->rows; number++) {
        good =
            read_row(&reader, number) && fwrite(reader.row, 1, reader.length, to) == reader.length;
    }
    free(reader.row);
    return good;
}

static enum gw_status write_final(const struct gw_sweep_file *file, const char *temporary,
                                  struct gw_error *error) {
    FILE *from = fopen(file->partial, "re");
    FILE *to = from == NULL ? NULL : fopen(temporary, "we");
    bool good = to != NULL && copy(file, from, to) && fflush(to) == 0;
    int cause = errno;
    if (to != NULL && fclose(to) != 0 && good) {
        good = false;
        cause = errno;
    }
    if (from != NULL) {
        (void)fclose(from);
    }
    return good ? GW_OK
                : gw_fail(error, GW_FAILED, "%s: cannot be written: %s", file->path,
                          strerror(cause));
}

static enum gw_status put_in_place(const struct gw_sweep_file *file, struct gw_error *error) {
    char *temporary = NULL;
    GW_TRY(gw_file_temporary(file->path, &temporary, error));
    enum gw_status status = write_final(file, temporary, error);
    if (status == GW_OK) {
        status = gw_file_replace(temporary, file->path, error);
    } else {
        gw_file_discard(temporary);
    }
    free(temporary);
    return status;
}

enum gw_status gw_sweep_files_finish(struct gw_sweep_files *files, struct gw_error *error) {
    for (size_t i = 0; i < files->count; i++) {
        GW_TRY(put_in_place(&files->files[i], error));
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
