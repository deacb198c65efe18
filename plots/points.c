#include <math.h>
#include <stdio.h>

#include "plots/gnuplot.h"
#include "plots/plots.h"

static void print_number(double value, FILE *stream) {
    (void)(isfinite(value) ? fprintf(stream, ",%.9g", value) : fprintf(stream, ",NaN"));
}

static void print_points_table(const void *subject, FILE *stream) {
    const struct gw_point_chart *chart = subject;
    (void)fprintf(stream, "#name,value,low,high,marked,row\n");
    for (size_t i = 0; i < chart->count; i++) {
        const struct gw_named_point *point = &chart->points[i];
        gw_csv_text(stream, point->name);
        print_number(point->x, stream);
        print_number(point->low, stream);
        print_number(point->high, stream);
        (void)fprintf(stream, ",%d,%zu\n", point->marked, chart->count - 1 - i);
    }
}

static void print_settings(const void *subject, FILE *stream) {
    const struct gw_point_chart *chart = subject;
    (void)fprintf(stream, "count=%zu; axis=", chart->count);
    gw_draw_quoted(stream, chart->axis);
}

enum gw_status gw_plot_points(const struct gw_point_chart *chart, const char *path,
                              const char *data_path, struct gw_error *error) {
    const struct gw_drawing drawing = {.script = "points.gp",
                                       .title = chart->title,
                                       .subject = chart,
                                       .print_table = print_points_table,
                                       .print_settings = print_settings};
    return gw_draw(&drawing, path, data_path, error);
}
