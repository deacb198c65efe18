#include "cli/cli.h"
#include "core/answer.h"

enum { MOST_FILES = 1000 };

struct options {
    struct gw_output_options output;
    size_t count;
    const char *files[MOST_FILES];
};

static void read_file(const char *argument, void *target) {
    struct options *options = target;
    if (options->count == MOST_FILES) {
        gw_refuse("expected at most %d files", MOST_FILES);
    }
    options->files[options->count++] = argument;
}

static const struct gw_option option_table[] = {
    {NULL, 0, "FILE", GW_CUSTOM, 0,
     .help = "Model, cluster, plan or other document, or the name of one that ships",
     .names = GW_NAMES_DATA, .read = read_file},
    {.kind = GW_INCLUDE, .offset = offsetof(struct options, output), .table = gw_reading_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {NULL, GW_NEEDS, "FILE", "expected a FILE: a model, cluster, plan or other document"},
    {0},
};

/* Checks each file; a bad one is also named on stderr, and the others are still checked. */
static int check_files(const struct options *options, struct gw_arena *arena,
                       struct gw_file_check *checks) {
    struct gw_error error = {0};
    int verdict = GW_OK;
    bool odd = false;
    for (size_t i = 0; i < options->count; i++) {
        if (gw_check_file(options->files[i], arena, &checks[i], &error) != GW_OK) {
            gw_option_turn_to("FILE", options->files[i]);
            for (size_t b = 0; b + 1 < checks[i].bad.count; b++) {
                gw_print_to(stderr, "gradweave: %s: %s\n", checks[i].path, checks[i].bad.texts[b]);
            }
            int failed = gw_cli_fail(&error);
            verdict = failed > verdict ? failed : verdict;
        }
        odd = odd || checks[i].odd.count > 0;
    }
    if (gw_print_checks(checks, options->count, options->output.json, &error) != GW_OK) {
        return gw_cli_fail(&error);
    }
    if (verdict == GW_BAD_INPUT) {
        gw_answer_stand();
    }
    return verdict == GW_OK && odd ? 1 : verdict;
}

static int run_check(void *values, char **argv) {
    static struct gw_file_check checks[MOST_FILES];
    struct gw_arena arena = {0};
    (void)argv;
    int verdict = check_files(values, &arena, checks);
    gw_arena_free(&arena);
    return verdict;
}

static struct options options;

const struct gw_verb gw_verb_check = {
    .name = "check",
    .title = "lists everything odd in a file, and the questions that it answers",
    .usage = "FILE..",
    .about = "Says all that is odd in files: unknown keys, costs faster or slower than "
             "anything is, units that look wrong; and what can be predicted from them.\vExit "
             "status 1: something is odd. 2: a file is bad input.",
    .options = option_table,
    .rules = rules,
    .values = &options,
    .run = run_check,
};
