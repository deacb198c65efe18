/*
 * Journals of interrupted calibrations, cut off anywhere, and files of other kinds in their place.
 */
#include "calibrate/measure/journal.h"
#include "calibrate/measure/points.h"
#include "calibrate/measure/timing.h"
#include "tests/test.h"

enum { SERIES = 2, BLOCKS = 12, REPEATS = 3 };

static const struct gw_stop_rule rule = {
    .precision = 0.02, .max_s_per_point = 10, .fewest_visits = 5, .seed = 1};
static const struct gw_journal_title title = {.request = 17, .hosts = 4, .point_count = 10};
static struct gw_series series[SERIES] = {
    {.workers = 2, .subject = {.name = "allgather", .smallest = 1024, .largest = 1 << 14}},
    {.workers = 4, .subject = {.name = "topk", .smallest = 1024, .largest = 1 << 14}}};

static void open_points(struct gw_points *points) {
    assert_ok(gw_points_open(series, SERIES, 2, points, NULL));
    assert_int_equal(points->count, title.point_count);
}

static enum gw_status open_journal(const char *path, const struct gw_journal_title *asked,
                                   bool resume, struct gw_points *points, struct gw_journal *out,
                                   struct gw_error *error) {
    open_points(points);
    return gw_journal_open(path, asked, resume, points, &rule, out, error);
}

/* Prints the reason of a failure. */
static void resume_journal(const char *path, struct gw_points *points, struct gw_journal *out) {
    struct gw_error error = {0};
    if (open_journal(path, &title, true, points, out, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
}

/* ---- one to cut ---------------------------------------------------------------------------- */

struct block {
    size_t point;
    struct gw_block repeats;
};

static void put_blocks(const char *path, struct block blocks[BLOCKS]) {
    struct gw_points points;
    struct gw_journal journal;
    struct gw_random *random = open_random(1);
    assert_ok(open_journal(path, &title, false, &points, &journal, NULL));
    points.items[4].state = points.items[9].state = GW_POINT_LEFT_OUT;
    assert_ok(gw_journal_put_chosen(&journal, &points, NULL));
    for (size_t b = 0; b < BLOCKS; b++) {
        blocks[b].point = (size_t)gw_random_below(random, 4);
        struct gw_block *repeats = &blocks[b].repeats;
        *repeats = (struct gw_block){.count = REPEATS, .late = b % 2, .skew_s = 1e-5 * (double)b};
        for (size_t i = 0; i < REPEATS; i++) {
            repeats->seconds[i] = 1e-4 * gw_random_noise(random, 1);
        }
        assert_ok(
            gw_journal_put_block(&journal, &points, blocks[b].point, repeats, (double)b, NULL));
    }
    gw_journal_close(&journal);
    gw_points_free(&points);
    gw_random_close(random);
}

static void write_bytes(const char *path, const char *text, size_t length) {
    FILE *stream = fopen(path, "we");
    assert_non_null(stream);
    assert_int_equal(fwrite(text, 1, length, stream), length);
    assert_int_equal(fclose(stream), 0);
}

static size_t count_lines(const char *text, size_t length) {
    size_t lines = 0;
    for (size_t i = 0; i < length; i++) {
        lines += text[i] == '\n';
    }
    return lines;
}

/* The points hold the first blocks, in their order, and nothing else. */
static void check_blocks(const struct gw_points *points, const struct block *blocks, size_t count) {
    size_t taken[16] = {0};
    double skew_s[16] = {0};
    for (size_t b = 0; b < count; b++) {
        const struct gw_measured_point *point = &points->items[blocks[b].point];
        size_t *at = &taken[blocks[b].point];
        assert_true(*at + REPEATS <= point->count);
        for (size_t i = 0; i < REPEATS; i++) {
            assert_true(near(point->seconds[*at + i], blocks[b].repeats.seconds[i], 1e-8));
        }
        skew_s[blocks[b].point] += blocks[b].repeats.skew_s;
        *at += REPEATS;
    }
    for (size_t p = 0; p < points->count; p++) {
        assert_int_equal(points->items[p].count, taken[p]);
        assert_true(near(points->items[p].skew_s, skew_s[p], 1e-8));
    }
}

/* ---- the tests ----------------------------------------------------------------------------- */

TEST_IN_FOLDER(cut_off_at_any_byte_it_holds_its_whole_lines) {
    const char *path = path_in(*state, "c.json.partial");
    struct block blocks[BLOCKS];
    char *whole = NULL;
    size_t length = 0;
    put_blocks(path, blocks);
    assert_ok(gw_file_read(path, &whole, &length, NULL));
    assert_int_equal(count_lines(whole, length), 4 + BLOCKS);
    for (size_t cut = 0; cut <= length; cut++) {
        struct gw_points points;
        struct gw_journal journal;
        size_t lines = count_lines(whole, cut);
        size_t held = lines > 4 ? lines - 4 : 0;
        write_bytes(path, whole, cut);
        resume_journal(path, &points, &journal);
        assert_int_equal(journal.chosen, lines >= 4);
        assert_true(journal.at_s == (held > 0 ? (double)(held - 1) : 0));
        assert_int_equal(points.items[9].state, lines >= 4 ? GW_POINT_LEFT_OUT : GW_POINT_OPEN);
        check_blocks(&points, blocks, held);
        /* It goes on where it was cut off. */
        if (!journal.chosen) {
            assert_ok(gw_journal_put_chosen(&journal, &points, NULL));
        }
        assert_ok(gw_journal_put_block(&journal, &points, 0, &blocks[0].repeats, 99, NULL));
        gw_journal_close(&journal);
        gw_points_free(&points);
        resume_journal(path, &points, &journal);
        assert_true(journal.chosen && journal.at_s == 99);
        assert_non_null(points.items[0].seconds);
        /* A choice that was cut off is forgotten: the next one, of no size, counts. */
        assert_int_equal(points.items[4].state, lines >= 4 ? GW_POINT_LEFT_OUT : GW_POINT_OPEN);
        gw_journal_close(&journal);
        gw_points_free(&points);
    }
    free(whole);
}

/* Keeps the lines before the first that is no JSON or of no known point. */
TEST_IN_FOLDER(damaged_lines_are_measured_again) {
    const char *path = path_in(*state, "c.json.partial");
    struct block blocks[BLOCKS];
    char *whole = NULL;
    size_t length = 0;
    put_blocks(path, blocks);
    assert_ok(gw_file_read(path, &whole, &length, NULL));
    for (size_t at = strcspn(whole, "\n") + 1; at < length; at += strcspn(whole + at, "\n") + 1) {
        for (size_t offset = 0; offset < 3; offset++) {
            struct gw_points points;
            struct gw_journal journal;
            size_t lines = count_lines(whole, at);
            char before = whole[at + offset];
            whole[at + offset] = '?';
            write_bytes(path, whole, length);
            whole[at + offset] = before;
            assert_ok(open_journal(path, &title, true, &points, &journal, NULL));
            assert_int_equal(journal.chosen, lines >= 4);
            check_blocks(&points, blocks, lines > 4 ? lines - 4 : 0);
            gw_journal_close(&journal);
            gw_points_free(&points);
        }
    }
    free(whole);
}

static void check_refused(const char *path, const struct gw_journal_title *asked, bool resume,
                          const char *why) {
    struct gw_points points;
    struct gw_journal journal;
    struct gw_error error;
    char *before = NULL;
    char *after = NULL;
    size_t length = 0;
    size_t left = 0;
    assert_ok(gw_file_read(path, &before, &length, NULL));
    assert_int_equal(open_journal(path, asked, resume, &points, &journal, &error), GW_BAD_INPUT);
    if (strstr(error.message, why) == NULL || strstr(error.message, path) == NULL) {
        print_error("%s\n", error.message);
        fail();
    }
    gw_points_free(&points);
    assert_ok(gw_file_read(path, &after, &left, NULL));
    assert_int_equal(left, length);
    assert_memory_equal(before, after, length);
    free(before);
    free(after);
}

TEST_IN_FOLDER(others_are_refused_and_left_alone) {
    const char *path = path_in(*state, "c.json.partial");
    struct block blocks[BLOCKS];
    struct gw_points points;
    struct gw_journal journal;
    const struct gw_journal_title other_hosts = {.request = 17, .hosts = 5, .point_count = 10};
    const struct gw_journal_title other_request = {.request = 1, .hosts = 4, .point_count = 10};
    put_blocks(path, blocks);
    check_refused(path, &title, false, "expected --resume");
    check_refused(path, &other_hosts, true, "one of other hosts");
    check_refused(path, &other_request, true, "one of other collectives");
    assert_ok(open_journal(path, &title, true, &points, &journal, NULL));
    check_refused(path, &title, true, "one that is still running");
    gw_journal_close(&journal);
    gw_points_free(&points);
    const char letter[] = "Dear all,\nthe cluster is down.\n";
    write_bytes(path, letter, sizeof letter - 1);
    check_refused(path, &title, true, "something else");
    check_refused(path, &title, false, "expected --resume");
    write_bytes(path, letter, 5);
    check_refused(path, &title, true, "something else");
    check_refused(path, &title, false, "expected --resume");
}

/* Begun anew without a word, whoever's it is, as long as nobody writes it. */
TEST_IN_FOLDER(one_without_measurements_is_in_nobodys_way) {
    const char *path = path_in(*state, "c.json.partial");
    struct block blocks[BLOCKS];
    struct gw_points points;
    struct gw_journal journal;
    char *whole = NULL;
    size_t length = 0;
    const struct gw_journal_title other = {.request = 1, .hosts = 5, .point_count = 10};
    put_blocks(path, blocks);
    assert_ok(gw_file_read(path, &whole, &length, NULL));
    for (size_t cut = 0; cut <= length; cut++) {
        write_bytes(path, whole, cut);
        if (count_lines(whole, cut) >= 4) {
            check_refused(path, &title, false, "expected --resume");
            cut += 50; /* the rest is alike */
            continue;
        }
        assert_ok(open_journal(path, &other, false, &points, &journal, NULL));
        assert_false(journal.chosen);
        check_blocks(&points, blocks, 0);
        check_refused(path, &title, false, "one that is still running");
        gw_journal_close(&journal);
        gw_points_free(&points);
        assert_ok(open_journal(path, &other, true, &points, &journal, NULL));
        gw_journal_close(&journal);
        gw_points_free(&points);
    }
    free(whole);
}

TEST_IN_FOLDER(a_journal_without_a_path_writes_nothing) {
    struct gw_points points;
    struct gw_journal journal;
    const struct gw_block block = {.count = 1, .seconds = {1}};
    assert_ok(open_journal(NULL, &title, true, &points, &journal, NULL));
    assert_ok(gw_journal_put_chosen(&journal, &points, NULL));
    assert_ok(gw_journal_put_block(&journal, &points, 0, &block, 1, NULL));
    gw_journal_close(&journal);
    gw_points_free(&points);
    assert_int_equal(count_entries(*state), 0);
}
