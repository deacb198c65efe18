/* Units and arrays against what a person would write and expect. */

#include <sys/resource.h>

#include "core/core.h"
#include "tests/test.h"

/* ---- units --------------------------------------------------------------------------------- */

static const char *format_margin(double relative, char out[GW_UNITS_SIZE]) {
    return gw_format_margin(relative, 1, out);
}

TEST(units_as_a_person_would_write_them) {
    const struct {
        const char *(*format)(double, char[GW_UNITS_SIZE]);
        double value;
        const char *text;
    } table[] = {
        {gw_format_seconds, 0, "0 s"},
        {gw_format_seconds, 1.5, "1.500 s"},
        {gw_format_seconds, 9.9996, "10.00 s"},
        {gw_format_seconds, 12345, "12345 s"},
        {gw_format_seconds, 1e300, "1.000e+300 s"},
        {gw_format_bytes, 1e300, "9.095e+287 TiB"},
        {gw_format_percent, 1e300, "+1.000e+302%"},
        {gw_format_seconds, 0.0123, "12.30 ms"},
        {gw_format_seconds, 0.99949, "999.5 ms"},
        {gw_format_seconds, 0.99999, "1.000 s"},
        {gw_format_seconds, 1e-6, "1.000 us"},
        {gw_format_seconds, 5e-10, "0.500 ns"},
        {gw_format_seconds, -0.002, "-2.000 ms"},
        {gw_format_bytes, 0, "0 B"},
        {gw_format_bytes, 1023, "1023 B"},
        {gw_format_bytes, 1024, "1.000 KiB"},
        {gw_format_bytes, 1048575, "1.000 MiB"},
        {gw_format_bytes, 102228128, "97.49 MiB"},
        {gw_format_bytes, 0x1.8p40, "1.500 TiB"},
        {gw_format_count, 0, "0"},
        {gw_format_count, 999, "999"},
        {gw_format_count, 1000, "1,000"},
        {gw_format_count, 25557032, "25,557,032"},
        {gw_format_count, -123456, "-123,456"},
        {gw_format_count, -1234567, "-1,234,567"},
        {gw_format_count, 1e25, "1e+25"},
        {gw_format_percent, 0.021, "+2.1%"},
        {gw_format_percent, -0.5, "-50.0%"},
        {gw_format_percent, 0, "+0.0%"},
        {format_margin, 0.203, "+-20.3%"},
        {format_margin, 0.994, "+-99.4%"},
        {format_margin, 0.9999, "within a factor of 2"},
        {format_margin, 1.3, "within a factor of 2.3"},
        {format_margin, 1000, "within a factor of 1001"},
        {gw_format_duration, 0, "0 s"},
        {gw_format_duration, 59.4, "59 s"},
        {gw_format_duration, 59.6, "1 min 0 s"},
        {gw_format_duration, 200, "3 min 20 s"},
        {gw_format_duration, 18779, "5 h 12 min"},
        {gw_format_duration, 198000, "2 d 7 h"},
        {gw_format_exactly, 0.1, "0.1"},
        {gw_format_exactly, 1.0 / 3, "0.3333333333333333"},
        {gw_format_exactly, 0.1 + 0.2, "0.30000000000000004"},
        {gw_format_exactly, 0x1p53, "9007199254740992"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char out[GW_UNITS_SIZE];
        assert_ptr_equal(table[i].format(table[i].value, out), out);
        assert_string_equal(out, table[i].text);
    }
}

/* ---- text for a terminal --------------------------------------------------------------------- */

/* Redirects a descriptor to a file; returns the text in it. */
static const char *capture_from(int descriptor, void (*print)(const char *text), const char *text) {
    static char got[512];
    FILE *file = tmpfile();
    assert_non_null(file);
    (void)fflush(stdout);
    int before = dup(descriptor);
    assert_true(dup2(fileno(file), descriptor) >= 0);
    print(text);
    (void)fflush(stdout);
    assert_true(dup2(before, descriptor) >= 0);
    (void)close(before);
    rewind(file);
    got[fread(got, 1, sizeof got - 1, file)] = '\0';
    (void)fclose(file);
    return got;
}

static const char *capture(void (*print)(const char *text), const char *text) {
    return capture_from(STDOUT_FILENO, print, text);
}

static void print_name(const char *name) {
    gw_print("%s\n", name);
}

static void print_narrow(const char *text) {
    gw_print_wrapped("note: ", text, 20);
}

TEST(control_characters_in_names_are_escaped) {
    static const struct {
        const char *name, *shown, *cell;
    } names[] = {
        {"resnet50", "resnet50\n", "resnet50"},
        {"\033[31mred\007", "\\x1b[31mred\\x07\n", "\\x1b[31mred\\x07"},
        {"a\rb\tc\177", "a\\x0db\\x09c\\x7f\n", "a\\x0db\\x09c\\x7f"},
        {"\302\2331m", "\\u009b1m\n", "\\u009b1m"},       /* the CSI of eight bits */
        {"\2331m\377", "\\x9b1m\\xff\n", "\\x9b1m\\xff"}, /* no UTF-8 */
        {"Übung µs", "Übung µs\n", "Übung µs"},
        {"a\u202eb\u200b\u2066\u2028", "a\\u202eb\\u200b\\u2066\\u2028\n",
         "a\\u202eb\\u200b\\u2066\\u2028"}, /* turned round, not to be seen, another line */
        {"\ufeff\U000e0041漢字🙂", "\\ufeff\\U000e0041漢字🙂\n",
         "\\ufeff\\U000e0041漢字🙂"},
        {"two\nlines", "two\\x0alines\n", "two\\x0alines"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char cell[64];
        assert_string_equal(capture(print_name, names[i].name), names[i].shown);
        gw_visible(names[i].name, cell, sizeof cell);
        assert_string_equal(cell, names[i].cell);
    }
    char little[6];
    gw_visible("abc\033d", little, sizeof little);
    assert_string_equal(little, "abc");
}

/* A bar that has been there for some time, with a long line and then a short one. */
static void show_progress(const char *name) {
    struct gw_progress progress = {.title = name, .started_s = gw_clock_now_s() - 5, .visible = 1};
    gw_progress_update(&progress, 0.5, "something long");
    progress.drawn_s -= 1;
    gw_progress_update(&progress, 0.5, "short");
    gw_progress_end(&progress);
}

TEST(names_agree_whatever_their_case_and_hyphens) {
    static const struct {
        const char *a, *b;
        bool agree;
    } pairs[] = {{"gpt2", "GPT-2", true},
                 {"resnet50", "ResNet50", true},
                 {"resnet50", "ResNet-50", true},
                 {"a100-40gb", "A100 40GB", true},
                 {"bert-large", "BERT_large", true},
                 {"v100", "p100", false},
                 {"25gbit", "2-5gbit", false},
                 {"1gbit", "-1gbit", false},
                 {"a100", "a10", false},
                 {"", "-", false}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (gw_names_agree(pairs[i].a, pairs[i].b) != pairs[i].agree) {
            fail_msg("%s and %s", pairs[i].a, pairs[i].b);
        }
    }
}

/* Another number names another thing; a number that is cut short may be a slip. */
TEST(the_nearest_name_has_no_other_number) {
    static const char *const names[] = {"resnet50",     "resnet152", "vgg16",      "omgs",
                                        "p102-1gbe-16", "bert-base", "bert-large", NULL};
    static const char *const texts[][2] = {{"resnt50", "resnet50"},
                                           {"RESNT50", "resnet50"},
                                           {"resnet5", "resnet50"},
                                           {"resnet18", NULL},
                                           {"vgg19", NULL},
                                           {"OMGSS", "omgs"},
                                           {"p102-1gb-16", "p102-1gbe-16"},
                                           {"BERT", "bert-base"},
                                           {"ber", NULL},
                                           {"resnet50", NULL}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *nearest = gw_find_nearest(texts[i][0], names);
        if ((nearest == NULL) != (texts[i][1] == NULL) ||
            (nearest != NULL && strcmp(nearest, texts[i][1]) != 0)) {
            fail_msg("%s: %s", texts[i][0], nearest == NULL ? "none" : nearest);
        }
    }
}

TEST(terminals_that_cannot_erase_get_no_erasing) {
    static const char *const dumb[] = {"dumb", "", NULL};
    for (size_t i = 0; i < sizeof dumb / sizeof *dumb; i++) {
        (void)(dumb[i] == NULL ? unsetenv("TERM") : setenv("TERM", dumb[i], 1));
        const char *drawn = capture_from(STDERR_FILENO, show_progress, "work");
        assert_null(strchr(drawn, '\033'));
        assert_non_null(strstr(drawn, "\rwork ["));
        assert_non_null(strstr(drawn, "short         \r")); /* the rest of the longer one */
    }
    (void)setenv("TERM", "xterm", 1);
    assert_non_null(strstr(capture_from(STDERR_FILENO, show_progress, "work"), "short\033[K"));
}

TEST(notes_are_as_wide_as_the_terminal) {
    assert_string_equal(capture(print_narrow, "a word that is short"),
                        "note: a word that is\n      short\n");
    assert_string_equal(capture(print_narrow, "incomprehensibilities at all"),
                        "note: incomprehensibilities\n      at all\n");
    assert_string_equal(capture(print_narrow, "ÄÄÄÄ öööö üüüü a"),
                        "note: ÄÄÄÄ öööö üüüü\n      a\n");
    assert_string_equal(capture(print_narrow, ""), "note: \n");
    assert_int_equal(gw_terminal_width(), 80); /* a test has none */
}

TEST(csv_is_quoted_where_it_must_be) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    static const char *const cells[] = {"plain", "", "a,b", "a\"b", "two\nlines", "\r", "\"\""};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        gw_csv_text(stream, cells[i]);
        (void)fputc('|', stream);
    }
    gw_csv_number(stream, 0.1 + 0.2);
    (void)fclose(stream);
    assert_string_equal(text, "plain||\"a,b\"|\"a\"\"b\"|\"two\nlines\"|\"\r\"|\"\"\"\"\"\"|"
                              "0.30000000000000004");
    free(text);
}

/* ---- arrays -------------------------------------------------------------------------------- */

TEST(arrays_grow) {
    size_t capacity = 0;
    size_t moves = 0;
    size_t *items = NULL;
    for (size_t i = 0; i < 10000; i++) {
        size_t before = capacity;
        items = gw_grow(items, i + 1, &capacity, sizeof *items);
        assert_non_null(items);
        assert_true(capacity > i);
        moves += capacity != before;
        items[i] = i;
    }
    assert_true(moves < 15);
    size_t before = capacity;
    assert_ptr_equal(gw_grow(items, capacity, &capacity, sizeof *items), items);
    assert_null(gw_grow(items, SIZE_MAX / 4, &capacity, sizeof *items));
    assert_int_equal(capacity, before);
    for (size_t i = 0; i < 10000; i++) {
        assert_int_equal(items[i], i);
    }
    items = gw_grow(items, 5 * before, &capacity, sizeof *items);
    assert_true(capacity >= 5 * before);
    free(items);
}

/* Writes its order of release into what it is given: 1 for the first. */
static int released;
static void release(void *object) {
    *(int *)object = ++released;
}

TEST(arenas_give_pieces_and_take_all_back) {
    enum { PIECES = 500 };
    struct gw_arena arena = {0};
    unsigned char *pieces[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        size_t bytes = i * i % 7919;
        pieces[i] = gw_arena_zeros(&arena, bytes, 1);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        for (size_t byte = 0; byte < bytes; byte++) {
            assert_int_equal(pieces[i][byte], 0);
            pieces[i][byte] = (unsigned char)i;
        }
    }
    for (size_t i = 0; i < PIECES; i++) {
        for (size_t byte = 0; byte < i * i % 7919; byte++) {
            assert_int_equal(pieces[i][byte], (unsigned char)i);
        }
    }
    assert_string_equal(gw_arena_text(&arena, "a group"), "a group");
    assert_string_equal(gw_arena_format(&arena, "%d of %s", 3, "4"), "3 of 4");
    assert_null(gw_arena_zeros(&arena, SIZE_MAX / 4, 8));
    int order[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        assert_ptr_equal(gw_arena_own(&arena, &order[i], release), &order[i]);
    }
    assert_null(gw_arena_own(&arena, NULL, release));
    gw_arena_free(&arena);
    assert_true(order[2] == 1 && order[1] == 2 && order[0] == 3);
    assert_non_null(gw_arena_zeros(&arena, 1, 1));
    gw_arena_free(&arena);
}

static long page_faults(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

TEST(zeros_that_are_in_memory) {
    const size_t bytes = 16 << 20, page = 4096;
    unsigned char *zeros = gw_resident_zeros(bytes);
    assert_non_null(zeros);
    assert_int_equal((uintptr_t)zeros % 64, 0);
    size_t set = 0;
    long before = page_faults();
    for (size_t i = 0; i < bytes; i++) {
        set += zeros[i];
        zeros[i] = 1;
    }
    assert_true(page_faults() - before < (long)(bytes / page / 10));
    assert_int_equal(set, 0);
    free(zeros);
    free(gw_resident_zeros(0));
    assert_null(gw_resident_zeros(SIZE_MAX));
}
