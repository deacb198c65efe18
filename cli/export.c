/* What gradweave runs, for other programs to run: GOAL. */
#include <string.h>

#include "cli/cli.h"

struct options {
    struct gw_output_options output;
    struct gw_question_options question;
    struct gw_choices choices;
    const char *format, *algorithm, *out;
};

enum { KEY_OUT = 2000 };

static const struct argp_option option_table[] = {
    {"algo", 'a', "ALGORITHM", 0, "The pipeline (see gradweave list algorithms)", 0},
    {"out", KEY_OUT, "FILE", 0, "Where to write the schedule", 0},
    {0},
};

static const struct argp_child children[] = {{&gw_question_argp, 0, NULL, 0},
                                             {&gw_choices_argp, 0, NULL, 0},
                                             {&gw_output_argp, 0, NULL, 0},
                                             {0}};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->question;
        state->child_inputs[1] = &options->choices;
        state->child_inputs[2] = &options->output;
        return 0;
    case 'a':
        options->algorithm = argument;
        return 0;
    case KEY_OUT:
        options->out = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (options->format != NULL) {
            return ARGP_ERR_UNKNOWN; /* the model */
        }
        if (strcmp(argument, "goal") != 0) {
            argp_error(state, "expected goal MODEL, the format and what to export, got \"%s\"",
                       argument);
        }
        options->format = argument;
        return 0;
    case ARGP_KEY_END:
        if (options->algorithm == NULL) {
            argp_error(state, "expected --algo ALGORITHM (gradweave list algorithms)");
        }
        if (options->out == NULL) {
            argp_error(state, "expected --out FILE");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "goal MODEL --cluster CLUSTER --algo ALGORITHM --out FILE",
    .doc = "Writes an iteration of a pipeline as a GOAL schedule: what every worker computes, and "
           "the messages that its collectives are made of.",
    .children = children,
};

static enum gw_status print(const struct options *options, const struct gw_question *question,
                            struct gw_error *error) {
    if (!options->output.json) {
        printf("%s: %s, %zu workers\n", options->out, options->algorithm, question->workers);
        return GW_OK;
    }
    cJSON *document = cJSON_CreateObject();
    bool complete = cJSON_AddStringToObject(document, "schema", "gradweave/export@1") != NULL &&
                    cJSON_AddStringToObject(document, "file", options->out) != NULL &&
                    cJSON_AddStringToObject(document, "algorithm", options->algorithm) != NULL &&
                    cJSON_AddNumberToObject(document, "workers", (double)question->workers) != NULL;
    return gw_print_filled(
        document, complete ? GW_OK : gw_fail_memory(error, "printing what was written"), error);
}

static enum gw_status export_schedule(const struct options *options,
                                      const struct gw_question *question,
                                      const struct gw_schedule *schedule, struct gw_error *error) {
    struct gw_simulation simulation = {.workers = question->workers,
                                       .choice_count = options->choices.count,
                                       .choices = options->choices.each};
    struct gw_simulator *simulator = NULL;
    GW_TRY(gw_simulator_open(&simulator, schedule, &question->cluster, &simulation, NULL, error));
    enum gw_status status = gw_simulator_export_goal(simulator, options->out, error);
    gw_simulator_close(simulator);
    return status;
}

static enum gw_status answer(const struct options *options, const struct gw_question *question,
                             struct gw_error *error) {
    const struct gw_algorithm *algorithm = NULL;
    struct gw_pipeline pipeline;
    GW_TRY(gw_choices_check(&options->choices, error));
    GW_TRY(gw_algorithm_find(options->algorithm, &algorithm, error));
    GW_TRY(gw_pipeline_open(question, algorithm, NULL, &pipeline, error));
    enum gw_status status = export_schedule(options, question, &pipeline.schedule, error);
    gw_pipeline_close(&pipeline);
    return status == GW_OK ? print(options, question, error) : status;
}

static int run(int argc, char **argv) {
    struct options options = {0};
    struct gw_question question;
    struct gw_error error = {0};
    gw_cli_parse(&argp, "export", argc, argv, &options);
    enum gw_status status = gw_question_open(&options.question, &question, &error);
    if (status == GW_OK) {
        status = answer(&options, &question, &error);
        gw_question_close(&question);
    }
    return status == GW_OK ? GW_OK : gw_cli_fail(&error);
}

const struct gw_verb gw_verb_export = {
    .name = "export", .title = "a pipeline's schedule as a file for other programs", .run = run};
