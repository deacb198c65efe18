/* Exports pipelines as GOAL schedules for other programs. */
#include "cli/cli.h"

struct options {
    struct gw_output_options output;
    struct gw_scenario_options scenario;
    struct gw_choice_changes changes;
    struct gw_network_options network;
    int format;
    const char *out;
};

static const char *const formats[] = {"goal", NULL};

static const struct gw_option option_table[] = {
    {NULL, 0, "FORMAT", GW_CHOICE, offsetof(struct options, format), .help = "The format",
     .choices = formats,
     .expected = "expected goal MODEL, the format and the model to export, got"},
    {.kind = GW_INCLUDE, .offset = offsetof(struct options, scenario), .table = gw_scenario_table},
    {"algo", 'a', "ALGORITHM", GW_TEXT, offsetof(struct options, scenario.plan.algorithm),
     .help = "The pipeline (see gradweave list algorithms)", .names = GW_NAMES_ALGORITHMS},
    {"plan", 0, "PLAN.json", GW_TEXT, offsetof(struct options, scenario.plan.path),
     .help = "Groups from a plan file instead of the algorithm's own policy; a mixed plan takes no "
             "--algo",
     .names = GW_NAMES_FILES},
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
    {NULL, GW_NEEDS, "algo plan",
     "expected --algo ALGORITHM (gradweave list algorithms), or --plan with a mixed plan"},
    {NULL, GW_NEEDS, "out", "expected --out FILE"},
    {0},
};

static enum gw_status answer_export(void *values, struct gw_error *error) {
    struct options *options = values;
    struct gw_scenario scenario;
    options->scenario.plan.changes = &options->changes;
    GW_TRY(gw_scenario_open(&options->scenario, &scenario, error));
    struct gw_goal_export export = {
        .scenario = &scenario,
        .algorithm = gw_plan_is_mixed(scenario.plan) ? GW_MIXED : options->scenario.plan.algorithm,
        .path = options->out,
        .changes = options->changes,
        .network = options->network};
    enum gw_status status = gw_goal_export(&export, error);
    if (status == GW_OK) {
        status = gw_print_export(&export, options->output.json, error);
    }
    gw_scenario_close(&scenario);
    return status;
}

static struct options options;

const struct gw_verb gw_verb_export = {
    .name = "export",
    .title = "writes a pipeline's schedule as a file for other programs",
    .usage = "goal MODEL --cluster CLUSTER --algo ALGORITHM --out FILE\n"
             "goal MODEL --cluster CLUSTER --plan PLAN.json --out FILE",
    .about = "Writes an iteration of a pipeline as a GOAL schedule: the compute of every worker, "
             "and the messages of its collectives.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one MODEL, got also",
    .values = &options,
    .answer = answer_export,
};
