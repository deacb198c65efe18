/* What padding costs ExDyna with and without dynamic allocation: its paper's Fig. 9. */
#include "cli/plot_counts.h"

static enum gw_status draw_padding(const struct gw_plot_counts *plot, struct gw_error *error) {
    enum { LINES = 2 };
    static const struct gw_compressor *const compressors[LINES] = {&gw_compressor_exdyna_static,
                                                                   &gw_compressor_exdyna};
    static const char *const labels[LINES] = {"partitions stay equal", "dynamic allocation"};
    double heights[LINES][GW_PLOT_WINDOWS];
    struct gw_line lines[LINES];
    char title[256];
    for (size_t i = 0; i < LINES; i++) {
        GW_TRY(gw_plot_counts_trained(plot, compressors[i], gw_counts_padding, heights[i], error));
        lines[i] = (struct gw_line){.label = labels[i], .colour = i, .heights = heights[i]};
    }
    snprintf(title, sizeof title, "ExDyna, %s on %zu workers: what padding multiplies traffic by",
             plot->model.name, plot->workers);
    return gw_plot_counts_draw(plot, title, "f(t) = P max k / sum k", lines, LINES, error);
}

enum gw_status gw_plot_kind_padding(const struct gw_plot_options *options, struct gw_error *error) {
    struct gw_plot_counts plot;
    GW_TRY(gw_plot_counts_open(options, &plot, error));
    enum gw_status status = draw_padding(&plot, error);
    gw_plot_counts_close(&plot);
    return status;
}
