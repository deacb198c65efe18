/* How often the executor's ranks communicate for each exchange, counted in front of the transport.
 */
#include "tests/exec/exec_scene.h"
#include "tests/support.h"

/* What one rank called in the iterations, in a job whose exchanges are counted. */
struct calls {
    size_t collectives, messages, message_bytes;
};
static struct calls calls[MOST_RANKS];

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

static void *run_counted(void *argument) {
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
    require(rank, gw_executor_iterate(executor, 0, &timeline, &error), &error,
            "an iteration failed");
    gw_timeline_free(&timeline);
    gw_executor_close(executor);
    return NULL;
}

/* Of one group: collectives of each rank, and messages of all together, for each other worker. */
static const struct {
    const char *algorithm;
    size_t collectives, messages_for_each;
} expected_calls[] = {
    {"dense", 1, 0}, {"topk", 1, 0},  {"randk", 1, 0},  {"gaussiank", 2, 0}, {"exdyna", 3, 0},
    {"clt-k", 2, 0}, {"gtopk", 1, 1}, {"gs-sgd", 2, 2}, {"ps", 2, 0},        {"sketched-sgd", 4, 0},
};

/* Two allgathers of each iteration are the executor's own, outside of the measured time. */
static void exchanges_take_the_calls_they_are_known_for(void **state) {
    (void)state;
    struct gw_transport counting = copy_of_healthy();
    counting.collect = count_collective;
    counting.start = count_message;
    for (size_t i = 0; i < sizeof expected_calls / sizeof *expected_calls; i++) {
        for (size_t workers = 1; workers <= MOST_WORKERS; workers++) {
            const struct gw_algorithm *algorithm = NULL;
            struct scene scene;
            size_t messages = 0;
            assert_int_equal(gw_algorithm_find(expected_calls[i].algorithm, &algorithm, NULL),
                             GW_OK);
            open_scene(&scene, algorithm, workers);
            memset(calls, 0, sizeof calls);
            run_ranks(&scene.schedule, &counting, run_counted);
            for (size_t r = 0; r < workers + (scene.schedule.server ? 1 : 0); r++) {
                assert_int_equal(calls[r].collectives, expected_calls[i].collectives + 2);
                messages += calls[r].messages;
            }
            assert_int_equal(messages, expected_calls[i].messages_for_each * (workers - 1));
            close_scene(&scene);
        }
    }
}

/* Bytes of the messages up the tree: the call's from each worker but one. */
static void trees_carry_what_the_schedule_says(void **state) {
    (void)state;
    static const char *const names[] = {"gtopk", "gs-sgd"};
    struct gw_transport counting = copy_of_healthy();
    counting.start = count_message;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (size_t workers = 1; workers <= MOST_WORKERS; workers++) {
            const struct gw_algorithm *algorithm = NULL;
            struct scene scene;
            size_t bytes = 0;
            assert_int_equal(gw_algorithm_find(names[i], &algorithm, NULL), GW_OK);
            open_scene(&scene, algorithm, workers);
            memset(calls, 0, sizeof calls);
            run_ranks(&scene.schedule, &counting, run_counted);
            for (size_t r = 0; r < workers; r++) {
                bytes += calls[r].message_bytes;
            }
            assert_int_equal(bytes,
                             (double)(workers - 1) * gw_schedule_bytes_per_worker(&scene.schedule));
            close_scene(&scene);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchanges_take_the_calls_they_are_known_for),
        cmocka_unit_test(trees_carry_what_the_schedule_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
