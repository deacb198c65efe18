/* What validate runs: the ranks of its job, each pipeline on those that it needs. */
#include "cli/validate.h"

/* ---- one pipeline -------------------------------------------------------------------------- */

static void show_progress(struct gw_validation_run *run, const char *algorithm) {
    size_t each = run->options->warm_up + run->options->iterations;
    gw_progress_update(&run->progress, (double)run->done / (double)(run->answer.count * each),
                       algorithm);
    run->done++;
}

/* What a worker sent in the iteration, on average. */
static double bytes_per_worker(const struct gw_timeline *timeline) {
    double bytes = 0;
    for (size_t i = 0; i < timeline->span_count; i++) {
        bytes += (double)timeline->spans[i].bytes;
    }
    return bytes / (double)timeline->lane_count;
}

/* Keeps the counts of the executor's last iteration. */
static enum gw_status record_counts(struct gw_validation_pair *comparison,
                                    const struct gw_executor *executor, struct gw_error *error) {
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

static enum gw_status iterate(struct gw_validation_run *run, struct gw_validation_pair *comparison,
                              struct gw_executor *executor, struct gw_timeline *timeline,
                              struct gw_timeline *trace, struct gw_error *error) {
    const struct gw_validate_options *options = run->options;
    struct gw_result *measured = &comparison->measured;
    double start_s = 0;
    for (size_t i = 0; i < options->warm_up + options->iterations; i++) {
        struct gw_measure measure;
        show_progress(run, measured->algorithm);
        gw_timeline_clear(timeline);
        GW_TRY(gw_executor_iterate(executor, start_s, timeline, error));
        if (i < options->warm_up) {
            continue;
        }
        GW_TRY(gw_timeline_measure(timeline, &measure, error));
        GW_TRY(record_counts(comparison, executor, error));
        gw_result_add(measured, &measure);
        measured->bytes_per_worker += bytes_per_worker(timeline) / (double)options->iterations;
        start_s = timeline->iterations[0].end_s;
        if (options->trace != NULL) {
            GW_TRY(gw_timeline_append(trace, timeline, error));
        }
    }
    return GW_OK;
}

static enum gw_status execute(struct gw_validation_run *run, struct gw_validation_pair *comparison,
                              struct gw_communicator *communicator, struct gw_error *error) {
    const struct gw_validate_options *options = run->options;
    const struct gw_pipeline *pipeline = &comparison->pipeline;
    struct gw_executor *executor = NULL;
    struct gw_timeline timeline = {0};
    struct gw_timeline trace = {0};
    comparison->measured = gw_pipeline_result(&run->answer.question, pipeline);
    comparison->measured.bytes_per_worker = 0;
    GW_TRY(gw_executor_open(&executor, &pipeline->schedule, communicator, &run->executor, error));
    enum gw_status status = gw_executor_timeline(executor, &timeline, error);
    if (status == GW_OK) {
        status = gw_executor_timeline(executor, &trace, error);
    }
    if (status == GW_OK) {
        status =
            gw_executor_warm_up(executor, &options->counts.settling, &comparison->warmed_up, error);
    }
    if (status == GW_OK) {
        status = iterate(run, comparison, executor, &timeline, &trace, error);
    }
    if (status == GW_OK && options->trace != NULL && communicator->rank == 0) {
        status = gw_timeline_write(&trace, options->trace, error);
    }
    gw_timeline_free(&timeline);
    gw_timeline_free(&trace);
    gw_executor_close(executor);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------- */

/* What a rank that is no worker waits for while the workers are by themselves. */
static enum gw_status rest(struct gw_communicator *job, struct gw_error *error) {
    GW_TRY(gw_rest_until_woken(job, error));
    return job->transport->barrier(job, error);
}

static enum gw_status wake(struct gw_communicator *job, int workers, struct gw_error *error) {
    if (job->rank == 0) {
        GW_TRY(gw_wake(job, workers, error));
    }
    return job->transport->barrier(job, error);
}

/* With its server a pipeline runs on the whole job, and otherwise on the workers among its ranks.
 */
static enum gw_status measure(struct gw_validation_run *run, struct gw_validation_pair *comparison,
                              struct gw_communicator *job, struct gw_communicator *workers,
                              struct gw_error *error) {
    if (comparison->pipeline.schedule.server) {
        return execute(run, comparison, job, error);
    }
    if (workers->transport == NULL) {
        return rest(job, error);
    }
    GW_TRY(execute(run, comparison, workers, error));
    return wake(job, workers->size, error);
}

void gw_validation_measure(struct gw_validation_run *run, struct gw_communicator *job,
                           struct gw_error *error) {
    struct gw_communicator workers;
    gw_job_require(
        job, job->transport->open_first(job, (int)run->answer.question.workers, &workers, error),
        error);
    run->progress = gw_progress_begin("validate", job->rank == 0);
    for (size_t i = 0; i < run->answer.count; i++) {
        struct gw_validation_pair *comparison = &run->answer.pairs[i];
        gw_job_require(job, measure(run, comparison, job, &workers, error), error);
    }
    gw_progress_end(&run->progress);
    if (workers.transport != NULL) {
        workers.transport->close(&workers);
    }
}
