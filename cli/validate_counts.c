/* How much compressors select while validate runs, and what predictions take of that. */
#include <stdlib.h>
#include <string.h>

#include "cli/validate.h"
#include "kernels/gradients/emulation.h"

/* ---- what can be told without running anything --------------------------------------------- */

static bool takes(const struct gw_validation *validation, const char *source) {
    return strcmp(validation->options->counts.source, source) == 0;
}

static bool takes_file(const struct gw_validation *validation) {
    return !takes(validation, "recorded") && !takes(validation, "asked") &&
           !takes(validation, "trained");
}

static enum gw_status check_single(const struct gw_validation *validation, const char *option,
                                   struct gw_error *error) {
    size_t algorithms = validation->count + validation->left_out_count;
    if (algorithms != 1) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected a single algorithm with it, got %zu",
                       option, algorithms);
    }
    const struct gw_validation_pair *comparison = validation->comparisons;
    return comparison->counts_depend_on_data
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: expected an algorithm of which it depends on gradients how much it "
                         "selects, got %s",
                         option, comparison->pipeline.algorithm->name);
}

static enum gw_status check_file(const struct gw_validation *validation, struct gw_error *error) {
    GW_TRY(check_single(validation, "--counts FILE", error));
    return gw_pipeline_check_counts(&validation->question, &validation->comparisons->pipeline,
                                    validation->options->counts.source, error);
}

enum gw_status gw_validation_check_counts(const struct gw_validation *validation,
                                          struct gw_error *error) {
    if (validation->options->counts.out != NULL) {
        GW_TRY(check_single(validation, "--counts-out", error));
    }
    return takes_file(validation) ? check_file(validation, error) : GW_OK;
}

/* ---- recording ----------------------------------------------------------------------------- */

enum gw_status gw_validation_pair_open_counts(const struct gw_validation *validation,
                                              struct gw_validation_pair *comparison,
                                              struct gw_error *error) {
    const struct gw_algorithm *algorithm = comparison->pipeline.algorithm;
    const struct gw_compressor *compressor = algorithm->compressor;
    comparison->counts_depend_on_data = gw_counts_depend_on_data(compressor);
    if (!comparison->counts_depend_on_data) {
        return GW_OK;
    }
    char source[GW_RESULT_NOTE_SIZE];
    (void)snprintf(source, sizeof source, "%zu iterations executed, with seed %llu",
                   validation->options->iterations, (unsigned long long)validation->options->seed);
    const struct gw_counts_about about = {.model = validation->question.model.name,
                                          .algorithm = algorithm->name,
                                          .compressor = compressor->name,
                                          .source = source,
                                          .density = comparison->pipeline.plan->density};
    comparison->extents = calloc(comparison->pipeline.schedule.group_count, sizeof(uint64_t));
    return comparison->extents == NULL ? gw_fail_memory(error, "validating")
                                       : gw_counts_for(&comparison->pipeline.schedule, &about,
                                                       compressor->joint || compressor->layered,
                                                       &comparison->recorded, error);
}

void gw_validation_pair_close_counts(struct gw_validation_pair *comparison) {
    gw_counts_free(&comparison->recorded);
    free(comparison->extents);
}

enum gw_status gw_validation_pair_record(struct gw_validation_pair *comparison,
                                         const struct gw_executor *executor,
                                         struct gw_error *error) {
    size_t groups = 0;
    if (!comparison->counts_depend_on_data) {
        return GW_OK;
    }
    const uint64_t *selected = gw_executor_selected(executor, &groups);
    for (size_t g = 0; g < groups; g++) {
        comparison->extents[g] = gw_executor_extents(executor)[g].all;
    }
    return gw_counts_append(&comparison->recorded, selected, comparison->extents, error);
}

double gw_validation_pair_selected_ratio(const struct gw_validation_pair *comparison) {
    const struct gw_counts *counts = &comparison->recorded;
    const struct gw_compressor *compressor = comparison->pipeline.algorithm->compressor;
    double selected = 0;
    double asked = 0;
    for (size_t i = 0; i < counts->iteration_count * counts->group_count * counts->workers; i++) {
        selected += (double)counts->selected[i];
    }
    for (size_t g = 0; g < counts->group_count; g++) {
        asked += (double)comparison->pipeline.schedule.groups[g].kept;
    }
    double askers = compressor->joint ? 1 : (double)counts->workers;
    return selected / (asked * askers * (double)counts->iteration_count);
}

/* ---- predicting ---------------------------------------------------------------------------- */

static enum gw_status predict(const struct gw_validation *validation,
                              struct gw_validation_pair *comparison, struct gw_error *error) {
    bool recorded = takes(validation, "recorded");
    const struct gw_prediction_options options = {
        .simulation = {.interference = validation->options->interference,
                       .seed = validation->options->seed,
                       .threads = gw_cores()},
        .iterations = validation->options->iterations,
        .counts = {.name = validation->options->counts.source,
                   .recorded = recorded ? &comparison->recorded : NULL}};
    return gw_pipeline_predict(&validation->question, &comparison->pipeline, &options, NULL,
                               &comparison->predicted, error);
}

enum gw_status gw_validation_compare(struct gw_validation *validation, struct gw_error *error) {
    for (size_t i = 0; i < validation->count; i++) {
        struct gw_validation_pair *comparison = &validation->comparisons[i];
        if (comparison->counts_depend_on_data && !takes(validation, "asked")) {
            GW_TRY(predict(validation, comparison, error));
        }
        comparison->error =
            comparison->predicted.iteration_s / comparison->measured.iteration_s - 1;
    }
    const char *out = validation->options->counts.out;
    return out == NULL ? GW_OK : gw_counts_write(&validation->comparisons->recorded, out, error);
}
