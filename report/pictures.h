/* Draws pictures of answers. */
#ifndef GW_REPORT_PICTURES_H
#define GW_REPORT_PICTURES_H

#include "traces/result.h"

/* Whether a path ends in .png, .svg or .pdf. */
bool gw_plot_is_picture(const char *path);

/* Refuses a path with any other ending. */
enum gw_status gw_plot_check(const char *path, struct gw_error *error);

/* The parameters of a picture; a number that is 0 was not given. */
struct gw_picture {
    const char *subject;    /* a model, a cluster, or a validation's file */
    const char *cluster;    /* of a breakdown */
    const char *algorithms; /* names with commas between, or "all" */
    const char *choices; /* of mixed plans, whose front is drawn in place of pipelines'; or NULL */
    const char *gradients; /* file of recorded gradients that have the plans' energy, or NULL */
    const char *shape;     /* of a gradient: "normal", ... */
    size_t elements;       /* of a gradient, or of a model that is reduced */
    double density;
    size_t workers, iterations;
    size_t decay;            /* iteration from which on gradients are a tenth as large */
    const char *out;         /* the picture's file */
    const char *data;        /* the file that keeps the numbers; or NULL */
    struct gw_result *notes; /* a breakdown's: gets the notes of all predictions */
};

/* Draw breakdowns of pipelines' iterations: predicted, and as a validation file has them. */
enum gw_status gw_draw_breakdown(const struct gw_picture *picture, struct gw_error *error);
enum gw_status gw_draw_validation(const struct gw_picture *picture, struct gw_error *error);

/* Draws an iteration that a validation explains, predicted and measured. */
enum gw_status gw_draw_difference(const struct gw_picture *picture, struct gw_error *error);

/* Draw one pipeline's two streams, and its plan's groups of tensors. */
enum gw_status gw_draw_timeline(const struct gw_picture *picture, struct gw_error *error);
enum gw_status gw_draw_plan(const struct gw_picture *picture, struct gw_error *error);

/*
 * Draw the recommended pipeline and its rivals over workers; the fastest over bandwidths and
 * densities; all pipelines' times over the gradient energy that they send, or the fastest mixed
 * plans that keep at least so much of it.
 */
enum gw_status gw_draw_scaling(const struct gw_picture *picture, struct gw_error *error);
enum gw_status gw_draw_map(const struct gw_picture *picture, struct gw_error *error);
enum gw_status gw_draw_front(const struct gw_picture *picture, struct gw_error *error);

/* Draws the numbers of iterations in which trainings reached their goal. */
enum gw_status gw_draw_convergence(const struct gw_picture *picture, struct gw_error *error);

/* Draws a cluster's curves and the points that they were fitted to. */
enum gw_status gw_draw_calibration(const struct gw_picture *picture, struct gw_error *error);

/* Draws the error of selecting k elements, and its proven bound. */
enum gw_status gw_draw_bounds(const struct gw_picture *picture, struct gw_error *error);

/*
 * Draw over the iterations of an emulated training: the share of elements that some worker selects
 * (ExDyna paper, Figs. 1 and 6), and ExDyna's cost of padding to the longest selection (its Fig.
 * 9).
 */
enum gw_status gw_draw_density(const struct gw_picture *picture, struct gw_error *error);
enum gw_status gw_draw_padding(const struct gw_picture *picture, struct gw_error *error);

#endif
