/* What gradweave runs, for other programs to run: GOAL. */
#include <string.h>

#include "cli/cli.h"

struct options {
    struct gw_output_options output;
    struct gw_question_options question;
    struct gw_choices choices;
    int format;
    const char *algorithm, *out;
};

static const char *const formats[] = {"goal", NULL};

static const struct gw_option option_table[] = {
    {NULL, 0, "FORMAT", GW_CHOICE, offsetof(struct options, format), .help = "The format",
     .choices = formats, .expected = "expected goal MODEL, the format and what to export, got"},
    {.kind = GW_INCLUDE, .offset = offsetof(struct options, question), .table = gw_question_table},
    {"algo", 'a', "ALGORITHM", GW_TEXT, offsetof(struct options, algorithm),
     .help = "The pipeline (see gradweave list algorithms)", .names = GW_NAMES_ALGORITHMS},
    {"out", 0, "FILE", GW_TEXT, offsetof(struct options, out),
     .help = "Where to write the schedule", .names = GW_NAMES_FILES},
    {.kind = GW_INCLUDE, .offset = offsetof(struct options, choices), .table = gw_choices_table},
    {.kind = GW_INCLUDE, .table = gw_strict_table},
    {.kind = GW_INCLUDE, .offset = offsetof(struct options, output), .table = gw_output_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    GW_NEEDS_MODEL("MODEL"),
    GW_NEEDS_CLUSTER("cluster"),
    {NULL, GW_NEEDS, "algo", "expected --algo ALGORITHM (gradweave list algorithms)"},
    {NULL, GW_NEEDS, "out", "expected --out FILE"},
    {0},
};

static enum gw_status print(const struct options *options, const struct gw_question *question,
                            struct gw_error *error) {
    if (!options->output.json) {
        gw_print("%s: %s, %zu workers\n", options->out, options->algorithm, question->workers);
        return GW_OK;
    }
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/export@1");
    gw_writer_text(&writer, "file", options->out);
    gw_writer_text(&writer, "algorithm", options->algorithm);
    gw_writer_number(&writer, "workers", (double)question->workers);
    return gw_print_written(&writer, error);
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

static enum gw_status open_and_answer(void *values, struct gw_error *error) {
    const struct options *options = values;
    struct gw_question question;
    GW_TRY(gw_question_open(&options->question, &question, error));
    enum gw_status status = answer(options, &question, error);
    gw_question_close(&question);
    return status;
}

static struct options options;

const struct gw_verb gw_verb_export = {
    .name = "export",
    .title = "a pipeline's schedule as a file for other programs",
    .usage = "goal MODEL --cluster CLUSTER --algo ALGORITHM --out FILE",
    .about =
        "Writes an iteration of a pipeline as a GOAL schedule: what every worker computes, and "
        "the messages that its collectives are made of.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one MODEL, got also",
    .values = &options,
    .answer = open_and_answer,
};
