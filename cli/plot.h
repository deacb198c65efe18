/* The kinds of pictures that `plot` draws, one file each. */
#ifndef GW_CLI_PLOT_H
#define GW_CLI_PLOT_H

#include "cli/cli.h"
#include "plots/plots.h"

struct gw_plot_options {
    struct gw_output_options output;
    struct gw_question_options question;
    const char *kind, *subject, *algorithms, *shape, *out, *data;
    size_t elements, iterations, decay; /* iterations, decay 0: not given */
};

/* Each draws options->out, and keeps its numbers in options->data unless that is NULL. */
enum gw_status gw_plot_kind_breakdown(const struct gw_plot_options *options,
                                      struct gw_error *error);
enum gw_status gw_plot_kind_validation(const struct gw_plot_options *options,
                                       struct gw_error *error);
enum gw_status gw_plot_kind_calibration(const struct gw_plot_options *options,
                                        struct gw_error *error);
enum gw_status gw_plot_kind_bounds(const struct gw_plot_options *options, struct gw_error *error);
enum gw_status gw_plot_kind_density(const struct gw_plot_options *options, struct gw_error *error);
enum gw_status gw_plot_kind_padding(const struct gw_plot_options *options, struct gw_error *error);

#endif
