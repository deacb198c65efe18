#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec/accelerator.h"
#include "exec/exchange.h"
#include "exec/exec.h"
#include "exec/outcome.h"

static const size_t NOTHING = SIZE_MAX;

/* ---- streams ------------------------------------------------------------------------------- */

/* What an operation does on its stream's thread. */
typedef void stream_run(void *context, size_t operation);

struct stream_thread {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t capacity, head, tail; /* of the ring; tail - head operations are queued */
    size_t *ring;
    bool closing;
    stream_run *run;
    void *context;
};

static void *serve_stream(void *argument) {
    struct stream_thread *stream = argument;
    gw_clock_sleep_precisely();
    pthread_mutex_lock(&stream->mutex);
    for (;;) {
        while (stream->head == stream->tail && !stream->closing) {
            pthread_cond_wait(&stream->changed, &stream->mutex);
        }
        if (stream->head == stream->tail) {
            break;
        }
        size_t operation = stream->ring[stream->head++ % stream->capacity];
        pthread_mutex_unlock(&stream->mutex);
        stream->run(stream->context, operation);
        pthread_mutex_lock(&stream->mutex);
    }
    pthread_mutex_unlock(&stream->mutex);
    return NULL;
}

/* Starts the thread; at most `capacity` operations are ever queued at once. */
static enum gw_status open_stream(struct stream_thread *stream, size_t capacity, stream_run *run,
                                  void *context, struct gw_error *error) {
    *stream = (struct stream_thread){.capacity = capacity,
                                     .ring = calloc(capacity, sizeof *stream->ring),
                                     .run = run,
                                     .context = context};
    if (stream->ring == NULL) {
        return gw_fail_memory(error, "opening a stream");
    }
    pthread_mutex_init(&stream->mutex, NULL);
    pthread_cond_init(&stream->changed, NULL);
    int result = pthread_create(&stream->thread, NULL, serve_stream, stream);
    if (result != 0) {
        free(stream->ring);
        stream->ring = NULL;
        return gw_fail(error, GW_FAILED, "pthread_create: %s", strerror(result));
    }
    return GW_OK;
}

/* Puts an operation at the queue's end. Never waits. */
static void push_operation(struct stream_thread *stream, size_t operation) {
    pthread_mutex_lock(&stream->mutex);
    stream->ring[stream->tail++ % stream->capacity] = operation;
    pthread_cond_signal(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
}

/* Ends the thread once the queue is empty. */
static void close_stream(struct stream_thread *stream) {
    if (stream->ring == NULL) {
        return;
    }
    pthread_mutex_lock(&stream->mutex);
    stream->closing = true;
    pthread_cond_signal(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
    pthread_join(stream->thread, NULL);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->mutex);
    free(stream->ring);
    *stream = (struct stream_thread){0};
}

/* ---- the executor -------------------------------------------------------------------------- */

/* When an operation ran, counted from the iteration's start, and what it really sent. */
struct interval {
    double start_s, end_s;
    uint64_t bytes;
};

struct gw_executor {
    const struct gw_schedule *schedule;
    struct gw_arena arena; /* of what lives as long as the executor, but for what travels */
    struct gw_worker worker;
    struct gw_outcome outcome;
    struct stream_thread streams[GW_STREAM_COUNT];
    bool on_gpu;
    struct gw_accelerator accelerator;   /* the GPU, and ... */
    struct gw_communicator between_gpus; /* ... what data travels by */
    uint64_t iterations;                 /* begun */

    /*
     * The emulated accelerator's clock, per stream. Timed operations end at absolute deadlines on
     * it, so that waking up late once is made good by the next one and does not add up over
     * hundreds of tensors.
     */
    double clock_s[GW_STREAM_COUNT];
    double ended_s[GW_STREAM_COUNT]; /* the stream's last operation, as recorded */
    double start_s;
    struct interval *intervals; /* per operation */
    struct interval *gathered;  /* the same of all ranks */

    pthread_mutex_t mutex; /* guards what follows */
    bool *done;            /* per operation */
    size_t left;
    size_t awaited[GW_STREAM_COUNT]; /* the operation that the stream waits for, or NOTHING */
    pthread_cond_t awaited_done[GW_STREAM_COUNT];
    pthread_cond_t all_done;
    struct gw_error failure; /* of the first operation that failed; status GW_OK: none */
};

/* ---- one operation, on its stream's thread ------------------------------------------------- */

/* Returns whether the operation is to run: after a failure the rest of the iteration is skipped. */
static bool wait_for_dependencies(struct gw_executor *executor,
                                  const struct gw_operation *operation) {
    const size_t *dependencies = executor->schedule->dependencies + operation->first_dependency;
    size_t *awaited = &executor->awaited[operation->stream];
    pthread_mutex_lock(&executor->mutex);
    for (size_t d = 0; d < operation->dependency_count; d++) {
        while (!executor->done[dependencies[d]]) {
            *awaited = dependencies[d];
            pthread_cond_wait(&executor->awaited_done[operation->stream], &executor->mutex);
        }
    }
    *awaited = NOTHING;
    bool healthy = executor->failure.status == GW_OK;
    pthread_mutex_unlock(&executor->mutex);
    return healthy;
}

/*
 * Wakes only whom it concerns: a stream that is woken for
 * nothing takes the core from one that works.
 */
static void mark_done(struct gw_executor *executor, size_t index, enum gw_status status,
                      const struct gw_error *error) {
    pthread_mutex_lock(&executor->mutex);
    if (status != GW_OK && executor->failure.status == GW_OK) {
        executor->failure = *error;
        executor->failure.status = status;
    }
    executor->done[index] = true;
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        if (executor->awaited[stream] == index) {
            pthread_cond_signal(&executor->awaited_done[stream]);
        }
    }
    if (--executor->left == 0) {
        pthread_cond_signal(&executor->all_done);
    }
    pthread_mutex_unlock(&executor->mutex);
}

static bool is_timed(const struct gw_operation *operation) {
    return operation->kind != GW_COMPRESS && operation->kind != GW_EXCHANGE;
}

/* A server computes nothing, but for its updates, which stand on the communication stream. */
static bool is_skipped(const struct gw_executor *executor, const struct gw_operation *operation) {
    return executor->worker.serves && operation->stream != GW_STREAM_COMMUNICATION;
}

static enum gw_status work(struct gw_executor *executor, const struct gw_operation *operation,
                           uint64_t *bytes, struct gw_error *error) {
    struct gw_worker *worker = &executor->worker;
    return operation->kind == GW_COMPRESS
               ? gw_compress_start(worker, &worker->groups[operation->group], error)
               : gw_exchange_run(worker, operation, bytes, error);
}

/* The stream's thread goes on before the work is done, but where the host must know of it. */
static enum gw_status run_on_gpu(struct gw_executor *executor, size_t index, uint64_t *bytes,
                                 struct gw_error *error) {
    const struct gw_operation *operation = &executor->schedule->operations[index];
    struct gw_accelerator *accelerator = &executor->accelerator;
    GW_TRY(gw_accelerator_begin(accelerator, index, error));
    if (operation->kind == GW_EXCHANGE) { /* ranks exchange once they are ready, as calibrated */
        GW_TRY(gw_accelerator_await(accelerator, index, error));
    }
    if (!is_skipped(executor, operation)) {
        GW_TRY(is_timed(operation) ? gw_accelerator_work(accelerator, operation, error)
                                   : work(executor, operation, bytes, error));
    }
    return gw_accelerator_end(accelerator, index, error);
}

static enum gw_status run_on_host(struct gw_executor *executor,
                                  const struct gw_operation *operation, double started_s,
                                  uint64_t *bytes, struct gw_error *error) {
    double *clock_s = &executor->clock_s[operation->stream];
    if (is_skipped(executor, operation)) {
        return GW_OK;
    }
    if (operation->dependency_count > 0 && *clock_s < started_s) {
        *clock_s = started_s;
    }
    if (is_timed(operation)) {
        *clock_s += operation->duration_s;
        gw_clock_sleep_until_s(*clock_s);
        return GW_OK;
    }
    enum gw_status status = work(executor, operation, bytes, error);
    *clock_s += gw_clock_now_s() - started_s;
    return status;
}

static void run_operation(void *context, size_t index) {
    struct gw_executor *executor = context;
    const struct gw_operation *operation = &executor->schedule->operations[index];
    struct gw_error error = {0};
    enum gw_status status = GW_OK;
    uint64_t bytes = 0;
    bool healthy = wait_for_dependencies(executor, operation);
    double started_s = gw_clock_now_s();
    if (is_timed(operation) && operation->dependency_count == 0) {
        /* An accelerator goes from one kernel to the next; the gap between is this thread's own. */
        started_s = executor->ended_s[operation->stream];
    }
    if (healthy) {
        status = executor->on_gpu ? run_on_gpu(executor, index, &bytes, &error)
                                  : run_on_host(executor, operation, started_s, &bytes, &error);
    }
    double ended_s = gw_clock_now_s();
    executor->ended_s[operation->stream] = ended_s;
    executor->intervals[index] = (struct interval){.start_s = started_s - executor->start_s,
                                                   .end_s = ended_s - executor->start_s,
                                                   .bytes = bytes};
    mark_done(executor, index, status, &error);
}

/* ---- opening and closing ------------------------------------------------------------------- */

static enum gw_status check_ranks(const struct gw_schedule *schedule,
                                  const struct gw_communicator *communicator,
                                  struct gw_error *error) {
    size_t ranks = schedule->workers + (schedule->server ? 1 : 0);
    return (size_t)communicator->size == ranks
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "execution: expected %zu ranks%s, got %d", ranks,
                         schedule->server ? ", the last of which is the server" : "",
                         communicator->size);
}

static enum gw_status open_worker(struct gw_executor *executor,
                                  struct gw_communicator *communicator,
                                  const struct gw_executor_options *options,
                                  struct gw_error *error) {
    struct gw_accelerator *gpu = &executor->accelerator;
    struct gw_worker *worker = &executor->worker;
    *worker = (struct gw_worker){.schedule = executor->schedule,
                                 .arena = &executor->arena,
                                 .communicator = communicator,
                                 .hosts = communicator};
    executor->on_gpu = options->device != NULL;
    if (executor->on_gpu) {
        GW_TRY(gw_accelerator_open(gpu, executor->schedule, options, error));
        struct gw_gpu_settings between = {.transport = options->transport,
                                          .stream = gpu->streams[GW_STREAM_COMMUNICATION]};
        GW_TRY(gw_communicator_open_gpu(&executor->between_gpus, communicator, &between, error));
        worker->communicator = &executor->between_gpus;
    }
    GW_TRY(gw_worker_open(worker, gpu->streams[GW_STREAM_COMPUTE],
                          gpu->streams[GW_STREAM_COMMUNICATION], options->seed, error));
    return gw_exchanges_prepare(worker, error);
}

static enum gw_status open_parts(struct gw_executor *executor, struct gw_communicator *communicator,
                                 const struct gw_executor_options *options,
                                 struct gw_error *error) {
    const struct gw_schedule *schedule = executor->schedule;
    size_t count = schedule->operation_count;
    GW_TRY(gw_executor_check(schedule, options->device != NULL, error));
    GW_TRY(check_ranks(schedule, communicator, error));
    struct gw_arena *arena = &executor->arena;
    executor->intervals = gw_arena_zeros(arena, count, sizeof *executor->intervals);
    executor->gathered =
        gw_arena_zeros(arena, (size_t)communicator->size * count, sizeof *executor->gathered);
    executor->done = gw_arena_zeros(arena, count, sizeof *executor->done);
    GW_TRY(gw_arena_check(arena, "opening an executor", error));
    GW_TRY(open_worker(executor, communicator, options, error));
    GW_TRY(gw_outcome_open(&executor->outcome, &executor->worker, error));
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        GW_TRY(open_stream(&executor->streams[stream], count, run_operation, executor, error));
    }
    return GW_OK;
}

enum gw_status gw_executor_open(struct gw_executor **out, const struct gw_schedule *schedule,
                                struct gw_communicator *communicator,
                                const struct gw_executor_options *options, struct gw_error *error) {
    struct gw_executor *executor = calloc(1, sizeof *executor);
    if (executor == NULL) {
        return gw_fail_memory(error, "opening an executor");
    }
    executor->schedule = schedule;
    pthread_mutex_init(&executor->mutex, NULL);
    pthread_cond_init(&executor->all_done, NULL);
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        pthread_cond_init(&executor->awaited_done[stream], NULL);
        executor->awaited[stream] = NOTHING;
    }
    enum gw_status status = open_parts(executor, communicator, options, error);
    if (status != GW_OK) {
        gw_executor_close(executor);
        return status;
    }
    *out = executor;
    return GW_OK;
}

void gw_executor_close(struct gw_executor *executor) {
    if (executor == NULL) {
        return;
    }
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        close_stream(&executor->streams[stream]);
        pthread_cond_destroy(&executor->awaited_done[stream]);
    }
    gw_worker_close(&executor->worker);
    if (executor->between_gpus.transport != NULL) {
        executor->between_gpus.transport->close(&executor->between_gpus);
    }
    gw_accelerator_close(&executor->accelerator);
    pthread_cond_destroy(&executor->all_done);
    pthread_mutex_destroy(&executor->mutex);
    gw_arena_free(&executor->arena);
    free(executor);
}

/* ---- an iteration -------------------------------------------------------------------------- */

static enum gw_status prepare(struct gw_executor *executor, struct gw_error *error) {
    struct gw_worker *worker = &executor->worker;
    worker->iteration = executor->iterations++;
    for (size_t g = 0; g < executor->schedule->group_count; g++) {
        struct gw_group_state *group = &worker->groups[g];
        if (!worker->serves) {
            GW_TRY(gw_aggregate_clear(worker, group, error));
        }
        group->selected = group->slice->kept;
        group->all = group->slice->kept;
    }
    if (!worker->serves) {
        gw_vectors_next_gradient(&worker->vectors, worker->iteration);
    }
    memset(executor->done, 0, executor->schedule->operation_count * sizeof *executor->done);
    executor->left = executor->schedule->operation_count;
    return executor->on_gpu ? gw_accelerator_start(&executor->accelerator, error) : GW_OK;
}

/* From the barrier to the end of the last operation. */
static enum gw_status run_streams(struct gw_executor *executor, struct gw_error *error) {
    struct gw_communicator *communicator = executor->worker.hosts;
    GW_TRY(communicator->transport->barrier(communicator, error));
    executor->start_s = gw_clock_now_s();
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        executor->clock_s[stream] = executor->start_s;
        executor->ended_s[stream] = executor->start_s;
    }
    for (size_t i = 0; i < executor->schedule->operation_count; i++) {
        push_operation(&executor->streams[executor->schedule->operations[i].stream], i);
    }
    pthread_mutex_lock(&executor->mutex);
    while (executor->left > 0) {
        pthread_cond_wait(&executor->all_done, &executor->mutex);
    }
    pthread_mutex_unlock(&executor->mutex);
    *error = executor->failure;
    return executor->failure.status;
}

/* A GPU's operations tell when they were once all are done. */
static enum gw_status time_operations(struct gw_executor *executor, struct gw_error *error) {
    GW_TRY(gw_accelerator_finish(&executor->accelerator, error));
    for (size_t i = 0; i < executor->schedule->operation_count; i++) {
        struct interval *interval = &executor->intervals[i];
        GW_TRY(gw_accelerator_interval(&executor->accelerator, i, &interval->start_s,
                                       &interval->end_s, error));
        /* An operation that begins with the iteration may seem to have begun before, by less than
         * the clocks are told apart. */
        interval->start_s = fmax(0, interval->start_s - executor->start_s);
        interval->end_s = fmax(0, interval->end_s - executor->start_s);
    }
    return GW_OK;
}

static enum gw_status record(struct gw_executor *executor, double start_s,
                             struct gw_timeline *timeline, struct gw_error *error) {
    struct gw_communicator *communicator = executor->worker.hosts;
    const struct gw_schedule *schedule = executor->schedule;
    size_t count = schedule->operation_count;
    GW_TRY(gw_allgather(communicator, executor->intervals, count * sizeof *executor->intervals,
                        executor->gathered, error));
    double end_s = 0;
    for (size_t i = 0; i < executor->worker.workers * count; i++) {
        const struct gw_operation *operation = &schedule->operations[i % count];
        const struct interval *interval = &executor->gathered[i];
        struct gw_span span = {.lane = i / count,
                               .stream = operation->stream,
                               .activity = operation->kind,
                               .group = operation->group,
                               .label = operation->label,
                               .elements = operation->elements,
                               .bytes = interval->bytes,
                               .start_s = start_s + interval->start_s,
                               .end_s = start_s + interval->end_s};
        GW_TRY(gw_timeline_add(timeline, span, error));
        end_s = interval->end_s > end_s ? interval->end_s : end_s;
    }
    return gw_timeline_add_iteration(timeline, start_s, start_s + end_s, error);
}

enum gw_status gw_executor_iterate(struct gw_executor *executor, double start_s,
                                   struct gw_timeline *timeline, struct gw_error *error) {
    GW_TRY(prepare(executor, error));
    GW_TRY(run_streams(executor, error));
    if (executor->on_gpu) {
        GW_TRY(time_operations(executor, error));
    }
    GW_TRY(record(executor, start_s, timeline, error));
    return gw_outcome_conclude(&executor->outcome, &executor->worker, error);
}

/* ---- warming up ---------------------------------------------------------------------------- */

static const double close_to_asked = 0.1; /* gradients differ from iteration to iteration */

/* Selected elements and those asked for, of groups whose counts depend on their gradients. */
struct tally {
    double selected, asked;
};

static bool warms_up(const struct gw_group_state *group) {
    return !group->compressor->exact;
}

/* As in an iteration, but that nothing travels: of a joint selection, each clears its own. */
static enum gw_status compress_all(struct gw_worker *worker, struct gw_error *error) {
    gw_vectors_next_gradient(&worker->vectors, worker->iteration);
    for (size_t g = 0; g < worker->schedule->group_count; g++) {
        struct gw_group_state *group = &worker->groups[g];
        if (warms_up(group)) {
            GW_TRY(gw_select_start(worker, group, true, error));
            GW_TRY(gw_select_finish(&worker->compute, group, error));
        }
    }
    return GW_OK;
}

/* On average of the workers, each of which selects for itself what it is asked for. */
static struct tally count_selected(const struct gw_worker *worker,
                                   const struct gw_outcome *outcome) {
    struct tally tally = {0};
    for (size_t g = 0; g < worker->schedule->group_count; g++) {
        const struct gw_group_state *group = &worker->groups[g];
        double share = !warms_up(group)           ? 0
                       : group->compressor->joint ? 1
                                                  : 1 / (double)worker->workers;
        for (size_t i = 0; i < worker->workers; i++) {
            double selected = (double)outcome->selected[g * worker->workers + i];
            tally.selected += share * selected;
        }
        tally.asked += share > 0 ? (double)group->slice->kept : 0;
    }
    return tally;
}

/* Rank 0 has the clock. */
static enum gw_status agree_to_end(const struct gw_worker *worker, bool *end,
                                   struct gw_error *error) {
    struct gw_communicator *communicator = worker->hosts;
    return gw_broadcast(communicator, 0, end, sizeof *end, error);
}

static bool has_any(const struct gw_worker *worker) {
    for (size_t g = 0; g < worker->schedule->group_count; g++) {
        if (warms_up(&worker->groups[g])) {
            return true;
        }
    }
    return false;
}

enum gw_status gw_executor_warm_up(struct gw_executor *executor,
                                   const struct gw_warm_up_limits *limits, struct gw_warmed_up *out,
                                   struct gw_error *error) {
    struct gw_worker *worker = &executor->worker;
    double start_s = gw_clock_now_s();
    struct gw_warm_up warm_up = {.tolerance = close_to_asked};
    bool end = !has_any(worker) || limits->iterations == 0;
    *out = (struct gw_warmed_up){0};
    worker->iteration = executor->iterations;
    while (!end) {
        GW_TRY(worker->serves ? GW_OK : compress_all(worker, error));
        GW_TRY(gw_outcome_share_counts(&executor->outcome, worker, error));
        worker->iteration = ++executor->iterations;
        struct tally tally = count_selected(worker, &executor->outcome);
        out->iterations++;
        gw_warm_up_add(&warm_up, tally.selected, tally.asked);
        out->ratio = warm_up.ratio;
        out->reached = gw_warm_up_reached(&warm_up);
        out->seconds = gw_clock_now_s() - start_s;
        end = out->iterations == limits->iterations ||
              (limits->ends_early && (out->reached || out->seconds > limits->longest_s));
        GW_TRY(agree_to_end(worker, &end, error));
    }
    return GW_OK;
}

/* ---- what came out ------------------------------------------------------------------------- */

enum gw_status gw_executor_timeline(const struct gw_executor *executor, struct gw_timeline *out,
                                    struct gw_error *error) {
    return gw_timeline_create(out, executor->worker.workers, error);
}

size_t gw_executor_elements(const struct gw_executor *executor) {
    return gw_vectors_elements(executor->schedule);
}

enum gw_status gw_executor_copy(struct gw_executor *executor, enum gw_vector vector, float *out,
                                struct gw_error *error) {
    struct gw_worker *worker = &executor->worker;
    const struct gw_memory *memory = &worker->exchange;
    size_t bytes = gw_executor_elements(executor) * sizeof *out;
    const float *from = vector == GW_GRADIENT   ? worker->vectors.gradient
                        : vector == GW_RESIDUAL ? worker->vectors.residual
                                                : worker->vectors.aggregate;
    void *copy = NULL;
    if (worker->serves) {
        memset(out, 0, bytes);
        return GW_OK;
    }
    GW_TRY(memory->does->read(memory, from, bytes, &worker->dense_copy, &copy, error));
    memcpy(out, copy, bytes);
    return GW_OK;
}

const uint64_t *gw_executor_selected(const struct gw_executor *executor, size_t *groups) {
    *groups = executor->schedule->group_count;
    return executor->outcome.selected;
}

const struct gw_selected *gw_executor_extents(const struct gw_executor *executor) {
    return executor->outcome.extents;
}
