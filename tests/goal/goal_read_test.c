/*
 * GOAL texts: what they mean, what is refused and on which line, and that it does not matter where
 * the reader's pieces of a file end.
 */
#include "goal/run.h"
#include "tests/goal/goal_text.h"
#include "tests/test.h"

static struct gw_error error;

/* ---- meaning ------------------------------------------------------------------------------- */

static void print_dependents(FILE *out, const struct gw_goal *goal, uint32_t operation) {
    const uint32_t *dependents = gw_goal_dependents(goal, &goal->operations[operation]);
    for (uint32_t i = 0; i < goal->operations[operation].dependent_count; i++) {
        bool at_start = (dependents[i] & GW_GOAL_AT_START) != 0;
        (void)fprintf(out, " %u%s", dependents[i] & ~GW_GOAL_AT_START, at_start ? "s" : "");
    }
}

/*
 * "CPUS x NICS: FIRST+COUNT ...", the ranks, then of each operation "; KIND SIZE (PEER, TAG, CPU,
 * NIC) waits COUNT < DEPENDENT ...", with an s behind those that wait for its start.
 */
static char *show(const struct gw_goal *goal) {
    static const char *const names[] = {"?", "send", "recv", "calc"};
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    (void)fprintf(out, "%u x %u:", goal->cpus, goal->nics);
    for (uint32_t i = 0; i < goal->rank_count; i++) {
        (void)fprintf(out, " %u+%u", goal->ranks[i].first, goal->ranks[i].count);
    }
    for (uint32_t i = 0; i < goal->operation_count; i++) {
        const struct gw_goal_operation *x = &goal->operations[i];
        (void)fprintf(out, "; %s %llu (%d, %d, %u, %u) waits %u <", names[x->kind],
                      (unsigned long long)x->size, (int)x->peer, (int)x->tag, x->cpu, x->nic,
                      x->waits);
        print_dependents(out, goal, i);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

static void expect_meaning(const char *text, const char *expected) {
    struct gw_goal goal;
    enum gw_status status = read_goal_text(text, strlen(text), "f", &goal, &error);
    if (status != GW_OK) {
        fail_msg("%s: %s", text, error.message);
    }
    char *shown = show(&goal);
    assert_string_equal(shown, expected);
    free(shown);
    gw_goal_free(&goal);
}

TEST(words_are_as_long_as_they_can_be) {
    expect_meaning("num_ranks 1\nrank 0 {\nsend1: calc 1\nrank_: send1b to 0\nrequires:recv0b "
                   "from0\nrequires requires send1\ncalc_1:calc2\n}\n",
                   "1 x 1: 0+4; calc 1 (0, 0, 0, 0) waits 0 < 2; send 1 (0, 0, 0, 0) waits 0 <; "
                   "recv 0 (0, 0, 0, 0) waits 1 <; calc 2 (0, 0, 0, 0) waits 0 <");
}

/* ---- refusals (others: cases.txt) --------------------------------------------------------------
 */

static void expect_refusal(const char *text, size_t length, const char *message) {
    static const struct gw_goal nothing;
    struct gw_goal goal;
    assert_int_equal(read_goal_text(text, length, "f", &goal, &error), GW_BAD_INPUT);
    assert_int_equal(error.status, GW_BAD_INPUT);
    assert_string_equal(error.message, message);
    assert_memory_equal(&goal, &nothing, sizeof goal);
}

TEST(a_zero_byte_is_refused) {
    static const char zero[] = "num_ranks 1\n\0rank 0 {\n}";
    expect_refusal(zero, sizeof zero - 1,
                   "f:2: expected rank or the end of the file, got the byte 0x00");
}

TEST(labels_have_at_most_255_characters) {
    char label[257];
    char text[1024];
    memset(label, 'x', 256);
    label[255] = '\0';
    (void)snprintf(text, sizeof text, "num_ranks 1 rank 0 {\n%s: calc 1\n%s requires %s\n}", label,
                   label, label);
    expect_meaning(text, "1 x 1: 0+1; calc 1 (0, 0, 0, 0) waits 1 < 0");
    label[255] = 'x';
    label[256] = '\0';
    (void)snprintf(text, sizeof text, "num_ranks 1 rank 0 {\n%s: calc 1\n}", label);
    expect_refusal(text, strlen(text),
                   "f:2: expected a label of at most 255 characters, got "
                   "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...");
}

TEST_IN_FOLDER(files_that_cannot_be_read_are_bad_input) {
    struct gw_goal goal;
    const char *missing = path_in(*state, "missing");
    char message[600];
    (void)snprintf(message, sizeof message, "%s: cannot be read: No such file or directory",
                   missing);
    assert_int_equal(gw_goal_read(missing, &goal, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, message);
    (void)snprintf(message, sizeof message, "%s: cannot be read: Is a directory",
                   (const char *)*state);
    assert_int_equal(gw_goal_read(*state, &goal, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, message);
}

/* Both labels of each pair have the same 32-bit FNV-1a hash. */
TEST(labels_with_the_same_hash_are_told_apart) {
    expect_meaning("num_ranks 1\nrank 0 {\ndeclinate: calc 1\nmacallums: calc 2\ncostarring: calc "
                   "3\nliquid: calc 4\nliquid requires declinate\ncostarring requires macallums\n}",
                   "1 x 1: 0+4; calc 1 (0, 0, 0, 0) waits 0 < 3; calc 2 (0, 0, 0, 0) waits 0 < 2; "
                   "calc 3 (0, 0, 0, 0) waits 1 <; calc 4 (0, 0, 0, 0) waits 1 <");
}

/* In every rank, each operation but the first waits for the one with half its number. */
static char *make_ranks(int ranks, const int counts[2], size_t *length) {
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    assert_non_null(out);
    (void)fprintf(out, "num_ranks %d\n", ranks);
    for (int rank = 0; rank < ranks; rank++) {
        int count = counts[rank % 500 == 0 ? 0 : 1];
        (void)fprintf(out, "rank %d {\nl0: calc 0\n", rank);
        for (int i = 1; i < count; i++) {
            (void)fprintf(out, "l%d: calc %d\n", i, i);
        }
        for (int i = 1; i < count; i++) {
            (void)fprintf(out, "l%d requires l%d\n", i, i / 2);
        }
        (void)fputs("}\n", out);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Ranks with many labels and with few take turns. */
TEST(ranks_keep_their_labels_apart) {
    static const int counts[] = {3000, 3};
    size_t length = 0;
    char *text = make_ranks(2000, counts, &length);
    struct gw_goal goal;
    uint32_t dependents = 0;
    assert_int_equal(read_goal_text(text, length, "f", &goal, &error), GW_OK);
    for (uint32_t rank = 0; rank < goal.rank_count; rank++) {
        uint32_t first = goal.ranks[rank].first;
        for (uint32_t i = 0; i < goal.ranks[rank].count; i++) {
            const struct gw_goal_operation *operation = &goal.operations[first + i];
            assert_int_equal(operation->waits, i > 0);
            dependents += operation->dependent_count;
            for (uint32_t j = 0; j < operation->dependent_count; j++) {
                assert_int_equal((gw_goal_dependents(&goal, operation)[j] - first) / 2, i);
            }
        }
    }
    assert_int_equal(dependents, goal.operation_count - goal.rank_count);
    gw_goal_free(&goal);
    free(text);
}

/* ---- places -------------------------------------------------------------------------------- */

static void put_file(const char *path, const char *text) {
    assert_int_equal(gw_file_write(path, text, strlen(text), &error), GW_OK);
}

TEST_IN_FOLDER(places_name_the_line_and_the_operation) {
    const char *path = path_in(*state, "f.goal");
    char text[1200];
    char longest[256];
    memset(longest, 'y', 255);
    longest[255] = '\0';
    (void)snprintf(text, sizeof text,
                   "num_ranks 2\nrank 1 {\nl1: send 8b to 0 tag 5\n/*\n*/ l2: calc 1000 cpu 3\n"
                   "l2 requires l1\n}\nrank 0 {\nrecv 8b from -1 tag -1 nic 2 cpu 1\n"
                   "%s: recv 18446744073709551615b from 1 tag 4294967294 nic 255 cpu 255\n}\n",
                   longest);
    put_file(path, text);
    static const char *const expected[] = {
        "line 3: l1: send 8b to 0 tag 5",
        "line 5: l2: calc 1000 cpu 3",
        "line 9: recv 8b from -1 tag -1 cpu 1 nic 2",
        ("line 10: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...: recv 18446744073709551615b from 1 "
         "tag 4294967294 cpu 255 nic 255"),
    };
    for (uint32_t i = 0; i < 4; i++) {
        char message[512];
        (void)snprintf(message, sizeof message,
                       "%s: %s: expected times of at most 2^62 ns (146 years), got a later one",
                       path, expected[i]);
        assert_int_equal(gw_goal_fail_late(path, i, &error), GW_BAD_INPUT);
        assert_string_equal(error.message, message);
    }
    assert_int_equal(gw_goal_fail_late(path, 4, &error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "f.goal:12: expected more than 4 operations, got the end "
                                          "of the file"));
    assert_int_equal(gw_goal_fail_late(path_in(*state, "g"), 0, &error), GW_BAD_INPUT);
}

/* ---- pieces of a file ---------------------------------------------------------------------- */

/* Equal to the reader's; a change there makes this test pointless, not wrong. */
enum { piece = 256 * 1024, around = 1200 };

/* A text that begins `before` bytes before a piece's end, after a filling. */
static size_t fill(char *text, size_t filling, char with, size_t before, const char *body) {
    size_t length = filling - before;
    memset(text, with, length);
    memcpy(text, "//", with == ' ' ? 0 : 2);
    text[length - 1] = '\n';
    (void)strcpy(text + length, body);
    return length + strlen(body);
}

static void expect_everywhere(char with, size_t pieces) {
    static char text[2 * piece + 4 * around];
    static char body[around];
    char label[256];
    memset(label, 'z', 255);
    label[255] = '\0';
    (void)snprintf(
        body, sizeof body,
        "num_ranks 2 rank 0 {\nl1: send 8b /* x\n */ to 1 tag 4294967294 cpu 1\n"
        "%s: recv 18446744073709551615b from 1 // c\n%s requires l1\n%s irequires %s\n}\n"
        "rank 1 {\ncalc 12345\n}\n",
        label, label, label, label);
    for (size_t before = 0; before < around; before++) {
        size_t length = fill(text, pieces * piece, with, before, body);
        struct gw_goal goal;
        assert_int_equal(read_goal_text(text, length, "f", &goal, &error), GW_OK);
        char *shown = show(&goal);
        assert_string_equal(shown,
                            "2 x 1: 0+2 2+1; send 8 (1, -2, 1, 0) waits 0 < 1; recv "
                            "18446744073709551615 (1, 0, 0, 0) waits 2 < 1s; calc 12345 (0, 0, 0, "
                            "0) waits 0 <");
        free(shown);
        gw_goal_free(&goal);
        length = fill(text, pieces * piece, with, before, "\n\nnum_ranks 1\nrank 0 {\n!");
        expect_refusal(text, length, "f:6: expected an operation, a label or }, got !");
    }
}

TEST(pieces_may_end_anywhere) {
    expect_everywhere('x', 1);
    expect_everywhere(' ', 1);
    expect_everywhere(' ', 2);
}

TEST(zeros_without_end_are_no_number) {
    static char text[2 * piece];
    int start = snprintf(text, sizeof text, "num_ranks 1\nrank 0 {\ncalc ");
    memset(text + start, '0', sizeof text - (size_t)start);
    struct gw_goal goal;
    assert_int_equal(read_goal_text(text, sizeof text, "f", &goal, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, "f:3: expected cpu or the end of the line, got "
                                       "0000000000000000000000000000000000000000...");
}
