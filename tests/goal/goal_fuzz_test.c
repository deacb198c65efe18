/*
 * Random schedules: what the reader makes of them is what the definition says, however they are
 * written. (Damaged ones: tests/fuzz.)
 */
#include "goal/goal.h"
#include "tests/test.h"

#include "tests/goal/goal_model.h"

enum { cases = 5000 };

static struct gw_error error;

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
    for (int i = 0, trials = gw_trials(cases); i < trials; i++) {
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
