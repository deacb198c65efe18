/*
 * The executor, with ranks as threads of this process, against a sequential reference that the test
 * computes from the same gradients: the sums bit for bit, the residuals bit for bit.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithms/algorithms.h"
#include "exec/exec.h"
#include "kernels/kernels.h"

enum { TENSORS = 7, MOST_RANKS = 4, ITERATIONS = 4, MOST_ELEMENTS = 12000 };

/* ---- a small model ------------------------------------------------------------------------- */

static const uint64_t tensor_elements[TENSORS] = {300, 1, 5000, 64, 900, 3, 2500};

struct scene {
    struct gw_model model;
    struct gw_tensor tensors[TENSORS];
    struct gw_plan plan;
    struct gw_schedule schedule;
};

static void open_scene(struct scene *scene, const struct gw_algorithm *algorithm) {
    static char name[] = "tensor";
    *scene = (struct scene){0};
    for (size_t i = 0; i < TENSORS; i++) {
        scene->tensors[i] = (struct gw_tensor){
            .name = name, .elements = tensor_elements[i], .backward_s = 1e-4 * (double)i};
    }
    scene->model = (struct gw_model){.name = name,
                                     .bytes_per_element = 4,
                                     .forward_s = 1e-3,
                                     .update_s = 1e-4,
                                     .tensor_count = TENSORS,
                                     .tensors = scene->tensors};
    double density = gw_algorithm_is_sparse(algorithm) ? 0.01 : 1;
    assert_int_equal(
        gw_plan_create(&scene->plan, "small", "by hand", algorithm->compressor, density, 1, NULL),
        GW_OK);
    static const struct gw_group one[] = {{TENSORS - 1, 0}};
    static const struct gw_group three[] = {{6, 5}, {4, 2}, {1, 0}};
    scene->plan.group_count = algorithm->overlap ? 3 : 1;
    scene->plan.groups = calloc(3, sizeof *scene->plan.groups);
    memcpy(scene->plan.groups, algorithm->overlap ? three : one,
           scene->plan.group_count * sizeof *scene->plan.groups);
    assert_int_equal(
        gw_algorithm_schedule(algorithm, &scene->model, &scene->plan, &scene->schedule, NULL),
        GW_OK);
}

static void close_scene(struct scene *scene) {
    gw_schedule_free(&scene->schedule);
    gw_plan_free(&scene->plan);
}

/* ---- ranks --------------------------------------------------------------------------------- */

/* What a rank sends in an iteration by the reference, dense; all ranks see all of it. */
static float sent[MOST_RANKS][MOST_ELEMENTS];

struct rank {
    const struct gw_schedule *schedule;
    struct gw_communicator communicator;
    const char *expected;  /* the message with which an iteration must fail */
    const char *complaint; /* NULL: all was as it should be; cmocka cannot fail in a thread */
};

static void expect(struct rank *rank, bool holds, const char *what) {
    if (!holds && rank->complaint == NULL) {
        rank->complaint = what;
    }
}

/* Ends the test program: a rank that gave up alone would leave the others in a barrier forever. */
static void require(const struct rank *rank, enum gw_status status, const struct gw_error *error,
                    const char *what) {
    if (status != GW_OK) {
        (void)fprintf(stderr, "rank %d of %d: %s: %s\n", rank->communicator.rank,
                      rank->communicator.size, what, error->message);
        _exit(1);
    }
}

/* Sends by definition: everything, or of each group the selection of gradient + residual. */
static void reference_sends(const struct rank *rank, const float *gradient, float *residual,
                            size_t elements) {
    float *out = sent[rank->communicator.rank];
    memset(out, 0, elements * sizeof *out);
    for (size_t i = 0; i < rank->schedule->operation_count; i++) {
        const struct gw_operation *operation = &rank->schedule->operations[i];
        const struct gw_slice *slice =
            operation->group == GW_NO_GROUP ? NULL : &rank->schedule->groups[operation->group];
        if (operation->kind == GW_EXCHANGE && operation->payload == GW_DENSE) {
            memcpy(out + slice->first, gradient + slice->first, slice->elements * sizeof *out);
        } else if (operation->kind == GW_COMPRESS) {
            struct gw_workspace workspace = {0};
            struct gw_selection selection = {0};
            struct gw_task task = {.u = residual + slice->first,
                                   .gradient = gradient + slice->first,
                                   .n = slice->elements,
                                   .k = slice->kept,
                                   .workspace = &workspace};
            (void)gw_compressor_find(operation->method)->reference(&task, &selection, NULL);
            for (size_t e = 0; e < selection.count; e++) {
                out[slice->first + selection.entries[e].index] = selection.entries[e].value;
                task.u[selection.entries[e].index] = 0;
            }
            gw_selection_free(&selection);
            gw_workspace_free(&workspace);
        }
    }
}

static void check_against_reference(struct rank *rank, struct gw_executor *executor,
                                    float *residual) {
    struct gw_communicator *communicator = &rank->communicator;
    size_t elements = gw_executor_elements(executor);
    reference_sends(rank, gw_executor_gradient(executor), residual, elements);
    (void)communicator->transport->barrier(communicator, NULL);
    const float *aggregate = gw_executor_aggregate(executor);
    bool sums_agree = true;
    for (size_t i = 0; i < elements; i++) {
        float expected = 0;
        for (int r = 0; r < communicator->size; r++) {
            expected += sent[r][i];
        }
        sums_agree = sums_agree && expected == aggregate[i];
    }
    expect(rank, sums_agree, "the aggregate is not the sum of what the ranks sent");
    expect(rank, memcmp(residual, gw_executor_residual(executor), elements * sizeof *residual) == 0,
           "the residual is not what was left of gradient + residual");
    (void)communicator->transport->barrier(communicator, NULL);
}

static const struct gw_span *span_of(const struct gw_timeline *timeline, size_t operations,
                                     size_t lane, size_t operation) {
    return &timeline->spans[lane * operations + operation];
}

/* No stream has come to the end of an operation before the times of all up to it have passed. */
static void check_durations(struct rank *rank, const struct gw_timeline *timeline, size_t lane) {
    const struct gw_schedule *schedule = rank->schedule;
    double told_s[GW_STREAM_COUNT] = {0};
    for (size_t i = 0; i < schedule->operation_count; i++) {
        const struct gw_operation *operation = &schedule->operations[i];
        const struct gw_span *span = span_of(timeline, schedule->operation_count, lane, i);
        told_s[operation->stream] += operation->duration_s;
        expect(rank, span->stream == operation->stream && span->activity == operation->kind,
               "a span is not that of its operation");
        expect(rank, span->end_s >= told_s[operation->stream] - 1e-9, /* rounding of the sums */
               "a stream took less time than it was told to");
    }
}

/* Dependencies and streams are kept, and nothing took less time than it was told to. */
static void check_timeline(struct rank *rank, const struct gw_timeline *timeline) {
    const struct gw_schedule *schedule = rank->schedule;
    struct gw_error error = {0};
    expect(rank, gw_timeline_check(timeline, &error) == GW_OK, "spans overlap");
    for (size_t lane = 0; lane < timeline->lane_count; lane++) {
        for (size_t i = 0; i < schedule->operation_count; i++) {
            const struct gw_operation *operation = &schedule->operations[i];
            const struct gw_span *span = span_of(timeline, schedule->operation_count, lane, i);
            for (size_t d = 0; d < operation->dependency_count; d++) {
                size_t before = schedule->dependencies[operation->first_dependency + d];
                expect(rank,
                       span_of(timeline, schedule->operation_count, lane, before)->end_s <=
                           span->start_s,
                       "an operation started before what it depends on had ended");
            }
        }
        check_durations(rank, timeline, lane);
    }
}

static void *run_rank(void *argument) {
    struct rank *rank = argument;
    struct gw_executor *executor = NULL;
    struct gw_timeline timeline = {0};
    struct gw_error error = {0};
    float *residual = calloc(MOST_ELEMENTS, sizeof *residual);
    require(rank, gw_executor_open(&executor, rank->schedule, &rank->communicator, 5, &error),
            &error, "the executor could not be opened");
    require(rank, gw_executor_timeline(executor, &timeline, &error), &error,
            "the timeline could not be made");
    for (int i = 0; i < ITERATIONS; i++) {
        gw_timeline_clear(&timeline);
        require(rank, gw_executor_iterate(executor, 0, &timeline, &error), &error,
                "an iteration failed");
        check_against_reference(rank, executor, residual);
        check_timeline(rank, &timeline);
    }
    gw_timeline_free(&timeline);
    gw_executor_close(executor);
    rank->communicator.transport->close(&rank->communicator);
    free(residual);
    return NULL;
}

static void run_job(const struct gw_schedule *schedule, int size) {
    struct gw_communicator communicators[MOST_RANKS];
    struct rank ranks[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    assert_int_equal(gw_communicators_open_local(size, communicators, NULL), GW_OK);
    for (int r = 0; r < size; r++) {
        ranks[r] = (struct rank){.schedule = schedule, .communicator = communicators[r]};
        assert_int_equal(pthread_create(&threads[r], NULL, run_rank, &ranks[r]), 0);
    }
    for (int r = 0; r < size; r++) {
        pthread_join(threads[r], NULL);
    }
    for (int r = 0; r < size; r++) {
        if (ranks[r].complaint != NULL) {
            fail_msg("rank %d of %d: %s", r, size, ranks[r].complaint);
        }
    }
}

static void every_algorithm_computes_the_reference(void **state) {
    (void)state;
    for (size_t a = 0; gw_algorithms[a] != NULL; a++) {
        for (int size = 1; size <= MOST_RANKS; size++) {
            struct scene scene;
            open_scene(&scene, gw_algorithms[a]);
            run_job(&scene.schedule, size);
            close_scene(&scene);
        }
    }
}

/* ---- things that go wrong ------------------------------------------------------------------ */

static const struct gw_transport *healthy;

/* Rank 1's copy of what travelled has one bit wrong. */
static enum gw_status flip_a_bit(struct gw_communicator *communicator, const float *send,
                                 float *receive, size_t count, struct gw_error *error) {
    enum gw_status status = healthy->allreduce(communicator, send, receive, count, error);
    if (communicator->rank == 1) {
        uint32_t bits;
        memcpy(&bits, receive + count / 2, sizeof bits);
        bits ^= 1;
        memcpy(receive + count / 2, &bits, sizeof bits);
    }
    return status;
}

static enum gw_status lose_the_network(struct gw_communicator *communicator, const float *send,
                                       float *receive, size_t count, struct gw_error *error) {
    (void)communicator;
    (void)send;
    (void)receive;
    (void)count;
    return gw_fail(error, GW_FAILED, "the network is gone");
}

static void *expect_failure(void *argument) {
    struct rank *rank = argument;
    struct gw_executor *executor = NULL;
    struct gw_timeline timeline = {0};
    struct gw_error error = {0};
    require(rank, gw_executor_open(&executor, rank->schedule, &rank->communicator, 5, &error),
            &error, "the executor could not be opened");
    require(rank, gw_executor_timeline(executor, &timeline, &error), &error,
            "the timeline could not be made");
    expect(rank, gw_executor_iterate(executor, 0, &timeline, &error) == GW_FAILED,
           "the iteration did not fail");
    expect(rank, strstr(error.message, rank->expected) != NULL,
           "the message does not say what went wrong");
    gw_timeline_free(&timeline);
    gw_executor_close(executor);
    return NULL;
}

static void run_faulty(struct gw_transport faulty, int size, const char *expected) {
    const struct gw_algorithm *algorithm = NULL;
    struct scene scene;
    struct gw_communicator communicators[MOST_RANKS];
    struct rank ranks[MOST_RANKS];
    pthread_t threads[MOST_RANKS];
    assert_int_equal(gw_algorithm_find("p-sgd", &algorithm, NULL), GW_OK);
    open_scene(&scene, algorithm);
    assert_int_equal(gw_communicators_open_local(size, communicators, NULL), GW_OK);
    for (int r = 0; r < size; r++) {
        ranks[r] = (struct rank){
            .schedule = &scene.schedule, .communicator = communicators[r], .expected = expected};
        ranks[r].communicator.transport = &faulty;
        assert_int_equal(pthread_create(&threads[r], NULL, expect_failure, &ranks[r]), 0);
    }
    for (int r = 0; r < size; r++) {
        pthread_join(threads[r], NULL);
        healthy->close(&communicators[r]);
        if (ranks[r].complaint != NULL) {
            fail_msg("rank %d: %s", r, ranks[r].complaint);
        }
    }
    close_scene(&scene);
}

static struct gw_transport copy_of_healthy(void) {
    struct gw_communicator communicator;
    assert_int_equal(gw_communicators_open_local(1, &communicator, NULL), GW_OK);
    healthy = communicator.transport;
    healthy->close(&communicator);
    return *healthy;
}

static void a_wrong_bit_is_found(void **state) {
    (void)state;
    struct gw_transport faulty = copy_of_healthy();
    faulty.allreduce = flip_a_bit;
    run_faulty(faulty, 3, "rank 1 differs from rank 0");
}

static void a_failing_exchange_ends_the_iteration(void **state) {
    (void)state;
    struct gw_transport faulty = copy_of_healthy();
    faulty.allreduce = lose_the_network;
    run_faulty(faulty, 2, "the network is gone");
}

static void refuse(struct gw_schedule *schedule, const char *expected) {
    struct gw_communicator communicator;
    struct gw_executor *executor = NULL;
    struct gw_error error = {0};
    assert_int_equal(gw_communicators_open_local(1, &communicator, NULL), GW_OK);
    assert_int_equal(gw_executor_open(&executor, schedule, &communicator, 1, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, expected);
    communicator.transport->close(&communicator);
}

static void what_cannot_be_run_is_refused(void **state) {
    (void)state;
    const struct gw_algorithm *algorithm = NULL;
    struct scene scene;
    assert_int_equal(gw_algorithm_find("topk", &algorithm, NULL), GW_OK);
    open_scene(&scene, algorithm);
    struct gw_operation *compress = &scene.schedule.operations[1 + TENSORS];
    struct gw_operation *exchange = compress + 1;
    assert_int_equal(compress->kind, GW_COMPRESS);
    assert_int_equal(exchange->kind, GW_EXCHANGE);
    compress->method = "magic";
    refuse(&scene.schedule, "execution: compressor magic: expected one that is built in "
                            "(gradweave list compressors)");
    compress->method = "topk";
    exchange->method = "telepathy";
    refuse(&scene.schedule,
           "execution: collective telepathy: expected one that can carry this exchange");
    exchange->method = "allgather";
    exchange->bytes /= 2;
    refuse(&scene.schedule, "execution: expected a sparse exchange of 8 bytes a kept element, got "
                            "348 bytes for 87 elements");
    exchange->bytes *= 2;
    exchange->method = "allreduce";
    exchange->payload = GW_DENSE;
    refuse(&scene.schedule, "execution: expected gradients of 4 bytes an element, got 0.0793796");
    close_scene(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_computes_the_reference),
        cmocka_unit_test(a_wrong_bit_is_found),
        cmocka_unit_test(a_failing_exchange_ends_the_iteration),
        cmocka_unit_test(what_cannot_be_run_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
