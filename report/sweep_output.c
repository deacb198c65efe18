/* Where a grid's answers go: to files, or to a table for a person or documents for programs. */
#include <inttypes.h>
#include <string.h>

#include "report/sweep.h"

/* ---- from any rank to rank 0 ----------------------------------------------------------------- */

/* What comes to rank 0 of a point, below its prediction, or its rows where there are files. */
struct answer {
    enum gw_status status; /* as a prediction's */
    size_t lengths[GW_SWEEP_MOST_FILES];
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

static enum gw_status add_document(struct gw_sweep_output *output, const struct gw_point *point,
                                   const struct gw_prediction *prediction, struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_sweep_document(output->grid, point, prediction, &document, error));
    return gw_json_append(output->points, document, error);
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
        return add_document(output, &point, &prediction, error);
    }
    gw_sweep_table_add(&output->table, output->grid, &point, &prediction);
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
    gw_sweep_table_open(&output->table, output->grid);
    return GW_OK;
}

static enum gw_status put_answer(struct gw_sweep_output *output, cJSON *document,
                                 struct gw_error *error) {
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/sweep-result@1", error));
    GW_TRY(gw_json_put_number(document, "point_count", (double)output->grid->point_count, error));
    GW_TRY(gw_json_put_number(document, "infeasible_count", (double)output->infeasible, error));
    GW_TRY(gw_json_put_number(document, "resumed_count", (double)output->done, error));
    if (output->points != NULL) {
        cJSON *points = output->points;
        output->points = NULL;
        return gw_json_put(document, "points", points, error);
    }
    return gw_json_put_texts(document, "files", (char *const *)(void *)output->paths,
                             output->path_count, error);
}

static void print_files(const struct gw_sweep_output *output, double seconds) {
    char texts[2][GW_UNITS_SIZE];
    double simulated = (double)(output->grid->point_count - output->done);
    printf("%s points, %s of them infeasible, in ",
           gw_format_count((double)output->grid->point_count, texts[0]),
           gw_format_count((double)output->infeasible, texts[1]));
    for (size_t i = 0; i < output->files.count; i++) {
        printf("%s%s", i == 0 ? "" : ", ", output->files.files[i].path);
    }
    printf("\n%s simulated in %s", gw_format_count(simulated, texts[0]),
           gw_format_seconds(seconds, texts[1]));
    if (simulated > 0 && seconds > 0) {
        printf(", %s a second", gw_format_count(simulated / seconds, texts[0]));
    }
    printf("\n");
}

enum gw_status gw_sweep_output_print(struct gw_sweep_output *output, double seconds,
                                     struct gw_error *error) {
    if (output->files.count > 0) {
        GW_TRY(gw_sweep_files_finish(&output->files, error));
    }
    if (output->json) {
        cJSON *document = cJSON_CreateObject();
        return gw_print_filled(document, put_answer(output, document, error), error);
    }
    if (output->files.count > 0) {
        print_files(output, seconds);
    } else {
        gw_sweep_table_print(&output->table, output->grid);
    }
    return GW_OK;
}

void gw_sweep_output_close(struct gw_sweep_output *output) {
    gw_sweep_files_close(&output->files);
    gw_table_close(output->table.table);
    cJSON_Delete(output->points);
}
