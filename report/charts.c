/* Charts that several pictures share: bars, streams, points, lines. */
#include "report/charts.h"

#include <math.h>
#include <string.h>

#include "report/gnuplot.h"

const char *gw_picture_title(const struct gw_scenario *scenario,
                             const struct gw_axis_values *values, const char *what,
                             char out[GW_TITLE_SIZE]) {
    char workers[48] = "";
    char density[48] = "";
    if (!gw_axis_varies(values, GW_AXIS_WORKERS)) {
        (void)snprintf(workers, sizeof workers, ", %s", GW_COUNTED(scenario->workers, "worker"));
    }
    if (scenario->density > 0 && !gw_axis_varies(values, GW_AXIS_DENSITY)) {
        (void)snprintf(density, sizeof density, ", density %g", scenario->density);
    }
    (void)snprintf(out, GW_TITLE_SIZE, "%.80s on %.80s%s%s: %s", scenario->model->name,
                   scenario->cluster->name, workers, density, what);
    return out;
}

/* ---- bars ---------------------------------------------------------------------------------- */

enum gw_status gw_chart_bars(const struct gw_bar *bars, size_t count, const char *title,
                             const char *path, const char *data_path, struct gw_error *error) {
    struct gw_drawing drawing;
    bool pairs = false;
    size_t labels = 0;
    GW_TRY(gw_drawing_open(&drawing, error));
    for (size_t i = 0; i < count; i++) {
        pairs = pairs || bars[i].measured;
    }
    (void)fputs("#position,label,kind,forward_s,backward_s,compress_s,exposed_comm_s,other_s\n",
                drawing.table);
    for (size_t i = 0; i < count; i++) {
        const struct gw_bar *bar = &bars[i];
        const struct gw_breakdown *parts = &bar->breakdown;
        labels += i == 0 || strcmp(bar->label, bars[i - 1].label) != 0;
        double side = !pairs ? 0 : bar->measured ? 0.2 : -0.2;
        (void)fprintf(drawing.table, "%.2f,%s,%s,%.9g,%.9g,%.9g,%.9g,%.9g\n",
                      (double)labels - 1 + side, bar->label,
                      bar->measured ? "m"
                      : pairs       ? "p"
                                    : "",
                      parts->forward_s, parts->backward_s, parts->compress_s, parts->exposed_comm_s,
                      parts->other_s > 0 ? parts->other_s : 0);
    }
    (void)fprintf(drawing.settings, "labels=%zu; pairs=%d", labels, pairs);
    return gw_drawing_finish(&drawing, "breakdown.gp", title, path, data_path, error);
}

/* ---- streams ------------------------------------------------------------------------------- */

/* Writes a span's row; group -1: the span serves no group. `ready_s`: its group can be exchanged.
 */
static void put_span(FILE *table, enum gw_activity activity, long long group, double start_s,
                     double end_s, double ready_s) {
    enum gw_stream stream = activity == GW_EXCHANGE ? GW_STREAM_COMMUNICATION : GW_STREAM_COMPUTE;
    (void)fprintf(table, "%s,%s,%lld,%.9g,%.9g,%.9g\n", gw_stream_name(stream),
                  gw_activity_name(activity), group, start_s, end_s, ready_s);
}

enum gw_status gw_chart_streams(const struct gw_explanation *explanation, double bound_s,
                                const char *title, const char *path, const char *data_path,
                                struct gw_error *error) {
    const struct gw_model *model = explanation->scenario->model;
    size_t count = explanation->plan->group_count;
    const struct gw_group_times *last = &explanation->groups[count - 1];
    double end_s = last->exchange_end_s + explanation->update_s;
    double passed_s = model->forward_s;
    struct gw_drawing drawing;
    GW_TRY(gw_drawing_open(&drawing, error));
    (void)fputs("#stream,activity,group,start_s,end_s,ready_s\n", drawing.table);
    put_span(drawing.table, GW_FORWARD, -1, 0, passed_s, 0);
    for (size_t i = 1; i < model->micro_batches; i++) {
        double turn_s = passed_s + gw_model_backward_s(model);
        put_span(drawing.table, GW_BACKWARD, -1, passed_s, turn_s, passed_s);
        passed_s = turn_s + model->forward_s;
        put_span(drawing.table, GW_FORWARD, -1, turn_s, passed_s, turn_s);
    }
    for (size_t g = 0; g < count; g++) {
        const struct gw_group_times *times = &explanation->groups[g];
        double ready_s = times->compressed_s;
        put_span(drawing.table, GW_BACKWARD, (long long)g, times->backward_start_s, times->ready_s,
                 ready_s);
        put_span(drawing.table, GW_COMPRESS, (long long)g, times->ready_s, ready_s, ready_s);
        put_span(drawing.table, GW_EXCHANGE, (long long)g, times->exchange_start_s,
                 times->exchange_end_s, ready_s);
    }
    put_span(drawing.table, GW_UPDATE, -1, last->exchange_end_s, end_s, last->exchange_end_s);
    (void)fprintf(drawing.settings, "end_s=%.9e; computed_s=%.9e; bound_s=%.9e", end_s,
                  last->compressed_s, bound_s);
    return gw_drawing_finish(&drawing, "streams.gp", title, path, data_path, error);
}

/* ---- points -------------------------------------------------------------------------------- */

enum gw_status gw_chart_points(const struct gw_named_point *points, size_t count, const char *title,
                               const char *axis, const char *path, const char *data_path,
                               struct gw_error *error) {
    struct gw_drawing drawing;
    GW_TRY(gw_drawing_open(&drawing, error));
    (void)fputs("#name,value,low,high,marked,row\n", drawing.table);
    for (size_t i = 0; i < count; i++) {
        const double numbers[] = {points[i].x, points[i].low, points[i].high};
        gw_csv_text(drawing.table, points[i].name);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            (void)(isfinite(numbers[k]) ? fprintf(drawing.table, ",%.9g", numbers[k])
                                        : fputs(",NaN", drawing.table));
        }
        (void)fprintf(drawing.table, ",%d,%zu\n", points[i].marked, count - 1 - i);
    }
    gw_draw_setting(drawing.settings, "axis", axis);
    (void)fprintf(drawing.settings, "count=%zu", count);
    return gw_drawing_finish(&drawing, "points.gp", title, path, data_path, error);
}

/* ---- lines --------------------------------------------------------------------------------- */

/* Largest ratio of heights that a linear axis shows well; beyond it the axis is logarithmic. */
static const double widest_linear_range = 8;

/* Largest number of values that fit below the axis as tics. */
enum { MOST_TICS = 12 };

/* Whether the widest gap between values takes a smaller share of a logarithmic axis. */
static bool has_logarithmic_values(const struct gw_line_chart *chart) {
    const double *values = chart->values;
    double span = values[chart->value_count - 1] - values[0];
    double log_span = log(values[chart->value_count - 1] / values[0]);
    double gap = 0;
    double log_gap = 0;
    for (size_t v = 1; v < chart->value_count; v++) {
        gap = fmax(gap, (values[v] - values[v - 1]) / span);
        log_gap = fmax(log_gap, log(values[v] / values[v - 1]) / log_span);
    }
    return log_gap < gap;
}

static bool has_logarithmic_heights(const struct gw_line_chart *chart) {
    double least = INFINITY;
    double most = 0;
    for (size_t l = 0; l < chart->line_count; l++) {
        for (size_t v = 0; v < chart->value_count; v++) {
            least = fmin(least, chart->lines[l].heights[v]);
            most = fmax(most, chart->lines[l].heights[v]);
        }
    }
    return least > 0 && most > widest_linear_range * least;
}

/* Writes a row for each value, with a column for each line's height. */
static void put_lines(const struct gw_line_chart *chart, FILE *table) {
    (void)fputc('#', table);
    gw_csv_text(table, chart->axis);
    for (size_t l = 0; l < chart->line_count; l++) {
        (void)fputc(',', table);
        gw_csv_text(table, chart->lines[l].label);
    }
    (void)fputc('\n', table);
    for (size_t v = 0; v < chart->value_count; v++) {
        (void)fprintf(table, "%.9g", chart->values[v]);
        for (size_t l = 0; l < chart->line_count; l++) {
            (void)fprintf(table, ",%.9g", chart->lines[l].heights[v]);
        }
        (void)fputc('\n', table);
    }
}

/* Writes a tic for each value, if they are few; `labels` as an array; `colours` and `dashes` as
 * lists with a word for each line. */
static void put_line_settings(const struct gw_line_chart *chart, FILE *settings) {
    (void)fputs("tics='", settings);
    for (size_t v = 0; v < chart->value_count && chart->value_count <= MOST_TICS; v++) {
        (void)fprintf(settings, "%s\"%.4g\" %.9g", v == 0 ? "" : ", ", chart->values[v],
                      chart->values[v]);
    }
    (void)fprintf(
        settings,
        "'; axis='%s'; heights='%s'; unit=%g; lines=%zu; logx=%d; logy=%d; array labels[%zu] = [",
        chart->axis, chart->height_axis, chart->unit, chart->line_count,
        has_logarithmic_values(chart), has_logarithmic_heights(chart), chart->line_count);
    for (size_t l = 0; l < chart->line_count; l++) {
        (void)fputs(l == 0 ? "" : ", ", settings);
        gw_draw_quoted(settings, chart->lines[l].label);
    }
    (void)fputs("]; colours='", settings);
    for (size_t l = 0; l < chart->line_count; l++) {
        (void)fprintf(settings, "%zu ", chart->lines[l].colour);
    }
    (void)fputs("'; dashes='", settings);
    for (size_t l = 0; l < chart->line_count; l++) {
        (void)fprintf(settings, "%d ", chart->lines[l].dashed);
    }
    (void)fputc('\'', settings);
}

enum gw_status gw_chart_lines(const struct gw_line_chart *chart, const char *path,
                              const char *data_path, struct gw_error *error) {
    struct gw_drawing drawing;
    GW_TRY(gw_drawing_open(&drawing, error));
    put_lines(chart, drawing.table);
    put_line_settings(chart, drawing.settings);
    return gw_drawing_finish(&drawing, "lines.gp", chart->title, path, data_path, error);
}
