/* Finds numbers of selected elements, and describes them in a result. */
#include "study/counts.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/gradients/emulation.h"
#include "study/predict.h"
#include "study/scenario.h"

/*
 * Iterations in which thresholds settle before any counts: ExDyna's, which moves by 0.5% in each,
 * takes some 300; and the most that count, after which they come round again.
 */
enum { WARMUP = 500, MOST_TRAINED = 1000 };

/* ---- recorded gradients -------------------------------------------------------------------- */

enum gw_status gw_recorded_gradients_match(const struct gw_recorded_gradients *recorded,
                                           const struct gw_model *model, size_t *out,
                                           struct gw_error *error) {
    for (size_t i = 0; i < model->tensor_count; i++) {
        const struct gw_tensor *tensor = &model->tensors[model->tensor_count - 1 - i];
        size_t tried = 0;
        size_t found = model->tensor_count - 1 - i; /* most often they are in the same order */
        for (; tried < recorded->tensor_count; tried++, found++) {
            const struct gw_recorded_tensor *one =
                &recorded->tensors[found % recorded->tensor_count];
            if (one->elements == tensor->elements && strcmp(one->name, tensor->name) == 0) {
                break;
            }
        }
        if (tried == recorded->tensor_count) {
            return gw_fail(error, GW_BAD_INPUT,
                           "%s: tensors: expected one called \"%.60s\" of %llu elements, as model "
                           "%.60s has, got none",
                           recorded->path, tensor->name, (unsigned long long)tensor->elements,
                           model->name);
        }
        out[i] = found % recorded->tensor_count;
    }
    return GW_OK;
}

/* Checks the number of workers, and allocates the list of gw_recorded_gradients_match(), the
 * caller's. */
static enum gw_status find_tensors(const struct gw_scenario *scenario,
                                   const struct gw_recorded_gradients *recorded, size_t **out,
                                   struct gw_error *error) {
    if (gw_recorded_iterations(recorded, scenario->workers) == 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected to stand for at most %zu workers, %zu in %zu iterations, got "
                       "%zu",
                       recorded->path, recorded->workers * recorded->iteration_count,
                       recorded->workers, recorded->iteration_count, scenario->workers);
    }
    *out = calloc(scenario->model->tensor_count, sizeof **out);
    if (*out == NULL) {
        return gw_fail_memory(error, "counting");
    }
    enum gw_status status = gw_recorded_gradients_match(recorded, scenario->model, *out, error);
    if (status != GW_OK) {
        free(*out);
    }
    return status;
}

enum gw_status gw_recorded_gradients_check(const struct gw_recorded_gradients *recorded,
                                           const struct gw_scenario *scenario,
                                           struct gw_error *error) {
    size_t *tensors = NULL;
    GW_TRY(find_tensors(scenario, recorded, &tensors, error));
    free(tensors);
    return GW_OK;
}

/* Trains on recorded gradients, and counts in the last of their iterations. */
static enum gw_status train_on_recorded(const struct gw_pipeline *pipeline,
                                        const struct gw_recorded_gradients *recorded,
                                        struct gw_gradient_emulation *emulation,
                                        struct gw_counts *out, struct gw_error *error) {
    size_t there = gw_recorded_iterations(recorded, pipeline->scenario.workers);
    size_t *tensors = NULL;
    GW_TRY(find_tensors(&pipeline->scenario, recorded, &tensors, error));
    emulation->recorded = recorded;
    emulation->recorded_tensors = tensors;
    if (emulation->iterations > there) {
        emulation->iterations = there;
    }
    emulation->warmup = there - emulation->iterations;
    enum gw_status status = gw_emulate_gradients(&pipeline->schedule, emulation, out, error);
    free(tensors);
    return status;
}

/* ---- sources of counts --------------------------------------------------------------------- */

/* Trains on generated gradients, or on recorded ones if there are any. */
static enum gw_status train_counts(const struct gw_pipeline *pipeline, size_t iterations,
                                   const struct gw_simulation *simulation,
                                   const struct gw_recorded_gradients *recorded,
                                   struct gw_taken_counts *out, struct gw_error *error) {
    struct gw_gradient_emulation emulation = {
        .model = pipeline->scenario.model->name,
        .algorithm = pipeline->scenario.method->name,
        .density = pipeline->plan->density,
        .warmup = WARMUP,
        .iterations = iterations < MOST_TRAINED ? iterations : MOST_TRAINED,
        .decay = SIZE_MAX,
        .seed = simulation->seed,
        .threads = simulation->threads};
    GW_TRY(recorded == NULL
               ? gw_emulate_gradients(&pipeline->schedule, &emulation, &out->own, error)
               : train_on_recorded(pipeline, recorded, &emulation, &out->own, error));
    (void)snprintf(out->source, sizeof out->source, "%s", out->own.source);
    return GW_OK;
}

static enum gw_status check_counts(cJSON *document, const char *path,
                                   const struct gw_pipeline *pipeline, struct gw_taken_counts *out,
                                   struct gw_error *error) {
    const struct gw_counts_about expected = {.model = pipeline->scenario.model->name,
                                             .algorithm = pipeline->scenario.method->name,
                                             .compressor =
                                                 gw_schedule_compressor(&pipeline->schedule),
                                             .density = pipeline->plan->density};
    GW_TRY(gw_counts_take(document, path, &out->own, error));
    (void)snprintf(out->source, sizeof out->source, "recorded in %s", path);
    return gw_counts_check(&out->own, &pipeline->schedule, &expected, path, error);
}

/* Refuses --counts-out with counts that were not trained. */
static enum gw_status check_trained(const struct gw_counts_source *source, struct gw_error *error) {
    return source->out == NULL
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "--counts-out: expected --counts trained, or a file of gradients, beside "
                         "it");
}

/* Reads a file of counts, or of gradients and trains on them. */
static enum gw_status read_counts(const struct gw_counts_source *source,
                                  const struct gw_pipeline *pipeline, size_t iterations,
                                  const struct gw_simulation *simulation,
                                  struct gw_taken_counts *out, struct gw_error *error) {
    cJSON *document = NULL;
    struct gw_recorded_gradients gradients;
    GW_TRY(gw_json_read(source->name, &document, error));
    if (!gw_are_recorded_gradients(document)) {
        GW_TRY(check_counts(document, source->name, pipeline, out, error));
        return check_trained(source, error);
    }
    GW_TRY(gw_recorded_gradients_take(document, source->name, &gradients, error));
    enum gw_status status = train_counts(pipeline, iterations, simulation, &gradients, out, error);
    gw_recorded_gradients_free(&gradients);
    return status;
}

/* Notes that counts are as asked, with nothing to train; refuses a file of counts, and one to keep
 * them in. */
static enum gw_status take_as_asked(const struct gw_counts_source *source, const char *compressor,
                                    bool trained, struct gw_taken_counts *out,
                                    struct gw_error *error) {
    if (!trained || source->out != NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s %s: expected a compressor whose counts depend on gradients, got %s",
                       trained ? "--counts-out" : "--counts", trained ? source->out : source->name,
                       compressor);
    }
    (void)snprintf(out->note, sizeof out->note,
                   "%s selects as many elements as asked of all gradients", compressor);
    return GW_OK;
}

/* Reads or trains counts where the source is one of these and they depend on gradients. */
static enum gw_status find_counts(const struct gw_counts_source *source,
                                  const struct gw_pipeline *pipeline, size_t iterations,
                                  const struct gw_simulation *simulation,
                                  struct gw_taken_counts *out, struct gw_error *error) {
    const struct gw_schedule *schedule = &pipeline->schedule;
    if (source->recorded != NULL) {
        out->counts = source->recorded;
        (void)snprintf(out->source, sizeof out->source, "recorded in the measured iterations");
        return GW_OK;
    }
    (void)snprintf(out->source, sizeof out->source, "%s", gw_counts_expected(schedule));
    if (source->name == NULL || strcmp(source->name, "asked") == 0) {
        return check_trained(source, error);
    }
    if (!gw_schedule_has(schedule, gw_compressor_selects)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--counts: expected an algorithm that compresses, got %s",
                       pipeline->scenario.method->name);
    }
    bool trained = source->gradients != NULL || strcmp(source->name, "trained") == 0;
    if (!gw_schedule_has(schedule, gw_counts_depend_on_data)) {
        return take_as_asked(source, gw_schedule_compressor(schedule), trained, out, error);
    }
    GW_TRY(trained ? train_counts(pipeline, iterations, simulation, source->gradients, out, error)
                   : read_counts(source, pipeline, iterations, simulation, out, error));
    out->counts = &out->own;
    if (iterations > out->own.iteration_count) {
        (void)snprintf(out->note, sizeof out->note,
                       "counts are of %zu iterations, which are repeated",
                       out->own.iteration_count);
    }
    return source->out == NULL ? GW_OK : gw_counts_write(&out->own, source->out, error);
}

const char *gw_counts_expected(const struct gw_schedule *schedule) {
    bool trained = false;
    for (size_t i = 0; i < schedule->way_count; i++) {
        trained = trained || schedule->ways[i].sent_density > 0;
    }
    return trained ? "as in trainings" : "as asked";
}

/* ---- counts of a prediction ---------------------------------------------------------------- */

enum gw_status gw_taken_counts_open(const struct gw_counts_source *source,
                                    const struct gw_pipeline *pipeline, size_t iterations,
                                    struct gw_simulation *simulation, struct gw_taken_counts *out,
                                    struct gw_error *error) {
    if (source->out != NULL) {
        GW_TRY(gw_file_check_target(source->out, NULL, error));
    }
    GW_TRY(find_counts(source, pipeline, iterations, simulation, out, error));
    if (out->counts != NULL) {
        GW_TRY(gw_counts_selected(out->counts, &pipeline->schedule, &out->selected, error));
        simulation->selected = out->selected;
        simulation->selected_count = out->counts->iteration_count;
    }
    return GW_OK;
}

void gw_taken_counts_free(struct gw_taken_counts *counts) {
    gw_counts_free(&counts->own);
    free(counts->selected);
}

enum gw_status gw_pipeline_check_counts(const struct gw_pipeline *pipeline, const char *path,
                                        struct gw_error *error) {
    struct gw_taken_counts counts = {.counts = NULL};
    const struct gw_counts_source source = {.name = path};
    struct gw_simulation simulation = {.workers = pipeline->scenario.workers};
    enum gw_status status = gw_taken_counts_open(&source, pipeline, 1, &simulation, &counts, error);
    gw_taken_counts_free(&counts);
    return status;
}

void gw_taken_counts_describe(const struct gw_taken_counts *taken, struct gw_schedule *schedule,
                              struct gw_result *result) {
    (void)snprintf(result->counts, sizeof result->counts, "%s", taken->source);
    gw_result_note(result, taken->note);
    if (taken->counts == NULL) {
        return;
    }
    const struct gw_counts *counts = taken->counts;
    struct gw_running bytes = {0}, density = {0}, padding = {0};
    for (size_t i = 0; i < result->iterations; i++) {
        size_t counted_as = i % counts->iteration_count;
        gw_schedule_select(schedule, taken->selected + counted_as * counts->group_count);
        gw_running_add(&bytes, gw_schedule_bytes_per_worker(schedule));
        gw_running_add(&density, gw_counts_density(counts, counted_as));
        gw_running_add(&padding, gw_counts_padding(counts, counted_as));
    }
    result->bytes_per_worker = bytes.mean;
    result->actual_density = density.mean;
    result->padding = padding.mean;
}
