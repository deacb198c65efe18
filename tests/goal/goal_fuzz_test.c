/*
 * Random schedules: what the reader makes of them is what the definition says, however they are
 * written. Damaged, they are refused in words or read as a schedule that is whole, and nothing
 * crashes.
 */
#include "goal/goal.h"
#include "tests/test.h"

#include "tests/goal/goal_model.h"

enum { cases = 20000, room = 256 };

static struct gw_error error;

/* ---- as text ------------------------------------------------------------------------------- */

/* Where blanks may stand; `needed`: where something must. */
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

static bool is_named(const struct model_rank *rank, uint32_t operation) {
    for (uint32_t i = 0; i < rank->dependency_count; i++) {
        if (rank->dependencies[i].after == operation || rank->dependencies[i].before == operation) {
            return true;
        }
    }
    return false;
}

static void print_rank(struct gw_random *random, FILE *out, const struct model_rank *rank) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < rank->operation_count; i++) {
        (void)fputs(blank(random, false), out);
        if (is_named(rank, i) || below(random, 2) == 0) {
            print_label(out, i);
            (void)fprintf(out, "%s:%s", blank(random, false), blank(random, false));
        }
        print_operation(random, out, &rank->operations[i]);
        for (; next < rank->dependency_count && rank->dependencies[next].below == i; next++) {
            const struct model_dependency *dependency = &rank->dependencies[next];
            print_label(out, dependency->after);
            (void)fprintf(out, "%s%s%s", blank(random, true),
                          dependency->at_start ? "irequires" : "requires", blank(random, false));
            print_label(out, dependency->before);
            (void)fprintf(out, "%s%s", blank(random, false), line_end(random));
        }
    }
}

/* With blanks, comments and the order of options at random. The caller frees it. */
static char *print_model(struct gw_random *random, const struct model *model, size_t *length) {
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

/* ---- whole texts --------------------------------------------------------------------------- */

TEST(texts_mean_what_they_say) {
    struct gw_random *random = random_stream(1);
    for (int i = 0, trials = gw_trials(cases / 4); i < trials; i++) {
        struct model model;
        struct gw_goal goal;
        size_t length = 0;
        make_model(random, &model);
        char *text = print_model(random, &model, &length);
        if (gw_goal_parse(text, length, "f", &goal, &error) != GW_OK) {
            fail_msg("%s: %s", error.message, text);
        }
        expect_model(&goal, &model);
        gw_goal_free(&goal);
        free(text);
    }
}

/* ---- damage -------------------------------------------------------------------------------- */

/* Inserts `length` bytes at `at`; the text has room. */
static void insert(char *text, size_t *used, size_t at, const char *bytes, size_t length) {
    memmove(text + at + length, text + at, *used - at);
    memcpy(text + at, bytes, length);
    *used += length;
}

static void insert_token(struct gw_random *random, char *text, size_t *used, size_t at) {
    static const char *const tokens[] = {"send ",
                                         "recv ",
                                         "calc ",
                                         " requires ",
                                         " irequires ",
                                         "rank ",
                                         "num_ranks ",
                                         "{",
                                         "}",
                                         "\n",
                                         ":",
                                         "-1",
                                         "b to ",
                                         "b from ",
                                         " tag ",
                                         " cpu ",
                                         " nic ",
                                         "//",
                                         "/*",
                                         "*/",
                                         "l0",
                                         "l1: calc 1",
                                         "\r",
                                         "0",
                                         "256",
                                         "\xff",
                                         "_",
                                         "4294967295",
                                         "18446744073709551616"};
    const char *token = tokens[below(random, sizeof tokens / sizeof *tokens)];
    insert(text, used, at, token, strlen(token));
}

static void damage(struct gw_random *random, char *text, size_t *used) {
    size_t at = below(random, (uint32_t)*used);
    size_t most = *used - at < 16 ? *used - at : 16;
    size_t length = 1 + below(random, (uint32_t)most);
    char bytes[16];
    switch (below(random, 6)) {
    case 0:
        text[at] = (char)(text[at] ^ (1 << below(random, 8)));
        break;
    case 1:
        insert_token(random, text, used, at);
        break;
    case 2:
        memcpy(bytes, text + at, length);
        insert(text, used, below(random, (uint32_t)*used), bytes, length);
        break;
    case 3:
        text[at] = (char)below(random, 256);
        break;
    case 4:
        *used = at + 1;
        break;
    default:
        memmove(text + at, text + at + length, *used - at - length);
        *used -= *used > length ? length : 0;
    }
}

/* ---- what must hold ------------------------------------------------------------------------ */

static size_t accepted;
static const char *subject; /* the text that is judged, for messages */
static int subject_length;

static void expect(bool truth, const char *what) {
    if (!truth) {
        fail_msg("%s; the error: %s; the text: %.*s", what, error.message, subject_length, subject);
    }
}

static void check_operations(const struct gw_goal *goal) {
    for (uint32_t i = 0; i < goal->operation_count; i++) {
        const struct gw_goal_operation *operation = &goal->operations[i];
        bool any = operation->kind == GW_GOAL_RECEIVE && operation->peer == GW_GOAL_ANY;
        expect(operation->kind >= GW_GOAL_SEND && operation->kind <= GW_GOAL_CALC, "a kind");
        expect(any || operation->peer < goal->rank_count, "a peer");
        expect(operation->cpu < goal->cpus && operation->nic < goal->nics, "a cpu or a nic");
        expect(operation->state == 0, "a state");
    }
}

/* Dependents are of the same rank, starts first, and together as many as operations wait for. */
static void check_dependents(const struct gw_goal *goal, const struct gw_goal_rank *rank) {
    uint32_t waits = 0;
    uint32_t dependents = 0;
    for (uint32_t i = rank->first; i < rank->first + rank->count; i++) {
        bool ends = false;
        waits += goal->operations[i].waits;
        dependents += goal->operations[i].dependent_count;
        const uint32_t *list = gw_goal_dependents(goal, &goal->operations[i]);
        for (uint32_t j = 0; j < goal->operations[i].dependent_count; j++) {
            uint32_t dependent = list[j] & ~GW_GOAL_AT_START;
            bool at_start = dependent != list[j];
            expect(dependent - rank->first < rank->count, "a dependent in another rank");
            expect(!at_start || !ends, "a start behind an end");
            expect(goal->operations[dependent].waits > 0, "a dependent that does not wait");
            ends = !at_start;
        }
    }
    expect(waits == dependents, "a number of waits");
}

static void check_goal(const struct gw_goal *goal) {
    uint64_t count = 0;
    expect(goal->rank_count > 0, "a rank");
    for (uint32_t i = 0; i < goal->rank_count; i++) {
        const struct gw_goal_rank *rank = &goal->ranks[i];
        expect(rank->first <= goal->operation_count, "a first operation");
        count += rank->count;
        check_dependents(goal, rank);
    }
    expect(count == goal->operation_count, "operations outside ranks");
    check_operations(goal);
}

static void judge(const char *text, size_t length) {
    static const struct gw_goal nothing;
    struct gw_goal goal;
    subject = text;
    subject_length = (int)length;
    error = (struct gw_error){0};
    enum gw_status status = gw_goal_parse(text, length, "f", &goal, &error);
    if (status == GW_OK) {
        accepted++;
        check_goal(&goal);
        gw_goal_free(&goal);
        return;
    }
    expect(status == GW_BAD_INPUT && error.status == GW_BAD_INPUT, "another status");
    expect(strncmp(error.message, "f:", 2) == 0 && error.message[2] >= '1' &&
               error.message[2] <= '9',
           "a message without the line");
    expect(strstr(error.message, ": expected ") != NULL, "a message that does not help");
    expect(strstr(error.message, ", got ") != NULL, "a message that says half");
    expect(memcmp(&goal, &nothing, sizeof goal) == 0, "a refused schedule that holds something");
}

/* In memory of exactly its size, so that reading past its end shows. */
static void judge_copy(const char *text, size_t length) {
    char *copy = malloc(length == 0 ? 1 : length);
    assert_non_null(copy);
    memcpy(copy, text, length);
    judge(copy, length);
    free(copy);
}

TEST(damaged_texts_are_refused_or_whole) {
    struct gw_random *random = random_stream(2);
    int trials = gw_trials(cases);
    accepted = 0;
    for (int i = 0; i < trials; i++) {
        struct model model;
        size_t length = 0;
        make_model(random, &model);
        char *printed = print_model(random, &model, &length);
        char *text = malloc(length + room);
        assert_non_null(text);
        memcpy(text, printed, length);
        for (uint32_t times = below(random, 4); times > 0; times--) {
            damage(random, text, &length);
        }
        judge_copy(text, length);
        free(text);
        free(printed);
    }
    print_message("%zu of %d texts accepted\n", accepted, trials);
    assert_in_range(accepted, trials / 4, 3 * trials / 4);
}
