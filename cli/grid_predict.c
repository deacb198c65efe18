/* From a point of a grid to its prediction. */
#include <stdlib.h>

#include "cli/grid.h"

/* Factors on the workers' compute times: NULL if all are alike. The caller frees. */
static enum gw_status make_slowdown(size_t workers, double straggler, double **out,
                                    struct gw_error *error) {
    *out = NULL;
    if (straggler == 1) {
        return GW_OK;
    }
    double *slowdown = calloc(workers, sizeof *slowdown);
    if (slowdown == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    slowdown[0] = straggler;
    for (size_t worker = 1; worker < workers; worker++) {
        slowdown[worker] = 1;
    }
    *out = slowdown;
    return GW_OK;
}

/* What the axes beyond the question's own mean for the simulation. */
static enum gw_status predict(const struct gw_grid *grid, const struct gw_point *point,
                              const struct gw_question *question, struct gw_pipeline *pipeline,
                              struct gw_result *out, struct gw_error *error) {
    double *slowdown = NULL;
    GW_TRY(make_slowdown(question->workers, gw_point_value(grid, point, GW_AXIS_STRAGGLER),
                         &slowdown, error));
    double sigma = gw_point_value(grid, point, GW_AXIS_NOISE);
    const struct gw_noise noise = {.kind = sigma > 0 ? GW_NOISE_LOGNORMAL : GW_NOISE_NONE,
                                   .sigma = sigma};
    const struct gw_prediction_options options = {
        .simulation = {.slowdown = slowdown, .compute_noise = noise, .seed = grid->seed},
        .iterations = grid->iterations};
    enum gw_status status = gw_pipeline_predict(question, pipeline, &options, NULL, out, error);
    free(slowdown);
    return status;
}

static enum gw_status plan_and_predict(const struct gw_grid *grid, const struct gw_point *point,
                                       const struct gw_question *question, struct gw_result *out,
                                       struct gw_error *error) {
    struct gw_pipeline pipeline;
    GW_TRY(gw_pipeline_open(question, grid->algorithms[point->at[GW_AXIS_ALGORITHM]], NULL,
                            &pipeline, error));
    enum gw_status status = predict(grid, point, question, &pipeline, out, error);
    gw_pipeline_close(&pipeline);
    return status;
}

enum gw_status gw_point_predict(const struct gw_grid *grid, const struct gw_point *point,
                                struct gw_result *out, struct gw_error *error) {
    const struct gw_question measured = {.model = grid->models[point->at[GW_AXIS_MODEL]],
                                         .cluster = grid->clusters[point->at[GW_AXIS_CLUSTER]],
                                         .workers =
                                             (size_t)gw_point_value(grid, point, GW_AXIS_WORKERS),
                                         .density = gw_point_value(grid, point, GW_AXIS_DENSITY)};
    struct gw_question question = measured;
    double bandwidth = gw_point_value(grid, point, GW_AXIS_BANDWIDTH);
    if (bandwidth != 1) {
        GW_TRY(gw_question_set_bandwidth(&question, bandwidth, error));
    }
    enum gw_status status = plan_and_predict(grid, point, &question, out, error);
    gw_question_end_bandwidth(&question, &measured);
    return status;
}
