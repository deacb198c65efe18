/* The share of elements that some worker selects, over iterations: ExDyna paper, Figs. 1 and 6. */
#include <stdlib.h>
#include <string.h>

#include "cli/plot_counts.h"

struct density_plot {
    struct gw_plot_counts counts;
    const struct gw_algorithm **algorithms;
    size_t count;
    double *heights; /* line * gw_plot_windows() + window; the last line is what is asked for */
};

/* Whether all that any worker selects becomes part of the update; otherwise that is k elements. */
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
    if (algorithm != NULL && !gw_algorithm_is_sparse(algorithm)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "plot density: expected algorithms that compress, got %s", algorithm->name);
    }
    if (algorithm != NULL && sums_selections(algorithm)) {
        return gw_plot_counts_trained(&plot->counts, algorithm->compressor, gw_counts_density,
                                      heights, error);
    }
    for (size_t w = 0; w < gw_plot_windows(&plot->counts); w++) {
        heights[w] = plot->counts.density;
    }
    return GW_OK;
}

static enum gw_status draw(const struct density_plot *plot, struct gw_line *lines,
                           struct gw_error *error) {
    char title[256];
    size_t windows = gw_plot_windows(&plot->counts);
    for (size_t line = 0; line <= plot->count; line++) {
        double *heights = plot->heights + line * windows;
        bool asked = line == plot->count;
        lines[line] = (struct gw_line){.label = asked ? "asked for" : plot->algorithms[line]->name,
                                       .colour = asked ? 4 : line % 4,
                                       .dashed = asked || line >= 4,
                                       .heights = heights};
        GW_TRY(fill_line(plot, line, heights, error));
    }
    snprintf(title, sizeof title, "%s on %zu workers: what some worker selects",
             plot->counts.model.name, plot->counts.workers);
    return gw_plot_counts_draw(&plot->counts, title, "actual density", lines, plot->count + 1,
                               error);
}

enum gw_status gw_plot_kind_density(const struct gw_plot_options *options, struct gw_error *error) {
    struct density_plot plot = {.count = 0};
    GW_TRY(gw_algorithms_parse(options->algorithms, &plot.algorithms, &plot.count, error));
    enum gw_status status = gw_plot_counts_open(options, &plot.counts, error);
    if (status == GW_OK) {
        struct gw_line *lines = calloc(plot.count + 1, sizeof *lines);
        plot.heights = calloc(plot.count + 1, GW_PLOT_WINDOWS * sizeof *plot.heights);
        status = lines == NULL || plot.heights == NULL ? gw_fail_memory(error, "plotting")
                                                       : draw(&plot, lines, error);
        free(lines);
        free(plot.heights);
        gw_plot_counts_close(&plot.counts);
    }
    free(plot.algorithms);
    return status;
}
