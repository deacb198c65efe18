/* A trainer's tensors: their places in the flat vectors, the delivery of aggregates, and NaNs. */
#include <math.h>

#include "exec/session.h"

/* ---- opening ------------------------------------------------------------------------------- */

static void lay_out_tensors(struct gw_session *session) {
    const struct gw_schedule *schedule = session->schedule;
    size_t tensor = 0;
    size_t first = 0;
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        if (operation->kind == GW_BACKWARD) {
            size_t count = (size_t)operation->elements;
            session->tensors[tensor++] =
                (struct gw_session_tensor){.backward = i, .first = first, .count = count};
            first += count;
        }
        if (operation->kind == GW_EXCHANGE) {
            session->delivers[i] = &schedule->groups[operation->group];
            for (size_t before = i; before-- > 0;) {
                bool same = session->delivers[before] == session->delivers[i];
                session->delivers[before] = same ? NULL : session->delivers[before];
            }
        }
    }
}

enum gw_status gw_tensors_open(struct gw_session *session, const struct gw_session_options *options,
                               struct gw_error *error) {
    const struct gw_schedule *schedule = session->schedule;
    struct gw_arena *arena = &session->arena;
    for (size_t g = 0; g < schedule->group_count; g++) {
        session->tensor_count += schedule->groups[g].size.tensors;
    }
    session->tensors = gw_arena_zeros(arena, session->tensor_count, sizeof *session->tensors);
    session->delivers =
        gw_arena_zeros(arena, schedule->operation_count, sizeof(const struct gw_slice *));
    GW_TRY(gw_arena_check(arena, "opening a session", error));
    session->scale = options->average ? 1 / (float)schedule->workers : 1;
    session->seed = options->seed;
    session->trainer = options->trainer;
    for (size_t i = 0; i < schedule->way_count; i++) {
        session->held_back = session->held_back || schedule->ways[i].compressor->thresholded;
    }
    lay_out_tensors(session);
    for (size_t i = 0; i < session->tensor_count && options->numbers != NULL; i++) {
        session->tensors[session->tensor_count - 1 - i].number = options->numbers[i];
    }
    return GW_OK;
}

enum gw_status gw_session_check_begun(const struct gw_session *session, bool begun,
                                      struct gw_error *error) {
    return session->begun == begun
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "session: expected an iteration that %s, got one %s",
                         begun ? "has begun" : "begins once the last one was waited for",
                         begun ? "that has not" : "too early");
}

/* ---- aggregates ---------------------------------------------------------------------------- */

/* Finds the tensor of the group that has an element of the flat vectors. */
static const struct gw_session_tensor *find_tensor(const struct gw_session *session,
                                                   const struct gw_slice *slice, size_t element) {
    size_t low = slice->first_layer;
    size_t high = low + slice->size.tensors;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        bool before = element < session->tensors[middle].first;
        high = before ? middle : high;
        low = before ? low : middle;
    }
    return &session->tensors[low];
}

/* Writes results of a tensor from its `first` one on. */
static enum gw_status write_results(const struct gw_memory *memory,
                                    const struct gw_session_tensor *tensor, size_t first,
                                    const float *aggregate, size_t count, struct gw_error *error) {
    return tensor->number == GW_NUMBER_FLOAT
               ? memory->does->copy(memory, (float *)tensor->result + first, aggregate,
                                    count * sizeof *aggregate, error)
               : memory->does->round_to_halves(memory, tensor->number, aggregate, count,
                                               (uint16_t *)tensor->result + first, error);
}

/* Writes a tensor's results from the codes of its group's aggregate, on the host. */
static enum gw_status decode_results(const struct gw_memory *memory,
                                     const struct gw_session_tensor *tensor,
                                     const struct gw_group_state *group, struct gw_error *error) {
    enum { BLOCK = 4096 }; /* elements, which stay in a core's cache until they are rounded */
    float decoded[BLOCK];
    bool rounds = tensor->number != GW_NUMBER_FLOAT;
    size_t block = rounds ? BLOCK : tensor->count;
    for (size_t first = 0; first < tensor->count; first += block) {
        size_t count = tensor->count - first < block ? tensor->count - first : block;
        gw_decode_range(&group->aggregate_codes, tensor->first - group->slice->first + first, count,
                        rounds ? decoded : tensor->result);
        if (rounds) {
            GW_TRY(write_results(memory, tensor, first, decoded, count, error));
        }
    }
    return GW_OK;
}

/* Writes the elements that were sent, on the host; other results are zero. */
static enum gw_status deliver_listed(struct gw_session *session, const struct gw_group_state *group,
                                     struct gw_error *error) {
    const struct gw_memory *memory = &session->worker.exchange;
    const struct gw_slice *slice = group->slice;
    const float *aggregate = session->worker.vectors.aggregate;
    const uint32_t *common = gw_group_common(group);
    const struct gw_session_tensor *tensor = &session->tensors[slice->first_layer];
    for (size_t i = 0; i < group->listed_count; i++) {
        size_t index = group->listed != NULL ? group->listed[i].index : common[i];
        size_t element = slice->first + index;
        if (element - tensor->first >= tensor->count) { /* true for an earlier element too */
            tensor = find_tensor(session, slice, element);
        }
        if (tensor->result != NULL) {
            GW_TRY(write_results(memory, tensor, element - tensor->first, &aggregate[element], 1,
                                 error));
        }
    }
    return GW_OK;
}

enum gw_status gw_tensors_deliver(struct gw_session *session, const struct gw_slice *slice,
                                  struct gw_error *error) {
    const struct gw_worker *worker = &session->worker;
    const struct gw_memory *memory = &worker->exchange;
    const struct gw_group_state *group = &worker->groups[slice - session->schedule->groups];
    const float *aggregate = worker->vectors.aggregate;
    if (!worker->serves && !session->on_gpu && group->written == GW_WRITTEN_LISTED) {
        return deliver_listed(session, group, error);
    }
    for (size_t i = 0; i < slice->size.tensors && !worker->serves; i++) {
        const struct gw_session_tensor *tensor = &session->tensors[slice->first_layer + i];
        if (tensor->result != NULL && group->aggregate_codes.bytes != NULL) {
            GW_TRY(decode_results(memory, tensor, group, error));
        } else if (tensor->result != NULL) {
            GW_TRY(
                write_results(memory, tensor, 0, aggregate + tensor->first, tensor->count, error));
        }
    }
    return GW_OK;
}

/* ---- NaNs ---------------------------------------------------------------------------------- */

/* Returns true if `values` hold a NaN, and sets *element to the first one. */
static bool find_nan(const struct gw_memory *memory, const float *values, size_t count,
                     size_t *element) {
    struct gw_buffer copy = {0};
    void *read = NULL;
    bool found = values != NULL && memory->does->read(memory, values, count * sizeof *values, &copy,
                                                      &read, NULL) == GW_OK;
    const float *on_host = read;
    size_t first = 0;
    while (found && first < count && !isnan(on_host[first])) {
        first++;
    }
    *element = first;
    gw_buffer_free(&copy);
    return found && first < count;
}

void gw_tensors_name_nan(struct gw_session *session, const struct gw_memory *memory,
                         const struct gw_group_state *group, struct gw_error *error) {
    const struct gw_worker *worker = &session->worker;
    const struct gw_slice *slice = group->slice;
    size_t index = 0;
    if (!find_nan(memory, gw_worker_residual(worker, group), slice->size.elements, &index) &&
        !find_nan(memory, gw_worker_gradient(worker, group), slice->size.elements, &index)) {
        return;
    }
    const struct gw_session_tensor *tensor = find_tensor(session, slice, slice->first + index);
    (void)gw_fail(error, GW_BAD_INPUT,
                  "%s: element %zu of %zu: expected a number or an infinity, got NaN",
                  session->schedule->operations[tensor->backward].label,
                  slice->first + index - tensor->first, tensor->count);
}
