/*
 * The executor, with ranks as threads of this process: its timeline, and what it refuses. What it
 * computes is tested by exec_exchanges_test.
 */
#include "tests/exec/exec_scene.h"
#include "tests/support.h"

enum { ITERATIONS = 4 };

/* ---- ranks --------------------------------------------------------------------------------- */

static void expect(struct rank *rank, bool holds, const char *what) {
    if (!holds && rank->complaint == NULL) {
        rank->complaint = what;
    }
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
    expect(rank, timeline->lane_count == schedule->workers, "there is not a lane for each worker");
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
    require(rank,
            gw_executor_open(&executor, rank->schedule, &rank->communicator,
                             &(struct gw_executor_options){.seed = 5}, &error),
            &error, "the executor could not be opened");
    require(rank, gw_executor_timeline(executor, &timeline, &error), &error,
            "the timeline could not be made");
    for (int i = 0; i < ITERATIONS; i++) {
        gw_timeline_clear(&timeline);
        require(rank, gw_executor_iterate(executor, 0, &timeline, &error), &error,
                "an iteration failed");
        check_timeline(rank, &timeline);
    }
    gw_timeline_free(&timeline);
    gw_executor_close(executor);
    return NULL;
}

static void timelines_keep_to_every_schedule(void **state) {
    (void)state;
    for (size_t a = 0; gw_algorithms[a].name != NULL; a++) {
        for (size_t workers = 1; workers <= MOST_WORKERS; workers++) {
            struct scene scene;
            open_scene(&scene, &gw_algorithms[a], workers);
            run_ranks(&scene.schedule, NULL, run_rank);
            close_scene(&scene);
        }
    }
}

/* ---- things that go wrong ------------------------------------------------------------------ */

/* Rank 1's copy of what travelled has one bit wrong. */
static enum gw_status flip_a_bit(struct gw_communicator *communicator,
                                 const struct gw_collective_call *call, struct gw_error *error) {
    enum gw_status status = healthy->collect(communicator, call, error);
    if (call->kind == GW_ALLREDUCE && communicator->rank == 1) {
        uint32_t bits;
        char *middle = (char *)call->receive + call->bytes / sizeof bits / 2 * sizeof bits;
        memcpy(&bits, middle, sizeof bits);
        bits ^= 1;
        memcpy(middle, &bits, sizeof bits);
    }
    return status;
}

static enum gw_status lose_the_network(struct gw_communicator *communicator,
                                       const struct gw_collective_call *call,
                                       struct gw_error *error) {
    return call->kind == GW_ALLREDUCE ? gw_fail(error, GW_FAILED, "the network is gone")
                                      : healthy->collect(communicator, call, error);
}

/* With which an iteration must fail. */
static const char *expected_message;

static void *expect_failure(void *argument) {
    struct rank *rank = argument;
    struct gw_executor *executor = NULL;
    struct gw_timeline timeline = {0};
    struct gw_error error = {0};
    require(rank,
            gw_executor_open(&executor, rank->schedule, &rank->communicator,
                             &(struct gw_executor_options){.seed = 5}, &error),
            &error, "the executor could not be opened");
    require(rank, gw_executor_timeline(executor, &timeline, &error), &error,
            "the timeline could not be made");
    expect(rank, gw_executor_iterate(executor, 0, &timeline, &error) == GW_FAILED,
           "the iteration did not fail");
    expect(rank, strstr(error.message, expected_message) != NULL,
           "the message does not say what went wrong");
    gw_timeline_free(&timeline);
    gw_executor_close(executor);
    return NULL;
}

static void run_faulty(struct gw_transport faulty, size_t size, const char *expected) {
    const struct gw_algorithm *algorithm = NULL;
    struct scene scene;
    assert_int_equal(gw_algorithm_find("p-sgd", &algorithm, NULL), GW_OK);
    open_scene(&scene, algorithm, size);
    expected_message = expected;
    run_ranks(&scene.schedule, &faulty, expect_failure);
    close_scene(&scene);
}

static void a_wrong_bit_is_found(void **state) {
    (void)state;
    struct gw_transport faulty = copy_of_healthy();
    faulty.collect = flip_a_bit;
    run_faulty(faulty, 3, "rank 1 differs from rank 0");
}

static void a_failing_exchange_ends_the_iteration(void **state) {
    (void)state;
    struct gw_transport faulty = copy_of_healthy();
    faulty.collect = lose_the_network;
    run_faulty(faulty, 2, "the network is gone");
}

static void refuse(struct gw_schedule *schedule, const char *expected) {
    struct gw_communicator communicator;
    struct gw_executor *executor = NULL;
    struct gw_error error = {0};
    assert_int_equal(gw_communicators_open_local(1, &communicator, NULL), GW_OK);
    assert_int_equal(gw_executor_open(&executor, schedule, &communicator,
                                      &(struct gw_executor_options){.seed = 1}, &error),
                     GW_BAD_INPUT);
    assert_string_equal(error.message, expected);
    communicator.transport->close(&communicator);
}

static void what_cannot_be_run_is_refused(void **state) {
    (void)state;
    const struct gw_algorithm *algorithm = NULL;
    struct scene scene;
    assert_int_equal(gw_algorithm_find("topk", &algorithm, NULL), GW_OK);
    open_scene(&scene, algorithm, 1);
    struct gw_operation *compress = &scene.schedule.operations[1 + TENSORS];
    struct gw_operation *exchange = compress + 1;
    assert_int_equal(compress->kind, GW_COMPRESS);
    assert_int_equal(exchange->kind, GW_EXCHANGE);
    exchange->method = "telepathy";
    refuse(&scene.schedule,
           "execution: collective telepathy: expected one that can carry this exchange");
    exchange->method = "allreduce";
    exchange->payload = GW_DENSE;
    refuse(&scene.schedule, "execution: expected gradients of 4 bytes an element, got 0.0793796");
    exchange->payload = GW_SPARSE;
    exchange->method = "allgather";
    scene.schedule.compressor = &gw_compressor_gaussiank;
    refuse(&scene.schedule, "execution: exchange allgather: expected a compressor that selects "
                            "just as many elements as it is asked for, got gaussiank");
    scene.schedule.compressor = &gw_compressor_topk;
    compress->elements = (uint64_t)1 << 32;
    refuse(&scene.schedule,
           "execution: expected groups of less than 2^32 elements, got one of 4294967296");
    close_scene(&scene);
}

static void other_numbers_of_ranks_are_refused(void **state) {
    (void)state;
    const struct gw_algorithm *algorithm = NULL;
    struct scene scene;
    assert_int_equal(gw_algorithm_find("topk", &algorithm, NULL), GW_OK);
    open_scene(&scene, algorithm, 3);
    refuse(&scene.schedule, "execution: expected 3 ranks, got 1");
    close_scene(&scene);
    assert_int_equal(gw_algorithm_find("ps", &algorithm, NULL), GW_OK);
    open_scene(&scene, algorithm, 1);
    refuse(&scene.schedule, "execution: expected 2 ranks, the last of which is the server, got 1");
    close_scene(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timelines_keep_to_every_schedule),
        cmocka_unit_test(a_wrong_bit_is_found),
        cmocka_unit_test(a_failing_exchange_ends_the_iteration),
        cmocka_unit_test(what_cannot_be_run_is_refused),
        cmocka_unit_test(other_numbers_of_ranks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
