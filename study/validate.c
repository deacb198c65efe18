/* What was predicted beside what was measured: numbers of selected elements, and errors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gradients/emulation.h"
#include "study/study.h"

/* ---- what can be told without running anything --------------------------------------------- */

static bool takes(const struct gw_validation *validation, const char *source) {
    return strcmp(validation->counts, source) == 0;
}

static bool takes_file(const struct gw_validation *validation) {
    return !takes(validation, "recorded") && !takes(validation, "asked") &&
           !takes(validation, "trained");
}

static enum gw_status check_single(const struct gw_validation *validation, const char *option,
                                   struct gw_error *error) {
    size_t algorithms = validation->count + validation->infeasible_count;
    if (algorithms != 1) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected a single algorithm with it, got %zu",
                       option, algorithms);
    }
    const struct gw_validation_pair *pair = validation->pairs;
    return pair->counts_depend_on_data
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: expected an algorithm of which it depends on gradients how much it "
                         "selects, got %s",
                         option, pair->pipeline.algorithm->name);
}

static enum gw_status check_file(const struct gw_validation *validation, struct gw_error *error) {
    GW_TRY(check_single(validation, "--counts FILE", error));
    return gw_pipeline_check_counts(&validation->question, &validation->pairs->pipeline,
                                    validation->counts, error);
}

enum gw_status gw_validation_check_counts(const struct gw_validation *validation,
                                          struct gw_error *error) {
    if (validation->counts_out != NULL) {
        GW_TRY(check_single(validation, "--counts-out", error));
    }
    return takes_file(validation) ? check_file(validation, error) : GW_OK;
}

/* ---- recording ----------------------------------------------------------------------------- */

enum gw_status gw_validation_pair_open_counts(const struct gw_validation *validation,
                                              struct gw_validation_pair *pair,
                                              struct gw_error *error) {
    const struct gw_algorithm *algorithm = pair->pipeline.algorithm;
    const struct gw_compressor *compressor = algorithm->compressor;
    pair->counts_depend_on_data =
        gw_counts_depend_on_data(compressor) && !validation->timed_compression;
    if (!pair->counts_depend_on_data) {
        return GW_OK;
    }
    char source[GW_RESULT_NOTE_SIZE];
    (void)snprintf(source, sizeof source, "%zu iterations executed, with seed %llu",
                   validation->iterations, (unsigned long long)validation->seed);
    const struct gw_counts_about about = {.model = validation->question.model.name,
                                          .algorithm = algorithm->name,
                                          .compressor = compressor->name,
                                          .source = source,
                                          .density = pair->pipeline.plan->density};
    pair->extents = calloc(pair->pipeline.schedule.group_count, sizeof(uint64_t));
    return pair->extents == NULL
               ? gw_fail_memory(error, "validating")
               : gw_counts_for(&pair->pipeline.schedule, &about,
                               compressor->joint || compressor->layered, &pair->recorded, error);
}

void gw_validation_pair_close_counts(struct gw_validation_pair *pair) {
    gw_counts_free(&pair->recorded);
    free(pair->extents);
}

enum gw_status gw_validation_pair_record(struct gw_validation_pair *pair, const uint64_t *selected,
                                         const struct gw_selected *extents,
                                         struct gw_error *error) {
    if (!pair->counts_depend_on_data) {
        return GW_OK;
    }
    for (size_t g = 0; g < pair->pipeline.schedule.group_count; g++) {
        pair->extents[g] = extents[g].all;
    }
    return gw_counts_append(&pair->recorded, selected, pair->extents, error);
}

double gw_validation_pair_selected_ratio(const struct gw_validation_pair *pair) {
    const struct gw_counts *counts = &pair->recorded;
    const struct gw_compressor *compressor = pair->pipeline.algorithm->compressor;
    double selected = 0;
    double asked = 0;
    for (size_t i = 0; i < counts->iteration_count * counts->group_count * counts->workers; i++) {
        selected += (double)counts->selected[i];
    }
    for (size_t g = 0; g < counts->group_count; g++) {
        asked += (double)pair->pipeline.schedule.groups[g].kept;
    }
    double askers = compressor->joint ? 1 : (double)counts->workers;
    return selected / (asked * askers * (double)counts->iteration_count);
}

/* ---- predicting ---------------------------------------------------------------------------- */

enum gw_status gw_validation_predict(const struct gw_validation *validation,
                                     struct gw_validation_pair *pair, struct gw_error *error) {
    const struct gw_prediction_options once = {
        .simulation = {.interference = validation->interference,
                       .timed_compression = validation->timed_compression}};
    GW_TRY(validation->timed_compression
               ? gw_pipeline_time_compression(&validation->question, &pair->pipeline, error)
               : GW_OK);
    return gw_pipeline_predict(&validation->question, &pair->pipeline, &once, NULL,
                               &pair->predicted, error);
}

/* With counts that depend on gradients: compression is not timed waiting. */
static enum gw_status predict_again(const struct gw_validation *validation,
                                    struct gw_validation_pair *pair, struct gw_error *error) {
    bool recorded = takes(validation, "recorded");
    const struct gw_prediction_options options = {
        .simulation = {.interference = validation->interference,
                       .seed = validation->seed,
                       .threads = gw_cores()},
        .iterations = validation->iterations,
        .counts = {.name = validation->counts, .recorded = recorded ? &pair->recorded : NULL}};
    return gw_pipeline_predict(&validation->question, &pair->pipeline, &options, NULL,
                               &pair->predicted, error);
}

enum gw_status gw_validation_compare(struct gw_validation *validation, struct gw_error *error) {
    for (size_t i = 0; i < validation->count; i++) {
        struct gw_validation_pair *pair = &validation->pairs[i];
        if (pair->counts_depend_on_data && !takes(validation, "asked")) {
            GW_TRY(predict_again(validation, pair, error));
        }
        pair->error = pair->predicted.iteration_s / pair->measured.iteration_s - 1;
    }
    const char *out = validation->counts_out;
    return out == NULL ? GW_OK : gw_counts_write(&validation->pairs->recorded, out, error);
}

double gw_validation_largest_error(const struct gw_validation *validation) {
    double largest = 0;
    for (size_t i = 0; i < validation->count; i++) {
        largest = fmax(largest, fabs(validation->pairs[i].error));
    }
    return largest;
}

double gw_validation_mean_error(const struct gw_validation *validation) {
    double sum = 0;
    for (size_t i = 0; i < validation->count; i++) {
        sum += fabs(validation->pairs[i].error);
    }
    return sum / (double)validation->count;
}
