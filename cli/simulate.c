#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/making.h"
#include "kernels/gradients/emulation.h"
#include "report/sweep.h"

/* ---- options --------------------------------------------------------------------------------- */

struct options {
    struct gw_output_options output;
    struct gw_scenario_options scenario;
    struct gw_making_options made;
    struct gw_choice_changes changes;
    struct gw_heterogeneity heterogeneity;
    struct gw_network_options network;
    struct gw_counts_source counts;
    const char *trace, *goal;
    const char *bandwidth; /* of the whole network; NULL: as it is */
    size_t iterations;
};

/* Adds a numbered factor such as "3:1.5"; `option` is the name without "--". */
static void add_factor(struct gw_numbered_factors *factors, const char *argument,
                       const char *option, const char *example) {
    char *end = NULL;
    unsigned long long number = strtoull(argument, &end, 10);
    if (argument[0] < '0' || argument[0] > '9' || *end != ':' || number > 1ULL << 53) {
        gw_refuse("--%s: expected %s, got \"%s\"", option, example, argument);
    }
    if (factors->count == GW_MAX_FACTORS) {
        gw_refuse("--%s: expected at most %d of them", option, GW_MAX_FACTORS);
    }
    factors->each[factors->count].number = (size_t)number;
    factors->each[factors->count++].factor = gw_parse_factor(end + 1, option);
}

static void read_straggler(const char *argument, void *target) {
    add_factor(target, argument, "straggler", "WORKER:FACTOR such as 3:1.5");
}

/* Reads a bandwidth of a node or of the whole network; `target` is the struct of all options. */
static void read_bandwidth(const char *argument, void *target) {
    struct options *options = target;
    bool of_node = argument[strspn(argument, "0123456789")] == ':';
    bool has_unit = strpbrk(argument, "xXbB") != NULL; /* a factor's or a rate's */
    if (of_node || !has_unit) {
        add_factor(&options->heterogeneity.bandwidths, argument, "bandwidth",
                   "NODE:FACTOR such as 3:0.5, or of the whole network a rate such as 10gbit or a "
                   "factor such as 0.5x");
    } else {
        options->bandwidth = argument;
    }
}

static const char *const levels[] = {
    [GW_LEVEL_CURVES] = "curves", [GW_LEVEL_MESSAGES] = "messages", NULL};

/* Reads a level of simulation or a link's name; `target` is the struct of all options. */
static void read_network(const char *argument, void *target) {
    struct options *options = target;
    for (int i = 0; levels[i] != NULL; i++) {
        if (strcmp(levels[i], argument) == 0) {
            options->network.level = (enum gw_network_level)i;
            return;
        }
    }
    options->made.cluster.network = argument;
}

/* Refuses a link's name without --nodes, since a cluster that is read has its own links. */
static void check_network(void *values) {
    const struct options *options = values;
    const char *link = options->made.cluster.network;
    if (link != NULL && options->made.cluster.nodes == 0) {
        gw_refuse("--network: expected curves or messages, or with --nodes N a link, got \"%s\"",
                  link);
    }
}

#define IN(member) offsetof(struct options, member)

static const char *const distributions[] = {"none", "lognormal", "normal", "sample", NULL};

static const struct gw_option option_table[] = {
    {.kind = GW_INCLUDE, .offset = IN(scenario), .table = gw_any_model_table},
    {.kind = GW_INCLUDE, .offset = IN(scenario), .table = gw_cluster_table},
    {.kind = GW_INCLUDE, .offset = IN(scenario), .table = gw_workers_table},
    {.kind = GW_INCLUDE, .offset = IN(made), .table = gw_making_but_network_table},
    {"network", 0, "LEVEL|LINK", GW_CUSTOM, 0,
     .help = "Model of exchanges: measured curves, or messages that queue for links; or the link "
             "between the machines of a cluster that is made (see gradweave list "
             "links); can be given for both",
     .otherwise = "curves", .names = GW_NAMES_LEVELS_OR_LINKS, .read = read_network},
    {.kind = GW_INCLUDE, .offset = IN(scenario.micro_batches), .table = gw_accumulate_table},
    {"algo", 'a', "ALGORITHM", GW_TEXT, IN(scenario.plan.algorithm),
     .help = "The pipeline to predict (see gradweave list algorithms)",
     .names = GW_NAMES_ALGORITHMS},
    {.kind = GW_INCLUDE, .offset = IN(changes), .table = gw_changes_table},
    {"plan", 0, "PLAN.json", GW_TEXT, IN(scenario.plan.path),
     .help =
         "Groups from a plan file instead of the algorithm's own policy; a mixed plan also says "
         "how each of them travels, and takes no --algo",
     .names = GW_NAMES_FILES},
    {"iterations", 'n', "N", GW_COUNT, IN(iterations), .help = "Number of iterations",
     .value = "1"},
    {"noise", 0, "NOISE", GW_TEXT, IN(heterogeneity.noise),
     .help = "Noise on every compute time: none, SIGMA or lognormal:SIGMA, normal:SIGMA, "
             "sample:FILE; SIGMA is at most 10",
     .otherwise = "none", .choices = distributions},
    {"network-noise", 0, "NOISE", GW_TEXT, IN(heterogeneity.network_noise),
     .help = "The same on every exchange's time", .otherwise = "none", .choices = distributions},
    {"straggler", 0, "WORKER:FACTOR", GW_CUSTOM, IN(heterogeneity.stragglers),
     .help = "A worker whose compute takes FACTOR times as long, from 1e-6 to 1e6; can be repeated",
     .read = read_straggler},
    {"bandwidth", 0, "NODE:FACTOR|B", GW_CUSTOM, 0,
     .help = "Factor on a node's bandwidth, from 1e-6 to 1e6, which can be repeated; or bandwidth "
             "of the whole network, such as 10gbit, or 0.5x of the measured one",
     .read = read_bandwidth},
    {"background", 0, "FRACTION", GW_NOT_NEGATIVE, IN(heterogeneity.background),
     .help = "Share of every link that other traffic takes", .value = "0", .maximum = GW_BELOW_1,
     .expected = "a share of at least 0 and below 1"},
    {"seed", 's', "S", GW_INTEGER, IN(heterogeneity.seed), .help = "Seed of the noise",
     .value = "1"},
    {"threads", 0, "T", GW_COUNT, IN(heterogeneity.threads),
     .help = "Threads that share iterations and workers", .otherwise = "one for each core",
     .maximum = GW_MAX_THREADS},
    {.kind = GW_INCLUDE, .offset = IN(scenario.interference), .table = gw_interference_table},
    {"counts", 0, "SOURCE", GW_TEXT, IN(counts.name),
     .help = "Counts of selected elements where they depend on gradients: \"asked\", "
             "\"trained\" with generated ones, or a file of counts or of gradients",
     .otherwise = "as the plan says, else asked", .names = GW_NAMES_COUNTS},
    {"counts-out", 0, "FILE", GW_TEXT, IN(counts.out), .help = "Write the trained counts",
     .names = GW_NAMES_FILES, .writes = true},
    {"trace", 0, "FILE", GW_TEXT, IN(trace), .help = "Write the timeline for ui.perfetto.dev",
     .names = GW_NAMES_FILES, .writes = true},
    {.kind = GW_INCLUDE, .offset = IN(network), .table = gw_network_table},
    {"goal", 0, "FILE", GW_TEXT, IN(goal),
     .help = "Run a GOAL schedule under the LogGOPS model instead of a model's pipeline, with the "
             "parameters of --loggp, or those that it names, or LogGOPSim's",
     .names = GW_NAMES_FILES},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_writing_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    GW_NEEDS_MODEL("MODEL goal"),
    GW_NEEDS_ANY_CLUSTER("cluster nodes goal"),
    GW_MAKING_RULES(""),
    {"goal", GW_ALLOWS, "loggp json quiet verbose strict seed threads",
     "--goal: expected only --loggp and --json with it"},
    {NULL, GW_NEEDS, "algo plan goal",
     "expected --algo ALGORITHM (gradweave list algorithms), or --plan with a mixed plan"},
    {0},
};

/* ---- predictions --------------------------------------------------------------------------- */

static enum gw_status predict_algorithm(const struct options *options,
                                        const struct gw_scenario *scenario,
                                        struct gw_pipeline *pipeline, struct gw_arena *arena,
                                        struct gw_result *result, struct gw_error *error) {
    struct gw_timeline trace = {0};
    bool traced = options->trace != NULL;
    struct gw_prediction_options how = {
        .iterations = options->iterations, .counts = options->counts, .interval = true};
    GW_TRY(gw_heterogeneity_simulation(&options->heterogeneity, scenario, arena, &how.simulation,
                                       error));
    how.simulation.every_worker = traced;
    gw_network_simulate(&options->network, &how.simulation);
    enum gw_status status =
        gw_pipeline_predict(pipeline, &how, traced ? &trace : NULL, result, error);
    if (status == GW_OK && traced) {
        status = gw_timeline_write(&trace, options->trace, error);
    }
    gw_timeline_free(&trace);
    return status;
}

static enum gw_status answer_simulate(const struct options *options,
                                      const struct gw_scenario *scenario, const char *note,
                                      struct gw_error *error) {
    const struct gw_plan *plan = scenario->plan;
    struct gw_algorithm algorithm;
    struct gw_pipeline pipeline;
    struct gw_result result;
    GW_TRY(gw_algorithm_choose(options->scenario.plan.algorithm, &options->changes, plan,
                               &algorithm, error));
    enum gw_status status = gw_pipeline_open(scenario, &algorithm, plan, &pipeline, error);
    if (status == GW_BAD_INPUT && plan != NULL) {
        gw_error_prefix(error, options->scenario.plan.path);
    }
    GW_TRY(status);
    struct gw_arena arena = {0};
    status = predict_algorithm(options, scenario, &pipeline, &arena, &result, error);
    if (status == GW_OK) {
        gw_result_note(&result, note);
        status = gw_print_prediction(scenario, &algorithm, &result, options->output.json, error);
    }
    gw_arena_free(&arena);
    gw_pipeline_close(&pipeline);
    return status;
}

/* Answers with the whole network's bandwidth set to a rate or scaled by a factor. */
static enum gw_status answer_at_bandwidth(const struct options *options,
                                          const struct gw_scenario *scenario,
                                          struct gw_error *error) {
    struct gw_axis_values values = {0};
    struct gw_scenario changed;
    char note[GW_RESULT_NOTE_SIZE];
    enum gw_status status = gw_axis_ask_bandwidth(options->bandwidth, options->network.level,
                                                  scenario, &values, &changed, error);
    if (status == GW_OK) {
        status = answer_simulate(options, &changed, gw_bandwidth_note(&values, note), error);
    }
    free(values.values);
    return status;
}

static enum gw_status answer_simulate_scenario(struct options *options, struct gw_error *error) {
    struct gw_scenario scenario;
    options->scenario.plan.changes = &options->changes;
    GW_TRY(gw_scenario_make(&options->scenario, &options->made, &scenario, error));
    enum gw_status status = gw_network_apply(&options->network, &scenario, error);
    if (status == GW_OK) {
        status = options->bandwidth == NULL ? answer_simulate(options, &scenario, "", error)
                                            : answer_at_bandwidth(options, &scenario, error);
    }
    gw_scenario_close(&scenario);
    return status;
}

/* ---- the verb ------------------------------------------------------------------------------- */

static enum gw_status answer_either(void *values, struct gw_error *error) {
    struct options *options = values;
    if (options->goal != NULL) {
        struct gw_goal_answer answer;
        enum gw_status status = gw_goal_ask(options->goal, options->network.loggp, &answer, error);
        status = status == GW_OK ? gw_print_goal(&answer, options->output.json, error) : status;
        gw_goal_answer_free(&answer);
        return status;
    }
    options->heterogeneity.threads =
        options->heterogeneity.threads > 0 ? options->heterogeneity.threads : gw_cores();
    return answer_simulate_scenario(options, error);
}

static struct options options = {.made = GW_MAKING_NOTHING};

const struct gw_verb gw_verb_simulate = {
    .name = "simulate",
    .title = "predicts how long an iteration takes, and its parts",
    .usage = "MODEL --cluster CLUSTER --algo ALGORITHM\nNETWORK --gpu GPU --nodes N --network LINK "
             "--algo ALGORITHM\n--goal FILE",
    .about = "Predicts an iteration of a pipeline, operation by operation: how long it takes, and "
             "where the time goes.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one MODEL, got also",
    .check = check_network,
    .values = &options,
    .answer = answer_either,
};
