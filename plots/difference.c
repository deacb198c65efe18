#include <stdio.h>

#include "plots/gnuplot.h"
#include "plots/plots.h"

/* Prints one row per operation; -1 in the column of groups: the operation serves no group. */
static void print_difference_table(const void *subject, FILE *stream) {
    const struct gw_difference_chart *chart = subject;
    (void)fprintf(stream, "#stream,activity,group,rank,predicted_start_s,predicted_end_s,"
                          "on_predicted_path,measured_start_s,measured_end_s,on_measured_path\n");
    for (size_t i = 0; i < chart->count; i++) {
        const struct gw_aligned *operation = &chart->operations[i];
        bool grouped = operation->group != GW_NO_GROUP;
        (void)fprintf(stream, "%s,%s,%lld,%zu", gw_stream_name(operation->stream),
                      gw_activity_name(operation->activity),
                      grouped ? (long long)operation->group : -1, operation->rank);
        for (size_t side = 0; side < 2; side++) {
            (void)fprintf(stream, ",%.9g,%.9g,%d", operation->start_s[side], operation->end_s[side],
                          operation->on_path[side]);
        }
        (void)fputc('\n', stream);
    }
}

static void print_settings(const void *subject, FILE *stream) {
    const struct gw_difference_chart *chart = subject;
    (void)fprintf(stream, "predicted_s=%.9e; measured_s=%.9e", chart->iteration_s[0],
                  chart->iteration_s[1]);
}

enum gw_status gw_plot_difference(const struct gw_difference_chart *chart, const char *path,
                                  const char *data_path, struct gw_error *error) {
    struct gw_drawing drawing = {.script = "difference.gp",
                                 .title = chart->title,
                                 .subject = chart,
                                 .print_table = print_difference_table,
                                 .print_settings = print_settings};
    return gw_draw(&drawing, path, data_path, error);
}
