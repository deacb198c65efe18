/*
 * The executor, with ranks as threads of this process: what it refuses, how often it communicates,
 * and warming up before the first iteration: what it selects and keeps, what it stops at, and what
 * an iteration after it selects. What it computes is tested by exec_exchanges_test.
 */
#include <math.h>

#include "exec/session.h"
#include "kernels/kernels.h"
#include "tests/exec/exec_scene.h"

/* ---- gradients that sessions share --------------------------------------------------------- */

/* After an iteration of a session of one worker. */
static void copy_gradient(const struct scenario *scenario, struct gw_drawn_gradients *drawn,
                          float out[MOST_ELEMENTS]) {
    const struct gw_session_options options = {.seed = 3, .drawn = drawn};
    struct gw_communicator communicator;
    struct gw_session *session = NULL;
    struct gw_timeline timeline = {0};
    struct gw_error error = {0};
    assert_ok(gw_communicators_open_local(1, &communicator, NULL));
    assert_ok(gw_session_open(&session, &scenario->schedule, &communicator, &options, &error));
    assert_ok(gw_session_timeline(session, &timeline, &error));
    assert_ok(gw_session_iterate(session, 0, &timeline, &error));
    assert_ok(gw_session_copy(session, GW_GRADIENT, out, &error));
    gw_timeline_free(&timeline);
    gw_session_close(session);
    communicator.transport->close(&communicator);
}

/* Those of one that draws for itself; and nothing that a session does is left in them. */
TEST(sessions_can_share_gradients) {
    static const char *const names[] = {"topk", "dense", "lags", "hard-threshold"};
    struct gw_drawn_gradients drawn = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        static float own[MOST_ELEMENTS], shared[MOST_ELEMENTS];
        struct scenario scenario;
        open_named(&scenario, names[i], 1, 0.01);
        copy_gradient(&scenario, NULL, own);
        copy_gradient(&scenario, &drawn, shared);
        assert_memory_equal(shared, own, sizeof own);
        close_scenario(&scenario);
    }
    assert_true(drawn.count > MOST_ELEMENTS);
    gw_drawn_gradients_free(&drawn);
}

/* ---- things that go wrong ------------------------------------------------------------------ */

/* The transport between threads, which tests put something in front of. */
static const struct gw_transport *healthy;

static struct gw_transport copy_of_healthy(void) {
    struct gw_communicator communicator;
    assert_ok(gw_communicators_open_local(1, &communicator, NULL));
    healthy = communicator.transport;
    healthy->close(&communicator);
    return *healthy;
}

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

static void expect_failure(struct rank *rank) {
    struct gw_error error = {0};
    require(rank, gw_session_iterate(rank->executor, 0, &rank->timeline, &error) == GW_FAILED,
            "the iteration did not fail");
    require(rank, strstr(error.message, expected_message) != NULL,
            "the message does not say what went wrong");
}

static void run_faulty(struct gw_transport faulty, size_t size, const char *expected) {
    expected_message = expected;
    run_named("p-sgd", size, &faulty, expect_failure);
}

TEST(a_wrong_bit_is_found) {
    struct gw_transport faulty = copy_of_healthy();
    faulty.collect = flip_a_bit;
    run_faulty(faulty, 3, "rank 1 differs from rank 0");
}

TEST(a_failing_exchange_ends_the_iteration) {
    struct gw_transport faulty = copy_of_healthy();
    faulty.collect = lose_the_network;
    run_faulty(faulty, 2, "the network is gone");
}

static void refuse(struct gw_schedule *schedule, const char *expected) {
    struct gw_communicator communicator;
    struct gw_session *executor = NULL;
    struct gw_error error = {0};
    assert_ok(gw_communicators_open_local(1, &communicator, NULL));
    assert_int_equal(gw_session_open(&executor, schedule, &communicator,
                                     &(struct gw_session_options){.seed = 1}, &error),
                     GW_BAD_INPUT);
    assert_string_equal(error.message, expected);
    communicator.transport->close(&communicator);
}

TEST(schedules_that_cannot_run_are_refused) {
    struct scenario scenario;
    open_named(&scenario, "topk", 1, 0.01);
    struct gw_operation *compress = &scenario.schedule.operations[1 + TENSORS];
    struct gw_operation *exchange = compress + 1;
    assert_int_equal(compress->kind, GW_COMPRESS);
    assert_int_equal(exchange->kind, GW_EXCHANGE);
    exchange->method = "telepathy";
    refuse(&scenario.schedule,
           "execution: collective telepathy: expected one that can carry this exchange");
    exchange->method = "allreduce";
    exchange->payload = GW_DENSE;
    refuse(&scenario.schedule,
           "execution: expected gradients of 4 bytes an element, or 2, got 0.0781408");
    exchange->payload = GW_SPARSE;
    exchange->method = "allgather";
    scenario.schedule.ways[0].compressor = &gw_compressor_gaussiank;
    refuse(&scenario.schedule, "execution: exchange allgather: expected a compressor that selects "
                               "exactly the asked number of elements, got gaussiank");
    scenario.schedule.ways[0].compressor = &gw_compressor_topk;
    compress->elements = (uint64_t)1 << 32;
    refuse(&scenario.schedule,
           "execution: expected groups of less than 2^32 elements, got one of 4294967296");
    close_scenario(&scenario);
}

TEST(other_numbers_of_ranks_are_refused) {
    struct scenario scenario;
    open_named(&scenario, "topk", 3, 0.01);
    refuse(&scenario.schedule, "execution: expected 3 ranks, got 1");
    close_scenario(&scenario);
    open_named(&scenario, "ps", 1, 0.01);
    refuse(&scenario.schedule,
           "execution: expected 2 ranks, the last of which is the server, got 1");
    close_scenario(&scenario);
}

/* ---- trainers that go wrong ---------------------------------------------------------------- */

static struct gw_session *open_trainer(struct gw_communicator *communicator,
                                       const struct scenario *scenario) {
    const struct gw_session_options options = {.seed = 1, .compute = GW_COMPUTE_TRAINER};
    struct gw_session *session = NULL;
    struct gw_error error = {0};
    assert_ok(gw_session_open(&session, &scenario->schedule, communicator, &options, &error));
    return session;
}

TEST(trainers_are_told_what_they_forgot) {
    static float gradient[MOST_ELEMENTS];
    struct scenario scenario;
    struct gw_communicator communicator;
    struct gw_error error = {0};
    open_named(&scenario, "topk", 1, 0.01);
    assert_ok(gw_communicators_open_local(1, &communicator, NULL));
    struct gw_session *session = open_trainer(&communicator, &scenario);
    for (int iteration = 0; iteration < 3; iteration++) {
        assert_int_equal(gw_session_ready(session, 0, gradient, NULL, &error), GW_BAD_INPUT);
        assert_string_equal(error.message,
                            "session: expected an iteration that has begun, got one that has not");
        assert_int_equal(gw_session_wait(session, &error), GW_BAD_INPUT);
        assert_ok(gw_session_begin(session, &error));
        assert_int_equal(gw_session_begin(session, &error), GW_BAD_INPUT);
        assert_int_equal(gw_session_ready(session, TENSORS, gradient, NULL, &error), GW_BAD_INPUT);
        assert_string_equal(error.message, "session: expected a tensor below 8, got 8");
        assert_ok(gw_session_ready(session, 3, gradient, NULL, &error));
        assert_int_equal(gw_session_ready(session, 3, gradient, NULL, &error), GW_BAD_INPUT);
        assert_string_equal(error.message,
                            "session: expected each tensor once in an iteration, got 3 again");
        assert_ok(gw_session_wait(session, &error));
    }
    gw_session_close(session);
    communicator.transport->close(&communicator);
    close_scenario(&scenario);
}

/* A gradient that is no number, or a network that is gone: waiting says so, and nothing hangs. */
TEST(trainers_are_told_what_failed) {
    struct gw_transport faulty = copy_of_healthy();
    faulty.collect = lose_the_network;
    for (int nan = 0; nan < 2; nan++) {
        static float gradient[MOST_ELEMENTS];
        struct scenario scenario;
        struct gw_communicator communicator;
        struct gw_error error = {0};
        open_named(&scenario, nan ? "lags" : "p-sgd", 1, 0.01);
        assert_ok(gw_communicators_open_local(1, &communicator, NULL));
        communicator.transport = nan ? communicator.transport : &faulty;
        gradient[7] = nan ? NAN : 1;
        struct gw_session *session = open_trainer(&communicator, &scenario);
        assert_ok(gw_session_begin(session, &error));
        for (size_t tensor = TENSORS; tensor-- > 0;) {
            assert_ok(gw_session_ready(session, tensor, gradient, NULL, &error));
        }
        assert_int_equal(gw_session_wait(session, &error), nan ? GW_BAD_INPUT : GW_FAILED);
        assert_non_null(strstr(error.message, nan ? "NaN" : "the network is gone"));
        gw_session_close(session);
        communicator.transport = healthy;
        communicator.transport->close(&communicator);
        close_scenario(&scenario);
    }
}

/* ---- how often ranks communicate, counted in front of the transport ------------------------- */

/* The calls of one rank in the iterations, in a job whose exchanges are counted. */
struct calls {
    size_t collectives, messages, message_bytes;
};
static struct calls calls[MOST_WORKERS + 1];

static enum gw_status count_collective(struct gw_communicator *communicator,
                                       const struct gw_collective_call *call,
                                       struct gw_error *error) {
    calls[communicator->rank].collectives++;
    return healthy->collect(communicator, call, error);
}

static enum gw_status count_message(struct gw_communicator *communicator,
                                    const struct gw_message *message, struct gw_request *out,
                                    struct gw_error *error) {
    calls[communicator->rank].messages += !message->receives;
    calls[communicator->rank].message_bytes += message->receives ? 0 : message->bytes;
    return healthy->start(communicator, message, out, error);
}

/* Calls for one group: collectives of each rank, and messages of all together, for each other
 * worker. */
static const struct {
    const char *algorithm;
    size_t collectives, messages_for_each;
} expected_calls[] = {
    {"dense", 1, 0}, {"topk", 1, 0},  {"randk", 1, 0},  {"gaussiank", 2, 0}, {"exdyna", 3, 0},
    {"clt-k", 2, 0}, {"gtopk", 1, 1}, {"gs-sgd", 2, 2}, {"ps", 2, 0},        {"sketched-sgd", 4, 0},
};

/* Two allgathers of each iteration are the executor's own, outside of the measured time. */
TEST(exchanges_take_the_calls_they_are_known_for) {
    struct gw_transport counting = copy_of_healthy();
    counting.collect = count_collective;
    counting.start = count_message;
    for (size_t i = 0; i < sizeof expected_calls / sizeof *expected_calls; i++) {
        for (size_t workers = 1; workers <= MOST_WORKERS; workers++) {
            struct scenario scenario;
            size_t messages = 0;
            size_t bytes = 0;
            open_named(&scenario, expected_calls[i].algorithm, workers, 0.01);
            memset(calls, 0, sizeof calls);
            run_ranks(&scenario, &counting, iterate);
            for (size_t r = 0; r < workers + (scenario.schedule.server ? 1 : 0); r++) {
                assert_int_equal(calls[r].collectives, expected_calls[i].collectives + 2);
                messages += calls[r].messages;
                bytes += calls[r].message_bytes;
            }
            assert_int_equal(messages, expected_calls[i].messages_for_each * (workers - 1));
            if (messages > 0) { /* up a tree: the call's bytes from each worker but one */
                assert_int_equal(bytes, (double)(workers - 1) *
                                            gw_schedule_bytes_per_worker(&scenario.schedule));
            }
            close_scenario(&scenario);
        }
    }
}

static void train(struct gw_session *session, const float *gradient) {
    struct gw_error error = {0};
    assert_ok(gw_session_begin(session, &error));
    for (size_t tensor = TENSORS; tensor-- > 0;) {
        assert_ok(gw_session_ready(session, tensor, gradient, NULL, &error));
    }
    assert_ok(gw_session_wait(session, &error));
}

/* A trainer's session calls nothing else once it has found the threshold that it begins with. */
TEST(trainers_take_the_calls_of_their_exchanges) {
    static float gradient[MOST_ELEMENTS];
    struct gw_transport counting = copy_of_healthy();
    counting.collect = count_collective;
    for (size_t i = 0; i < sizeof gradient / sizeof *gradient; i++) {
        gradient[i] = powf(sinf((float)i), 9); /* a few are far larger than most */
    }
    for (size_t i = 0; i < sizeof expected_calls / sizeof *expected_calls; i++) {
        struct scenario scenario;
        struct gw_communicator communicator;
        open_named(&scenario, expected_calls[i].algorithm, 1, 0.01);
        if (!scenario.schedule.server) {
            assert_ok(gw_communicators_open_local(1, &communicator, NULL));
            struct gw_session *session = open_trainer(&communicator, &scenario);
            train(session, gradient);
            communicator.transport = &counting;
            memset(calls, 0, sizeof calls);
            train(session, gradient);
            assert_int_equal(calls[0].collectives, expected_calls[i].collectives);
            gw_session_close(session);
            communicator.transport = healthy;
            communicator.transport->close(&communicator);
        }
        close_scenario(&scenario);
    }
}

/* ---- warming up ---------------------------------------------------------------------------- */

enum { STEPS = 12 };

static bool depends_on_gradients(const struct gw_algorithm *algorithm) {
    return gw_algorithm_compresses(algorithm) && !algorithm->compressor->exact;
}

static uint64_t selected_by(const struct gw_session *executor, size_t worker, size_t workers) {
    size_t groups = 0;
    const uint64_t *selected = gw_session_selected(executor, &groups);
    uint64_t sum = 0;
    for (size_t group = 0; group < groups; group++) {
        sum += selected[group * workers + worker];
    }
    return sum;
}

static double selected_by_all(const struct gw_session *executor, size_t workers) {
    uint64_t sum = 0;
    for (size_t worker = 0; worker < workers; worker++) {
        sum += selected_by(executor, worker, workers);
    }
    return (double)sum;
}

/* ---- warming up: what stays ---------------------------------------------------------------- */

/* An accumulated element either stays, or was selected and is cleared; there is no aggregate. */
static void check_residual(struct rank *rank, const float *before) {
    struct gw_session *executor = rank->executor;
    size_t elements = gw_vectors_elements(&rank->scenario->schedule);
    float *gradient = calloc(3 * elements, sizeof *gradient);
    float *after = gradient + elements;
    float *aggregate = after + elements;
    uint64_t cleared = 0;
    (void)gw_session_copy(executor, GW_GRADIENT, gradient, NULL);
    (void)gw_session_copy(executor, GW_RESIDUAL, after, NULL);
    (void)gw_session_copy(executor, GW_AGGREGATE, aggregate, NULL);
    for (size_t i = 0; i < elements; i++) {
        float accumulated = before[i] + gradient[i];
        cleared += after[i] != accumulated;
        require(rank, after[i] == accumulated || after[i] == 0, "a residual is lost");
        require(rank, aggregate[i] == 0, "something was aggregated");
    }
    size_t worker = (size_t)rank->communicator->rank;
    require(rank, cleared == selected_by(executor, worker, rank->scenario->schedule.workers),
            "not what was selected is cleared");
    free(gradient);
}

static void warm_up_step_by_step(struct rank *rank) {
    static const struct gw_warm_up_limits one = {.iterations = 1};
    bool works = (size_t)rank->communicator->rank < rank->scenario->schedule.workers;
    size_t elements = gw_vectors_elements(&rank->scenario->schedule);
    float *before = calloc(elements, sizeof *before);
    for (int step = 0; step < STEPS; step++) {
        struct gw_warmed_up warmed_up = warm_up(rank, one);
        require(rank, warmed_up.iterations == 1 && !warmed_up.reached, "not one iteration");
        if (works) {
            check_residual(rank, before);
            (void)gw_session_copy(rank->executor, GW_RESIDUAL, before, NULL);
        }
    }
    iterate(rank);
    free(before);
}

TEST(residuals_are_kept) {
    for (size_t a = 0; gw_algorithms[a].name != NULL; a++) {
        for (size_t workers = 1; workers <= 3 && depends_on_gradients(&gw_algorithms[a]);
             workers++) {
            run_algorithm(&gw_algorithms[a], workers, warm_up_step_by_step);
        }
    }
}

/* ---- warming up: where it ends ------------------------------------------------------------- */

/* Pipelines that compress nothing, whose counts are as asked for anyway, or whose compression is
 * timed waiting. */
static void warm_up_nothing(struct rank *rank) {
    static const struct gw_warm_up_limits many = {.iterations = 50};
    struct gw_warmed_up warmed_up = warm_up(rank, many);
    require(rank, warmed_up.iterations == 0, "something was warmed up");
}

TEST(pipelines_that_select_what_is_asked_have_nothing_to_warm_up) {
    for (size_t a = 0; gw_algorithms[a].name != NULL; a++) {
        session_options.timed_compression = depends_on_gradients(&gw_algorithms[a]);
        run_algorithm(&gw_algorithms[a], 2, warm_up_nothing);
        session_options.timed_compression = false;
    }
}

static void warm_up_until_the_end(struct rank *rank) {
    static const struct gw_warm_up_limits in_time = {
        .iterations = 1000000, .ends_early = true, .longest_s = 0.05, .nearing_s = 60};
    static const struct gw_warm_up_limits in_number = {.iterations = 7, .longest_s = 0};
    struct gw_warmed_up warmed_up = warm_up(rank, in_number);
    require(rank, warmed_up.iterations == 7, "another number of iterations");
    warmed_up = warm_up(rank, in_time);
    require(rank, warmed_up.iterations >= 1 && warmed_up.seconds < 30 && !warmed_up.reached,
            "time did not end it");
    iterate(rank);
}

/* A threshold that is given once is not met again, as residuals build up: nothing comes nearer. */
TEST(time_or_number_end_it) {
    run_named("hard-threshold", 3, NULL, warm_up_until_the_end);
}

/* ---- warming up: what it is for ------------------------------------------------------------ */

static double asked_for(const struct gw_schedule *schedule) {
    double kept = 0;
    for (size_t group = 0; group < schedule->group_count; group++) {
        kept += (double)schedule->groups[group].kept;
    }
    return kept;
}

static void warm_up_and_iterate(struct rank *rank) {
    enum { AFTER = 10 };
    static const struct gw_warm_up_limits limits = {
        .iterations = 5000, .ends_early = true, .longest_s = 60};
    double selected = 0;
    struct gw_warmed_up warmed_up = warm_up(rank, limits);
    require(rank, warmed_up.reached && warmed_up.iterations > 6,
            "the density asked for was not met");
    require(rank, fabs(warmed_up.ratio - 1) <= 0.1, "the ratio is not near 1");
    for (int i = 0; i < AFTER; i++) {
        iterate(rank);
        selected += selected_by_all(rank->executor, rank->scenario->schedule.workers) / AFTER;
    }
    require(rank, fabs(selected / asked_for(&rank->scenario->schedule) - 1) < 0.25,
            "iterations afterwards do not select about as many as asked");
}

TEST(a_threshold_that_follows_has_warmed_up) {
    struct scenario scenario;
    open_named(&scenario, "exdyna", 4, 0.03);
    run_ranks(&scenario, NULL, warm_up_and_iterate);
    close_scenario(&scenario);
}

/* A given threshold selects more and more, as residuals build up: there is memory for the most that
 * workers may receive so far. */
static void warm_up_and_look_for_room(struct rank *rank) {
    static const struct gw_warm_up_limits limits = {.iterations = 60};
    const struct gw_worker *worker = &rank->executor->worker;
    size_t workers = rank->scenario->schedule.workers;
    struct gw_warmed_up warmed_up = warm_up(rank, limits);
    require(rank, warmed_up.ratio > 3, "it does not select more than it is asked for");
    for (size_t g = 0; g < rank->scenario->schedule.group_count; g++) {
        uint64_t most = rank->executor->outcome.extents[g].most;
        size_t bytes = most * sizeof(struct gw_entry);
        require(rank, worker->groups[g].sent.capacity >= bytes, "no room for what is sent");
        require(rank, worker->groups[g].received.capacity >= workers * bytes,
                "no room for what is received");
    }
    iterate(rank);
}

TEST(buffers_hold_all_selected_elements) {
    run_named("hard-threshold", 3, NULL, warm_up_and_look_for_room);
}
