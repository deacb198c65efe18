#include "cli/simulate_counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------------- */

const struct gw_option gw_counts_table[] = {
    {"counts", 0, "SOURCE", GW_TEXT, offsetof(struct gw_counts_options, source),
     .help = "How many elements are selected where that depends on gradients: \"asked\", "
             "\"trained\" with generated ones, or a file",
     .otherwise = "asked", .names = GW_NAMES_FILES},
    {"counts-out", 0, "FILE", GW_TEXT, offsetof(struct gw_counts_options, out),
     .help = "Keep the counts that were trained", .names = GW_NAMES_FILES},
    {0},
};

/* ---- sources ------------------------------------------------------------------------------- */

/*
 * Iterations in which thresholds settle before any counts: ExDyna's, which moves by 0.5% in each,
 * takes some 300; and the most that count, after which they come round again.
 */
enum { WARMUP = 500, MOST_TRAINED = 1000 };

static struct gw_counts_about about(const struct gw_question *question,
                                    const struct gw_pipeline *pipeline) {
    return (struct gw_counts_about){.model = question->model.name,
                                    .algorithm = pipeline->algorithm->name,
                                    .compressor = pipeline->algorithm->compressor,
                                    .density = pipeline->plan->density};
}

static enum gw_status train(const struct gw_question *question, const struct gw_pipeline *pipeline,
                            size_t iterations, const struct gw_simulation *simulation,
                            struct gw_counted *out, struct gw_error *error) {
    const struct gw_gradient_emulation emulation = {
        .model = question->model.name,
        .algorithm = pipeline->algorithm->name,
        .compressor = pipeline->algorithm->compressor,
        .density = pipeline->plan->density,
        .warmup = WARMUP,
        .iterations = iterations < MOST_TRAINED ? iterations : MOST_TRAINED,
        .decay = SIZE_MAX,
        .seed = simulation->seed,
        .threads = simulation->threads};
    GW_TRY(gw_emulate_gradients(&pipeline->schedule, &emulation, &out->counts, error));
    (void)snprintf(out->source, sizeof out->source, "%s", out->counts.source);
    return GW_OK;
}

static enum gw_status read_file(const char *path, const struct gw_question *question,
                                const struct gw_pipeline *pipeline, struct gw_counted *out,
                                struct gw_error *error) {
    const struct gw_counts_about expected = about(question, pipeline);
    GW_TRY(gw_counts_read(path, &out->counts, error));
    (void)snprintf(out->source, sizeof out->source, "recorded in %s", path);
    return gw_counts_check(&out->counts, &pipeline->schedule, &expected, path, error);
}

static void note_rounds(struct gw_counted *out, size_t iterations) {
    if (iterations > out->counts.iteration_count) {
        (void)snprintf(out->note, sizeof out->note,
                       "counts are of %zu iterations, which come round again",
                       out->counts.iteration_count);
    }
}

/* There is nothing to train; counts of others, and a file that would stay empty, are mistakes. */
static enum gw_status take_as_asked(const struct gw_counts_options *options, const char *compressor,
                                    bool trained, struct gw_counted *out, struct gw_error *error) {
    if (!trained || options->out != NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s %s: expected a compressor whose counts depend on gradients, got %s",
                       trained ? "--counts-out" : "--counts",
                       trained ? options->out : options->source, compressor);
    }
    (void)snprintf(out->note, sizeof out->note,
                   "%s selects as many as asked, whatever the gradients are", compressor);
    return GW_OK;
}

static enum gw_status fill(const struct gw_counts_options *options,
                           const struct gw_question *question, const struct gw_pipeline *pipeline,
                           size_t iterations, const struct gw_simulation *simulation,
                           struct gw_counted *out, struct gw_error *error) {
    const char *compressor = pipeline->algorithm->compressor;
    bool asked = options->source == NULL || strcmp(options->source, "asked") == 0;
    (void)snprintf(out->source, sizeof out->source, "as asked");
    if (asked) {
        return GW_OK;
    }
    if (strcmp(compressor, "none") == 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--counts: expected an algorithm that compresses, got %s",
                       pipeline->algorithm->name);
    }
    bool trained = strcmp(options->source, "trained") == 0;
    if (!gw_counts_depend_on_data(compressor)) {
        return take_as_asked(options, compressor, trained, out, error);
    }
    GW_TRY(trained ? train(question, pipeline, iterations, simulation, out, error)
                   : read_file(options->source, question, pipeline, out, error));
    note_rounds(out, iterations);
    return options->out == NULL ? GW_OK : gw_counts_write(&out->counts, options->out, error);
}

/* Gives the simulation what was selected in each iteration of the counts. */
static enum gw_status give(const struct gw_counts *counts, struct gw_simulation *simulation,
                           struct gw_counted *out, struct gw_error *error) {
    GW_TRY(gw_counts_selected(counts, &out->selected, error));
    simulation->selected = out->selected;
    simulation->selected_count = counts->iteration_count;
    return GW_OK;
}

enum gw_status gw_counted_open(const struct gw_counts_options *options,
                               const struct gw_question *question,
                               const struct gw_pipeline *pipeline, size_t iterations,
                               struct gw_simulation *simulation, struct gw_counted *out,
                               struct gw_error *error) {
    *out = (struct gw_counted){.selected = NULL};
    if (options->out != NULL) {
        GW_TRY(gw_file_check_target(options->out, error));
    }
    enum gw_status status = fill(options, question, pipeline, iterations, simulation, out, error);
    if (status == GW_OK && out->counts.iteration_count > 0) {
        status = give(&out->counts, simulation, out, error);
    }
    if (status != GW_OK) {
        gw_counted_close(out);
    }
    return status;
}

enum gw_status gw_counted_borrow(const struct gw_counts *counts, const char *source,
                                 struct gw_simulation *simulation, struct gw_counted *out,
                                 struct gw_error *error) {
    *out = (struct gw_counted){.borrowed = counts};
    (void)snprintf(out->source, sizeof out->source, "%s", source);
    return give(counts, simulation, out, error);
}

void gw_counted_close(struct gw_counted *counted) {
    gw_counts_free(&counted->counts);
    free(counted->selected);
    counted->selected = NULL;
}

/* ---- what a result says -------------------------------------------------------------------- */

void gw_counted_tell(const struct gw_counted *counted, struct gw_pipeline *pipeline,
                     struct gw_result *result) {
    const struct gw_counts *counts =
        counted->borrowed != NULL ? counted->borrowed : &counted->counts;
    if (!gw_algorithm_is_sparse(pipeline->algorithm)) {
        return;
    }
    (void)snprintf(result->counts, sizeof result->counts, "%s", counted->source);
    gw_result_note(result, counted->note);
    if (counts->iteration_count == 0) {
        return;
    }
    struct gw_running bytes = {0}, density = {0}, padding = {0};
    for (size_t i = 0; i < result->iterations; i++) {
        size_t counted_as = i % counts->iteration_count;
        gw_schedule_select(&pipeline->schedule,
                           counted->selected + counted_as * counts->group_count);
        gw_running_add(&bytes, gw_schedule_bytes_per_worker(&pipeline->schedule));
        gw_running_add(&density, gw_counts_density(counts, counted_as));
        gw_running_add(&padding, gw_counts_padding(counts, counted_as));
    }
    result->bytes_per_worker = bytes.mean;
    result->actual_density = density.mean;
    result->padding = padding.mean;
}
