/* What plot density and plot padding share: gradient emulation of a whole model. */
#ifndef GW_CLI_PLOT_COUNTS_H
#define GW_CLI_PLOT_COUNTS_H

#include "cli/plot.h"
#include "kernels/gradients/emulation.h"

/* A model as one group, of which counts are asked. */
struct gw_plot_counts {
    const struct gw_plot_options *options;
    struct gw_model model;
    size_t workers;
    double density;
};

enum gw_status gw_plot_counts_open(const struct gw_plot_options *options,
                                   struct gw_plot_counts *out, struct gw_error *error);
void gw_plot_counts_close(struct gw_plot_counts *plot);

/* Iterations from the first on, which are means of windows where they are many. */
enum { GW_PLOT_WINDOWS = 200 };
size_t gw_plot_window(const struct gw_plot_counts *plot);  /* iterations of one */
size_t gw_plot_windows(const struct gw_plot_counts *plot); /* how many, at most GW_PLOT_WINDOWS */

/* heights[gw_plot_windows()]: means of what `of` gives for the compressor's iterations. */
enum gw_status
gw_plot_counts_trained(const struct gw_plot_counts *plot, const struct gw_compressor *compressor,
                       double (*of)(const struct gw_counts *counts, size_t iteration),
                       double *heights, struct gw_error *error);

/* Draws lines over the last iterations of windows. */
enum gw_status gw_plot_counts_draw(const struct gw_plot_counts *plot, const char *title,
                                   const char *height_axis, const struct gw_line *lines,
                                   size_t line_count, struct gw_error *error);

#endif
