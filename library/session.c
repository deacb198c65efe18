/* Sessions of trainers that embed the library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"
#include "library/ranks.h"
#include "methods/methods.h"
#include "study/plans.h"

struct gradweave_session {
    struct gw_session *session;
    struct gw_device *device; /* NULL: the host */
    struct gw_device_stream *trainer;
    struct gw_algorithm algorithm;
    struct gw_plan plan;
    struct gw_schedule schedule;
    struct gw_timeline timeline; /* of the last iteration that was measured */
    size_t tensor_count;
    bool serves;
    char **names;                 /* [tensor_count] of the tensors: as given, or their numbers */
    enum gw_number_type *numbers; /* [tensor_count] */
};

/* ---- options ------------------------------------------------------------------------------- */

static enum gw_status check_tensors(const struct gradweave_training *training,
                                    struct gw_error *error) {
    uint64_t total = 0;
    if (training->tensor_count == 0) {
        return gw_fail(error, GW_BAD_INPUT, "tensor_count: expected at least one tensor, got 0");
    }
    for (size_t i = 0; i < training->tensor_count; i++) {
        uint64_t elements = training->elements[i];
        if (elements == 0 || elements > (UINT64_C(1) << 53) - total) {
            return gw_fail(error, GW_BAD_INPUT,
                           "elements[%zu]: expected a positive integer, and at most 2^53 in all",
                           i);
        }
        if (training->rows != NULL && training->rows[i] > 0 && elements % training->rows[i] > 0) {
            return gw_fail(error, GW_BAD_INPUT,
                           "rows[%zu]: expected a divisor of %llu elements, got %llu", i,
                           (unsigned long long)elements, (unsigned long long)training->rows[i]);
        }
        if (training->numbers != NULL && training->numbers[i] > GRADWEAVE_FP16) {
            return gw_fail(error, GW_BAD_INPUT,
                           "numbers[%zu]: expected an enum gradweave_number, 0 to 2, got %d", i,
                           (int)training->numbers[i]);
        }
        if (training->names != NULL && training->names[i] == NULL) {
            return gw_fail(error, GW_BAD_INPUT, "names[%zu]: expected a name, got NULL", i);
        }
        total += elements;
    }
    return training->density >= 0 && training->density <= 1
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "density: expected a number in (0, 1], or 0, got %g",
                         training->density);
}

/* ---- opening ------------------------------------------------------------------------------- */

static double usual_density(const struct gradweave_training *training) {
    return training->density == 0 ? GW_USUAL_DENSITY : training->density;
}

/* Returns the bytes of an element in exchanges without compression: of halves, if all are alike. */
static uint64_t dense_bytes(const struct gradweave_training *training,
                            const struct gw_algorithm *algorithm) {
    const enum gradweave_number *numbers = training->numbers;
    bool alike = numbers != NULL && !algorithm->exchange->server;
    for (size_t i = 1; i < training->tensor_count && alike; i++) {
        alike = numbers[i] == numbers[0];
    }
    return gw_number_bytes(alike ? (enum gw_number_type)numbers[0] : GW_NUMBER_FLOAT);
}

static enum gw_status parse_way(const struct gradweave_training *training, size_t group,
                                struct gw_way *out, struct gw_error *error) {
    const char *way = group < training->group_count ? training->ways[group] : NULL;
    return way != NULL && gw_choice_parse(way, usual_density(training), out)
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "ways[%zu]: expected a group's choice of a mixed plan, such as topk:0.01, "
                         "got \"%s\"",
                         group, way == NULL ? "" : way);
}

static enum gw_status copy_ways(const struct gradweave_training *training, struct gw_plan *plan,
                                struct gw_error *error) {
    plan->ways = calloc(plan->group_count, sizeof *plan->ways);
    GW_TRY(plan->ways == NULL ? gw_fail_memory(error, "taking a plan") : GW_OK);
    plan->way_count = plan->group_count;
    for (size_t g = 0; g < plan->way_count; g++) {
        struct gw_way way = {0};
        GW_TRY(parse_way(training, g, &way, error));
        struct gw_plan_way *copy = &plan->ways[g];
        *copy = (struct gw_plan_way){.choice = strdup(training->ways[g]),
                                     .compressor = strdup(way.compressor->name),
                                     .exchange = strdup(way.exchange->name),
                                     .density = way.density};
        if (copy->choice == NULL || copy->compressor == NULL || copy->exchange == NULL) {
            return gw_fail_memory(error, "taking a plan");
        }
    }
    return GW_OK;
}

static enum gw_status build_schedule(const struct gradweave_training *training, size_t workers,
                                     struct gradweave_session *out, struct gw_error *error) {
    struct gw_tensor *tensors = calloc(training->tensor_count, sizeof *tensors);
    uint64_t(*shapes)[2] = calloc(training->tensor_count, sizeof *shapes);
    struct gw_model model = {.name = "",
                             .bytes_per_element = dense_bytes(training, &out->algorithm),
                             .tensor_count = training->tensor_count,
                             .tensors = tensors};
    const struct gw_algorithm *algorithm = &out->algorithm;
    double density = gw_algorithm_selects(algorithm) ? usual_density(training) : 1;
    for (size_t i = 0; i < training->tensor_count && tensors != NULL && shapes != NULL; i++) {
        uint64_t rows = training->rows == NULL ? 0 : training->rows[i];
        tensors[i] = (struct gw_tensor){.name = out->names[i], .elements = training->elements[i]};
        if (rows > 0) {
            shapes[i][0] = rows;
            shapes[i][1] = training->elements[i] / rows;
            tensors[i].dimensions = 2;
            tensors[i].shape = shapes[i];
        }
    }
    enum gw_status status =
        tensors == NULL || shapes == NULL
            ? gw_fail_memory(error, "opening a session")
            : gw_plan_create(&out->plan, "", "given", algorithm->compressor->name, density, workers,
                             error);
    if (status == GW_OK) {
        status = gw_library_copy_groups(training->groups, training->group_count,
                                        training->tensor_count, &out->plan, error);
    }
    if (status == GW_OK && training->ways != NULL) {
        status = copy_ways(training, &out->plan, error);
    }
    if (status == GW_OK) {
        status = gw_algorithm_schedule(algorithm, &model, &out->plan, &out->schedule, error);
    }
    free(shapes);
    free(tensors);
    return status;
}

/* Chooses the pipeline; of a mixed plan one that goes as its first group does. */
static enum gw_status choose_algorithm(const struct gradweave_training *training,
                                       struct gw_algorithm *out, struct gw_error *error) {
    GW_TRY(check_tensors(training, error));
    if (training->ways == NULL) {
        return gw_library_choose(training->algorithm, training->compressor, training->exchange,
                                 training->group_count, out, error);
    }
    const char *name = training->algorithm == NULL ? "" : training->algorithm;
    if (strcmp(name, GW_MIXED) != 0 || training->compressor != NULL || training->exchange != NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "ways: expected algorithm " GW_MIXED " and no compressor or exchange beside "
                       "them, got algorithm %s",
                       name);
    }
    struct gw_way first = {0};
    GW_TRY(parse_way(training, 0, &first, error));
    *out = (struct gw_algorithm){.name = GW_MIXED,
                                 .policy = "given",
                                 .compressor = first.compressor,
                                 .exchange = first.exchange};
    return GW_OK;
}

enum gradweave_status gradweave_session_check(const struct gradweave_training *training,
                                              size_t *servers, struct gradweave_error *error) {
    struct gw_error failure = {0};
    struct gw_algorithm algorithm;
    enum gw_status status = choose_algorithm(training, &algorithm, &failure);
    *servers = status == GW_OK && algorithm.exchange->server ? 1 : 0;
    return gw_library_finish(status, &failure, error);
}

static enum gw_status open_session(const struct gradweave_training *training,
                                   struct gradweave_ranks *ranks, struct gradweave_session *out,
                                   struct gw_error *error) {
    GW_TRY(choose_algorithm(training, &out->algorithm, error));
    size_t servers = out->algorithm.exchange->server ? 1 : 0;
    size_t size = (size_t)ranks->communicator.size;
    if (size <= servers) {
        return gw_fail(error, GW_BAD_INPUT,
                       "algorithm %s: expected a rank more than its workers, the server, got %zu",
                       out->algorithm.name, size);
    }
    out->names = calloc(training->tensor_count, sizeof *out->names);
    out->tensor_count = out->names == NULL ? 0 : training->tensor_count;
    bool complete = out->names != NULL;
    for (size_t i = 0; i < training->tensor_count && complete; i++) {
        char number[32];
        (void)snprintf(number, sizeof number, "tensor %zu", i);
        out->names[i] = strdup(training->names == NULL ? number : training->names[i]);
        complete = out->names[i] != NULL;
    }
    GW_TRY(complete ? GW_OK : gw_fail_memory(error, "opening a session"));
    out->serves = servers > 0 && (size_t)ranks->communicator.rank == size - servers;
    GW_TRY(build_schedule(training, size - servers, out, error));
    out->numbers = calloc(training->tensor_count, sizeof *out->numbers);
    GW_TRY(out->numbers == NULL ? gw_fail_memory(error, "opening a session") : GW_OK);
    for (size_t i = 0; i < training->tensor_count && training->numbers != NULL; i++) {
        out->numbers[i] = (enum gw_number_type)training->numbers[i];
    }
    struct gw_session_options options = {.seed = training->seed,
                                         .compute = GW_COMPUTE_TRAINER,
                                         .average = training->average != 0,
                                         .numbers = out->numbers};
    if (training->gpu != NULL) {
        /* Open each rank's GPU and choose the transport between them; all ranks fail alike. */
        size_t sharing = 0;
        enum gw_status status = gw_device_join(&out->device, training->gpu->ordinal, error);
        if (status == GW_OK) {
            status =
                gw_device_stream_borrow(out->device, training->gpu->stream, &out->trainer, error);
        }
        GW_TRY(gw_agree(&ranks->communicator, status, error));
        options.device = out->device;
        options.trainer = out->trainer;
        GW_TRY(gw_gpu_transport_choose(&ranks->communicator, out->device, &options.transport,
                                       &sharing, error));
    }
    GW_TRY(gw_session_open(&out->session, &out->schedule, &ranks->communicator, &options, error));
    return gw_session_timeline(out->session, &out->timeline, error);
}

enum gradweave_status gradweave_session_open(const struct gradweave_training *training,
                                             struct gradweave_ranks *ranks,
                                             struct gradweave_session **out,
                                             struct gradweave_error *error) {
    struct gw_error failure = {0};
    struct gradweave_session *opened = *out = calloc(1, sizeof *opened);
    enum gw_status status = opened == NULL ? gw_fail_memory(&failure, "opening a session")
                                           : open_session(training, ranks, opened, &failure);
    if (status != GW_OK) {
        gradweave_session_close(opened);
        *out = NULL;
    }
    return gw_library_finish(status, &failure, error);
}

void gradweave_session_close(struct gradweave_session *session) {
    if (session == NULL) {
        return;
    }
    gw_session_close(session->session);
    gw_device_stream_close(session->trainer);
    gw_device_close(session->device);
    gw_timeline_free(&session->timeline);
    gw_schedule_free(&session->schedule);
    gw_plan_free(&session->plan);
    for (size_t i = 0; i < session->tensor_count; i++) {
        free(session->names[i]);
    }
    free(session->names);
    free(session->numbers);
    free(session);
}

int gradweave_session_serves(const struct gradweave_session *session) {
    return session->serves;
}

/* ---- an iteration -------------------------------------------------------------------------- */

enum gradweave_status gradweave_session_begin(struct gradweave_session *session,
                                              struct gradweave_error *error) {
    struct gw_error failure = {0};
    return gw_library_finish(gw_session_begin(session->session, &failure), &failure, error);
}

void gradweave_session_backward(struct gradweave_session *session) {
    gw_session_backward(session->session);
}

enum gradweave_status gradweave_session_ready(struct gradweave_session *session, size_t tensor,
                                              const void *gradient, void *result,
                                              struct gradweave_error *error) {
    struct gw_error failure = {0};
    return gw_library_finish(gw_session_ready(session->session, tensor, gradient, result, &failure),
                             &failure, error);
}

enum gradweave_status gradweave_session_wait(struct gradweave_session *session,
                                             struct gradweave_error *error) {
    struct gw_error failure = {0};
    return gw_library_finish(gw_session_wait(session->session, &failure), &failure, error);
}

const float *gradweave_session_aggregate(const struct gradweave_session *session, size_t tensor) {
    return tensor < session->tensor_count ? gw_session_aggregate(session->session, tensor) : NULL;
}

enum gradweave_status gradweave_session_verify(struct gradweave_session *session,
                                               struct gradweave_error *error) {
    struct gw_error failure = {0};
    return gw_library_finish(gw_session_verify(session->session, &failure), &failure, error);
}

/* ---- saving and loading -------------------------------------------------------------------- */

size_t gradweave_session_state_size(struct gradweave_session *session) {
    return gw_session_state_bytes(session->session);
}

enum gradweave_status gradweave_session_save(struct gradweave_session *session, void *state,
                                             struct gradweave_error *error) {
    struct gw_error failure = {0};
    return gw_library_finish(gw_session_save(session->session, state, &failure), &failure, error);
}

enum gradweave_status gradweave_session_load(struct gradweave_session *session, const void *state,
                                             size_t size, struct gradweave_error *error) {
    struct gw_error failure = {0};
    return gw_library_finish(gw_session_load(session->session, state, size, &failure), &failure,
                             error);
}

enum gradweave_status gradweave_session_add_residual(struct gradweave_session *session,
                                                     const void *state, size_t size,
                                                     struct gradweave_error *error) {
    struct gw_error failure = {0};
    return gw_library_finish(gw_session_add_residual(session->session, state, size, &failure),
                             &failure, error);
}

enum gradweave_status gradweave_session_residual(struct gradweave_session *session, float *residual,
                                                 struct gradweave_error *error) {
    struct gw_error failure = {0};
    return gw_library_finish(gw_session_copy(session->session, GW_RESIDUAL, residual, &failure),
                             &failure, error);
}

/* ---- measuring ----------------------------------------------------------------------------- */

static enum gw_status measure_iteration(struct gradweave_session *session, struct gw_measure *out,
                                        struct gw_error *error) {
    gw_timeline_clear(&session->timeline);
    GW_TRY(gw_session_record(session->session, 0, &session->timeline, error));
    return gw_timeline_measure(&session->timeline, out, error);
}

enum gradweave_status gradweave_session_measure(struct gradweave_session *session,
                                                struct gradweave_prediction *measured,
                                                struct gradweave_error *error) {
    struct gw_error failure = {0};
    struct gw_measure taken = {0};
    enum gw_status status = measure_iteration(session, &taken, &failure);
    const struct gw_breakdown *parts = &taken.breakdown;
    *measured = (struct gradweave_prediction){
        .algorithm = session->algorithm.name,
        .iteration_s = taken.iteration_s,
        .forward_s = parts->forward_s,
        .backward_s = parts->backward_s,
        .compress_s = parts->compress_s,
        .exposed_comm_s = parts->exposed_comm_s,
        .other_s = parts->other_s,
        .comm_s = taken.comm_s,
        .bytes_per_worker = status == GW_OK ? gw_timeline_bytes_per_lane(&session->timeline) : 0,
        .group_count = session->plan.group_count};
    return gw_library_finish(status, &failure, error);
}

enum gradweave_status gradweave_session_trace(struct gradweave_session *session, const char *path,
                                              struct gradweave_error *error) {
    struct gw_error failure = {0};
    struct gw_measure taken = {0};
    enum gw_status status = measure_iteration(session, &taken, &failure);
    if (status == GW_OK && path != NULL) {
        status = gw_timeline_write(&session->timeline, path, &failure);
    }
    return gw_library_finish(status, &failure, error);
}
