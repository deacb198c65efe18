/* A grid's answers: from all ranks to files, or to a table for a person, documents for programs. */
#include <inttypes.h>
#include <string.h>

#include "report/sweep.h"

/* ---- the table ------------------------------------------------------------------------------ */

/* Whether the axis has a column; the heading shows axes of one value. */
static bool is_shown(const struct gw_grid *grid, size_t axis) {
    return axis == GW_AXIS_ALGORITHM || grid->counts[axis] > 1;
}

/* Whether no point depends on the axis: on the density, if all exchanges are dense. */
static bool is_idle(const struct gw_grid *grid, size_t axis) {
    size_t dense = 0;
    for (size_t i = 0; i < grid->counts[GW_AXIS_ALGORITHM]; i++) {
        dense += !gw_algorithm_selects(&grid->algorithms[i]);
    }
    return gw_axis_kinds[axis].sparse_only && dense == grid->counts[GW_AXIS_ALGORITHM];
}

static const char *format_value(const struct gw_grid *grid, const struct gw_point *point,
                                size_t axis, char out[GW_UNITS_SIZE]) {
    return gw_axis_text(&grid->axes[axis], gw_point_value(grid, point, (enum gw_axis)axis), out);
}

static void print_sweep_heading(const struct gw_grid *grid) {
    char text[GW_UNITS_SIZE];
    struct gw_point first = gw_grid_point(grid, 0);
    gw_print("%s point%s", gw_format_count((double)grid->point_count, text),
             grid->point_count == 1 ? "" : "s");
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        if (is_shown(grid, axis) || is_idle(grid, axis)) {
            continue;
        }
        if (gw_axis_kinds[axis].rule == NULL) {
            gw_print("; %s %s", gw_axis_kinds[axis].name,
                     gw_point_name(grid, &first, (enum gw_axis)axis));
        } else {
            gw_print("; %s %s", gw_axis_kinds[axis].name, format_value(grid, &first, axis, text));
        }
    }
    if (grid->micro_batches > 1) {
        gw_print("; %zu micro-batches an iteration", grid->micro_batches);
    }
    gw_print("\n\n");
}

static void open_table(struct gw_sweep_table *table, const struct gw_grid *grid) {
    size_t shown = 0;
    *table = (struct gw_sweep_table){0};
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        if (is_shown(grid, axis)) {
            table->alignment[shown++] = gw_axis_kinds[axis].rule == NULL ? 'l' : 'r';
        }
    }
    memcpy(table->alignment + shown, "rrrrrr", sizeof "rrrrrr");
    size_t first = 0;
    while (!is_shown(grid, first)) {
        first++;
    }
    table->table = gw_table_open(table->alignment, "%s", gw_axis_kinds[first].name);
    for (size_t axis = first + 1; axis < GW_AXES; axis++) {
        if (is_shown(grid, axis)) {
            gw_table_cells(table->table, "%s", gw_axis_kinds[axis].name);
        }
    }
    gw_table_cells(table->table, "iteration\tcompute\tcompression\texposed\tgroups\tsent");
}

static void add_row(struct gw_sweep_table *table, const struct gw_grid *grid,
                    const struct gw_point *point, const struct gw_prediction *prediction) {
    const struct gw_result *result = &prediction->result;
    const struct gw_breakdown *parts = &result->breakdown;
    char text[GW_UNITS_SIZE];
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        if (is_shown(grid, axis) && gw_axis_kinds[axis].rule == NULL) {
            gw_table_cells(table->table, "%s", gw_point_name(grid, point, (enum gw_axis)axis));
        } else if (is_shown(grid, axis)) {
            gw_table_cells(table->table, "%s", format_value(grid, point, axis, text));
        }
    }
    if (prediction->status == GW_OK) {
        gw_table_cells(table->table, "%s\t%s\t%s\t%s\t%zu\t%s", GW_SECONDS(result->iteration_s),
                       GW_SECONDS(parts->forward_s + parts->backward_s),
                       GW_SECONDS(parts->compress_s), GW_SECONDS(parts->exposed_comm_s),
                       result->groups, GW_BYTES(result->bytes_per_worker));
        gw_result_collect(&table->notes, result);
        return;
    }
    gw_table_cells(table->table, "infeasible\t-\t-\t-\t-\t-");
    if (table->infeasible++ == 0) {
        snprintf(table->reason, sizeof table->reason, "the first of them point %" PRIu64 ": %.400s",
                 point->number, prediction->why.message);
    }
}

/* ---- from any rank to rank 0 ----------------------------------------------------------------- */

/* Header of a point's answer on its way to rank 0; a prediction, or rows of files, follow it. */
struct answer {
    enum gw_status status; /* as a prediction's */
    size_t lengths[GW_SWEEP_MAX_FILES];
};

/* The point's row in each file, behind each other. */
static enum gw_status put_rows(const struct gw_sweep_output *output, const struct gw_point *point,
                               const struct gw_prediction *prediction, struct answer *answer,
                               FILE *stream, struct gw_error *error) {
    off_t begin = ftello(stream);
    for (size_t i = 0; i < output->path_count; i++) {
        GW_TRY(gw_sweep_put_row(stream, output->paths[i], output->grid, point, prediction, error));
        answer->lengths[i] = (size_t)(ftello(stream) - begin);
        begin += (off_t)answer->lengths[i];
    }
    return GW_OK;
}

enum gw_status gw_sweep_encode(const struct gw_sweep_output *output, const struct gw_point *point,
                               const struct gw_prediction *prediction, FILE *stream,
                               struct gw_error *error) {
    struct answer answer = {.status = prediction->status};
    if (output->path_count == 0) {
        (void)fwrite(prediction, sizeof *prediction, 1, stream);
    }
    GW_TRY(put_rows(output, point, prediction, &answer, stream, error));
    (void)fwrite(&answer, sizeof answer, 1, stream);
    return GW_OK;
}

/* The prediction, with the names that it has on this rank. */
static struct gw_prediction read_prediction(const struct gw_grid *grid,
                                            const struct gw_point *point, const char *text) {
    struct gw_prediction prediction;
    memcpy(&prediction, text, sizeof prediction);
    prediction.result.model = grid->models[point->at[GW_AXIS_MODEL]].name;
    gw_result_name(&prediction.result, &grid->algorithms[point->at[GW_AXIS_ALGORITHM]]);
    return prediction;
}

enum gw_status gw_sweep_output_take(struct gw_sweep_output *output, uint64_t number,
                                    const char *text, size_t length, bool last,
                                    struct gw_error *error) {
    struct answer answer;
    memcpy(&answer, text + length - sizeof answer, sizeof answer);
    output->infeasible += answer.status != GW_OK;
    if (output->files.count > 0) {
        return gw_sweep_files_append(&output->files, text, answer.lengths, last, error);
    }
    struct gw_point point = gw_grid_point(output->grid, number);
    struct gw_prediction prediction = read_prediction(output->grid, &point, text);
    if (output->points != NULL) {
        cJSON *document = NULL;
        GW_TRY(gw_sweep_document(output->grid, &point, &prediction, &document, error));
        return cJSON_AddItemToArray(output->points, document) ? GW_OK
                                                              : gw_fail_memory(error, "sweeping");
    }
    add_row(&output->table, output->grid, &point, &prediction);
    return GW_OK;
}

/* ---- on rank 0 ------------------------------------------------------------------------------- */

enum gw_status gw_sweep_output_open(struct gw_sweep_output *output, bool resume,
                                    struct gw_error *error) {
    enum { most_shown = 100000 };
    if (output->path_count > 0) {
        GW_TRY(gw_sweep_files_open(output->paths, output->path_count, output->grid, resume,
                                   &output->files, error));
        output->infeasible = output->files.infeasible;
        output->done = output->files.done;
        return GW_OK;
    }
    if (output->grid->point_count > most_shown) {
        return gw_fail(error, GW_BAD_INPUT,
                       "expected --out FILE for %" PRIu64 " points, which are more than %d",
                       output->grid->point_count, most_shown);
    }
    if (output->json) {
        output->points = cJSON_CreateArray();
        return output->points == NULL ? gw_fail_memory(error, "sweeping") : GW_OK;
    }
    open_table(&output->table, output->grid);
    return GW_OK;
}

static enum gw_status print_json(struct gw_sweep_output *output, struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/sweep-result@1");
    gw_writer_number(&writer, "point_count", (double)output->grid->point_count);
    gw_writer_number(&writer, "infeasible_count", (double)output->infeasible);
    gw_writer_number(&writer, "resumed_count", (double)output->done);
    if (output->points != NULL) {
        gw_writer_part(&writer, "points", output->points);
        output->points = NULL;
    } else {
        gw_writer_texts(&writer, "files", (char *const *)(void *)output->paths, output->path_count);
    }
    return gw_print_written(&writer, error);
}

static void print_files(const struct gw_sweep_output *output, double seconds) {
    double simulated = (double)(output->grid->point_count - output->done);
    gw_print("%s points, %s of them infeasible, in ", GW_NUMBER(output->grid->point_count),
             GW_NUMBER(output->infeasible));
    for (size_t i = 0; i < output->files.count; i++) {
        gw_print("%s%s", i == 0 ? "" : ", ", output->files.files[i].path);
    }
    gw_print("\n%s simulated in %s", GW_NUMBER(simulated), GW_SECONDS(seconds));
    if (simulated > 0 && seconds > 0) {
        gw_print(", %s a second", GW_NUMBER(simulated / seconds));
    }
    gw_print("\n");
}

enum gw_status gw_sweep_output_print(struct gw_sweep_output *output, double seconds,
                                     struct gw_error *error) {
    if (output->files.count > 0) {
        GW_TRY(gw_sweep_files_finish(&output->files, error));
    }
    if (output->json) {
        return print_json(output, error);
    }
    if (output->files.count > 0) {
        print_files(output, seconds);
    } else {
        print_sweep_heading(output->grid);
        gw_table_print_and_close(output->table.table);
        output->table.table = NULL;
        gw_print_collected_notes(&output->table.notes);
        if (output->table.infeasible > 0) {
            gw_print_note("note: ", "%s of the points have no answer, %s",
                          GW_NUMBER(output->table.infeasible), output->table.reason);
        }
    }
    return GW_OK;
}

void gw_sweep_output_close(struct gw_sweep_output *output) {
    gw_sweep_files_close(&output->files);
    gw_table_close(output->table.table);
    cJSON_Delete(output->points);
}
