/* A grid's points for a person, a table, and for programs, documents. */
#include <inttypes.h>

#include "report/sweep.h"

/* ---- the table ------------------------------------------------------------------------------ */

/* Those that are the same for all points stand in the heading. */
static bool is_shown(const struct gw_grid *grid, size_t axis) {
    return axis == GW_AXIS_ALGORITHM || grid->counts[axis] > 1;
}

static const char *format_value(const struct gw_grid *grid, const struct gw_point *point,
                                size_t axis, char out[GW_UNITS_SIZE]) {
    return gw_axis_text(&grid->axes[axis], gw_point_value(grid, point, (enum gw_axis)axis), out);
}

static void print_heading(const struct gw_grid *grid) {
    char text[GW_UNITS_SIZE];
    struct gw_point first = gw_grid_point(grid, 0);
    printf("%s point%s", gw_format_count((double)grid->point_count, text),
           grid->point_count == 1 ? "" : "s");
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        if (!is_shown(grid, axis) && gw_axis_kinds[axis].rule == NULL) {
            printf("; %s %s", gw_axis_kinds[axis].name,
                   gw_point_name(grid, &first, (enum gw_axis)axis));
        } else if (!is_shown(grid, axis)) {
            printf("; %s %s", gw_axis_kinds[axis].name, format_value(grid, &first, axis, text));
        }
    }
    printf("\n\n");
}

void gw_sweep_table_open(struct gw_sweep_table *table, const struct gw_grid *grid) {
    static const char *const figures[] = {"iteration", "compute", "compression",
                                          "exposed",   "groups",  "sent"};
    const char *headings[GW_AXES + sizeof figures / sizeof *figures];
    size_t count = 0;
    *table = (struct gw_sweep_table){0};
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        if (is_shown(grid, axis)) {
            table->alignment[count] = gw_axis_kinds[axis].rule == NULL ? 'l' : 'r';
            headings[count++] = gw_axis_kinds[axis].name;
        }
    }
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        table->alignment[count] = 'r';
        headings[count++] = figures[i];
    }
    table->table = gw_table_open(headings, table->alignment);
}

static void add_figures(struct gw_table *table, const struct gw_result *result) {
    const struct gw_breakdown *parts = &result->breakdown;
    char text[GW_UNITS_SIZE];
    gw_table_cell(table, "%s", gw_format_seconds(result->iteration_s, text));
    gw_table_cell(table, "%s", gw_format_seconds(parts->forward_s + parts->backward_s, text));
    gw_table_cell(table, "%s", gw_format_seconds(parts->compress_s, text));
    gw_table_cell(table, "%s", gw_format_seconds(parts->exposed_comm_s, text));
    gw_table_cell(table, "%zu", result->groups);
    gw_table_cell(table, "%s", gw_format_bytes(result->bytes_per_worker, text));
}

static void add_infeasible(struct gw_sweep_table *table, const struct gw_point *point,
                           const struct gw_prediction *prediction) {
    static const char *const cells[] = {"infeasible", "-", "-", "-", "-", "-"};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        gw_table_cell(table->table, "%s", cells[i]);
    }
    if (table->infeasible++ == 0) {
        snprintf(table->reason, sizeof table->reason, "the first of them point %" PRIu64 ": %.400s",
                 point->number, prediction->why.message);
    }
}

void gw_sweep_table_add(struct gw_sweep_table *table, const struct gw_grid *grid,
                        const struct gw_point *point, const struct gw_prediction *prediction) {
    char text[GW_UNITS_SIZE];
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        if (is_shown(grid, axis) && gw_axis_kinds[axis].rule == NULL) {
            gw_table_cell(table->table, "%s", gw_point_name(grid, point, (enum gw_axis)axis));
        } else if (is_shown(grid, axis)) {
            gw_table_cell(table->table, "%s", format_value(grid, point, axis, text));
        }
    }
    if (prediction->status == GW_OK) {
        add_figures(table->table, &prediction->result);
        gw_collect_notes(&table->notes, &prediction->result);
    } else {
        add_infeasible(table, point, prediction);
    }
}

void gw_sweep_table_print(struct gw_sweep_table *table, const struct gw_grid *grid) {
    char text[GW_UNITS_SIZE];
    print_heading(grid);
    gw_table_print_and_close(table->table);
    table->table = NULL;
    gw_print_result_notes(&table->notes);
    if (table->infeasible > 0) {
        printf("\nnote: %s of the points have no answer, %s\n",
               gw_format_count((double)table->infeasible, text), table->reason);
    }
}

/* ---- documents ------------------------------------------------------------------------------ */

static enum gw_status put_point(const struct gw_grid *grid, const struct gw_point *point,
                                cJSON *document, struct gw_error *error) {
    cJSON *axes = cJSON_CreateObject();
    GW_TRY(gw_json_put_number(document, "point", (double)point->number, error));
    GW_TRY(gw_json_put(document, "axes", axes, error));
    for (size_t a = 0; a < GW_AXES; a++) {
        enum gw_axis axis = (enum gw_axis)a;
        const char *name = gw_axis_kinds[axis].name;
        GW_TRY(gw_axis_kinds[axis].rule == NULL
                   ? gw_json_put_text(axes, name, gw_point_name(grid, point, axis), error)
                   : gw_json_put_number(axes, name, gw_point_value(grid, point, axis), error));
    }
    return GW_OK;
}

static enum gw_status write_infeasible(const struct gw_prediction *prediction, cJSON **out,
                                       struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/infeasible@1");
    gw_writer_text(&writer, "reason", prediction->why.message);
    return gw_writer_finish(&writer, out, error);
}

enum gw_status gw_sweep_document(const struct gw_grid *grid, const struct gw_point *point,
                                 const struct gw_prediction *prediction, cJSON **out,
                                 struct gw_error *error) {
    *out = NULL;
    GW_TRY(prediction->status == GW_OK ? gw_result_document(&prediction->result, out, error)
                                       : write_infeasible(prediction, out, error));
    enum gw_status status = put_point(grid, point, *out, error);
    if (status != GW_OK) {
        cJSON_Delete(*out);
        *out = NULL;
    }
    return status;
}
