#include <stdlib.h>
#include <string.h>

#include "cli/compare.h"
#include "plots/plots.h"

struct options {
    struct gw_output_options output;
    struct gw_question_options question;
    struct gw_choice_changes changes;
    const char *algorithms, *workers, *bandwidth, *out, *data;
    bool interference, trained;
};

enum { KEY_INTERFERENCE = 2000, KEY_BANDWIDTH, KEY_DATA, KEY_COUNTS };

static const struct argp_option option_table[] = {
    {"algo", 'a', "A[,B..]|all", 0, "The pipelines to compare (default all)", 0},
    {"interference", KEY_INTERFERENCE, 0, 0,
     "Let compression and exchanges that run at once slow each other, as the cluster says", 0},
    {"counts", KEY_COUNTS, "asked|trained", 0,
     "How many elements are selected where that depends on gradients: as asked (default), or "
     "trained with generated ones",
     0},
    {"bandwidth", KEY_BANDWIDTH, "B|VALUES", 0,
     "Of the network, such as 10gbit, 1gbit:100gbit, or 0.1x:10x of what was measured", 0},
    {"out", 'o', "FILE", 0, "Draw the crossovers: .png, .svg or .pdf", 0},
    {"data", KEY_DATA, "FILE.csv", 0, "Keep the crossovers' times", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->question;
        state->child_inputs[1] = &options->changes;
        state->child_inputs[2] = &options->output;
        return 0;
    case 'a':
        options->algorithms = argument;
        return 0;
    case KEY_INTERFERENCE:
        options->interference = true;
        return 0;
    case KEY_COUNTS:
        options->trained = strcmp(argument, "trained") == 0;
        if (!options->trained && strcmp(argument, "asked") != 0) {
            argp_error(state, "--counts: expected asked or trained, got \"%s\"", argument);
        }
        return 0;
    case KEY_BANDWIDTH:
        options->bandwidth = argument;
        return 0;
    case 'o':
        options->out = argument;
        return 0;
    case KEY_DATA:
        options->data = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&gw_question_argp, 0, NULL, 0},
                                             {&gw_changes_argp, 0, NULL, 0},
                                             {&gw_output_argp, 0, NULL, 0},
                                             {0}};

static const struct argp argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "MODEL --cluster CLUSTER",
    .doc = "Predicts an iteration of every pipeline and ranks them, the fastest first.\v"
           "With several numbers of workers (--workers 2:256 doubles them, 2:256:STEP and 2,4,16 "
           "are others) or several bandwidths it shows the fastest at each, and where another one "
           "takes over.",
    .children = children,
};

/* ---- answering ----------------------------------------------------------------------------- */

static enum gw_status rank(const struct options *options, const struct gw_contest *contest,
                           struct gw_error *error) {
    struct gw_ranking ranking;
    GW_TRY(gw_ranking_open(contest, &ranking, error));
    enum gw_status status = options->output.json ? gw_ranking_print_json(&ranking, error)
                                                 : gw_ranking_print(&ranking, error);
    gw_ranking_close(&ranking);
    return status;
}

static enum gw_status find_crossovers(const struct options *options,
                                      const struct gw_contest *contest,
                                      const struct gw_variation *variation,
                                      struct gw_error *error) {
    struct gw_crossovers crossovers;
    GW_TRY(gw_crossovers_open(contest, variation, &crossovers, error));
    enum gw_status status =
        options->out == NULL && options->data == NULL
            ? GW_OK
            : gw_crossovers_draw(&crossovers, options->out, options->data, error);
    if (status == GW_OK && options->output.json) {
        status = gw_crossovers_print_json(&crossovers, error);
    } else if (status == GW_OK) {
        gw_crossovers_print(&crossovers);
    }
    gw_crossovers_close(&crossovers);
    return status;
}

static enum gw_status answer(const struct options *options, const struct gw_question *question,
                             const struct gw_variation *bandwidth,
                             const struct gw_variation *varied, struct gw_error *error) {
    const struct gw_algorithm **algorithms = NULL;
    size_t count = 0;
    GW_TRY(gw_algorithms_parse(options->algorithms, &algorithms, &count, error));
    struct gw_contest contest = {.question = question,
                                 .algorithms = algorithms,
                                 .count = count,
                                 .changes = options->changes,
                                 .interference = options->interference,
                                 .trained = options->trained};
    gw_bandwidth_note(bandwidth, contest.note);
    enum gw_status status = varied == NULL ? rank(options, &contest, error)
                                           : find_crossovers(options, &contest, varied, error);
    free(algorithms);
    return status;
}

/* ---- what is varied ------------------------------------------------------------------------ */

enum { PARAMETERS = 2 };

static enum gw_status check_varied(const struct options *options, bool varied,
                                   struct gw_error *error) {
    if (options->trained && varied) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--counts trained: expected one value of --workers and --bandwidth with it");
    }
    const char *files[] = {options->out, options->data};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i] != NULL && !varied) {
            return gw_fail(error, GW_BAD_INPUT,
                           "%s: expected several values of --workers or --bandwidth with it",
                           i == 0 ? "--out" : "--data");
        }
        if (files[i] != NULL) {
            GW_TRY(i == 0 ? gw_plot_check(files[i], error) : GW_OK);
            GW_TRY(gw_file_check_target(files[i], error));
        }
    }
    return GW_OK;
}

/* A parameter with one value changes the question; one with several is what is varied. */
static enum gw_status apply_and_answer(const struct options *options,
                                       const struct gw_question *question,
                                       const struct gw_variation parameters[PARAMETERS],
                                       struct gw_error *error) {
    struct gw_question changed = *question;
    const struct gw_variation *varied = NULL;
    enum gw_status status = GW_OK;
    for (size_t i = 0; i < PARAMETERS && status == GW_OK; i++) {
        const struct gw_variation *one = &parameters[i];
        if (one->count > 1 && varied != NULL) {
            return gw_fail(error, GW_BAD_INPUT,
                           "--workers, --bandwidth: expected several values of one of them, got "
                           "%zu and %zu",
                           parameters[0].count, parameters[1].count);
        }
        varied = one->count > 1 ? one : varied;
        if (one->count == 1) {
            const struct gw_question before = changed;
            status = gw_variation_apply(one, one->values[0], &before, &changed, error);
        }
    }
    status = status == GW_OK ? check_varied(options, varied != NULL, error) : status;
    status = status == GW_OK ? answer(options, &changed, &parameters[1], varied, error) : status;
    gw_question_end_bandwidth(&changed, question);
    return status;
}

static enum gw_status open_and_answer(const struct options *options, struct gw_error *error) {
    struct gw_question question;
    struct gw_variation parameters[PARAMETERS] = {{0}};
    GW_TRY(gw_question_open(&options->question, &question, error));
    enum gw_status status =
        options->workers == NULL ? GW_OK : gw_workers_open(options->workers, &parameters[0], error);
    if (status == GW_OK && options->bandwidth != NULL) {
        status = gw_bandwidths_open(options->bandwidth, &question.cluster, &parameters[1], error);
    }
    if (status == GW_OK) {
        status = apply_and_answer(options, &question, parameters, error);
    }
    for (size_t i = 0; i < PARAMETERS; i++) {
        gw_variation_close(&parameters[i]);
    }
    gw_question_close(&question);
    return status;
}

static int run(int argc, char **argv) {
    struct options options = {.algorithms = "all"};
    struct gw_error error = {0};
    options.question.several_workers = &options.workers;
    gw_cli_parse(&argp, "compare", argc, argv, &options);
    enum gw_status status = open_and_answer(&options, &error);
    return status == GW_OK ? GW_OK : gw_cli_fail(&error);
}

const struct gw_verb gw_verb_compare = {
    .name = "compare", .title = "every pipeline, ranked", .run = run};
