/* Compares iterations measured elsewhere with predictions, for programs that embed the library. */
#include <math.h>
#include <string.h>

#include "kernels/gradients/emulation.h"
#include "library/library.h"
#include "report/report.h"

static enum gw_status check_measurement(const struct gradweave_measurement *measurement, size_t i,
                                        struct gw_error *error) {
    double measured_s = measurement->measured.iteration_s;
    if (!(measured_s > 0) || isinf(measured_s)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "measured.iteration_s: expected a number above 0, got %g as number %zu",
                       measured_s, i);
    }
    for (size_t n = 0; measurement->iterations_s != NULL && n < measurement->iteration_count; n++) {
        double iteration_s = measurement->iterations_s[n];
        if (!(iteration_s > 0) || isinf(iteration_s)) {
            return gw_fail(error, GW_BAD_INPUT,
                           "iterations_s[%zu]: expected a number above 0, got %g as number %zu", n,
                           iteration_s, i);
        }
    }
    return GW_OK;
}

/* ---- percentiles --------------------------------------------------------------------------- */

/* Finds the percentiles of the given iterations; without any leaves *out as it is. */
static enum gw_status find_spread(const struct gradweave_measurement *measurement,
                                  struct gw_spread *out, struct gw_error *error) {
    size_t count = measurement->iterations_s == NULL ? 0 : measurement->iteration_count;
    struct gw_arena arena = {0};
    if (count == 0) {
        return GW_OK;
    }
    double *values = gw_arena_zeros(&arena, count, sizeof *values);
    if (values == NULL) {
        return gw_fail_memory(error, "validating");
    }
    memcpy(values, measurement->iterations_s, count * sizeof *values);
    gw_spread_of(values, count, out);
    gw_arena_free(&arena);
    return GW_OK;
}

/* Simulated iterations: enough for the sampling error to be that of 300 recorded ones. */
enum { SIMULATED = 10000 };

static enum gw_status predict_spread(const struct gw_validation *validation,
                                     struct gw_pipeline *pipeline, struct gw_spread *out,
                                     struct gw_error *error) {
    const struct gw_prediction_options options = {
        .simulation = {.compute_noise = validation->noise, .threads = gw_cores()},
        .iterations = SIMULATED};
    struct gw_result result;
    GW_TRY(gw_pipeline_predict(pipeline, &options, NULL, &result, error));
    *out = result.spread;
    return GW_OK;
}

static void find_percentiles(const struct gw_spread *spread, size_t observed, double out[3]) {
    out[0] = gw_spread_percentile(spread, observed, 50);
    out[1] = gw_spread_percentile(spread, observed, 95);
    out[2] = gw_spread_percentile(spread, observed, 99);
}

/* ---- one pipeline -------------------------------------------------------------------------- */

/* Opens the pipeline with the plan that it was measured with; none: by its policy. */
static enum gw_status open_pipeline(const struct gw_scenario *question,
                                    const struct gradweave_measurement *measurement,
                                    struct gw_algorithm *algorithm, struct gw_plan *plan,
                                    struct gw_pipeline *out, struct gw_error *error) {
    GW_TRY(gw_library_choose(measurement->algorithm, NULL, NULL, measurement->group_count,
                             algorithm, error));
    if (measurement->group_count == 0) {
        return gw_pipeline_open(question, algorithm, NULL, out, error);
    }
    double density = gw_algorithm_selects(algorithm) ? question->density : 1;
    GW_TRY(gw_plan_create(plan, question->model->name, "given", algorithm->compressor->name,
                          density, question->workers, error));
    GW_TRY(gw_library_copy_groups(measurement->groups, measurement->group_count,
                                  question->model->tensor_count, plan, error));
    return gw_pipeline_open(question, algorithm, plan, out, error);
}

static enum gw_status predict_validation(const struct gw_validation *validation,
                                         const struct gw_scenario *question,
                                         const struct gradweave_measurement *measurement,
                                         struct gw_validation_pair *pair, struct gw_error *error) {
    const struct gw_prediction_options options = {.interval = true};
    struct gw_algorithm algorithm;
    struct gw_plan plan = {0};
    struct gw_pipeline pipeline = {0};
    enum gw_status status =
        open_pipeline(question, measurement, &algorithm, &plan, &pipeline, error);
    if (status == GW_OK) {
        status = gw_pipeline_predict(&pipeline, &options, NULL, &pair->predicted, error);
    }
    if (status == GW_OK && gw_noise_iterations(&validation->noise) > 0) {
        status = predict_spread(validation, &pipeline, &pair->predicted.spread, error);
    }
    if (status == GW_OK) {
        pair->measured = gw_pipeline_result(&pipeline);
        pair->iterations = validation->iterations;
        pair->counts_depend_on_data =
            gw_counts_depend_on_data(algorithm.compressor) && !pipeline.schedule.server;
    }
    gw_pipeline_close(&pipeline);
    gw_plan_free(&plan);
    return status;
}

/*
 * Predicts the pipeline; if gradients decide how much is sent and the measurement has the bytes, at
 * the density at which the prediction sends as many.
 */
static enum gw_status predict_as_sent(const struct gw_validation *validation,
                                      const struct gradweave_measurement *measurement,
                                      struct gw_validation_pair *pair, struct gw_error *error) {
    struct gw_scenario question = validation->scenario;
    GW_TRY(predict_validation(validation, &question, measurement, pair, error));
    double ratio = measurement->measured.bytes_per_worker / pair->predicted.bytes_per_worker;
    bool as_sent = pair->counts_depend_on_data && ratio > 0 && !isinf(ratio);
    pair->counts_depend_on_data = false; /* a document would state counts that are not known */
    if (!as_sent) {
        return GW_OK;
    }
    question.density = fmin(1, question.density * ratio);
    GW_TRY(predict_validation(validation, &question, measurement, pair, error));
    pair->counts_depend_on_data = false;
    (void)snprintf(pair->predicted.counts, sizeof pair->predicted.counts,
                   "as measured, %.3g times the asked number", ratio);
    return GW_OK;
}

static enum gw_status compare_one(const struct gw_validation *validation,
                                  struct gradweave_measurement *measurement,
                                  struct gw_validation_pair *pair, struct gw_error *error) {
    GW_TRY(predict_as_sent(validation, measurement, pair, error));
    pair->measured.iteration_s = measurement->measured.iteration_s;
    pair->measured.breakdown =
        (struct gw_breakdown){.forward_s = measurement->measured.forward_s,
                              .backward_s = measurement->measured.backward_s,
                              .compress_s = measurement->measured.compress_s,
                              .exposed_comm_s = measurement->measured.exposed_comm_s,
                              .other_s = measurement->measured.other_s};
    pair->measured.comm_s = measurement->measured.comm_s;
    pair->measured.bytes_per_worker = measurement->measured.bytes_per_worker;
    GW_TRY(find_spread(measurement, &pair->measured.spread, error));
    measurement->prediction = gw_library_prediction(&pair->predicted);
    measurement->prediction_low_s = pair->predicted.iteration_low_s;
    measurement->prediction_high_s = pair->predicted.iteration_high_s;
    find_percentiles(&pair->predicted.spread, gw_noise_iterations(&validation->noise),
                     measurement->prediction_percentiles_s);
    find_percentiles(&pair->measured.spread, pair->measured.spread.count,
                     measurement->measured_percentiles_s);
    if (measurement->name != NULL) {
        pair->predicted.algorithm = pair->measured.algorithm = measurement->name;
    }
    return GW_OK;
}

/* ---- all of them --------------------------------------------------------------------------- */

static enum gw_status compare_results(struct gw_validation *validation,
                                      struct gradweave_measurement *measurements, size_t count,
                                      struct gw_error *error) {
    for (size_t i = 0; i < count; i++) {
        struct gradweave_measurement *measurement = &measurements[i];
        GW_TRY(check_measurement(measurement, i, error));
        if (measurement->algorithm == NULL) {
            struct gw_unpredicted *one = &validation->unpredicted[validation->unpredicted_count++];
            one->name = measurement->name == NULL ? "" : measurement->name;
            one->iteration_s = measurement->measured.iteration_s;
            GW_TRY(find_spread(measurement, &one->spread, error));
            find_percentiles(&one->spread, one->spread.count, measurement->measured_percentiles_s);
            memset(measurement->prediction_percentiles_s, 0,
                   sizeof measurement->prediction_percentiles_s);
            continue;
        }
        GW_TRY(
            compare_one(validation, measurement, &validation->pairs[validation->count++], error));
    }
    GW_TRY(gw_validation_compare(validation, error));
    for (size_t i = 0, pair = 0; i < count; i++) {
        bool predicted = measurements[i].algorithm != NULL;
        measurements[i].error = predicted ? validation->pairs[pair++].error : 0;
    }
    return GW_OK;
}

static enum gw_status validate_measurements(const struct gradweave_question *question,
                                            struct gradweave_measurement *measurements,
                                            size_t count, struct gradweave_validation *out,
                                            struct gw_error *error) {
    struct gw_arena arena = {0};
    struct gw_validation answer = {.pairs = gw_arena_zeros(&arena, count, sizeof *answer.pairs),
                                   .unpredicted =
                                       gw_arena_zeros(&arena, count, sizeof *answer.unpredicted),
                                   .iterations = out->iterations,
                                   .counts = "asked",
                                   .tolerance = out->tolerance > 0 ? out->tolerance : INFINITY};
    enum gw_status status = gw_arena_check(&arena, "validating", error);
    if (status == GW_OK && out->noise != NULL) {
        status = gw_fields_open(&gw_noise_fields, out->noise, &answer.noise, error);
    }
    if (status == GW_OK) {
        status = gw_library_ask(question, &answer.scenario, error);
    }
    if (status == GW_OK) {
        status = compare_results(&answer, measurements, count, error);
        out->mean_error = gw_validation_mean_error(&answer);
        out->largest_error = gw_validation_largest_error(&answer);
        if (status == GW_OK && out->path != NULL) {
            status = gw_validation_write(&answer, out->path, error);
        }
        gw_scenario_close(&answer.scenario);
    }
    gw_noise_free(&answer.noise);
    gw_arena_free(&arena);
    return status;
}

enum gradweave_status gradweave_validate(const struct gradweave_question *question,
                                         struct gradweave_measurement *measurements, size_t count,
                                         struct gradweave_validation *validation,
                                         struct gradweave_error *error) {
    struct gw_error failure = {0};
    size_t predicted = 0;
    for (size_t i = 0; i < count; i++) {
        predicted += measurements[i].algorithm != NULL;
    }
    enum gw_status status =
        predicted > 0 ? validate_measurements(question, measurements, count, validation, &failure)
                      : gw_fail(&failure, GW_BAD_INPUT,
                                "count: expected a measurement of an algorithm, got none");
    return gw_library_finish(status, &failure, error);
}
