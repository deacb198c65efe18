/* A point as a line of a table and as a document. */
#include <inttypes.h>

#include "cli/sweep.h"

/* ---- CSV ----------------------------------------------------------------------------------- */

void gw_sweep_put_csv_heading(FILE *stream) {
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

void gw_sweep_put_csv(FILE *stream, const struct gw_grid *grid, const struct gw_point *point,
                      const struct gw_outcome *outcome) {
    (void)fprintf(stream, "%" PRIu64, point->number);
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        (void)fputc(',', stream);
        if (gw_axis_kinds[axis].rule == NULL) {
            gw_csv_text(stream, gw_point_name(grid, point, (enum gw_axis)axis));
        } else {
            gw_csv_number(stream, gw_point_value(grid, point, (enum gw_axis)axis));
        }
    }
    if (outcome->status == GW_OK) {
        put_figures(stream, &outcome->result);
        put_notes(stream, &outcome->result);
        (void)fputs(",\n", stream);
    } else {
        (void)fputs(",,,,,,,,,,,,,", stream);
        gw_csv_text(stream, outcome->why.message);
        (void)fputc('\n', stream);
    }
}

/* ---- documents ----------------------------------------------------------------------------- */

static enum gw_status put_point(const struct gw_grid *grid, const struct gw_point *point,
                                cJSON *document, struct gw_error *error) {
    cJSON *axes = cJSON_CreateObject();
    GW_TRY(gw_json_put_number(document, "point", (double)point->number, error));
    GW_TRY(gw_json_put(document, "axes", axes, error));
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        const char *name = gw_axis_kinds[axis].name;
        if (gw_axis_kinds[axis].rule == NULL) {
            GW_TRY(gw_json_put_text(axes, name, gw_point_name(grid, point, (enum gw_axis)axis),
                                    error));
        } else {
            GW_TRY(gw_json_put_number(axes, name, gw_point_value(grid, point, (enum gw_axis)axis),
                                      error));
        }
    }
    return GW_OK;
}

static enum gw_status put_infeasible(const struct gw_outcome *outcome, cJSON *document,
                                     struct gw_error *error) {
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/infeasible@1", error));
    return gw_json_put_text(document, "reason", outcome->why.message, error);
}

static enum gw_status make_document(const struct gw_outcome *outcome, cJSON **out,
                                    struct gw_error *error) {
    if (outcome->status == GW_OK) {
        return gw_result_document(&outcome->result, out, error);
    }
    *out = cJSON_CreateObject();
    return *out == NULL ? gw_fail_memory(error, "writing a result")
                        : put_infeasible(outcome, *out, error);
}

enum gw_status gw_sweep_row_document(const struct gw_grid *grid, const struct gw_point *point,
                                     const struct gw_outcome *outcome, cJSON **out,
                                     struct gw_error *error) {
    *out = NULL;
    enum gw_status status = make_document(outcome, out, error);
    if (status == GW_OK) {
        status = put_point(grid, point, *out, error);
    }
    if (status != GW_OK) {
        cJSON_Delete(*out);
        *out = NULL;
    }
    return status;
}
