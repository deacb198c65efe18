#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/validate.h"

enum { KEY_TOLERANCE = 2000, KEY_WARM_UP, KEY_TRACE, KEY_INTERFERENCE };

static const struct argp_option option_table[] = {
    {"algo", 'a', "A[,B..]|all", 0, "The pipelines to run (default all)", 0},
    {"iterations", 'n', "N", 0, "Iterations to measure (default 20)", 0},
    {"warm-up", KEY_WARM_UP, "N", 0, "Iterations before them (default 3)", 0},
    {"tolerance", KEY_TOLERANCE, "T", 0,
     "Largest error, such as 0.1, for exit status 0 (default: any)", 0},
    {"interference", KEY_INTERFERENCE, 0, 0,
     "In the prediction, let compression and exchanges that run at once slow each other, as the "
     "cluster "
     "says",
     0},
    {"seed", 's', "S", 0, "Seed of the gradients (default 1)", 0},
    {"out", 'o', "VALIDATION.json", 0, "Also write the JSON document to a file", 0},
    {"trace", KEY_TRACE, "FILE", 0,
     "Write the measured timeline of a single algorithm for ui.perfetto.dev", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct gw_validate_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->question;
        state->child_inputs[1] = &options->changes;
        state->child_inputs[2] = &options->counts;
        state->child_inputs[3] = &options->job;
        state->child_inputs[4] = &options->output;
        state->child_inputs[5] = &options->gpu;
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
    case KEY_INTERFERENCE:
        options->interference = true;
        return 0;
    case KEY_TRACE:
        options->trace = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&gw_question_argp, 0, NULL, 0},
                                             {&gw_changes_argp, 0, NULL, 0},
                                             {&gw_validate_counts_argp, 0, NULL, 0},
                                             {&gw_job_argp, 0, NULL, 0},
                                             {&gw_output_argp, 0, NULL, 0},
                                             {&gw_validate_gpu_argp, 0, NULL, 0},
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

/* ---- what can be told without running anything --------------------------------------------- */

static void close_validation(struct gw_validation *validation) {
    for (size_t i = 0; i < validation->count; i++) {
        gw_pipeline_close(&validation->comparisons[i].pipeline);
        gw_comparison_close_counts(&validation->comparisons[i]);
    }
    gw_question_close(&validation->question);
    free(validation->algorithms);
    free(validation->comparisons);
    free(validation->left_out);
}

static enum gw_status predict(const struct gw_question *question,
                              const struct gw_validate_options *options,
                              struct gw_comparison *comparison, struct gw_error *error) {
    struct gw_simulation simulation = {.workers = question->workers,
                                       .interference = options->interference};
    enum gw_status status =
        gw_executor_check(&comparison->pipeline.schedule, options->gpu.device.cuda, error);
    if (status != GW_OK) {
        gw_error_prefix(error, options->question.model);
        return status;
    }
    return gw_pipeline_predict(question, &comparison->pipeline, &simulation, 1, NULL,
                               &comparison->predicted, error);
}

/* Of a job's ranks one may be left for a server. */
static enum gw_status find_workers(const struct gw_validate_options *options, size_t ranks,
                                   size_t *workers, struct gw_error *error) {
    size_t asked = options->question.workers;
    *workers = asked == 0 ? ranks : asked;
    return *workers == ranks || *workers + 1 == ranks
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "--workers: expected %zu, the size of the MPI job, or one less, which "
                         "leaves a rank for a server, got %zu",
                         ranks, asked);
}

static enum gw_status check_server(const struct gw_validation *validation,
                                   const struct gw_algorithm *algorithm, struct gw_error *error) {
    const struct gw_exchange_kind *exchange = NULL;
    size_t workers = validation->question.workers;
    GW_TRY(gw_exchange_find(algorithm->exchange, &exchange, error));
    return !exchange->server || validation->ranks > workers
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: expected a rank for its server: %zu workers in a job of %zu ranks "
                         "(--workers %zu), got a job of %zu",
                         algorithm->name, workers, workers + 1, workers, validation->ranks);
}

/* `algorithm` gets the preset's choices, with those that were changed. */
static enum gw_status open_pipeline(const struct gw_validation *validation,
                                    const struct gw_algorithm *preset,
                                    struct gw_algorithm *algorithm, struct gw_pipeline *out,
                                    struct gw_error *error) {
    GW_TRY(gw_algorithm_change(preset, &validation->options->changes, algorithm, error));
    GW_TRY(check_server(validation, algorithm, error));
    GW_TRY(gw_validate_check_compressor(&validation->options->gpu, algorithm, error));
    return gw_pipeline_open(&validation->question, algorithm, NULL, out, error);
}

/*
 * Of all algorithms those are left out that lack a curve, a rank for their server, or a compressor
 * for GPUs; asked for by name they are refused, and so is in any case a model that cannot be
 * executed.
 */
static enum gw_status add_algorithm(struct gw_validation *validation,
                                    const struct gw_algorithm *preset, struct gw_error *error) {
    struct gw_comparison *comparison = &validation->comparisons[validation->count];
    struct gw_algorithm *algorithm = &validation->algorithms[validation->count];
    enum gw_status status =
        open_pipeline(validation, preset, algorithm, &comparison->pipeline, error);
    if (status == GW_OK) {
        validation->count++;
        GW_TRY(gw_comparison_open_counts(validation, comparison, error));
        return predict(&validation->question, validation->options, comparison, error);
    }
    if (status != GW_BAD_INPUT || strcmp(validation->options->algorithms, "all") != 0) {
        return status;
    }
    validation->left_out[validation->left_out_count++] =
        (struct gw_left_out){.algorithm = preset->name, .reason = *error};
    return GW_OK;
}

/* *error then is what the last one is left out for. */
static enum gw_status add_algorithms(struct gw_validation *validation,
                                     const struct gw_algorithm *const *algorithms, size_t count,
                                     struct gw_error *error) {
    validation->comparisons = calloc(count, sizeof *validation->comparisons);
    validation->left_out = calloc(count, sizeof *validation->left_out);
    validation->algorithms = calloc(count, sizeof *validation->algorithms);
    if (validation->comparisons == NULL || validation->left_out == NULL ||
        validation->algorithms == NULL) {
        return gw_fail_memory(error, "validating");
    }
    if (validation->options->trace != NULL && count != 1) {
        return gw_fail(error, GW_BAD_INPUT, "--trace: expected a single algorithm with it, got %zu",
                       count);
    }
    for (size_t i = 0; i < count; i++) {
        GW_TRY(add_algorithm(validation, algorithms[i], error));
    }
    return validation->count > 0 ? gw_validation_check_counts(validation, error) : GW_BAD_INPUT;
}

/* Reads the inputs and predicts: bad input shows here, on all ranks alike. */
static enum gw_status open_validation(const struct gw_validate_options *options, size_t ranks,
                                      struct gw_validation *out, struct gw_error *error) {
    struct gw_question_options asked = options->question;
    const struct gw_algorithm **algorithms = NULL;
    size_t count = 0;
    *out = (struct gw_validation){.options = options, .ranks = ranks};
    GW_TRY(find_workers(options, ranks, &asked.workers, error));
    GW_TRY(gw_algorithms_parse(options->algorithms, &algorithms, &count, error));
    enum gw_status status = gw_question_open(&asked, &out->question, error);
    if (status == GW_OK) {
        status = add_algorithms(out, algorithms, count, error);
        if (status != GW_OK) {
            close_validation(out);
        }
    }
    free(algorithms);
    return status;
}

static enum gw_status check_targets(const struct gw_validate_options *options,
                                    struct gw_error *error) {
    const char *const targets[] = {options->out, options->trace, options->counts.out};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (targets[i] != NULL) {
            GW_TRY(gw_file_check_target(targets[i], error));
        }
    }
    return GW_OK;
}

/* ---- on every rank ------------------------------------------------------------------------- */

/* What rank 0 presents, the others wait for: they agree on it afterwards. */
static enum gw_status validate(struct gw_validation *validation,
                               struct gw_communicator *communicator, int *verdict,
                               struct gw_error *error) {
    gw_validation_measure(validation, communicator, error);
    if (communicator->rank != 0) {
        return GW_OK;
    }
    GW_TRY(gw_validation_compare(validation, error));
    *verdict = gw_validation_largest_error(validation) > validation->options->tolerance;
    return gw_validation_present(validation, error);
}

static enum gw_status body(struct gw_communicator *communicator, void *context, int *verdict,
                           struct gw_error *error) {
    const struct gw_validate_options *options = context;
    struct gw_validation validation;
    enum gw_status opened =
        open_validation(options, (size_t)communicator->size, &validation, error);
    enum gw_status status = opened;
    if (status == GW_OK && communicator->rank == 0) {
        status = check_targets(options, error);
    }
    status = gw_agree(communicator, status, error);
    if (status == GW_OK) {
        status =
            gw_agree(communicator, gw_validation_open_gpu(&validation, communicator, error), error);
    }
    if (status == GW_OK) {
        status = validate(&validation, communicator, verdict, error);
        status = gw_agree(communicator, status, error);
    }
    if (opened == GW_OK) {
        gw_device_close(validation.executor.device);
        close_validation(&validation);
    }
    return status;
}

/* ---- the verb ------------------------------------------------------------------------------ */

/* Bad input is told before a job is started. */
static enum gw_status check_inputs(const struct gw_validate_options *options,
                                   struct gw_error *error) {
    struct gw_validation validation;
    GW_TRY(gw_validate_check_gpu(&options->gpu, options->job.hostfile == NULL, error));
    GW_TRY(open_validation(options, options->job.nodes, &validation, error));
    close_validation(&validation);
    return check_targets(options, error);
}

static int run(int argc, char **argv) {
    struct gw_validate_options options = {
        .algorithms = "all",
        .iterations = 20,
        .warm_up = 3,
        .tolerance = INFINITY,
        .seed = 1,
        .counts = {.settling = {.iterations = 300, .ends_early = true, .longest_s = 3},
                   .source = "recorded"}};
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
