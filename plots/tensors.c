#include <stdio.h>

#include "plots/gnuplot.h"
#include "plots/plots.h"

static void print_tensors_table(const void *subject, FILE *stream) {
    const struct gw_tensors_chart *chart = subject;
    size_t place = 0;
    (void)fprintf(stream, "#place,group,tensor,elements,backward_s\n");
    for (size_t g = 0; g < chart->plan->group_count; g++) {
        const struct gw_group *group = &chart->plan->groups[g];
        for (size_t i = group->first + 1; i > group->last; i--) {
            const struct gw_tensor *tensor = &chart->model->tensors[i - 1];
            (void)fprintf(stream, "%zu,%zu,", place++, g);
            gw_csv_text(stream, tensor->name);
            (void)fprintf(stream, ",%llu,%.9g\n", (unsigned long long)tensor->elements,
                          tensor->backward_s);
        }
    }
}

static void print_settings(const void *subject, FILE *stream) {
    const struct gw_tensors_chart *chart = subject;
    (void)fprintf(stream, "tensors=%zu; groups=%zu", chart->model->tensor_count,
                  chart->plan->group_count);
}

enum gw_status gw_plot_tensors(const struct gw_tensors_chart *chart, const char *path,
                               const char *data_path, struct gw_error *error) {
    const struct gw_drawing drawing = {.script = "tensors.gp",
                                       .title = chart->title,
                                       .subject = chart,
                                       .print_table = print_tensors_table,
                                       .print_settings = print_settings};
    return gw_draw(&drawing, path, data_path, error);
}
