/* Pictures of answers, one kind each. */
#ifndef GW_REPORT_PICTURES_H
#define GW_REPORT_PICTURES_H

#include "traces/result.h"

/* What is drawn; a number that is 0 was not given. */
struct gw_picture {
    const char *subject;    /* a model, a cluster, or a validation's file */
    const char *cluster;    /* of a breakdown */
    const char *algorithms; /* names with commas between, or "all" */
    const char *shape;      /* of a gradient: "normal", ... */
    size_t elements;        /* of a gradient, or of a model that is reduced */
    double density;
    size_t workers, iterations;
    size_t decay;            /* the iteration from which on gradients are a tenth as large */
    const char *out;         /* the picture's file */
    const char *data;        /* the file that keeps the numbers; or NULL */
    struct gw_result *notes; /* of a breakdown: gets those of all predictions */
};

/* Iterations of pipelines as they are predicted, and as a validation found them. */
enum gw_status gw_draw_breakdown(const struct gw_picture *picture, struct gw_error *error);
enum gw_status gw_draw_validation(const struct gw_picture *picture, struct gw_error *error);

/* An iteration that a validation explains, as predicted and as measured. */
enum gw_status gw_draw_difference(const struct gw_picture *picture, struct gw_error *error);

/* Of one pipeline: what its two streams do, and which tensors travel together. */
enum gw_status gw_draw_timeline(const struct gw_picture *picture, struct gw_error *error);
enum gw_status gw_draw_plan(const struct gw_picture *picture, struct gw_error *error);

/* Of what is recommended and its rivals: over workers; the fastest over bandwidths and densities;
 * all pipelines by their times and the energy that they send. */
enum gw_status gw_draw_scaling(const struct gw_picture *picture, struct gw_error *error);
enum gw_status gw_draw_map(const struct gw_picture *picture, struct gw_error *error);
enum gw_status gw_draw_front(const struct gw_picture *picture, struct gw_error *error);

/* In how many iterations trainings came to their goal. */
enum gw_status gw_draw_convergence(const struct gw_picture *picture, struct gw_error *error);

/* Curves of a cluster, and what they were fitted to. */
enum gw_status gw_draw_calibration(const struct gw_picture *picture, struct gw_error *error);

/* What a selection of k elements leaves behind, and what is proven of that. */
enum gw_status gw_draw_bounds(const struct gw_picture *picture, struct gw_error *error);

/*
 * Over the iterations of an emulated training: the share of elements that some worker selects
 * (ExDyna paper, Figs. 1 and 6), and what padding to the longest costs ExDyna (its Fig. 9).
 */
enum gw_status gw_draw_density(const struct gw_picture *picture, struct gw_error *error);
enum gw_status gw_draw_padding(const struct gw_picture *picture, struct gw_error *error);

#endif
