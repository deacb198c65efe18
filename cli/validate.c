#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job.h"
#include "exec/exec.h"

struct options {
    struct gw_output_options output;
    struct gw_job_options job;
    struct gw_question_options question;
    const char *algorithms, *trace, *out;
    size_t iterations, warm_up;
    double tolerance;
    uint64_t seed;
};

enum { KEY_TOLERANCE = 2000, KEY_WARM_UP, KEY_TRACE };

static const struct argp_option option_table[] = {
    {"algo", 'a', "A[,B..]|all", 0, "The pipelines to run (default all)", 0},
    {"iterations", 'n', "N", 0, "Iterations to measure (default 20)", 0},
    {"warm-up", KEY_WARM_UP, "N", 0, "Iterations before them (default 3)", 0},
    {"tolerance", KEY_TOLERANCE, "T", 0,
     "Largest error, such as 0.1, for exit status 0 (default: any)", 0},
    {"seed", 's', "S", 0, "Seed of the gradients (default 1)", 0},
    {"out", 'o', "VALIDATION.json", 0, "Also write the JSON document to a file", 0},
    {"trace", KEY_TRACE, "FILE", 0,
     "Write the measured timeline of a single algorithm for ui.perfetto.dev", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->question;
        state->child_inputs[1] = &options->job;
        state->child_inputs[2] = &options->output;
        return 0;
    case 'a':
        options->algorithms = argument;
        return 0;
    case 'n':
        options->iterations = gw_parse_count(argument, "--iterations", state);
        return 0;
    case KEY_WARM_UP:
        options->warm_up = gw_parse_count(argument, "--warm-up", state);
        return 0;
    case KEY_TOLERANCE:
        options->tolerance = gw_parse_not_negative(argument, "--tolerance", state);
        return 0;
    case 's':
        options->seed = gw_parse_seed(argument, state);
        return 0;
    case 'o':
        options->out = argument;
        return 0;
    case KEY_TRACE:
        options->trace = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&gw_question_argp, 0, NULL, 0},
                                             {&gw_job_argp, 0, NULL, 0},
                                             {&gw_output_argp, 0, NULL, 0},
                                             {0}};
static const struct argp argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "MODEL --cluster CLUSTER [--nodes N]",
    .doc = "Runs pipelines for real - compute as timed waiting, compression and exchanges as they "
           "are - and compares them with their simulation on the cluster file. It calibrates "
           "nothing.",
    .children = children,
};

/* ---- running ------------------------------------------------------------------------------- */

struct comparison {
    struct gw_pipeline pipeline;
    struct gw_result predicted, measured;
    double error; /* (predicted - measured) / measured */
};

struct validation {
    const struct options *options;
    struct gw_question question;
    const struct gw_algorithm **algorithms;
    size_t count;
    struct comparison *comparisons; /* one an algorithm */
    size_t opened;                  /* of their pipelines */
    struct gw_progress progress;
    size_t done; /* iterations of all algorithms */
};

static void show_progress(struct validation *validation, const char *algorithm) {
    size_t each = validation->options->warm_up + validation->options->iterations;
    gw_progress_update(&validation->progress,
                       (double)validation->done / (double)(validation->count * each), algorithm);
    validation->done++;
}

static enum gw_status iterate(struct validation *validation, struct gw_executor *executor,
                              struct gw_timeline *timeline, struct gw_timeline *trace,
                              struct gw_result *measured, struct gw_error *error) {
    const struct options *options = validation->options;
    double start_s = 0;
    for (size_t i = 0; i < options->warm_up + options->iterations; i++) {
        struct gw_measure measure;
        show_progress(validation, measured->algorithm);
        gw_timeline_clear(timeline);
        GW_TRY(gw_executor_iterate(executor, start_s, timeline, error));
        if (i < options->warm_up) {
            continue;
        }
        GW_TRY(gw_timeline_measure(timeline, &measure, error));
        gw_result_add(measured, &measure);
        start_s = timeline->iterations[0].end_s;
        if (options->trace != NULL) {
            GW_TRY(gw_timeline_append(trace, timeline, error));
        }
    }
    return GW_OK;
}

static enum gw_status execute(struct validation *validation, struct comparison *comparison,
                              struct gw_communicator *communicator, struct gw_error *error) {
    const struct options *options = validation->options;
    const struct gw_pipeline *pipeline = &comparison->pipeline;
    struct gw_executor *executor = NULL;
    struct gw_timeline timeline = {0};
    struct gw_timeline trace = {0};
    comparison->measured = gw_pipeline_result(&validation->question, pipeline);
    GW_TRY(gw_executor_open(&executor, &pipeline->schedule, communicator, options->seed, error));
    enum gw_status status = gw_executor_timeline(executor, &timeline, error);
    if (status == GW_OK) {
        status = gw_executor_timeline(executor, &trace, error);
    }
    if (status == GW_OK) {
        status = iterate(validation, executor, &timeline, &trace, &comparison->measured, error);
    }
    if (status == GW_OK && options->trace != NULL && communicator->rank == 0) {
        status = gw_timeline_write(&trace, options->trace, error);
    }
    gw_timeline_free(&timeline);
    gw_timeline_free(&trace);
    gw_executor_close(executor);
    return status;
}

/* ---- printing ------------------------------------------------------------------------------ */

static struct gw_result collect_notes(const struct validation *validation) {
    struct gw_result all = {0};
    for (size_t i = 0; i < validation->count; i++) {
        gw_collect_notes(&all, &validation->comparisons[i].predicted);
    }
    return all;
}

static double largest_error(const struct validation *validation) {
    double largest = 0;
    for (size_t i = 0; i < validation->count; i++) {
        largest = fmax(largest, fabs(validation->comparisons[i].error));
    }
    return largest;
}

static double mean_error(const struct validation *validation) {
    double sum = 0;
    for (size_t i = 0; i < validation->count; i++) {
        sum += fabs(validation->comparisons[i].error);
    }
    return sum / (double)validation->count;
}

static void print_row(struct gw_table *table, const char *algorithm, const char *what,
                      const struct gw_result *result, const char *error) {
    const struct gw_breakdown *parts = &result->breakdown;
    const double times[] = {result->iteration_s, parts->forward_s,      parts->backward_s,
                            parts->compress_s,   parts->exposed_comm_s, parts->other_s};
    gw_table_cell(table, "%s", algorithm);
    gw_table_cell(table, "%s", what);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char text[GW_UNITS_SIZE];
        gw_table_cell(table, "%s", gw_format_seconds(times[i], text));
    }
    gw_table_cell(table, "%s", error);
}

static void print_text(const struct validation *validation) {
    static const char *const headings[] = {"algorithm", "",         "iteration",
                                           "forward",   "backward", "compression",
                                           "exposed",   "other",    "error"};
    gw_print_heading(&validation->question);
    struct gw_table *table = gw_table_open(headings, "llrrrrrrr");
    for (size_t i = 0; i < validation->count; i++) {
        const struct comparison *comparison = &validation->comparisons[i];
        char error[GW_UNITS_SIZE];
        print_row(table, comparison->predicted.algorithm, "predicted", &comparison->predicted,
                  gw_format_percent(comparison->error, error));
        print_row(table, "", "measured", &comparison->measured, "");
    }
    gw_table_print_and_close(table);
    printf("\nmeasured: means of %zu iterations; mean error %.1f%%, largest %.1f%%\n",
           validation->options->iterations, 100 * mean_error(validation),
           100 * largest_error(validation));
    struct gw_result notes = collect_notes(validation);
    gw_print_result_notes(&notes);
}

static enum gw_status put_side(cJSON *entry, const char *key, const struct gw_result *result,
                               struct gw_error *error) {
    cJSON *side = cJSON_CreateObject();
    GW_TRY(gw_json_put(entry, key, side, error));
    GW_TRY(gw_result_put_times(result, side, error));
    return gw_json_put_number(side, "iteration_sd_s", result->iteration_sd_s, error);
}

static enum gw_status put_notes(const struct validation *validation, cJSON *document,
                                struct gw_error *error) {
    struct gw_result all = collect_notes(validation);
    char *notes[sizeof all.notes / sizeof *all.notes];
    for (size_t i = 0; i < all.note_count; i++) {
        notes[i] = all.notes[i];
    }
    return gw_json_put_texts(document, "notes", notes, all.note_count, error);
}

static enum gw_status put_document(const struct validation *validation, cJSON *document,
                                   struct gw_error *error) {
    const struct gw_question *question = &validation->question;
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/validation@1", error));
    GW_TRY(gw_json_put_text(document, "model", question->model.name, error));
    GW_TRY(gw_json_put_text(document, "cluster", question->cluster.name, error));
    GW_TRY(gw_json_put_number(document, "workers", (double)question->workers, error));
    GW_TRY(gw_json_put_number(document, "density", question->density, error));
    GW_TRY(
        gw_json_put_number(document, "iterations", (double)validation->options->iterations, error));
    GW_TRY(gw_json_put(document, "complete", cJSON_CreateTrue(), error));
    cJSON *results = cJSON_CreateArray();
    GW_TRY(gw_json_put(document, "results", results, error));
    for (size_t i = 0; i < validation->count; i++) {
        const struct comparison *comparison = &validation->comparisons[i];
        cJSON *entry = cJSON_CreateObject();
        GW_TRY(gw_json_append(results, entry, error));
        GW_TRY(gw_json_put_text(entry, "algorithm", comparison->predicted.algorithm, error));
        GW_TRY(gw_json_put_number(entry, "groups", (double)comparison->predicted.groups, error));
        GW_TRY(put_side(entry, "predicted", &comparison->predicted, error));
        GW_TRY(put_side(entry, "measured", &comparison->measured, error));
        GW_TRY(gw_json_put_number(entry, "error", comparison->error, error));
    }
    GW_TRY(gw_json_put_number(document, "mean_error", mean_error(validation), error));
    GW_TRY(gw_json_put_number(document, "largest_error", largest_error(validation), error));
    return put_notes(validation, document, error);
}

/* Writes and prints what was asked for. */
static enum gw_status present(const struct validation *validation, struct gw_error *error) {
    const struct options *options = validation->options;
    cJSON *document = cJSON_CreateObject();
    enum gw_status status = put_document(validation, document, error);
    if (status == GW_OK && options->out != NULL) {
        status = gw_json_write(document, options->out, error);
    }
    if (status == GW_OK && options->output.json) {
        return gw_print_document(document, error);
    }
    if (status == GW_OK) {
        print_text(validation);
    }
    cJSON_Delete(document);
    return status;
}

/* ---- what can be told without running anything --------------------------------------------- */

static void close_validation(struct validation *validation) {
    for (size_t i = 0; i < validation->opened; i++) {
        gw_pipeline_close(&validation->comparisons[i].pipeline);
    }
    gw_question_close(&validation->question);
    free(validation->comparisons);
    free(validation->algorithms);
}

static enum gw_status predict_one(const struct gw_question *question, const char *model,
                                  struct comparison *comparison, struct gw_error *error) {
    struct gw_simulation simulation = {.workers = question->workers};
    enum gw_status status = gw_executor_check(&comparison->pipeline.schedule, error);
    if (status != GW_OK) {
        gw_error_prefix(error, model);
        return status;
    }
    return gw_pipeline_predict(question, &comparison->pipeline, &simulation, 1, NULL,
                               &comparison->predicted, error);
}

/* Opens the pipelines, which are then executed, and refuses what cannot be. */
static enum gw_status predict_all(struct validation *validation, struct gw_error *error) {
    const struct gw_question *question = &validation->question;
    validation->comparisons = calloc(validation->count, sizeof *validation->comparisons);
    if (validation->comparisons == NULL) {
        return gw_fail_memory(error, "validating");
    }
    for (size_t i = 0; i < validation->count; i++) {
        struct comparison *comparison = &validation->comparisons[i];
        GW_TRY(gw_pipeline_open(question, validation->algorithms[i], NULL, &comparison->pipeline,
                                error));
        validation->opened++;
        GW_TRY(predict_one(question, validation->options->question.model, comparison, error));
    }
    return GW_OK;
}

static enum gw_status check_options(const struct options *options, size_t workers,
                                    size_t algorithm_count, struct gw_error *error) {
    if (options->question.workers != 0 && options->question.workers != workers) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--workers: expected %zu, the size of the MPI job, got %zu", workers,
                       options->question.workers);
    }
    if (options->trace != NULL && algorithm_count != 1) {
        return gw_fail(error, GW_BAD_INPUT, "--trace: expected a single algorithm with it, got %zu",
                       algorithm_count);
    }
    return GW_OK;
}

/* Reads the inputs and predicts: bad input shows here, on all ranks alike. */
static enum gw_status open_validation(const struct options *options, size_t workers,
                                      struct validation *out, struct gw_error *error) {
    struct gw_question_options asked = options->question;
    asked.workers = workers;
    *out = (struct validation){.options = options};
    GW_TRY(gw_algorithms_parse(options->algorithms, &out->algorithms, &out->count, error));
    enum gw_status status = check_options(options, workers, out->count, error);
    status = status == GW_OK ? gw_question_open(&asked, &out->question, error) : status;
    if (status != GW_OK) {
        free(out->algorithms);
        return status;
    }
    status = predict_all(out, error);
    if (status != GW_OK) {
        close_validation(out);
    }
    return status;
}

static enum gw_status check_targets(const struct options *options, struct gw_error *error) {
    const char *const targets[] = {options->out, options->trace};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (targets[i] != NULL) {
            GW_TRY(gw_file_check_target(targets[i], error));
        }
    }
    return GW_OK;
}

/* ---- on every rank ------------------------------------------------------------------------- */

/* From here on ranks wait for each other, so one that fails ends the job. */
static void measure_all(struct validation *validation, struct gw_communicator *communicator,
                        struct gw_error *error) {
    validation->progress = gw_progress_begin("validate", communicator->rank == 0);
    for (size_t i = 0; i < validation->count; i++) {
        struct comparison *comparison = &validation->comparisons[i];
        gw_job_require(communicator, execute(validation, comparison, communicator, error), error);
        comparison->error =
            comparison->predicted.iteration_s / comparison->measured.iteration_s - 1;
    }
    gw_progress_end(&validation->progress);
}

/* What rank 0 presents, the others wait for: they agree on it afterwards. */
static enum gw_status validate(struct validation *validation, struct gw_communicator *communicator,
                               int *verdict, struct gw_error *error) {
    measure_all(validation, communicator, error);
    *verdict = largest_error(validation) > validation->options->tolerance;
    return communicator->rank == 0 ? present(validation, error) : GW_OK;
}

static enum gw_status body(struct gw_communicator *communicator, void *context, int *verdict,
                           struct gw_error *error) {
    const struct options *options = context;
    struct validation validation;
    enum gw_status opened =
        open_validation(options, (size_t)communicator->size, &validation, error);
    enum gw_status status = opened;
    if (status == GW_OK && communicator->rank == 0) {
        status = check_targets(options, error);
    }
    status = gw_agree(communicator, status, error);
    if (status == GW_OK) {
        status = validate(&validation, communicator, verdict, error);
        status = gw_agree(communicator, status, error);
    }
    if (opened == GW_OK) {
        close_validation(&validation);
    }
    return status;
}

/* ---- the verb ------------------------------------------------------------------------------ */

/* Bad input is told before a job is started. */
static enum gw_status check_inputs(const struct options *options, struct gw_error *error) {
    struct validation validation;
    GW_TRY(open_validation(options, options->job.nodes, &validation, error));
    close_validation(&validation);
    return check_targets(options, error);
}

static int run(int argc, char **argv) {
    struct options options = {
        .algorithms = "all", .iterations = 20, .warm_up = 3, .tolerance = INFINITY, .seed = 1};
    struct gw_error error = {0};
    gw_cli_parse(&argp, "validate", argc, argv, &options);
    if (!gw_mpi_is_inside_job() && check_inputs(&options, &error) != GW_OK) {
        return gw_cli_fail(&error);
    }
    return gw_job_run(&options.job, argv, body, &options);
}

const struct gw_verb gw_verb_validate = {
    .name = "validate",
    .title = "runs pipelines for real and compares them with their simulation",
    .run = run};
