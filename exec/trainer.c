/*
 * A trainer's session: the trainer's threads act as the compute stream. They report the ends of
 * forward and backward, and one of them compresses a group when its last gradient is ready. On a
 * GPU they only queue that work on the session's stream, which waits for the trainer's.
 */
#include <math.h>
#include <string.h>

#include "exec/session.h"

/* ---- gradients ----------------------------------------------------------------------------- */

/*
 * Adds a gradient to the residual, or stores it. Of a compressor that selects, it zeroes the result
 * on the host, which may be the gradient's memory, block by block: only sent elements are written
 * later, and the memory that was just read is still cached.
 */
static enum gw_status store_numbers(const struct gw_session *session,
                                    const struct gw_session_tensor *tensor,
                                    const struct gw_way *way, const void *gradient, void *result,
                                    struct gw_error *error) {
    enum { BLOCK = 4096 }; /* elements, which stay in a core's cache until they are zeroed */
    const struct gw_memory *memory = &session->worker.compute;
    float *to = session->worker.vectors.residual + tensor->first;
    bool adds = gw_way_keeps_residual(way);
    bool zeroes =
        adds && gw_compressor_selects(way->compressor) && result != NULL && !session->on_gpu;
    size_t bytes = gw_number_bytes(tensor->number);
    size_t block = zeroes ? BLOCK : tensor->count;
    for (size_t first = 0; first < tensor->count; first += block) {
        size_t size = tensor->count - first < block ? tensor->count - first : block;
        const void *numbers = (const char *)gradient + first * bytes;
        GW_TRY((adds ? memory->does->accumulate : memory->does->copy_scaled)(
            memory, to + first, tensor->number, numbers, session->scale, size, error));
        if (zeroes) {
            memset((char *)result + first * bytes, 0, size * bytes);
        }
    }
    return GW_OK;
}

/* Stores a gradient; NULL: zero. */
static enum gw_status store_gradient(const struct gw_session *session,
                                     const struct gw_session_tensor *tensor, const void *gradient,
                                     void *result, struct gw_error *error) {
    const struct gw_memory *memory = &session->worker.compute;
    const struct gw_schedule *schedule = session->schedule;
    float *to = session->worker.vectors.residual + tensor->first;
    const struct gw_way *way = gw_schedule_way(schedule, &schedule->operations[tensor->backward]);
    if (gradient == NULL) {
        return gw_way_keeps_residual(way)
                   ? GW_OK
                   : memory->does->clear(memory, to, tensor->count * sizeof *to, error);
    }
    return store_numbers(session, tensor, way, gradient, result, error);
}

/* ---- thresholds ---------------------------------------------------------------------------- */

/* Finds the k-th largest magnitude of this worker's part of the group: on the host, once. */
static enum gw_status find_threshold(struct gw_session *session, struct gw_group_state *group,
                                     double *out, struct gw_error *error) {
    struct gw_worker *worker = &session->worker;
    struct gw_selection *selection = &worker->compute.selection;
    const struct gw_memory *memory = &worker->compute;
    struct gw_task task = gw_worker_task(worker, group);
    void *residual = NULL;
    GW_TRY(memory->does->read(memory, task.u, task.n * sizeof *task.u, &worker->dense_copy,
                              &residual, error));
    task.u = residual;
    task.workspace = &worker->compute.workspace;
    enum gw_status status = gw_kernel_of(&gw_compressor_topk)->select(&task, selection, error);
    if (status != GW_OK) {
        gw_tensors_name_nan(session, memory, group, error);
        return status;
    }
    *out = INFINITY;
    for (size_t i = 0; i < selection->count; i++) {
        *out = fmin(*out, fabs((double)selection->entries[i].value));
    }
    return GW_OK;
}

/* Sets the fixed thresholds: each selects as many elements as wanted of the first gradients, on
 * average over the workers. *again: of the next gradients anew, as one is infinite: of gradients
 * that overflow. */
static enum gw_status set_thresholds(struct gw_session *session, bool *again,
                                     struct gw_error *error) {
    struct gw_worker *worker = &session->worker;
    size_t ranks = (size_t)worker->hosts->size;
    size_t groups = session->schedule->group_count;
    double *all = gw_arena_zeros(&session->arena, (ranks + 1) * groups, sizeof *all);
    GW_TRY(gw_arena_check(&session->arena, "finding thresholds", error));
    double *own = all + ranks * groups;
    enum gw_status status = GW_OK;
    for (size_t g = 0; g < groups && !worker->serves && status == GW_OK; g++) {
        struct gw_group_state *group = &worker->groups[g];
        status =
            group->compressor->thresholded ? find_threshold(session, group, &own[g], error) : GW_OK;
    }
    GW_TRY(gw_agree(worker->hosts, status, error));
    GW_TRY(gw_allgather(worker->hosts, own, groups * sizeof *own, all, error));
    for (size_t g = 0; g < groups; g++) {
        double mean = 0;
        for (size_t i = 0; i < worker->workers; i++) {
            mean += all[i * groups + g] / (double)worker->workers;
        }
        *again = *again || isinf(mean);
        if (worker->groups[g].compressor->thresholded && !worker->serves) {
            GW_TRY(gw_group_set_threshold(worker, &worker->groups[g], mean, error));
        }
    }
    return GW_OK;
}

/* ---- an iteration -------------------------------------------------------------------------- */

/* Makes the stream that compresses wait for the gradient, or the forward pass. */
static enum gw_status follow_trainer(struct gw_session *session, size_t operation,
                                     struct gw_error *error) {
    return session->on_gpu
               ? gw_accelerator_follow(&session->accelerator, operation, session->trainer, error)
               : GW_OK;
}

/* Ends a trainer's operation; the caller holds the mutex. On a GPU it ends when gradients up to
 * here have been added. */
static void end_trainer_operation(struct gw_session *session, size_t operation) {
    double *ended_s = &session->ended_s[GW_STREAM_COMPUTE];
    double now_s = gw_clock_now_s();
    struct gw_error error = {0};
    enum gw_status status =
        session->on_gpu ? gw_accelerator_end(&session->accelerator, operation, &error) : GW_OK;
    session->intervals[operation] = (struct gw_interval){.start_s = *ended_s - session->start_s,
                                                         .end_s = now_s - session->start_s};
    *ended_s = now_s;
    gw_session_end_operation(session, operation, status, &error);
}

/*
 * Advances over ready tensors. The caller holds the mutex, which is released while compressing.
 * Tensors are handled in order: one that is ready early waits for those before it. Tensors that
 * become ready meanwhile are handled by the same thread.
 */
static void advance_tensors(struct gw_session *session) {
    if (session->advancing || session->held_back) {
        return;
    }
    session->advancing = true;
    while (session->computed < session->tensor_count && session->tensors[session->computed].ready) {
        size_t backward = session->tensors[session->computed++].backward;
        end_trainer_operation(session, backward);
        if (session->schedule->operations[backward + 1].kind == GW_COMPRESS) {
            pthread_mutex_unlock(&session->mutex);
            gw_session_run_operation(session, backward + 1);
            pthread_mutex_lock(&session->mutex);
        }
    }
    session->advancing = false;
}

enum gw_status gw_session_begin(struct gw_session *session, struct gw_error *error) {
    GW_TRY(gw_session_check_begun(session, false, error));
    GW_TRY(gw_session_prepare(session, error));
    session->computed = 0;
    for (size_t i = 0; i < session->tensor_count; i++) {
        struct gw_session_tensor *tensor = &session->tensors[i];
        tensor->named = tensor->ready = false;
        tensor->result = NULL;
    }
    session->begun = true;
    gw_session_start(session);
    for (size_t i = 0; i < session->schedule->operation_count; i++) {
        if (session->schedule->operations[i].stream == GW_STREAM_COMMUNICATION) {
            gw_session_push(session, i);
        }
    }
    return GW_OK;
}

/* An error of the GPU's stream shows with the first gradient. */
void gw_session_backward(struct gw_session *session) {
    pthread_mutex_lock(&session->mutex);
    if (session->begun && !session->done[0]) {
        (void)follow_trainer(session, 0, NULL);
        end_trainer_operation(session, 0);
    }
    pthread_mutex_unlock(&session->mutex);
}

enum gw_status gw_session_ready(struct gw_session *session, size_t tensor, const void *gradient,
                                void *result, struct gw_error *error) {
    GW_TRY(gw_session_check_begun(session, true, error));
    if (tensor >= session->tensor_count || session->worker.serves) {
        return gw_fail(error, GW_BAD_INPUT, "session: expected a tensor below %zu, got %zu",
                       session->worker.serves ? 0 : session->tensor_count, tensor);
    }
    struct gw_session_tensor *named = &session->tensors[session->tensor_count - 1 - tensor];
    gw_session_backward(session);
    pthread_mutex_lock(&session->mutex);
    bool again = named->named;
    named->named = true;
    pthread_mutex_unlock(&session->mutex);
    if (again) {
        return gw_fail(error, GW_BAD_INPUT,
                       "session: expected each tensor once in an iteration, got %zu again", tensor);
    }
    GW_TRY(follow_trainer(session, named->backward, error));
    GW_TRY(store_gradient(session, named, gradient, result, error));
    pthread_mutex_lock(&session->mutex);
    named->result = result;
    named->ready = true;
    advance_tensors(session);
    pthread_mutex_unlock(&session->mutex);
    return GW_OK;
}

enum gw_status gw_session_wait(struct gw_session *session, struct gw_error *error) {
    GW_TRY(gw_session_check_begun(session, true, error));
    /* Set missing gradients to zero; a server has none. */
    for (size_t i = 0; i < session->tensor_count; i++) {
        struct gw_session_tensor *tensor = &session->tensors[i];
        if (!tensor->ready && !session->worker.serves) {
            GW_TRY(store_gradient(session, tensor, NULL, NULL, error));
        }
        tensor->ready = true;
    }
    bool again = false;
    if (session->held_back) {
        GW_TRY(set_thresholds(session, &again, error));
        session->held_back = false;
    }
    gw_session_backward(session);
    pthread_mutex_lock(&session->mutex);
    advance_tensors(session);
    size_t update = session->schedule->operation_count - 1; /* takes an unknown time */
    gw_session_end_operation(session, update, GW_OK, NULL);
    pthread_mutex_unlock(&session->mutex);
    GW_TRY(gw_session_finish(session, error));
    double now_s = gw_clock_now_s() - session->start_s;
    session->intervals[update] = (struct gw_interval){.start_s = now_s, .end_s = now_s};
    session->begun = false;
    session->held_back = again;
    for (size_t g = 0; g < session->schedule->group_count; g++) {
        /* the counts that its exchange has sent to all workers */
        const struct gw_group_state *group = &session->worker.groups[g];
        gw_state_observe(group->compressor, group->state, group->counts);
    }
    return GW_OK;
}

enum gw_status gw_session_verify(struct gw_session *session, struct gw_error *error) {
    return gw_outcome_compare(&session->outcome, &session->worker, error);
}

const float *gw_session_aggregate(const struct gw_session *session, size_t tensor) {
    const struct gw_session_tensor *of = &session->tensors[session->tensor_count - 1 - tensor];
    const struct gw_worker *worker = &session->worker;
    if (worker->serves) {
        return NULL;
    }
    gw_group_decode(worker, &worker->groups[session->schedule->operations[of->backward].group]);
    return worker->vectors.aggregate + of->first;
}
