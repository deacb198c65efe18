#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/validate.h"

#define IN(member) offsetof(struct gw_validate_options, member)

static const char *const computes[] = {
    [GW_COMPUTE_WAIT] = "wait", [GW_COMPUTE_GEMM] = "gemm", NULL};

static const struct gw_option option_table[] = {
    {.kind = GW_INCLUDE, .offset = IN(question), .table = gw_question_table},
    {.kind = GW_INCLUDE, .offset = IN(job), .table = gw_job_table},
    {"algo", 'a', "A[,B..]|all", GW_TEXT, IN(algorithms), .help = "The pipelines to run",
     .value = "all", .names = GW_NAMES_ALGORITHMS, .is_list = true},
    {.kind = GW_INCLUDE, .offset = IN(changes), .table = gw_changes_table},
    {"settle", 0, "N", GW_INTEGER, IN(settle),
     .help = "Iterations of compression alone before all others, where it depends on gradients how "
             "much is selected",
     .otherwise = "until the density is met, 300, or 3 seconds"},
    {"counts", 0, "SOURCE", GW_TEXT, IN(counts.source),
     .help = "How many elements the prediction takes to be selected where that depends on "
             "gradients: \"recorded\" in the measured iterations, \"asked\", \"trained\" with "
             "generated ones, or a file",
     .value = "recorded", .names = GW_NAMES_FILES},
    {"counts-out", 0, "FILE", GW_TEXT, IN(counts.out),
     .help = "Write the recorded counts of a single algorithm, for simulate --counts",
     .names = GW_NAMES_FILES},
    {"iterations", 'n', "N", GW_COUNT, IN(iterations), .help = "Iterations to measure",
     .value = "20"},
    {"warm-up", 0, "N", GW_COUNT, IN(warm_up), .help = "Iterations before them", .value = "3"},
    {"tolerance", 0, "T", GW_NOT_NEGATIVE, IN(tolerance),
     .help = "Largest error, such as 0.1, for exit status 0", .otherwise = "any"},
    {"interference", 0, NULL, GW_FLAG, IN(interference),
     .help = "In the prediction, let compression and exchanges that run at once slow each other, "
             "as the cluster says"},
    {"seed", 's', "S", GW_INTEGER, IN(seed), .help = "Seed of the gradients", .value = "1"},
    {"device", 0, "cpu|cuda[:N]", GW_CUSTOM, IN(gpu.device),
     .help = "Where gradients are: in this machine's memory, on each rank's GPU, or on GPU N",
     .value = "cpu", .read = gw_read_device},
    {"transport", 0, NULL, GW_CHOICE, IN(gpu.transport), .help = "Between GPUs",
     .otherwise = "nccl where each rank has a GPU to itself, otherwise mpi",
     .choices = gw_transport_choices},
    {"compute", 0, NULL, GW_CHOICE, IN(gpu.compute),
     .help = "What computing is on a GPU: a kernel that waits on a small part of it, or products "
             "of matrices by cuBLAS on all of it",
     .value = "wait", .choices = computes},
    {"trace", 0, "FILE", GW_TEXT, IN(trace),
     .help = "Write the measured timeline of a single algorithm for ui.perfetto.dev",
     .names = GW_NAMES_FILES},
    {"out", 'o', "VALIDATION.json", GW_TEXT, IN(out),
     .help = "Also write the JSON document to a file", .names = GW_NAMES_FILES},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_output_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {"transport", GW_NEEDS, "device=cuda", "--transport: expected --device cuda with it"},
    {"compute", GW_NEEDS, "device=cuda", "--compute: expected --device cuda with it"},
    GW_NEEDS_JOB,
    GW_HOSTFILE_NEEDS_NODES,
    GW_NEEDS_MODEL("MODEL"),
    GW_NEEDS_CLUSTER("cluster"),
    {0},
};

/* ---- what can be told without running anything --------------------------------------------- */

static void close_validation(struct gw_validation_run *run) {
    for (size_t i = 0; i < run->answer.count; i++) {
        gw_pipeline_close(&run->answer.pairs[i].pipeline);
        gw_validation_pair_close_counts(&run->answer.pairs[i]);
    }
    gw_question_close(&run->answer.question);
    gw_arena_free(&run->arena);
}

static enum gw_status predict(const struct gw_question *question,
                              const struct gw_validate_options *options,
                              struct gw_validation_pair *comparison, struct gw_error *error) {
    const struct gw_prediction_options once = {.simulation.interference = options->interference};
    enum gw_status status =
        gw_executor_check(&comparison->pipeline.schedule, options->gpu.device.cuda, error);
    if (status != GW_OK) {
        gw_error_prefix(error, options->question.model);
        return status;
    }
    return gw_pipeline_predict(question, &comparison->pipeline, &once, NULL, &comparison->predicted,
                               error);
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

static enum gw_status check_server(const struct gw_validation_run *run,
                                   const struct gw_algorithm *algorithm, struct gw_error *error) {
    size_t workers = run->answer.question.workers;
    return !algorithm->exchange->server || run->ranks > workers
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: expected a rank for its server: %zu workers in a job of %zu ranks "
                         "(--workers %zu), got a job of %zu",
                         algorithm->name, workers, workers + 1, workers, run->ranks);
}

/* `algorithm` gets the preset's choices, with those that were changed. */
static enum gw_status open_pipeline(const struct gw_validation_run *run,
                                    const struct gw_algorithm *preset,
                                    struct gw_algorithm *algorithm, struct gw_pipeline *out,
                                    struct gw_error *error) {
    GW_TRY(gw_algorithm_change(preset, &run->options->changes, algorithm, error));
    GW_TRY(check_server(run, algorithm, error));
    GW_TRY(gw_validate_check_compressor(&run->options->gpu, algorithm, error));
    return gw_pipeline_open(&run->answer.question, algorithm, NULL, out, error);
}

/*
 * Of all algorithms those are left out that lack a curve, a rank for their server, or a compressor
 * for GPUs; asked for by name they are refused, and so is in any case a model that cannot be
 * executed.
 */
static enum gw_status add_algorithm(struct gw_validation_run *run,
                                    const struct gw_algorithm *preset, struct gw_error *error) {
    struct gw_validation_pair *comparison = &run->answer.pairs[run->answer.count];
    struct gw_algorithm *algorithm = &run->answer.algorithms[run->answer.count];
    enum gw_status status = open_pipeline(run, preset, algorithm, &comparison->pipeline, error);
    if (status == GW_OK) {
        run->answer.count++;
        GW_TRY(gw_validation_pair_open_counts(&run->answer, comparison, error));
        return predict(&run->answer.question, run->options, comparison, error);
    }
    if (status != GW_BAD_INPUT || strcmp(run->options->algorithms, "all") != 0) {
        return status;
    }
    run->answer.infeasible[run->answer.infeasible_count++] =
        (struct gw_infeasible){.algorithm = preset->name, .why = *error};
    return GW_OK;
}

/* *error then is what the last one is left out for. */
static enum gw_status add_algorithms(struct gw_validation_run *run,
                                     const struct gw_algorithm *const *algorithms, size_t count,
                                     struct gw_error *error) {
    struct gw_validation *answer = &run->answer;
    answer->pairs = gw_arena_zeros(&run->arena, count, sizeof *answer->pairs);
    answer->infeasible = gw_arena_zeros(&run->arena, count, sizeof *answer->infeasible);
    answer->algorithms = gw_arena_zeros(&run->arena, count, sizeof *answer->algorithms);
    if (answer->pairs == NULL || answer->infeasible == NULL || answer->algorithms == NULL) {
        return gw_fail_memory(error, "validating");
    }
    if (run->options->trace != NULL && count != 1) {
        return gw_fail(error, GW_BAD_INPUT, "--trace: expected a single algorithm with it, got %zu",
                       count);
    }
    for (size_t i = 0; i < count; i++) {
        GW_TRY(add_algorithm(run, algorithms[i], error));
    }
    return answer->count > 0 ? gw_validation_check_counts(answer, error) : GW_BAD_INPUT;
}

/* Reads the inputs and predicts: bad input shows here, on all ranks alike. */
static enum gw_status open_validation(const struct gw_validate_options *options, size_t ranks,
                                      struct gw_validation_run *out, struct gw_error *error) {
    struct gw_question_options asked = options->question;
    const struct gw_algorithm **algorithms = NULL;
    size_t count = 0;
    *out = (struct gw_validation_run){.options = options,
                                      .ranks = ranks,
                                      .answer = {.iterations = options->iterations,
                                                 .seed = options->seed,
                                                 .interference = options->interference,
                                                 .counts = options->counts.source,
                                                 .counts_out = options->counts.out}};
    GW_TRY(find_workers(options, ranks, &asked.workers, error));
    GW_TRY(gw_algorithms_parse(options->algorithms, &algorithms, &count, error));
    enum gw_status status = gw_question_open(&asked, &out->answer.question, error);
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
static enum gw_status validate(struct gw_validation_run *run, struct gw_communicator *communicator,
                               int *verdict, struct gw_error *error) {
    gw_validation_measure(run, communicator, error);
    if (communicator->rank != 0) {
        return GW_OK;
    }
    GW_TRY(gw_validation_compare(&run->answer, error));
    *verdict = gw_validation_largest_error(&run->answer) > run->options->tolerance;
    return gw_print_validation(&run->answer, run->options->out, run->options->output.json, error);
}

static enum gw_status body(struct gw_communicator *communicator, void *context, int *verdict,
                           struct gw_error *error) {
    const struct gw_validate_options *options = context;
    struct gw_validation_run run;
    enum gw_status opened = open_validation(options, (size_t)communicator->size, &run, error);
    enum gw_status status = opened;
    if (status == GW_OK && communicator->rank == 0) {
        status = check_targets(options, error);
    }
    status = gw_agree(communicator, status, error);
    if (status == GW_OK) {
        status = gw_agree(communicator, gw_validation_open_gpu(&run, communicator, error), error);
    }
    if (status == GW_OK) {
        status = validate(&run, communicator, verdict, error);
        status = gw_agree(communicator, status, error);
    }
    if (opened == GW_OK) {
        gw_device_close(run.executor.device);
        close_validation(&run);
    }
    return status;
}

/* ---- the verb ------------------------------------------------------------------------------ */

/* Bad input is told before a job is started. */
static enum gw_status check_inputs(const struct gw_validate_options *options,
                                   struct gw_error *error) {
    struct gw_validation_run run;
    GW_TRY(gw_validate_check_gpu(&options->gpu, options->job.hostfile == NULL, error));
    GW_TRY(open_validation(options, options->job.nodes, &run, error));
    close_validation(&run);
    return check_targets(options, error);
}

static int run(int argc, char **argv) {
    struct gw_validate_options options = {
        .tolerance = INFINITY,
        .gpu = {.transport = GW_TRANSPORT_ANY},
        .counts = {.settling = {.iterations = 300, .ends_early = true, .longest_s = 3}}};
    struct gw_error error = {0};
    gw_parse_options(&gw_verb_validate, argc, argv, &options);
    if (gw_option_is_given("settle")) {
        options.counts.settling = (struct gw_warm_up_limits){.iterations = options.settle};
    }
    if (!gw_mpi_is_inside_job() && check_inputs(&options, &error) != GW_OK) {
        return gw_cli_fail(&error);
    }
    return gw_job_run(&options.job, argv, body, &options);
}

const struct gw_verb gw_verb_validate = {
    .name = "validate",
    .title = "runs pipelines for real and compares them with their simulation",
    .usage = "MODEL --cluster CLUSTER [--nodes N]",
    .about =
        "Runs pipelines for real - compute as timed waiting, compression and exchanges as they "
        "are - and compares them with their simulation on the cluster file. It calibrates "
        "nothing.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one MODEL, got also",
    .run = run,
};
