/*
 * Random schedules, as texts however they are written and as the writer writes them: read, they are
 * what the definition in goal/goal.h says, found the slow way; and failures of the writer leave no
 * file. (Damaged texts: tests/fuzz.)
 */
#include "goal/goal.h"
#include "tests/goal/goal_patterns.h"
#include "tests/test.h"

static struct gw_error error;

/* ---- random schedules ---------------------------------------------------------------------- */

/* Mostly small, sometimes the largest that is allowed. */
static uint64_t some_number(struct gw_random *random, uint64_t most) {
    uint32_t choice = below(random, 4);
    return choice == 0   ? 0
           : choice == 1 ? most
                         : gw_random_below(random, most < 100 ? most + 1 : 100);
}

static struct gw_goal_operation some_operation(struct gw_random *random, uint32_t rank_count) {
    struct gw_goal_operation result = {.kind = (uint8_t)(1 + below(random, 3)),
                                       .size = some_number(random, UINT64_MAX),
                                       .cpu = (uint8_t)some_number(random, UINT8_MAX)};
    if (result.kind != GW_GOAL_CALC) {
        bool any = result.kind == GW_GOAL_RECEIVE && below(random, 4) == 0;
        result.peer = any ? GW_GOAL_ANY : below(random, rank_count);
        result.tag = (uint32_t)some_number(random, UINT32_MAX);
        result.nic = (uint8_t)some_number(random, UINT8_MAX);
    }
    return result;
}

/* Makes a schedule of a few ranks, which stand in any order in the file; `starts`: some operations
 * wait for the start of others. */
static struct pattern make_model(struct gw_random *random, bool starts) {
    enum { MAX_RANKS = 5, MAX_OPERATIONS = 12 };
    struct pattern model = pattern_open(1 + below(random, MAX_RANKS));
    for (uint32_t rank = 0; rank < model.rank_count; rank++) {
        uint32_t count = below(random, MAX_OPERATIONS + 1);
        for (uint32_t i = 0; i < count; i++) {
            (void)add(&model, rank, some_operation(random, model.rank_count));
            for (uint32_t times = below(random, 3); times > 0; times--) {
                add_dependency(
                    &model, rank,
                    (struct pattern_dependency){.after = below(random, i + 1),
                                                .before = below(random, i + 1),
                                                .below = i,
                                                .at_start = starts && below(random, 3) == 0});
            }
        }
        uint32_t other = below(random, rank + 1);
        model.order[rank] = model.order[other];
        model.order[other] = rank;
    }
    return model;
}

static void expect_dependents(const struct pattern_rank *rank, uint32_t operation, bool at_start,
                              const struct gw_goal *goal, uint32_t first, uint32_t *next) {
    const uint32_t *dependents = gw_goal_dependents(goal, &goal->operations[first + operation]);
    for (size_t i = 0; i < rank->dependency_count; i++) {
        const struct pattern_dependency *dependency = &rank->dependencies[i];
        if (dependency->before == operation && dependency->at_start == at_start) {
            uint32_t expected = (first + dependency->after) | (at_start ? GW_GOAL_AT_START : 0);
            assert_int_equal(dependents[(*next)++], expected);
        }
    }
}

static void expect_operation(const struct gw_goal_operation *actual,
                             const struct pattern_rank *rank, uint32_t number) {
    const struct gw_goal_operation *expected = &rank->operations[number];
    uint32_t waits = 0;
    for (size_t i = 0; i < rank->dependency_count; i++) {
        waits += rank->dependencies[i].after == number;
    }
    assert_int_equal(actual->kind, expected->kind);
    assert_int_equal(actual->size, expected->size);
    assert_int_equal(actual->peer, expected->peer);
    assert_int_equal(actual->tag, expected->tag);
    assert_int_equal(actual->cpu, expected->cpu);
    assert_int_equal(actual->nic, expected->nic);
    assert_int_equal(actual->waits, waits);
    assert_int_equal(actual->state, 0);
}

static void expect_model(const struct gw_goal *goal, const struct pattern *model) {
    uint32_t index = 0;
    uint32_t cpus = 1;
    uint32_t nics = 1;
    assert_int_equal(goal->rank_count, model->rank_count);
    for (uint32_t i = 0; i < model->rank_count; i++) {
        const struct pattern_rank *rank = &model->ranks[model->order[i]];
        uint32_t first = index;
        assert_int_equal(goal->ranks[model->order[i]].first, first);
        assert_int_equal(goal->ranks[model->order[i]].count, rank->count);
        for (uint32_t j = 0; j < rank->count; j++, index++) {
            uint32_t next = 0;
            expect_operation(&goal->operations[index], rank, j);
            expect_dependents(rank, j, true, goal, first, &next);
            expect_dependents(rank, j, false, goal, first, &next);
            assert_int_equal(goal->operations[index].dependent_count, next);
            cpus = rank->operations[j].cpu >= cpus ? rank->operations[j].cpu + 1u : cpus;
            nics = rank->operations[j].nic >= nics ? rank->operations[j].nic + 1u : nics;
        }
    }
    assert_int_equal(goal->operation_count, index);
    assert_int_equal(goal->cpus, cpus);
    assert_int_equal(goal->nics, nics);
}

/* ---- as text ------------------------------------------------------------------------------- */

/* Random blanks; `needed`: at least one. */
static const char *blank(struct gw_random *random, bool needed) {
    static const char *const blanks[] = {
        " ",   "\t", "   ", " /* send 1b to } */ ", "/**/", "/***/", "/* a\n// b\r\n*/",
        "\r ", "",   ""};
    return blanks[below(random, needed ? 8 : 10)];
}

static const char *line_end(struct gw_random *random) {
    static const char *const ends[] = {"\n", "\n", "\r\n", " \n\n", "// } rank /*\n", "/* */\t\n"};
    return ends[below(random, 6)];
}

static void print_label(FILE *out, uint32_t operation) {
    static const char *const names[] = {"l", "send", "requires", "rank_", "tag", "A_0b", "calc9"};
    (void)fprintf(out, "%s%u", names[operation % 7], operation);
}

static void print_number(struct gw_random *random, FILE *out, uint64_t number, bool signless) {
    (void)fputs(blank(random, false), out);
    if (number == UINT32_MAX && !signless) {
        (void)fputs("-1", out);
    } else {
        (void)fprintf(out, "%s%llu", below(random, 8) == 0 ? "00" : "", (unsigned long long)number);
    }
    (void)fputs(blank(random, false), out);
}

static void print_option(struct gw_random *random, FILE *out, const char *name, uint32_t number,
                         bool signless) {
    if (number != 0 || below(random, 2) == 0) {
        (void)fputs(name, out);
        print_number(random, out, number, signless);
    }
}

static void print_options(struct gw_random *random, FILE *out,
                          const struct gw_goal_operation *operation) {
    uint32_t first = below(random, 3);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t option = (first + i) % 3;
        if (option == 0) {
            print_option(random, out, "cpu", operation->cpu, true);
        } else if (operation->kind != GW_GOAL_CALC && option == 1) {
            print_option(random, out, "tag", operation->tag, false);
        } else if (operation->kind != GW_GOAL_CALC) {
            print_option(random, out, "nic", operation->nic, true);
        }
    }
}

static void print_operation(struct gw_random *random, FILE *out,
                            const struct gw_goal_operation *operation) {
    static const char *const names[] = {"", "send", "recv", "calc"};
    (void)fprintf(out, "%s%s", names[operation->kind], blank(random, true));
    print_number(random, out, operation->size, true);
    if (operation->kind != GW_GOAL_CALC) {
        (void)fprintf(out, "b%s", blank(random, false));
        (void)fputs(operation->kind == GW_GOAL_SEND ? "to" : "from", out);
        print_number(random, out, operation->peer, false);
    }
    print_options(random, out, operation);
    (void)fputs(line_end(random), out);
}

static bool is_named(const struct pattern_rank *rank, uint32_t operation) {
    for (uint32_t i = 0; i < rank->dependency_count; i++) {
        if (rank->dependencies[i].after == operation || rank->dependencies[i].before == operation) {
            return true;
        }
    }
    return false;
}

static void print_rank(struct gw_random *random, FILE *out, const struct pattern_rank *rank) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < rank->count; i++) {
        (void)fputs(blank(random, false), out);
        if (is_named(rank, i) || below(random, 2) == 0) {
            print_label(out, i);
            (void)fprintf(out, "%s:%s", blank(random, false), blank(random, false));
        }
        print_operation(random, out, &rank->operations[i]);
        for (; next < rank->dependency_count && rank->dependencies[next].below == i; next++) {
            const struct pattern_dependency *dependency = &rank->dependencies[next];
            print_label(out, dependency->after);
            (void)fprintf(out, "%s%s%s", blank(random, true),
                          dependency->at_start ? "irequires" : "requires", blank(random, false));
            print_label(out, dependency->before);
            (void)fprintf(out, "%s%s", blank(random, false), line_end(random));
        }
    }
}

/* With blanks, comments and the order of options at random. The caller frees it. */
static char *print_model(struct gw_random *random, const struct pattern *model, size_t *length) {
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    assert_non_null(out);
    (void)fprintf(out, "%snum_ranks%s%u%s", blank(random, false), blank(random, true),
                  model->rank_count, blank(random, true));
    for (uint32_t i = 0; i < model->rank_count; i++) {
        (void)fprintf(out, "rank%s%u%s%s{%s", blank(random, true), model->order[i],
                      blank(random, false), below(random, 4) == 0 ? "\n" : "",
                      below(random, 4) == 0 ? " " : "\n");
        print_rank(random, out, &model->ranks[model->order[i]]);
        (void)fprintf(out, "}%s", line_end(random));
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

TEST(texts_mean_what_they_say) {
    struct gw_random *random = random_stream(1);
    for (int i = 0, trials = gw_trials(5000); i < trials; i++) {
        struct gw_goal goal;
        size_t length = 0;
        struct pattern model = make_model(random, true);
        char *text = print_model(random, &model, &length);
        if (read_goal_text(text, length, "f", &goal, &error) != GW_OK) {
            fail_msg("%s: %s", error.message, text);
        }
        expect_model(&goal, &model);
        pattern_close(&model);
        gw_goal_free(&goal);
        free(text);
    }
}

/* ---- as the writer writes them -------------------------------------------------------------- */

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
