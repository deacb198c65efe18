#include "exec/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec/exchange.h"

static const size_t NOTHING = SIZE_MAX;

/* ---- streams ------------------------------------------------------------------------------- */

static void *serve_stream(void *argument) {
    struct gw_stream_thread *stream = argument;
    (void)pthread_setname_np(pthread_self(), stream->name);
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
        gw_session_run_operation(stream->session, operation);
        pthread_mutex_lock(&stream->mutex);
    }
    pthread_mutex_unlock(&stream->mutex);
    return NULL;
}

/* Starts the thread, for as many operations as the schedule has. */
static enum gw_status open_stream(struct gw_session *session, enum gw_stream number,
                                  struct gw_error *error) {
    static const char *const names[GW_STREAM_COUNT] = {
        [GW_STREAM_COMPUTE] = "gw_compute", [GW_STREAM_COMMUNICATION] = "gw_exchange"};
    struct gw_stream_thread *stream = &session->streams[number];
    size_t capacity = session->schedule->operation_count;
    *stream = (struct gw_stream_thread){.session = session,
                                        .name = names[number],
                                        .capacity = capacity,
                                        .ring = calloc(capacity, sizeof *stream->ring)};
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

/* Ends the thread once the queue is empty. */
static void close_stream(struct gw_stream_thread *stream) {
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
    *stream = (struct gw_stream_thread){0};
}

/* ---- one operation, on its stream's thread ------------------------------------------------- */

/* Returns true if the operation is to run: the rest of an iteration that failed, or that is being
 * closed, is skipped. */
static bool wait_for_dependencies(struct gw_session *session,
                                  const struct gw_operation *operation) {
    const size_t *dependencies = session->schedule->dependencies + operation->first_dependency;
    pthread_mutex_lock(&session->mutex);
    for (size_t d = 0; d < operation->dependency_count; d++) {
        while (!session->done[dependencies[d]] && !session->closing) {
            session->awaited[operation->stream] = dependencies[d];
            pthread_cond_wait(&session->awaited_done[operation->stream], &session->mutex);
        }
    }
    session->awaited[operation->stream] = NOTHING;
    bool healthy = session->failure.status == GW_OK && !session->closing;
    pthread_mutex_unlock(&session->mutex);
    return healthy;
}

/* The caller holds the mutex. Wakes only streams that wait for this operation: a stream that is
 * woken for nothing takes time from one that works. */
void gw_session_end_operation(struct gw_session *session, size_t index, enum gw_status status,
                              const struct gw_error *error) {
    if (status != GW_OK && session->failure.status == GW_OK) {
        session->failure = *error;
        session->failure.status = status;
    }
    session->done[index] = true;
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        if (session->awaited[stream] == index) {
            pthread_cond_signal(&session->awaited_done[stream]);
        }
    }
    if (--session->left == 0) {
        pthread_cond_signal(&session->all_done);
    }
}

static bool is_timed(const struct gw_session *session, const struct gw_operation *operation) {
    return operation->kind == GW_COMPRESS ? session->worker.timed_compression
                                          : operation->kind != GW_EXCHANGE;
}

/* A server only runs its updates, which are on the communication stream. The duration of those of a
 * trainer's server is unknown. */
static bool is_skipped(const struct gw_session *session, const struct gw_operation *operation) {
    return (session->worker.serves && operation->stream != GW_STREAM_COMMUNICATION) ||
           (session->tensors != NULL && is_timed(session, operation));
}

static enum gw_status do_work(struct gw_session *session, const struct gw_operation *operation,
                              uint64_t *bytes, struct gw_error *error) {
    struct gw_worker *worker = &session->worker;
    bool compresses = operation->kind == GW_COMPRESS;
    struct gw_group_state *group = &worker->groups[operation->group];
    enum gw_status status = compresses ? gw_compress_start(worker, group, error)
                                       : gw_exchange_run(worker, operation, bytes, error);
    if (status == GW_BAD_INPUT && session->tensors != NULL) {
        gw_tensors_name_nan(session, compresses ? &worker->compute : &worker->exchange, group,
                            error);
    }
    if (status != GW_OK || compresses) {
        return status;
    }
    const struct gw_slice *ended =
        session->tensors == NULL ? NULL
                                 : session->delivers[operation - session->schedule->operations];
    return ended == NULL ? GW_OK : gw_tensors_deliver(session, ended, error);
}

/* The stream's thread continues before the GPU's work is done, except where the host needs the
 * result. */
static enum gw_status run_on_gpu(struct gw_session *session, size_t index, uint64_t *bytes,
                                 struct gw_error *error) {
    const struct gw_operation *operation = &session->schedule->operations[index];
    struct gw_accelerator *accelerator = &session->accelerator;
    GW_TRY(gw_accelerator_begin(accelerator, index, error));
    if (operation->kind == GW_EXCHANGE) { /* ranks exchange once they are ready, as calibrated */
        GW_TRY(gw_accelerator_await(accelerator, index, error));
    }
    if (!is_skipped(session, operation)) {
        GW_TRY(is_timed(session, operation) ? gw_accelerator_work(accelerator, operation, error)
                                            : do_work(session, operation, bytes, error));
    }
    return gw_accelerator_end(accelerator, index, error);
}

static enum gw_status run_on_host(struct gw_session *session, const struct gw_operation *operation,
                                  double started_s, uint64_t *bytes, struct gw_error *error) {
    double *clock_s = &session->clock_s[operation->stream];
    if (is_skipped(session, operation)) {
        return GW_OK;
    }
    if (operation->dependency_count > 0 && *clock_s < started_s) {
        *clock_s = started_s;
    }
    if (is_timed(session, operation)) {
        *clock_s += operation->duration_s;
        gw_clock_sleep_until_s(*clock_s);
        return GW_OK;
    }
    GW_TRY(do_work(session, operation, bytes, error));
    *clock_s += gw_clock_now_s() - started_s;
    return GW_OK;
}

void gw_session_run_operation(struct gw_session *session, size_t index) {
    const struct gw_operation *operation = &session->schedule->operations[index];
    struct gw_error error = {0};
    enum gw_status status = GW_OK;
    uint64_t bytes = 0;
    bool healthy = wait_for_dependencies(session, operation);
    double started_s = gw_clock_now_s();
    if (is_timed(session, operation) && operation->dependency_count == 0) {
        /* An accelerator has no gap between kernels; the gap here is this thread's own. */
        started_s = session->ended_s[operation->stream];
    }
    if (healthy) {
        status = session->on_gpu ? run_on_gpu(session, index, &bytes, &error)
                                 : run_on_host(session, operation, started_s, &bytes, &error);
    }
    double ended_s = gw_clock_now_s();
    session->ended_s[operation->stream] = ended_s;
    session->intervals[index] = (struct gw_interval){.start_s = started_s - session->start_s,
                                                     .end_s = ended_s - session->start_s,
                                                     .bytes = bytes};
    pthread_mutex_lock(&session->mutex);
    gw_session_end_operation(session, index, status, &error);
    pthread_mutex_unlock(&session->mutex);
}

/* ---- opening and closing ------------------------------------------------------------------- */

static enum gw_status open_worker(struct gw_session *session, struct gw_communicator *communicator,
                                  const struct gw_session_options *options,
                                  struct gw_error *error) {
    struct gw_accelerator *gpu = &session->accelerator;
    struct gw_worker *worker = &session->worker;
    *worker = (struct gw_worker){
        .schedule = session->schedule,
        .arena = &session->arena,
        .communicator = communicator,
        .hosts = communicator,
        .half = options->numbers != NULL && options->numbers[0] == GW_NUMBER_FP16 ? GW_NUMBER_FP16
                                                                                  : GW_NUMBER_BF16};
    if (session->on_gpu) {
        GW_TRY(gw_accelerator_open(gpu, session->schedule, options, error));
        struct gw_gpu_settings between = {.transport = options->transport,
                                          .stream = gpu->streams[GW_STREAM_COMMUNICATION]};
        GW_TRY(gw_communicator_open_gpu(&session->between_gpus, communicator, &between, error));
        worker->communicator = &session->between_gpus;
    }
    const struct gw_worker_options as = {.compute = gpu->streams[GW_STREAM_COMPUTE],
                                         .exchange = gpu->streams[GW_STREAM_COMMUNICATION],
                                         .seed = options->seed,
                                         .drawn = options->drawn,
                                         .trains = options->compute == GW_COMPUTE_TRAINER,
                                         .timed_compression = options->timed_compression};
    GW_TRY(gw_worker_open(worker, &as, error));
    return gw_exchanges_prepare(worker, error);
}

static enum gw_status open_parts(struct gw_session *session, struct gw_communicator *communicator,
                                 const struct gw_session_options *options, struct gw_error *error) {
    const struct gw_schedule *schedule = session->schedule;
    size_t count = schedule->operation_count;
    session->on_gpu = options->device != NULL;
    GW_TRY(gw_session_check(schedule, session->on_gpu, error));
    size_t ranks = schedule->workers + (schedule->server ? 1 : 0);
    GW_TRY((size_t)communicator->size == ranks
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "execution: expected %zu ranks%s, got %d", ranks,
                         schedule->server ? ", the last of which is the server" : "",
                         communicator->size));
    /* Timed compression puts selections in the host's memory, from gradients that are there before
     * an iteration. */
    if (options->timed_compression && (session->on_gpu || options->compute != GW_COMPUTE_WAIT)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "execution: timed compression: expected compute that is timed waiting, on "
                       "the host");
    }
    struct gw_arena *arena = &session->arena;
    session->intervals = gw_arena_zeros(arena, count, sizeof *session->intervals);
    session->gathered =
        gw_arena_zeros(arena, (size_t)communicator->size * count, sizeof *session->gathered);
    session->done = gw_arena_zeros(arena, count, sizeof *session->done);
    GW_TRY(gw_arena_check(arena, "opening a session", error));
    GW_TRY(open_worker(session, communicator, options, error));
    GW_TRY(gw_outcome_open(&session->outcome, &session->worker, error));
    if (options->compute == GW_COMPUTE_TRAINER) {
        GW_TRY(gw_tensors_open(session, options, error));
    }
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        GW_TRY(open_stream(session, (enum gw_stream)stream, error));
    }
    return GW_OK;
}

enum gw_status gw_session_open(struct gw_session **out, const struct gw_schedule *schedule,
                               struct gw_communicator *communicator,
                               const struct gw_session_options *options, struct gw_error *error) {
    struct gw_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return gw_fail_memory(error, "opening a session");
    }
    session->schedule = schedule;
    pthread_mutex_init(&session->mutex, NULL);
    pthread_cond_init(&session->all_done, NULL);
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        pthread_cond_init(&session->awaited_done[stream], NULL);
        session->awaited[stream] = NOTHING;
    }
    enum gw_status status = open_parts(session, communicator, options, error);
    if (status != GW_OK) {
        gw_session_close(session);
        return status;
    }
    *out = session;
    return GW_OK;
}

void gw_session_close(struct gw_session *session) {
    if (session == NULL) {
        return;
    }
    pthread_mutex_lock(&session->mutex);
    session->closing = true;
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        pthread_cond_signal(&session->awaited_done[stream]);
    }
    pthread_mutex_unlock(&session->mutex);
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        close_stream(&session->streams[stream]);
        pthread_cond_destroy(&session->awaited_done[stream]);
    }
    gw_worker_close(&session->worker);
    if (session->between_gpus.transport != NULL) {
        session->between_gpus.transport->close(&session->between_gpus);
    }
    gw_accelerator_close(&session->accelerator);
    pthread_cond_destroy(&session->all_done);
    pthread_mutex_destroy(&session->mutex);
    gw_arena_free(&session->arena);
    free(session);
}

/* ---- an iteration -------------------------------------------------------------------------- */

enum gw_status gw_session_prepare(struct gw_session *session, struct gw_error *error) {
    struct gw_worker *worker = &session->worker;
    worker->iteration = session->iterations++;
    for (size_t g = 0; g < session->schedule->group_count; g++) {
        struct gw_group_state *group = &worker->groups[g];
        if (!worker->serves) {
            GW_TRY(gw_aggregate_clear(worker, group, error));
        }
        group->selected = group->slice->kept;
        group->all = group->slice->kept;
    }
    memset(session->done, 0, session->schedule->operation_count * sizeof *session->done);
    session->left = session->schedule->operation_count;
    return session->on_gpu ? gw_accelerator_start(&session->accelerator, error) : GW_OK;
}

void gw_session_start(struct gw_session *session) {
    session->start_s = gw_clock_now_s();
    for (int stream = 0; stream < GW_STREAM_COUNT; stream++) {
        session->clock_s[stream] = session->start_s;
        session->ended_s[stream] = session->start_s;
    }
}

void gw_session_push(struct gw_session *session, size_t operation) {
    struct gw_stream_thread *stream =
        &session->streams[session->schedule->operations[operation].stream];
    pthread_mutex_lock(&stream->mutex);
    stream->ring[stream->tail++ % stream->capacity] = operation;
    pthread_cond_signal(&stream->changed);
    pthread_mutex_unlock(&stream->mutex);
}

/* Times operations on a GPU after all are done. A trainer's operation begins where the one before
 * ended; the time of its update, the last one, is unknown. */
static enum gw_status time_operations(struct gw_session *session, struct gw_error *error) {
    bool trains = session->tensors != NULL;
    double computed_s = session->start_s;
    GW_TRY(gw_accelerator_finish(&session->accelerator, error));
    for (size_t i = 0; i < session->schedule->operation_count - (trains ? 1 : 0); i++) {
        const struct gw_operation *operation = &session->schedule->operations[i];
        struct gw_interval *interval = &session->intervals[i];
        bool computes = operation->stream == GW_STREAM_COMPUTE;
        bool trainers = trains && computes && is_timed(session, operation);
        interval->start_s = computed_s;
        GW_TRY(gw_accelerator_interval(&session->accelerator, i,
                                       trainers ? NULL : &interval->start_s, &interval->end_s,
                                       error));
        computed_s = computes ? interval->end_s : computed_s;
        /* An operation that begins with the iteration may seem to begin earlier, by less than the
         * precision of the clocks. */
        interval->start_s = fmax(0, interval->start_s - session->start_s);
        interval->end_s = fmax(0, interval->end_s - session->start_s);
    }
    return GW_OK;
}

enum gw_status gw_session_finish(struct gw_session *session, struct gw_error *error) {
    pthread_mutex_lock(&session->mutex);
    while (session->left > 0) {
        pthread_cond_wait(&session->all_done, &session->mutex);
    }
    pthread_mutex_unlock(&session->mutex);
    if (session->failure.status != GW_OK && error != NULL) {
        *error = session->failure;
    }
    return session->failure.status != GW_OK || !session->on_gpu ? session->failure.status
                                                                : time_operations(session, error);
}

enum gw_status gw_session_record(struct gw_session *session, double start_s,
                                 struct gw_timeline *timeline, struct gw_error *error) {
    struct gw_communicator *communicator = session->worker.hosts;
    const struct gw_schedule *schedule = session->schedule;
    size_t count = schedule->operation_count;
    GW_TRY(gw_allgather(communicator, session->intervals, count * sizeof *session->intervals,
                        session->gathered, error));
    double end_s = 0;
    for (size_t i = 0; i < session->worker.workers * count; i++) {
        const struct gw_operation *operation = &schedule->operations[i % count];
        const struct gw_interval *interval = &session->gathered[i];
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

/* ---- results ------------------------------------------------------------------------------- */

enum gw_status gw_session_timeline(const struct gw_session *session, struct gw_timeline *out,
                                   struct gw_error *error) {
    return gw_timeline_create(out, session->worker.workers, error);
}

enum gw_status gw_session_copy(struct gw_session *session, enum gw_vector vector, float *out,
                               struct gw_error *error) {
    struct gw_worker *worker = &session->worker;
    const struct gw_memory *memory = &worker->exchange;
    GW_TRY(gw_session_check_begun(session, false, error));
    memset(out, 0, gw_vectors_elements(session->schedule) * sizeof *out);
    for (size_t g = 0; g < session->schedule->group_count && !worker->serves; g++) {
        struct gw_group_state *group = &worker->groups[g];
        const struct gw_slice *slice = group->slice;
        gw_group_decode(worker, group);
        const float *residual =
            gw_way_keeps_residual(slice->way) ? gw_worker_residual(worker, group) : NULL;
        const float *from = vector == GW_GRADIENT   ? gw_worker_gradient(worker, group)
                            : vector == GW_RESIDUAL ? residual
                                                    : gw_worker_aggregate(worker, group);
        void *copy = NULL;
        if (from != NULL) {
            size_t bytes = slice->size.elements * sizeof *out;
            GW_TRY(memory->does->read(memory, from, bytes, &worker->dense_copy, &copy, error));
            memcpy(out + slice->first, copy, bytes);
            for (size_t i = 0; i < slice->size.elements && vector == GW_RESIDUAL; i++) {
                out[slice->first + i] = gw_finite_or_0(out[slice->first + i]);
            }
        }
    }
    return GW_OK;
}

const uint64_t *gw_session_selected(const struct gw_session *session, size_t *groups) {
    *groups = session->schedule->group_count;
    return session->outcome.selected;
}

const struct gw_selected *gw_session_extents(const struct gw_session *session) {
    return session->outcome.extents;
}
