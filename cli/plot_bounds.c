#include <math.h>
#include <stdlib.h>

#include "cli/plot.h"
#include "kernels/kernels.h"

enum { BOUNDS_VALUES = 41 };

/* From one element to all, evenly on a logarithmic scale; as shares of all. */
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

static enum gw_status draw_bounds(const struct gw_plot_options *options, const float *u,
                                  struct gw_error *error) {
    enum { LINES = 3 };
    size_t ks[BOUNDS_VALUES];
    double shares[BOUNDS_VALUES];
    double heights[LINES][BOUNDS_VALUES];
    struct gw_bounds bounds[BOUNDS_VALUES];
    size_t count = spread_ks(options->elements, ks, shares);
    GW_TRY(gw_find_bounds(u, options->elements, ks, count, bounds, error));
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
    snprintf(title, sizeof title, "What k of d = %s elements leave behind (%s)",
             gw_format_count((double)options->elements, elements), options->shape);
    const struct gw_line_chart chart = {.title = title,
                                        .axis = "k / d",
                                        .height_axis = "||u - selection||^2 / ||u||^2",
                                        .unit = 1,
                                        .value_count = count,
                                        .values = shares,
                                        .line_count = LINES,
                                        .lines = lines};
    return gw_plot_lines(&chart, options->out, options->data, error);
}

enum gw_status gw_plot_kind_bounds(const struct gw_plot_options *options, struct gw_error *error) {
    if (options->elements < 2 || options->elements > UINT32_MAX) {
        return gw_fail(error, GW_BAD_INPUT, "--elements: expected 2 to 2^32 - 1, got %zu",
                       options->elements);
    }
    float *u = malloc(options->elements * sizeof *u);
    enum gw_status status =
        u == NULL ? gw_fail_memory(error, "plotting")
                  : gw_draw_gradient(options->shape, options->elements, 1, 0, u, error);
    if (status == GW_OK) {
        status = draw_bounds(options, u, error);
    }
    free(u);
    return status;
}
