#include <math.h>
#include <stdio.h>

#include "plots/gnuplot.h"
#include "plots/plots.h"

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

/* Prints one row per value with a column for each line's height. */
static void print_lines_table(const void *subject, FILE *stream) {
    const struct gw_line_chart *chart = subject;
    (void)fputc('#', stream);
    gw_csv_text(stream, chart->axis);
    for (size_t l = 0; l < chart->line_count; l++) {
        (void)fputc(',', stream);
        gw_csv_text(stream, chart->lines[l].label);
    }
    (void)fputc('\n', stream);
    for (size_t v = 0; v < chart->value_count; v++) {
        (void)fprintf(stream, "%.9g", chart->values[v]);
        for (size_t l = 0; l < chart->line_count; l++) {
            (void)fprintf(stream, ",%.9g", chart->lines[l].heights[v]);
        }
        (void)fputc('\n', stream);
    }
}

/* Prints gnuplot tics, one per value; too many values: gnuplot's own tics. */
static void print_tics(const struct gw_line_chart *chart, FILE *stream) {
    (void)fputs("tics='", stream);
    for (size_t v = 0; v < chart->value_count && chart->value_count <= MOST_TICS; v++) {
        (void)fprintf(stream, "%s\"%.4g\" %.9g", v == 0 ? "" : ", ", chart->values[v],
                      chart->values[v]);
    }
    (void)fputs("'; ", stream);
}

/* Prints `labels` as an array, `colours` and `dashes` as lists with a word per line. */
static void print_settings(const void *subject, FILE *stream) {
    const struct gw_line_chart *chart = subject;
    print_tics(chart, stream);
    (void)fprintf(
        stream,
        "axis='%s'; heights='%s'; unit=%g; lines=%zu; logx=%d; logy=%d; array labels[%zu] = [",
        chart->axis, chart->height_axis, chart->unit, chart->line_count,
        has_logarithmic_values(chart), has_logarithmic_heights(chart), chart->line_count);
    for (size_t l = 0; l < chart->line_count; l++) {
        (void)fputs(l == 0 ? "" : ", ", stream);
        gw_draw_quoted(stream, chart->lines[l].label);
    }
    (void)fputs("]; colours='", stream);
    for (size_t l = 0; l < chart->line_count; l++) {
        (void)fprintf(stream, "%zu ", chart->lines[l].colour);
    }
    (void)fputs("'; dashes='", stream);
    for (size_t l = 0; l < chart->line_count; l++) {
        (void)fprintf(stream, "%d ", chart->lines[l].dashed);
    }
    (void)fputc('\'', stream);
}

enum gw_status gw_plot_lines(const struct gw_line_chart *chart, const char *path,
                             const char *data_path, struct gw_error *error) {
    struct gw_drawing drawing = {.script = "lines.gp",
                                 .title = chart->title,
                                 .subject = chart,
                                 .print_table = print_lines_table,
                                 .print_settings = print_settings};
    return gw_draw(&drawing, path, data_path, error);
}
