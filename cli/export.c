/* Exports pipelines as GOAL schedules for other programs. */
#include "cli/cli.h"

struct options {
    struct gw_output_options output;
    struct gw_scenario_options scenario;
    struct gw_choice_changes changes;
    struct gw_network_options network;
    int format;
    const char *algorithm, *out;
};

static const char *const formats[] = {"goal", NULL};

static const struct gw_option option_table[] = {
    {NULL, 0, "FORMAT", GW_CHOICE, offsetof(struct options, format), .help = "The format",
     .choices = formats,
     .expected = "expected goal MODEL, the format and the model to export, got"},
    {.kind = GW_INCLUDE, .offset = offsetof(struct options, scenario), .table = gw_scenario_table},
    {"algo", 'a', "ALGORITHM", GW_TEXT, offsetof(struct options, algorithm),
     .help = "The pipeline (see gradweave list algorithms)", .names = GW_NAMES_ALGORITHMS},
    {"out", 0, "FILE", GW_TEXT, offsetof(struct options, out),
     .help = "Where to write the schedule", .names = GW_NAMES_FILES, .writes = true},
    {.kind = GW_INCLUDE, .offset = offsetof(struct options, changes), .table = gw_changes_table},
    {.kind = GW_INCLUDE,
     .offset = offsetof(struct options, network.choices),
     .table = gw_choices_table},
    {"loggp", 0, "PARAMETERS", GW_TEXT, offsetof(struct options, network.loggp),
     .help = "L=NS,o=NS,g=NS,O=NS,G=NS instead of the cluster's; O and G per byte"},
    {.kind = GW_INCLUDE, .offset = offsetof(struct options, output), .table = gw_writing_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    GW_NEEDS_MODEL("MODEL"),
    GW_NEEDS_CLUSTER("cluster"),
    {NULL, GW_NEEDS, "algo", "expected --algo ALGORITHM (gradweave list algorithms)"},
    {NULL, GW_NEEDS, "out", "expected --out FILE"},
    {0},
};

static enum gw_status answer_export(const struct options *options, struct gw_scenario *scenario,
                                    struct gw_error *error) {
    struct gw_goal_export export = {.scenario = scenario,
                                    .algorithm = options->algorithm,
                                    .path = options->out,
                                    .changes = options->changes,
                                    .network = options->network};
    GW_TRY(gw_goal_export(&export, error));
    return gw_print_export(&export, options->output.json, error);
}

static enum gw_status answer_export_scenario(void *values, struct gw_error *error) {
    const struct options *options = values;
    struct gw_scenario scenario;
    GW_TRY(gw_scenario_open(&options->scenario, &scenario, error));
    enum gw_status status = answer_export(options, &scenario, error);
    gw_scenario_close(&scenario);
    return status;
}

static struct options options;

const struct gw_verb gw_verb_export = {
    .name = "export",
    .title = "writes a pipeline's schedule as a file for other programs",
    .usage = "goal MODEL --cluster CLUSTER --algo ALGORITHM --out FILE",
    .about = "Writes an iteration of a pipeline as a GOAL schedule: the compute of every worker, "
             "and the messages of its collectives.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one MODEL, got also",
    .values = &options,
    .answer = answer_export_scenario,
};
