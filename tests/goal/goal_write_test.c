/* Schedules written line by line: read back they are the same, and failures leave no file. */
#include "goal/goal.h"
#include "tests/test.h"

#include "tests/goal/goal_model.h"

static struct gw_error error;

static void write_model_rank(struct gw_goal_writer *writer, const struct pattern_rank *rank) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < rank->count; i++) {
        assert_int_equal(gw_goal_write_operation(writer, &rank->operations[i]), i + 1);
        for (; next < rank->dependency_count && rank->dependencies[next].below == i; next++) {
            const struct pattern_dependency *dependency = &rank->dependencies[next];
            gw_goal_write_requires(writer, dependency->after + 1, dependency->before + 1);
        }
    }
}

static struct gw_goal_writer *begin(const char *path, uint32_t rank_count) {
    struct gw_goal_writer *writer = NULL;
    assert_int_equal(gw_goal_writer_open(&writer, path, rank_count, &error), GW_OK);
    return writer;
}

TEST_IN_FOLDER(written_schedules_are_read_back) {
    const char *path = path_in(*state, "f.goal");
    struct gw_random *random = random_stream(1);
    for (int i = 0, trials = gw_trials(100); i < trials; i++) {
        struct gw_goal goal;
        struct pattern model = make_model(random, false); /* writers know waiting for ends alone */
        struct gw_goal_writer *writer = begin(path, model.rank_count);
        for (uint32_t j = 0; j < model.rank_count; j++) {
            assert_int_equal(gw_goal_write_rank(writer, model.order[j], &error), GW_OK);
            write_model_rank(writer, &model.ranks[model.order[j]]);
        }
        assert_int_equal(gw_goal_writer_close(writer, &error), GW_OK);
        if (gw_goal_read(path, &goal, &error) != GW_OK) {
            fail_msg("%s", error.message);
        }
        expect_model(&goal, &model);
        pattern_close(&model);
        gw_goal_free(&goal);
    }
    assert_int_equal(count_entries(*state), 1);
}

static void write_something(struct gw_goal_writer *writer) {
    assert_int_equal(gw_goal_write_rank(writer, 0, &error), GW_OK);
    uint32_t sent = gw_goal_write_operation(
        writer, &(struct gw_goal_operation){.kind = GW_GOAL_SEND, .size = 1000, .peer = 1});
    uint32_t done = gw_goal_write_operation(
        writer, &(struct gw_goal_operation){
                    .kind = GW_GOAL_CALC, .size = UINT64_MAX, .cpu = 255, .nic = 1});
    gw_goal_write_requires(writer, done, sent);
    assert_int_equal(gw_goal_write_rank(writer, 1, &error), GW_OK);
    uint32_t received = gw_goal_write_operation(
        writer, &(struct gw_goal_operation){
                    .kind = GW_GOAL_RECEIVE, .peer = GW_GOAL_ANY, .tag = GW_GOAL_ANY, .nic = 1});
    assert_int_equal(received, 1);
}

static const char something[] = "num_ranks 2\n"
                                "\n"
                                "rank 0 {\n"
                                "l1: send 1000b to 1 tag 0\n"
                                "l2: calc 18446744073709551615 cpu 255\n"
                                "l2 requires l1\n"
                                "}\n"
                                "\n"
                                "rank 1 {\n"
                                "l1: recv 0b from -1 tag -1 nic 1\n"
                                "}\n";

static void expect_file(const char *path, const char *expected) {
    char *text = NULL;
    size_t length = 0;
    assert_int_equal(gw_file_read(path, &text, &length, &error), GW_OK);
    assert_string_equal(text, expected);
    free(text);
}

TEST_IN_FOLDER(the_file_is_there_once_it_is_whole) {
    const char *path = path_in(*state, "f.goal");
    assert_int_equal(gw_file_write(path, "old", 3, &error), GW_OK);
    struct gw_goal_writer *writer = begin(path, 2);
    write_something(writer);
    expect_file(path, "old");
    assert_int_equal(gw_goal_writer_close(writer, &error), GW_OK);
    expect_file(path, something);
    assert_int_equal(count_entries(*state), 1);
}

TEST_IN_FOLDER(discarded_writers_leave_no_file) {
    struct gw_goal_writer *writer = begin(path_in(*state, "f.goal"), 2);
    write_something(writer);
    assert_int_equal(count_entries(*state), 1);
    gw_goal_writer_discard(writer);
    gw_goal_writer_discard(NULL);
    assert_int_equal(count_entries(*state), 0);
}

TEST_IN_FOLDER(files_that_cannot_be_made_are_reported_at_once) {
    struct gw_goal_writer *writer = NULL;
    const char *path = path_in(*state, "missing/f.goal");
    char message[600];
    (void)snprintf(message, sizeof message, "%s: cannot be written: No such file or directory",
                   path);
    assert_int_equal(gw_goal_writer_open(&writer, path, 2, &error), GW_FAILED);
    assert_string_equal(error.message, message);
    assert_null(writer);
}

/* The device /dev/full is a disk that is always full. */
TEST(a_full_disk_is_reported) {
    static const char expected[] = "/dev/full: cannot be written: No space left on device";
    struct gw_goal_writer *writer = begin("/dev/full", 2);
    write_something(writer);
    assert_int_equal(gw_goal_writer_close(writer, &error), GW_FAILED);
    assert_string_equal(error.message, expected);
    writer = begin("/dev/full", UINT32_MAX);
    enum gw_status status = GW_OK;
    uint32_t rank = 0;
    for (; status == GW_OK && rank < 1000000; rank++) {
        status = gw_goal_write_rank(writer, rank, &error);
    }
    assert_int_equal(status, GW_FAILED);
    assert_in_range(rank, 1000, 100000);
    assert_string_equal(error.message, expected);
    gw_goal_writer_discard(writer);
}
