#include "cli/plot_counts.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_WORKERS = 16, DEFAULT_ITERATIONS = 2000 };

static size_t iterations_of(const struct gw_plot_counts *plot) {
    return plot->options->iterations > 0 ? plot->options->iterations : DEFAULT_ITERATIONS;
}

enum gw_status gw_plot_counts_open(const struct gw_plot_options *options,
                                   struct gw_plot_counts *out, struct gw_error *error) {
    char *path = NULL;
    const struct gw_question_options *asked = &options->question;
    *out = (struct gw_plot_counts){.options = options,
                                   .workers = asked->workers > 0 ? asked->workers : DEFAULT_WORKERS,
                                   .density = asked->density > 0 ? asked->density : 0.001};
    GW_TRY(gw_data_resolve(GW_DATA_MODELS, options->subject, &path, error));
    enum gw_status status = gw_model_read(path, &out->model, error);
    free(path);
    return status;
}

void gw_plot_counts_close(struct gw_plot_counts *plot) {
    gw_model_free(&plot->model);
}

size_t gw_plot_window(const struct gw_plot_counts *plot) {
    return (iterations_of(plot) - 1) / GW_PLOT_WINDOWS + 1;
}

size_t gw_plot_windows(const struct gw_plot_counts *plot) {
    return (iterations_of(plot) - 1) / gw_plot_window(plot) + 1;
}

static void average(const struct gw_plot_counts *plot, const struct gw_counts *counts,
                    double (*of)(const struct gw_counts *counts, size_t iteration),
                    double *heights) {
    size_t window = gw_plot_window(plot);
    for (size_t w = 0; w < gw_plot_windows(plot); w++) {
        struct gw_running mean = {0};
        for (size_t i = w * window; i < (w + 1) * window && i < counts->iteration_count; i++) {
            gw_running_add(&mean, of(counts, i));
        }
        heights[w] = mean.mean;
    }
}

enum gw_status
gw_plot_counts_trained(const struct gw_plot_counts *plot, const struct gw_compressor *compressor,
                       double (*of)(const struct gw_counts *counts, size_t iteration),
                       double *heights, struct gw_error *error) {
    struct gw_group all = {.first = plot->model.tensor_count - 1, .last = 0};
    const struct gw_plan plan = {.model = plot->model.name,
                                 .density = plot->density,
                                 .workers = plot->workers,
                                 .group_count = 1,
                                 .groups = &all};
    const struct gw_plot_options *options = plot->options;
    const struct gw_gradient_emulation emulation = {.model = plot->model.name,
                                                    .algorithm = compressor->name,
                                                    .density = plot->density,
                                                    .iterations = iterations_of(plot),
                                                    .decay = options->decay > 0 ? options->decay
                                                                                : SIZE_MAX,
                                                    .elements = options->elements,
                                                    .seed = 1,
                                                    .threads = gw_cores()};
    struct gw_schedule schedule;
    struct gw_counts counts;
    GW_TRY(gw_schedule_create(&schedule, &plot->model, &plan, compressor, error));
    enum gw_status status = gw_emulate_gradients(&schedule, &emulation, &counts, error);
    if (status == GW_OK) {
        gw_log(GW_LOG_VERBOSE, "%s: %s", compressor->name, counts.source);
        average(plot, &counts, of, heights);
        gw_counts_free(&counts);
    }
    gw_schedule_free(&schedule);
    return status;
}

enum gw_status gw_plot_counts_draw(const struct gw_plot_counts *plot, const char *title,
                                   const char *height_axis, const struct gw_line *lines,
                                   size_t line_count, struct gw_error *error) {
    double last[GW_PLOT_WINDOWS];
    size_t window = gw_plot_window(plot);
    for (size_t w = 0; w < gw_plot_windows(plot); w++) {
        size_t end = (w + 1) * window;
        last[w] = (double)(end < iterations_of(plot) ? end : iterations_of(plot));
    }
    const struct gw_line_chart chart = {.title = title,
                                        .axis = "iteration",
                                        .height_axis = height_axis,
                                        .unit = 1,
                                        .value_count = gw_plot_windows(plot),
                                        .values = last,
                                        .line_count = line_count,
                                        .lines = lines};
    return gw_plot_lines(&chart, plot->options->out, plot->options->data, error);
}
