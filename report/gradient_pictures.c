/* Pictures of gradients: bounds of selections, and counts over an emulated training. */
#include "report/pictures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gradients/emulation.h"
#include "report/charts.h"
#include "study/study.h"

/* ---- bounds --------------------------------------------------------------------------------- */

enum { BOUNDS_VALUES = 41 };

/* Spreads k from one element to all, evenly on a logarithmic scale; `shares` gets k / elements. */
static size_t spread_ks(size_t elements, size_t *ks, double *shares) {
    size_t count = 0;
    for (size_t i = 0; i < BOUNDS_VALUES; i++) {
        double exponent = (double)i / (BOUNDS_VALUES - 1);
        size_t k = (size_t)round(pow((double)elements, exponent));
        if (count == 0 || k > ks[count - 1]) {
            ks[count] = k;
            shares[count++] = (double)k / (double)elements;
        }
    }
    return count;
}

static enum gw_status draw_bound_lines(const struct gw_picture *picture, const float *u,
                                       struct gw_error *error) {
    enum { LINES = 3 };
    size_t ks[BOUNDS_VALUES] = {0};
    double shares[BOUNDS_VALUES];
    double heights[LINES][BOUNDS_VALUES];
    struct gw_bounds bounds[BOUNDS_VALUES];
    size_t count = spread_ks(picture->elements, ks, shares);
    GW_TRY(gw_find_bounds(u, picture->elements, ks, count, bounds, error));
    for (size_t i = 0; i < count; i++) {
        heights[0][i] = bounds[i].random;
        heights[1][i] = bounds[i].proven;
        heights[2][i] = bounds[i].topk;
    }
    const struct gw_line lines[LINES] = {
        {.label = "random-k: 1 - k/d", .colour = 0, .heights = heights[0]},
        {.label = "bound: (1 - k/d)^2", .colour = 1, .heights = heights[1]},
        {.label = "top-k", .colour = 2, .heights = heights[2]}};
    char title[128];
    char elements[GW_UNITS_SIZE];
    snprintf(title, sizeof title, "Energy that k of d = %s elements leave behind (%s)",
             gw_format_count((double)picture->elements, elements), picture->shape);
    const struct gw_line_chart chart = {.title = title,
                                        .axis = "k / d",
                                        .height_axis = "||u - selection||^2 / ||u||^2",
                                        .unit = 1,
                                        .value_count = count,
                                        .values = shares,
                                        .line_count = LINES,
                                        .lines = lines};
    return gw_chart_lines(&chart, picture->out, picture->data, error);
}

enum gw_status gw_draw_bounds(const struct gw_picture *picture, struct gw_error *error) {
    if (picture->elements < 2 || picture->elements > UINT32_MAX) {
        return gw_fail(error, GW_BAD_INPUT, "--elements: expected 2 to 2^32 - 1, got %zu",
                       picture->elements);
    }
    float *u = malloc(picture->elements * sizeof *u);
    enum gw_status status =
        u == NULL ? gw_fail_memory(error, "plotting")
                  : gw_draw_gradient(picture->shape, picture->elements, 1, 0, u, error);
    if (status == GW_OK) {
        status = draw_bound_lines(picture, u, error);
    }
    free(u);
    return status;
}

/* ---- counts over iterations ----------------------------------------------------------------- */

/* A model as one group; its selected counts are drawn as means of windows of iterations. */
struct counts_plot {
    const struct gw_picture *picture;
    struct gw_model model;
    size_t workers;
    double density;
};

enum { MOST_WINDOWS = 200, DEFAULT_WORKERS = 16, DEFAULT_ITERATIONS = 2000 };

static size_t iterations_of(const struct counts_plot *plot) {
    return plot->picture->iterations > 0 ? plot->picture->iterations : DEFAULT_ITERATIONS;
}

static enum gw_status open_plot(const struct gw_picture *picture, struct counts_plot *out,
                                struct gw_error *error) {
    *out =
        (struct counts_plot){.picture = picture,
                             .workers = picture->workers > 0 ? picture->workers : DEFAULT_WORKERS,
                             .density = picture->density > 0 ? picture->density : GW_USUAL_DENSITY};
    return gw_model_open(picture->subject, &out->model, error);
}

static size_t window_of(const struct counts_plot *plot) {
    return (iterations_of(plot) - 1) / MOST_WINDOWS + 1;
}

static size_t count_windows(const struct counts_plot *plot) {
    return (iterations_of(plot) - 1) / window_of(plot) + 1;
}

static void average_counts(const struct counts_plot *plot, const struct gw_counts *counts,
                           double (*of)(const struct gw_counts *counts, size_t iteration),
                           double *heights) {
    size_t window = window_of(plot);
    for (size_t w = 0; w < count_windows(plot); w++) {
        struct gw_running mean = {0};
        for (size_t i = w * window; i < (w + 1) * window && i < counts->iteration_count; i++) {
            gw_running_add(&mean, of(counts, i));
        }
        heights[w] = mean.mean;
    }
}

static enum gw_status train_windows(const struct counts_plot *plot,
                                    const struct gw_compressor *compressor,
                                    double (*of)(const struct gw_counts *counts, size_t iteration),
                                    double *heights, struct gw_error *error) {
    struct gw_group all = {.first = plot->model.tensor_count - 1, .last = 0};
    const struct gw_plan plan = {
        .model = plot->model.name, .workers = plot->workers, .group_count = 1, .groups = &all};
    const struct gw_picture *picture = plot->picture;
    const struct gw_gradient_emulation emulation = {.model = plot->model.name,
                                                    .algorithm = compressor->name,
                                                    .density = plot->density,
                                                    .iterations = iterations_of(plot),
                                                    .decay = picture->decay > 0 ? picture->decay
                                                                                : SIZE_MAX,
                                                    .elements = picture->elements,
                                                    .seed = 1,
                                                    .threads = gw_cores()};
    struct gw_schedule schedule;
    struct gw_counts counts;
    const struct gw_way way = {.compressor = compressor, .density = plot->density};
    GW_TRY(gw_schedule_create(&schedule, &plot->model, &plan, &way, error));
    enum gw_status status = gw_emulate_gradients(&schedule, &emulation, &counts, error);
    if (status == GW_OK) {
        gw_log(GW_LOG_VERBOSE, "%s: %s", compressor->name, counts.source);
        average_counts(plot, &counts, of, heights);
        gw_counts_free(&counts);
    }
    gw_schedule_free(&schedule);
    return status;
}

static enum gw_status draw_windows(const struct counts_plot *plot, const char *title,
                                   const char *height_axis, const struct gw_line *lines,
                                   size_t line_count, struct gw_error *error) {
    double last[MOST_WINDOWS];
    size_t window = window_of(plot);
    for (size_t w = 0; w < count_windows(plot); w++) {
        size_t end = (w + 1) * window;
        last[w] = (double)(end < iterations_of(plot) ? end : iterations_of(plot));
    }
    const struct gw_line_chart chart = {.title = title,
                                        .axis = "iteration",
                                        .height_axis = height_axis,
                                        .unit = 1,
                                        .value_count = count_windows(plot),
                                        .values = last,
                                        .line_count = line_count,
                                        .lines = lines};
    return gw_chart_lines(&chart, plot->picture->out, plot->picture->data, error);
}

struct density_plot {
    struct counts_plot counts;
    const struct gw_algorithm **algorithms;
    size_t count;
    double *heights; /* line * count_windows() + window; the last line is the density asked for */
};

/* Whether the update has every element that some worker selects; otherwise it has k elements. */
static bool sums_selections(const struct gw_algorithm *algorithm) {
    const struct gw_exchange_kind *exchange = algorithm->exchange;
    for (size_t i = 0; i < exchange->leg_count; i++) {
        const struct gw_leg *leg = &exchange->legs[i];
        bool entries =
            leg->payload == GW_SPARSE || leg->payload == GW_PADDED || leg->payload == GW_INDICES;
        if (leg->payload == GW_LAYERS || (entries && strcmp(leg->collective, "allgather") == 0)) {
            return true;
        }
    }
    return false;
}

static enum gw_status fill_line(const struct density_plot *plot, size_t line, double *heights,
                                struct gw_error *error) {
    const struct gw_algorithm *algorithm = line < plot->count ? plot->algorithms[line] : NULL;
    if (algorithm != NULL && !gw_algorithm_selects(algorithm)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "plot density: expected algorithms that compress, got %s", algorithm->name);
    }
    if (algorithm != NULL && sums_selections(algorithm)) {
        return train_windows(&plot->counts, algorithm->compressor, gw_counts_density, heights,
                             error);
    }
    for (size_t w = 0; w < count_windows(&plot->counts); w++) {
        heights[w] = plot->counts.density;
    }
    return GW_OK;
}

static enum gw_status draw_densities(const struct density_plot *plot, struct gw_line *lines,
                                     struct gw_error *error) {
    char title[256];
    size_t windows = count_windows(&plot->counts);
    for (size_t line = 0; line <= plot->count; line++) {
        double *heights = plot->heights + line * windows;
        bool asked = line == plot->count;
        lines[line] = (struct gw_line){.label = asked ? "asked for" : plot->algorithms[line]->name,
                                       .colour = asked ? 4 : line % 4,
                                       .dashed = asked || line >= 4,
                                       .heights = heights};
        GW_TRY(fill_line(plot, line, heights, error));
    }
    snprintf(title, sizeof title, "%s on %s: elements that a worker selects",
             plot->counts.model.name, GW_COUNTED(plot->counts.workers, "worker"));
    return draw_windows(&plot->counts, title, "actual density", lines, plot->count + 1, error);
}

static enum gw_status find_densities(const struct gw_picture *picture, struct density_plot *plot,
                                     struct gw_arena *arena, struct gw_error *error) {
    GW_TRY(gw_algorithms_parse(picture->algorithms, arena, &plot->algorithms, &plot->count, error));
    GW_TRY(open_plot(picture, &plot->counts, error));
    struct gw_line *lines = gw_arena_zeros(arena, plot->count + 1, sizeof *lines);
    plot->heights = gw_arena_zeros(arena, plot->count + 1, MOST_WINDOWS * sizeof *plot->heights);
    return lines == NULL || plot->heights == NULL ? gw_fail_memory(error, "plotting")
                                                  : draw_densities(plot, lines, error);
}

enum gw_status gw_draw_density(const struct gw_picture *picture, struct gw_error *error) {
    struct density_plot plot = {.count = 0};
    struct gw_arena arena = {0};
    enum gw_status status = find_densities(picture, &plot, &arena, error);
    gw_model_free(&plot.counts.model);
    gw_arena_free(&arena);
    return status;
}

static enum gw_status draw_paddings(const struct counts_plot *plot, struct gw_error *error) {
    enum { LINES = 2 };
    static const struct gw_compressor *const compressors[LINES] = {&gw_compressor_exdyna_static,
                                                                   &gw_compressor_exdyna};
    static const char *const labels[LINES] = {"partitions stay equal", "dynamic allocation"};
    double heights[LINES][MOST_WINDOWS];
    struct gw_line lines[LINES];
    char title[256];
    for (size_t i = 0; i < LINES; i++) {
        GW_TRY(train_windows(plot, compressors[i], gw_counts_padding, heights[i], error));
        lines[i] = (struct gw_line){.label = labels[i], .colour = i, .heights = heights[i]};
    }
    snprintf(title, sizeof title, "ExDyna, %s on %s: factor of padding on traffic",
             plot->model.name, GW_COUNTED(plot->workers, "worker"));
    return draw_windows(plot, title, "f(t) = P max k / sum k", lines, LINES, error);
}

enum gw_status gw_draw_padding(const struct gw_picture *picture, struct gw_error *error) {
    struct counts_plot plot;
    GW_TRY(open_plot(picture, &plot, error));
    enum gw_status status = draw_paddings(&plot, error);
    gw_model_free(&plot.model);
    return status;
}
