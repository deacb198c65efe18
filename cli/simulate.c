#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

struct straggler {
    size_t worker;
    double factor;
};

struct options {
    struct gw_output_options output;
    struct gw_question_options question;
    const char *algorithm, *plan, *trace;
    size_t iterations;
    uint64_t seed;
    double noise;
    size_t straggler_count;
    struct straggler stragglers[64];
};

enum { KEY_PLAN = 2000, KEY_TRACE, KEY_NOISE, KEY_STRAGGLER };

static const struct argp_option option_table[] = {
    {"algo", 'a', "ALGORITHM", 0, "The pipeline to predict (see gradweave list algorithms)", 0},
    {"plan", KEY_PLAN, "PLAN.json", 0,
     "Groups from a plan file instead of the algorithm's own policy", 0},
    {"iterations", 'n', "N", 0, "Number of iterations (default 1)", 0},
    {"noise", KEY_NOISE, "SIGMA", 0, "Lognormal noise on every compute time, e.g. 0.05 (default 0)",
     0},
    {"straggler", KEY_STRAGGLER, "WORKER:FACTOR", 0,
     "A worker whose compute takes FACTOR times as long; can be repeated", 0},
    {"seed", 's', "S", 0, "Seed of the noise (default 1)", 0},
    {"trace", KEY_TRACE, "FILE", 0, "Write the timeline for ui.perfetto.dev", 0},
    {0},
};

static void add_straggler(struct options *options, const char *argument, struct argp_state *state) {
    char *end = NULL;
    unsigned long long worker = strtoull(argument, &end, 10);
    if (argument[0] < '0' || argument[0] > '9' || *end != ':' || worker > 1ULL << 53) {
        argp_error(state, "--straggler: expected WORKER:FACTOR such as 3:1.5, got \"%s\"",
                   argument);
    }
    if (options->straggler_count == sizeof options->stragglers / sizeof *options->stragglers) {
        argp_error(state, "--straggler: expected at most %zu of them", options->straggler_count);
    }
    options->stragglers[options->straggler_count++] =
        (struct straggler){.worker = (size_t)worker,
                           .factor = gw_parse_positive(end + 1, "--straggler", INFINITY, state)};
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->question;
        state->child_inputs[1] = &options->output;
        return 0;
    case 'a':
        options->algorithm = argument;
        return 0;
    case KEY_PLAN:
        options->plan = argument;
        return 0;
    case 'n':
        options->iterations = gw_parse_count(argument, "--iterations", state);
        return 0;
    case KEY_NOISE:
        options->noise = gw_parse_not_negative(argument, "--noise", state);
        return 0;
    case KEY_STRAGGLER:
        add_straggler(options, argument, state);
        return 0;
    case 's':
        options->seed = gw_parse_seed(argument, state);
        return 0;
    case KEY_TRACE:
        options->trace = argument;
        return 0;
    case ARGP_KEY_END:
        if (options->algorithm == NULL) {
            argp_error(state, "expected --algo ALGORITHM (gradweave list algorithms)");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "MODEL --cluster CLUSTER --algo ALGORITHM",
    .doc = "Predicts one iteration of a pipeline, event by event: how long it takes, and where the "
           "time goes.",
    .children = gw_question_children,
};

/* ---- answering ----------------------------------------------------------------------------- */

static void print_part(struct gw_table *table, const char *name, double seconds, double whole) {
    char text[GW_UNITS_SIZE];
    gw_table_cell(table, "%s", name);
    gw_table_cell(table, "%s", gw_format_seconds(seconds, text));
    gw_table_cell(table, "%.1f%%", whole > 0 ? 100 * seconds / whole : 0);
}

static void print_text(const struct gw_question *question, const struct gw_result *result) {
    static const char *const headings[] = {"part", "time", "share"};
    char text[GW_UNITS_SIZE];
    gw_print_heading(question);
    struct gw_table *table = gw_table_open(headings, "lrr");
    const struct gw_breakdown *parts = &result->breakdown;
    print_part(table, "forward", parts->forward_s, result->iteration_s);
    print_part(table, "backward", parts->backward_s, result->iteration_s);
    print_part(table, "compression", parts->compress_s, result->iteration_s);
    print_part(table, "exposed communication", parts->exposed_comm_s, result->iteration_s);
    print_part(table, "other", parts->other_s, result->iteration_s);
    print_part(table, "iteration", result->iteration_s, result->iteration_s);
    gw_table_print_and_close(table);
    if (result->iterations > 1) {
        printf("\nmean of %zu iterations, standard deviation %s\n", result->iterations,
               gw_format_seconds(result->iteration_sd_s, text));
    }
    printf("\n%s: %zu group%s", result->algorithm, result->groups, result->groups == 1 ? "" : "s");
    printf(", %s from each worker", gw_format_bytes(result->bytes_per_worker, text));
    printf(", network busy %s\n", gw_format_seconds(result->comm_s, text));
    gw_print_result_notes(result);
}

/* Per-worker factors from the options: NULL if all workers are alike. The caller frees. */
static enum gw_status make_slowdown(const struct options *options, size_t workers, double **out,
                                    struct gw_error *error) {
    *out = NULL;
    if (options->straggler_count == 0) {
        return GW_OK;
    }
    double *slowdown = malloc(workers * sizeof *slowdown);
    if (slowdown == NULL) {
        return gw_fail_memory(error, "simulating");
    }
    for (size_t worker = 0; worker < workers; worker++) {
        slowdown[worker] = 1;
    }
    for (size_t i = 0; i < options->straggler_count; i++) {
        if (options->stragglers[i].worker >= workers) {
            free(slowdown);
            return gw_fail(error, GW_BAD_INPUT,
                           "--straggler: expected a worker from 0 to %zu, got %zu", workers - 1,
                           options->stragglers[i].worker);
        }
        slowdown[options->stragglers[i].worker] = options->stragglers[i].factor;
    }
    *out = slowdown;
    return GW_OK;
}

static enum gw_status predict(const struct options *options, const struct gw_question *question,
                              const struct gw_pipeline *pipeline, struct gw_result *result,
                              struct gw_error *error) {
    double *slowdown = NULL;
    struct gw_timeline trace = {0};
    GW_TRY(make_slowdown(options, question->workers, &slowdown, error));
    struct gw_simulation simulation = {.workers = question->workers,
                                       .slowdown = slowdown,
                                       .compute_noise = options->noise,
                                       .seed = options->seed,
                                       .every_worker = options->trace != NULL};
    enum gw_status status =
        gw_pipeline_predict(question, pipeline, &simulation, options->iterations,
                            options->trace == NULL ? NULL : &trace, result, error);
    if (status == GW_OK && options->trace != NULL) {
        status = gw_timeline_write(&trace, options->trace, error);
    }
    gw_timeline_free(&trace);
    free(slowdown);
    return status;
}

static enum gw_status answer(const struct options *options, const struct gw_question *question,
                             const struct gw_plan *plan, struct gw_error *error) {
    const struct gw_algorithm *algorithm = NULL;
    struct gw_pipeline pipeline;
    struct gw_result result;
    GW_TRY(gw_algorithm_find(options->algorithm, &algorithm, error));
    enum gw_status status = gw_pipeline_open(question, algorithm, plan, &pipeline, error);
    if (status == GW_BAD_INPUT && plan != NULL) {
        gw_error_prefix(error, options->plan);
    }
    GW_TRY(status);
    status = predict(options, question, &pipeline, &result, error);
    if (status == GW_OK && options->output.json) {
        cJSON *document = NULL;
        status = gw_result_document(&result, &document, error);
        status = status == GW_OK ? gw_print_document(document, error) : status;
    } else if (status == GW_OK) {
        print_text(question, &result);
    }
    gw_pipeline_close(&pipeline);
    return status;
}

/* A plan brings its own density and workers; options that were given overrule them. */
static enum gw_status read_plan(struct options *options, struct gw_plan *plan,
                                struct gw_error *error) {
    struct gw_question_options *asked = &options->question;
    GW_TRY(gw_plan_read(options->plan, plan, error));
    bool sparse = strcmp(plan->compressor, "none") != 0;
    asked->workers = asked->workers > 0 ? asked->workers : plan->workers;
    if (asked->density > 0 && sparse) {
        plan->density = asked->density;
    } else if (sparse) {
        asked->density = plan->density;
    }
    return GW_OK;
}

static enum gw_status open_and_answer(struct options *options, struct gw_plan *plan,
                                      struct gw_error *error) {
    struct gw_question question;
    bool planned = options->plan != NULL;
    if (planned) {
        GW_TRY(read_plan(options, plan, error));
    }
    GW_TRY(gw_question_open(&options->question, &question, error));
    enum gw_status status =
        planned ? gw_plan_check(plan, &question.model, options->plan, error) : GW_OK;
    if (status == GW_OK) {
        status = answer(options, &question, planned ? plan : NULL, error);
    }
    gw_question_close(&question);
    return status;
}

static int run(int argc, char **argv) {
    struct options options = {.iterations = 1, .seed = 1};
    struct gw_error error = {0};
    struct gw_plan plan = {0};
    gw_cli_parse(&argp, "simulate", argc, argv, &options);
    enum gw_status status = open_and_answer(&options, &plan, &error);
    gw_plan_free(&plan);
    return status == GW_OK ? GW_OK : gw_cli_fail(&error);
}

const struct gw_verb gw_verb_simulate = {
    .name = "simulate", .title = "how long an iteration takes, and where it goes", .run = run};
