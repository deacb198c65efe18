/* What gradweave runs, for other programs to run: GOAL. */
#include <string.h>

#include "cli/cli.h"

struct options {
    struct gw_output_options output;
    struct gw_question_options question;
    struct gw_choice_changes changes;
    struct gw_network_options network;
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
    {.kind = GW_INCLUDE, .offset = offsetof(struct options, changes), .table = gw_changes_table},
    {.kind = GW_INCLUDE,
     .offset = offsetof(struct options, network.choices),
     .table = gw_choices_table},
    {"loggp", 0, "PARAMETERS", GW_TEXT, offsetof(struct options, network.loggp),
     .help = "L=NS,o=NS,g=NS,O=NS,G=NS instead of the cluster's; O and G per byte"},
    {.kind = GW_INCLUDE, .table = gw_strict_table},
    {.kind = GW_INCLUDE, .table = gw_force_table},
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

/* What was exported: of that algorithm, for those parameters, and what is to be noted. */
struct exported {
    struct gw_algorithm algorithm;
    char loggp[GW_EXPORT_LOGGP_SIZE];
    struct gw_result notes;
};

static enum gw_status print(const struct options *options, const struct gw_question *question,
                            const struct exported *exported, struct gw_error *error) {
    char changed[GW_CHANGES_SIZE];
    if (!options->output.json) {
        gw_print("%s: %s%s, %zu workers; for --loggp %s\n", options->out, options->algorithm,
                 gw_changes_text(&options->changes, changed), question->workers, exported->loggp);
        gw_print_result_notes(&exported->notes);
        return GW_OK;
    }
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/export@1");
    gw_writer_text(&writer, "file", options->out);
    gw_writer_text(&writer, "algorithm", options->algorithm);
    gw_writer_changes(&writer, options->changes.policy, options->changes.compressor,
                      options->changes.exchange);
    gw_writer_number(&writer, "workers", (double)question->workers);
    gw_writer_text(&writer, "loggp", exported->loggp);
    return gw_print_written(&writer, error);
}

/* A schedule in GOAL has one set of parameters, and no links that several ranks share. */
static void note_nodes(const struct gw_question *question, struct gw_result *notes) {
    size_t nodes = gw_cluster_nodes(&question->cluster, question->workers);
    const struct gw_network *network = question->cluster.network;
    if (nodes < question->workers || (network != NULL && network->nodes_per_switch > 0)) {
        gw_result_note(notes, "GOAL has no nodes and switches: messages are as between nodes, and "
                              "wait for no one else's");
    }
}

static enum gw_status export_schedule(const struct options *options,
                                      const struct gw_question *question,
                                      const struct gw_schedule *schedule, struct exported *out,
                                      struct gw_error *error) {
    struct gw_simulation simulation = {.workers = question->workers,
                                       .level = GW_LEVEL_MESSAGES,
                                       .choice_count = options->network.choices.count,
                                       .choices = options->network.choices.each};
    struct gw_simulator *simulator = NULL;
    GW_TRY(gw_simulator_open(&simulator, schedule, &question->cluster, &simulation, &out->notes,
                             error));
    note_nodes(question, &out->notes);
    enum gw_status status = gw_simulator_export_goal(simulator, options->out, out->loggp, error);
    gw_simulator_close(simulator);
    return status;
}

static enum gw_status answer(const struct options *options, struct gw_question *question,
                             struct gw_error *error) {
    const struct gw_algorithm *preset = NULL;
    struct gw_network_options network = options->network;
    struct gw_pipeline pipeline;
    struct exported exported = {.loggp = ""};
    network.level = GW_LEVEL_MESSAGES;
    GW_TRY(gw_network_apply(&network, question, error));
    GW_TRY(gw_algorithm_find(options->algorithm, &preset, error));
    GW_TRY(gw_algorithm_change(preset, &options->changes, &exported.algorithm, error));
    GW_TRY(gw_pipeline_open(question, &exported.algorithm, NULL, &pipeline, error));
    enum gw_status status =
        export_schedule(options, question, &pipeline.schedule, &exported, error);
    gw_pipeline_close(&pipeline);
    return status == GW_OK ? print(options, question, &exported, error) : status;
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
