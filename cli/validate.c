/* Runs pipelines on the ranks of a job, and compares predictions with measurements. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/calibrate.h"
#include "cli/job.h"
#include "exec/exec.h"
#include "kernels/gpu.h"

/* ---- options --------------------------------------------------------------------------------- */

/* Options on selected counts that depend on gradients. */
struct validated_counts {
    struct gw_warm_up_limits settling;
    const char *source; /* "recorded", "asked", "trained" or a file */
    const char *out;    /* NULL: recorded counts are not kept */
};

/* Options on the ranks' GPUs. */
struct validated_gpu {
    struct gw_device_choice device;
    enum gw_transport_choice transport;
    enum gw_compute compute;
};

struct options {
    struct gw_output_options output;
    struct gw_job_options job;
    struct gw_scenario_options scenario;
    struct gw_choice_changes changes;
    struct validated_counts counts;
    struct validated_gpu gpu;
    const char *algorithms, *explain, *trace, *out;
    size_t iterations, warm_up;
    double time_s; /* 0: not given */
    double tolerance, check_s;
    uint64_t seed, settle; /* settle: in `counts` if it is given */
    enum { REAL, TIMED } compression;
};

struct run {
    const struct options *options;
    struct gw_validation answer; /* whose arrays are in `arena` */
    struct gw_arena arena;
    struct gw_validation_device device;
    size_t ranks;                       /* of the job: the workers, and perhaps one more */
    struct gw_session_options executor; /* with the GPU, which is opened */
    struct gw_gpu gpu;                  /* this rank's */
    struct gw_drawn_gradients drawn;    /* this rank's */
    struct gw_progress progress;
    size_t done, all; /* iterations of all algorithms */
    const struct gw_validation_pair *current;
    struct gw_validation_pair *explained; /* NULL: none */
    struct gw_timeline measured;          /* of the explained one, or of the only one */
    struct gw_load_meter *meter;
};

#define IN(member) offsetof(struct options, member)

static const char *const computes[] = {
    [GW_COMPUTE_WAIT] = "wait", [GW_COMPUTE_GEMM] = "gemm", NULL};

static const char *const compressions[] = {[REAL] = "real", [TIMED] = "timed", NULL};

static const struct gw_option option_table[] = {
    {.kind = GW_INCLUDE, .offset = IN(scenario), .table = gw_scenario_table},
    {.kind = GW_INCLUDE, .offset = IN(job), .table = gw_job_table},
    {"algo", 'a', "A[,B..]|all", GW_TEXT, IN(algorithms), .help = "The pipelines to run",
     .value = "all", .names = GW_NAMES_ALGORITHMS, .is_list = true},
    {.kind = GW_INCLUDE, .offset = IN(changes), .table = gw_changes_table},
    {"plan", 0, "PLAN.json", GW_TEXT, IN(scenario.plan.path),
     .help = "Groups from a plan file instead of the algorithms' own policies; a mixed plan, which "
             "says how each of its groups travels, runs alone or before the pipelines of --algo",
     .names = GW_NAMES_FILES},
    {"compression", 0, NULL, GW_CHOICE, IN(compression),
     .help = "Compression that runs: the compressor, or timed waiting as long as its curve says, "
             "after which exactly the requested number of elements is selected",
     .value = "real", .choices = compressions},
    {"settle", 0, "N", GW_INTEGER, IN(settle),
     .help = "Iterations of compression alone before all others, where selected counts depend on "
             "gradients",
     .otherwise = "until the density is met or 600; for 3 seconds, or 30 while it comes nearer"},
    {"counts", 0, "SOURCE", GW_TEXT, IN(counts.source),
     .help = "Predicted counts of selected elements where they depend on "
             "gradients: \"recorded\" in the measured iterations, \"asked\", \"trained\" with "
             "generated ones, or a file",
     .value = "recorded", .names = GW_NAMES_MEASURED_COUNTS},
    {"counts-out", 0, "FILE", GW_TEXT, IN(counts.out),
     .help = "Write the recorded counts of a single algorithm, for simulate --counts",
     .names = GW_NAMES_FILES, .writes = true},
    {"iterations", 'n', "N", GW_COUNT, IN(iterations), .help = "Iterations to measure",
     .value = "20"},
    {"warm-up", 0, "N", GW_COUNT, IN(warm_up), .help = "Warm-up iterations before them",
     .value = "3"},
    {"time", 0, "SECONDS", GW_POSITIVE, IN(time_s),
     .help =
         "Limit on the predicted time of a pipeline's measured iterations, which are two at least; "
         "half of it for those before them, which are one at least",
     .otherwise = "all", .maximum = GW_MAX_SECONDS},
    {"tolerance", 0, "T", GW_NOT_NEGATIVE, IN(tolerance),
     .help = "Largest error, such as 0.1, for exit status 0", .otherwise = "any"},
    {.kind = GW_INCLUDE, .offset = IN(scenario.interference), .table = gw_interference_table},
    {"check-time", 0, "SECONDS", GW_NOT_NEGATIVE, IN(check_s),
     .help = "Time to check first whether the cluster's file still holds; 0: no check",
     .value = "2", .maximum = GW_MAX_SECONDS, .expected = "at most 1e6"},
    {"seed", 's', "S", GW_INTEGER, IN(seed), .help = "Seed of the gradients", .value = "1"},
    {"device", 0, "cpu|cuda[:N]", GW_CUSTOM, IN(gpu.device),
     .help = "Device with the gradients: this machine's processors, each rank's GPU, or GPU N",
     .value = "cpu", .choices = gw_device_kinds, .read = gw_read_device},
    {"transport", 0, NULL, GW_CHOICE, IN(gpu.transport), .help = "Transport between GPUs",
     .otherwise = "nccl where each rank has a GPU to itself, otherwise mpi",
     .choices = gw_transport_choices},
    {"compute", 0, NULL, GW_CHOICE, IN(gpu.compute),
     .help = "Compute on a GPU: a kernel that waits on a small part of it, or products "
             "of matrices by cuBLAS on all of it",
     .value = "wait", .choices = computes},
    {"explain", 0, "ALGO", GW_TEXT, IN(explain),
     .help = "List the operations of this pipeline that contribute most to its error; only this "
             "one runs without --algo",
     .names = GW_NAMES_ALGORITHMS},
    {"trace", 0, "FILE", GW_TEXT, IN(trace),
     .help =
         "Write the measured timeline of a single algorithm for ui.perfetto.dev, with --explain "
         "beside the predicted one",
     .names = GW_NAMES_FILES, .writes = true},
    {"out", 'o', "VALIDATION.json", GW_TEXT, IN(out),
     .help = "Also write the JSON document to a file", .names = GW_NAMES_FILES, .writes = true},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_writing_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {"transport", GW_NEEDS, "device=cuda", "--transport: expected --device cuda with it"},
    {"compute", GW_NEEDS, "device=cuda", "--compute: expected --device cuda with it"},
    {"compression=timed", GW_EXCLUDES, "device=cuda settle counts counts-out",
     "--compression timed: expected --device cpu, and none of --settle, --counts and --counts-out "
     "with it"},
    GW_NEEDS_JOB,
    GW_HOSTFILE_NEEDS_NODES,
    GW_NEEDS_MODEL("MODEL"),
    GW_NEEDS_CLUSTER("cluster"),
    {0},
};

/* ---- GPUs ---------------------------------------------------------------------------------- */

static enum gw_status check_gpu(const struct validated_gpu *options, bool here,
                                struct gw_error *error) {
    if (!options->device.cuda) {
        return GW_OK;
    }
    if (gw_cuda_version() == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "--device cuda: expected a build with CUDA");
    }
    if (options->transport == GW_TRANSPORT_NCCL && gw_nccl_version() == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "--transport nccl: expected a build with NCCL");
    }
    if (options->compute == GW_COMPUTE_GEMM && (here || gw_cublas_version() == NULL) &&
        gw_cublas_need(error) != GW_OK) {
        gw_error_prefix(error, "--compute gemm");
        return error->status;
    }
    struct gw_gpu gpu;
    return !here || gw_cuda_devices(&gpu, 1) > 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "--device cuda: expected a GPU on this machine");
}

static enum gw_status choose_transport(struct run *run, struct gw_communicator *communicator,
                                       struct gw_error *error) {
    enum gw_transport_choice asked = run->options->gpu.transport;
    enum gw_gpu_transport *chosen = &run->executor.transport;
    size_t *sharing = &run->device.ranks_on_one;
    GW_TRY(gw_gpu_transport_choose(communicator, run->executor.device, chosen, sharing, error));
    if (asked == GW_TRANSPORT_NCCL && *sharing > 1) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--transport nccl: expected a GPU for each rank, got %zu ranks on one "
                       "(--transport mpi lets them share)",
                       *sharing);
    }
    if (asked != GW_TRANSPORT_ANY) {
        *chosen = asked == GW_TRANSPORT_NCCL ? GW_GPU_NCCL : GW_GPU_MPI;
    }
    return GW_OK;
}

static enum gw_status open_gpu(struct run *run, struct gw_communicator *communicator,
                               struct gw_error *error) {
    const struct validated_gpu *options = &run->options->gpu;
    size_t local_rank = 0;
    run->executor = (struct gw_session_options){.seed = run->options->seed,
                                                .drawn = &run->drawn,
                                                .compute = options->compute,
                                                .timed_compression = run->answer.timed_compression};
    if (!options->device.cuda) {
        return GW_OK;
    }
    enum gw_status status = check_gpu(options, true, error);
    GW_TRY(gw_agree(communicator, status, error));
    GW_TRY(gw_find_local_rank(communicator, &local_rank, error));
    status = gw_device_choice_open(&options->device, local_rank, &run->executor.device, &run->gpu,
                                   error);
    GW_TRY(gw_agree(communicator, status, error));
    GW_TRY(choose_transport(run, communicator, error));
    run->device = (struct gw_validation_device){
        .gpu = run->gpu.name,
        .transport = gw_transport_choices[run->executor.transport],
        .compute = computes[options->compute],
        .cublas = options->compute == GW_COMPUTE_GEMM ? gw_cublas_version() : NULL,
        .ranks_on_one = run->device.ranks_on_one};
    run->answer.device = &run->device;
    return GW_OK;
}

/* ---- inputs and predictions ---------------------------------------------------------------- */

/* Closes a run, however far it was opened. */
static void close_run(struct run *run) {
    gw_device_close(run->executor.device);
    gw_drawn_gradients_free(&run->drawn);
    gw_load_meter_close(run->meter);
    gw_timeline_free(&run->measured);
    for (size_t i = 0; i < run->answer.count; i++) {
        gw_pipeline_close(&run->answer.pairs[i].pipeline);
        gw_validation_pair_close_counts(&run->answer.pairs[i]);
    }
    gw_scenario_close(&run->answer.scenario);
    gw_arena_free(&run->arena);
}

static enum gw_status check_ranks(const struct run *run, const struct gw_schedule *schedule,
                                  const char *algorithm, struct gw_error *error) {
    size_t workers = run->answer.scenario.workers;
    if (schedule->server && run->ranks == workers) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected a rank for its server: %zu workers in a job of %zu ranks "
                       "(--workers %zu), got a job of %zu",
                       algorithm, workers, workers + 1, workers, run->ranks);
    }
    for (size_t i = 0; i < schedule->way_count && run->options->gpu.device.cuda; i++) {
        const struct gw_compressor *compressor = schedule->ways[i].compressor;
        if (compressor != &gw_compressor_none && !gw_is_on_gpus(compressor)) {
            return gw_fail(error, GW_BAD_INPUT,
                           "--device cuda: %s: expected a compressor with a GPU kernel, got %s",
                           algorithm, compressor->name);
        }
    }
    return GW_OK;
}

/* Opens the preset with the changed choices, or (NULL) the mixed plan, as `algorithm`. */
static enum gw_status open_pipeline(const struct run *run, const struct gw_algorithm *preset,
                                    struct gw_algorithm *algorithm, struct gw_pipeline *out,
                                    struct gw_error *error) {
    const struct gw_plan *plan = run->answer.scenario.plan;
    if (preset == NULL) {
        *algorithm = gw_algorithm_mixed(plan);
    } else {
        GW_TRY(gw_algorithm_change(preset, &run->options->changes, algorithm, error));
        plan = gw_plan_is_mixed(plan) ? NULL : plan;
    }
    GW_TRY(gw_pipeline_open(&run->answer.scenario, algorithm, plan, out, error));
    enum gw_status status = check_ranks(run, &out->schedule, algorithm->name, error);
    if (status != GW_OK) {
        gw_pipeline_close(out);
    }
    return status;
}

/*
 * Adds an algorithm. With --algo all, one that lacks a curve, a rank for its server or a GPU
 * compressor is left out as infeasible; a named one fails, and so does a model that cannot be
 * executed.
 */
static enum gw_status add_algorithm(struct run *run, const struct gw_algorithm *preset,
                                    struct gw_error *error) {
    struct gw_validation_pair *comparison = &run->answer.pairs[run->answer.count];
    struct gw_algorithm *algorithm = &run->answer.algorithms[run->answer.count];
    enum gw_status status = open_pipeline(run, preset, algorithm, &comparison->pipeline, error);
    if (status == GW_OK) {
        run->answer.count++;
        bool on_gpu = run->options->gpu.device.cuda;
        if (gw_session_check(&comparison->pipeline.schedule, on_gpu, error) != GW_OK) {
            gw_error_prefix(error, run->options->scenario.model);
            return error->status;
        }
        GW_TRY(gw_validation_predict(&run->answer, comparison, error));
        gw_validation_choose_iterations(&run->answer, comparison);
        return gw_validation_pair_open_counts(&run->answer, comparison, error);
    }
    if (status != GW_BAD_INPUT || strcmp(run->options->algorithms, "all") != 0) {
        return status;
    }
    run->answer.infeasible[run->answer.infeasible_count++] =
        (struct gw_infeasible){.algorithm = preset->name, .why = *error};
    return GW_OK;
}

/* Adds the algorithms, of which NULL is the mixed plan; if all are left out, fails with the last
 * one's reason. */
static enum gw_status add_algorithms(struct run *run, const struct gw_algorithm *const *algorithms,
                                     size_t count, struct gw_error *error) {
    struct gw_validation *answer = &run->answer;
    answer->pairs = gw_arena_zeros(&run->arena, count, sizeof *answer->pairs);
    answer->infeasible = gw_arena_zeros(&run->arena, count, sizeof *answer->infeasible);
    answer->algorithms = gw_arena_zeros(&run->arena, count, sizeof *answer->algorithms);
    GW_TRY(gw_arena_check(&run->arena, "validating", error));
    if (run->options->trace != NULL && run->options->explain == NULL && count != 1) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--trace: expected a single algorithm or --explain with it, got %zu", count);
    }
    for (size_t i = 0; i < count; i++) {
        GW_TRY(add_algorithm(run, algorithms[i], error));
    }
    GW_TRY(answer->count > 0 ? gw_validation_check_counts(answer, error) : GW_BAD_INPUT);
    const char *explain = run->options->explain;
    return explain == NULL ? GW_OK
                           : gw_validation_find_pair(answer, explain, &run->explained, error);
}

/* Lists the asked pipelines: first a mixed plan, as NULL, then those of --algo. */
static enum gw_status list_algorithms(struct run *run, const struct gw_algorithm ***out,
                                      size_t *count, struct gw_error *error) {
    const struct gw_algorithm **named = NULL;
    size_t mixed = gw_plan_is_mixed(run->answer.scenario.plan);
    if (mixed == 0 || run->options->scenario.plan.algorithm != NULL) {
        GW_TRY(gw_algorithms_parse(run->options->algorithms, &run->arena, &named, count, error));
    }
    *out = gw_arena_zeros(&run->arena, *count + mixed, sizeof(**out));
    GW_TRY(gw_arena_check(&run->arena, "validating", error));
    for (size_t i = 0; i < *count; i++) {
        (*out)[mixed + i] = named[i];
    }
    *count += mixed;
    return GW_OK;
}

/* Takes as many workers as the job has ranks, unless others are given or planned. */
static enum gw_status choose_workers(const struct gw_scenario_options *asked, size_t ranks,
                                     struct gw_scenario *scenario, struct gw_error *error) {
    bool planned = asked->workers == 0 && scenario->plan != NULL;
    if (asked->workers == 0 && !planned) {
        scenario->workers = ranks;
    }
    return scenario->workers == ranks || scenario->workers + 1 == ranks
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s%s: expected %zu, the size of the MPI job, or one less, which leaves a "
                         "rank for a server, got %zu",
                         planned ? asked->plan.path : "--", planned ? ": workers" : "workers",
                         ranks, scenario->workers);
}

/* Reads the inputs and predicts, so that bad input fails here, on all ranks alike. */
static enum gw_status open_run(const struct options *options, size_t ranks, struct run *out,
                               struct gw_error *error) {
    const struct gw_algorithm **algorithms = NULL;
    size_t count = 0;
    *out = (struct run){.options = options,
                        .ranks = ranks,
                        .answer = {.iterations = options->iterations,
                                   .warm_up = options->warm_up,
                                   .time_s = options->time_s,
                                   .seed = options->seed,
                                   .tolerance = options->tolerance,
                                   .timed_compression = options->compression == TIMED,
                                   .counts = options->counts.source,
                                   .counts_out = options->counts.out}};
    GW_TRY(gw_scenario_open(&options->scenario, &out->answer.scenario, error));
    GW_TRY(choose_workers(&options->scenario, ranks, &out->answer.scenario, error));
    GW_TRY(list_algorithms(out, &algorithms, &count, error));
    return add_algorithms(out, algorithms, count, error);
}

static enum gw_status check_targets(const struct options *options, struct gw_error *error) {
    const struct {
        const char *path, *like;
    } targets[] = {{options->out, "{\"schema\": \"gradweave/validation@1\""},
                   {options->trace, "{\"traceEvents\""},
                   {options->counts.out, "{\"schema\": \"gradweave/counts@1\""}};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (targets[i].path != NULL) {
            GW_TRY(gw_file_check_target(targets[i].path, targets[i].like, error));
        }
    }
    return GW_OK;
}

/* ---- one pipeline -------------------------------------------------------------------------- */

static void show_progress(void *context) {
    struct run *run = context;
    gw_progress_update(&run->progress, (double)run->done++ / (double)run->all,
                       run->current->predicted.algorithm);
}

static enum gw_status execute_pipeline(struct run *run, struct gw_validation_pair *comparison,
                                       struct gw_communicator *communicator,
                                       struct gw_error *error) {
    const struct options *options = run->options;
    const struct gw_pipeline *pipeline = &comparison->pipeline;
    const struct gw_measuring measuring = {.settling = options->counts.settling,
                                           .warm_up = comparison->warm_up,
                                           .iterations = comparison->iterations,
                                           .begin = show_progress,
                                           .context = run};
    bool kept = comparison == run->explained || (run->explained == NULL && options->trace != NULL);
    struct gw_measured measured = {
        .result = &comparison->measured,
        .counts = comparison->counts_depend_on_data ? &comparison->recorded : NULL,
        .extents = comparison->extents,
        .timeline = kept ? &run->measured : NULL};
    struct gw_session *executor = NULL;
    comparison->measured = gw_pipeline_result(pipeline);
    GW_TRY(gw_session_open(&executor, &pipeline->schedule, communicator, &run->executor, error));
    enum gw_status status = kept ? gw_session_timeline(executor, &run->measured, error) : GW_OK;
    if (status == GW_OK) {
        status = gw_session_measure(executor, &measuring, &measured, error);
    }
    comparison->warmed_up = measured.warmed_up;
    gw_session_close(executor);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------- */

/* Measures whether the cluster's file still holds for the costs that the pairs use. */
static enum gw_status find_drift(struct run *run, struct gw_validation_pair *comparison,
                                 struct gw_communicator *workers, struct gw_error *error) {
    struct gw_validation *answer = &run->answer;
    const char *const *costs = NULL;
    char *drift = NULL;
    (void)comparison;
    GW_TRY(gw_validation_costs(answer, &run->arena, &costs, error));
    GW_TRY(gw_calibration_find_drift(workers, answer->scenario.cluster, costs,
                                     run->options->check_s, &gw_machine_clock, &run->arena, &drift,
                                     error));
    if (drift != NULL) {
        answer->doubts[answer->doubt_count++] = drift;
    }
    return GW_OK;
}

/* Work of the job's workers, while the other ranks rest. */
typedef enum gw_status work(struct run *run, struct gw_validation_pair *comparison,
                            struct gw_communicator *communicator, struct gw_error *error);

static enum gw_status among_workers(struct run *run, struct gw_validation_pair *comparison,
                                    work *act, struct gw_communicator *job,
                                    struct gw_communicator *workers, struct gw_error *error) {
    if (workers->transport == NULL) {
        return gw_rest_beside(job, error);
    }
    GW_TRY(act(run, comparison, workers, error));
    return gw_wake_beside(job, workers->size, error);
}

/* Takes rank 0's numbers of iterations; predictions may round differently on another processor. */
static enum gw_status agree_on_iterations(struct run *run, struct gw_communicator *job,
                                          struct gw_error *error) {
    for (size_t i = 0; i < run->answer.count; i++) {
        struct gw_validation_pair *pair = &run->answer.pairs[i];
        size_t chosen[] = {pair->warm_up, pair->iterations};
        GW_TRY(gw_broadcast(job, 0, chosen, sizeof chosen, error));
        pair->warm_up = chosen[0];
        pair->iterations = chosen[1];
        run->all += pair->warm_up + pair->iterations;
    }
    return GW_OK;
}

static void measure_all(struct run *run, struct gw_communicator *job, struct gw_error *error) {
    struct gw_communicator workers;
    gw_job_require(
        job, job->transport->open_first(job, (int)run->answer.scenario.workers, &workers, error),
        error);
    gw_job_require(job, gw_load_meter_open(job, &run->meter, error), error);
    if (run->options->check_s > 0 && !run->options->gpu.device.cuda) {
        gw_job_require(job, among_workers(run, NULL, find_drift, job, &workers, error), error);
    }
    gw_job_require(job, agree_on_iterations(run, job, error), error);
    run->progress = gw_progress_begin("validate", job->rank == 0);
    for (size_t i = 0; i < run->answer.count; i++) {
        struct gw_validation_pair *comparison = &run->answer.pairs[i];
        run->current = comparison;
        gw_load_meter_begin(run->meter);
        enum gw_status status =
            comparison->pipeline.schedule.server
                ? execute_pipeline(run, comparison, job, error)
                : among_workers(run, comparison, execute_pipeline, job, &workers, error);
        gw_job_require(job, status, error);
        gw_job_require(job, gw_load_meter_end(run->meter, &comparison->measured.disturbance, error),
                       error);
    }
    gw_progress_end(&run->progress);
    if (workers.transport != NULL) {
        workers.transport->close(&workers);
    }
}

/* ---- on every rank ------------------------------------------------------------------------- */

/* Measures on all ranks; rank 0 compares and prints, then all agree on the status. */
static enum gw_status validate_pipelines(struct run *run, struct gw_communicator *communicator,
                                         int *verdict, struct gw_error *error) {
    struct gw_validation *answer = &run->answer;
    GW_TRY(gw_calibration_uncertainty_reasons(communicator, answer->scenario.cluster, &run->arena,
                                              &answer->doubts, &answer->doubt_count, error));
    measure_all(run, communicator, error);
    if (communicator->rank != 0) {
        return GW_OK;
    }
    GW_TRY(gw_validation_compare(&run->answer, error));
    const char *trace = run->options->trace;
    if (run->explained != NULL) {
        GW_TRY(gw_validation_explain(&run->answer, run->explained, &run->measured, &run->arena,
                                     trace, error));
    } else if (trace != NULL) {
        GW_TRY(gw_timeline_write(&run->measured, trace, error));
    }
    *verdict = gw_validation_largest_error(&run->answer) > run->options->tolerance;
    return gw_print_validation(&run->answer, run->options->out, run->options->output.json, error);
}

static enum gw_status validate_on_rank(struct gw_communicator *communicator, void *context,
                                       int *verdict, struct gw_error *error) {
    const struct options *options = context;
    struct run run;
    enum gw_status status = open_run(options, (size_t)communicator->size, &run, error);
    if (status == GW_OK && communicator->rank == 0) {
        status = check_targets(options, error);
    }
    status = gw_agree(communicator, status, error);
    if (status == GW_OK) {
        status = gw_agree(communicator, open_gpu(&run, communicator, error), error);
    }
    if (status == GW_OK) {
        status = validate_pipelines(&run, communicator, verdict, error);
        status = gw_agree(communicator, status, error);
    }
    close_run(&run);
    return status;
}

/* ---- the verb ------------------------------------------------------------------------------ */

/* Checks the inputs before a job is started. */
static enum gw_status check_inputs(const struct options *options, struct gw_error *error) {
    struct run run;
    GW_TRY(check_gpu(&options->gpu, options->job.hostfile == NULL, error));
    enum gw_status status = open_run(options, options->job.nodes, &run, error);
    close_run(&run);
    return status == GW_OK ? check_targets(options, error) : status;
}

static int run_validate(void *values, char **argv) {
    struct options *options = values;
    struct gw_error error = {0};
    bool named = gw_option_is_given("algo");
    if (options->explain != NULL && options->scenario.plan.path == NULL && !named) {
        options->algorithms = options->explain;
    }
    options->scenario.plan.algorithm = named ? options->algorithms : NULL;
    options->scenario.plan.changes = &options->changes;
    options->scenario.plan.beside = true;
    if (gw_option_is_given("settle")) {
        options->counts.settling = (struct gw_warm_up_limits){.iterations = options->settle};
    }
    if (!gw_mpi_is_inside_job() && check_inputs(options, &error) != GW_OK) {
        return gw_cli_fail(&error);
    }
    options->job.outs[0] = options->out;
    options->job.outs[1] = options->trace;
    options->job.outs[2] = options->counts.out;
    return gw_job_run(&options->job, argv, validate_on_rank, options);
}

static struct options options = {
    .tolerance = INFINITY,
    .gpu = {.transport = GW_TRANSPORT_ANY},
    .counts = {
        .settling = {.iterations = 600, .ends_early = true, .longest_s = 3, .nearing_s = 30}}};

const struct gw_verb gw_verb_validate = {
    .name = "validate",
    .title = "runs pipelines for real and compares them with their simulation",
    .usage = "MODEL --cluster CLUSTER [--nodes N]",
    .about = "Runs pipelines for real - compute as timed waiting, real compression and exchanges - "
             "and compares them with their simulation on the cluster file. It calibrates "
             "nothing.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one MODEL, got also",
    .values = &options,
    .run = run_validate,
};
