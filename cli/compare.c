#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/making.h"
#include "report/pictures.h"
#include "report/sweep.h"

struct options {
    struct gw_output_options output;
    struct gw_scenario_options scenario;
    struct gw_making_options made;
    struct gw_choice_changes changes;
    struct gw_goal_options goal;
    const char *algorithms, *workers, *bandwidth, *counts, *accuracy, *out, *data;
    bool mixed;
};

#define IN(member) offsetof(struct options, member)

static const struct gw_option option_table[] = {
    {.kind = GW_INCLUDE, .offset = IN(scenario), .table = gw_any_model_table},
    {"algo", 'a', "A[,B..]|all", GW_TEXT, IN(algorithms), .help = "The pipelines to compare",
     .value = "all", .names = GW_NAMES_ALGORITHMS, .is_list = true},
    {.kind = GW_INCLUDE, .offset = IN(scenario), .table = gw_cluster_table},
    {.kind = GW_INCLUDE, .offset = IN(scenario.micro_batches), .table = gw_accumulate_table},
    {.kind = GW_INCLUDE, .offset = IN(made), .table = gw_making_table},
    {"workers", 0, "P|VALUES", GW_TEXT, IN(workers),
     .help = "Number of workers, or several: 2,4,16, or 2:256, each twice the one before",
     .otherwise = "the cluster's"},
    {"bandwidth", 0, "B|VALUES", GW_TEXT, IN(bandwidth),
     .help = "Bandwidth of the network, such as 10gbit, 1gbit:100gbit, or 0.1x:10x of the measured "
             "one"},
    {"counts", 0, "SOURCE", GW_TEXT, IN(counts),
     .help = "Counts of selected elements where they depend on gradients: \"asked\", "
             "\"trained\" with generated ones, or a file of gradients",
     .value = "asked", .names = GW_NAMES_COUNTS},
    {"accuracy", 0, "FILE", GW_TEXT, IN(accuracy),
     .help = "Rank by the time to an accuracy, with the iterations of the trainings in FILE",
     .names = GW_NAMES_FILES},
    {"goal", 0, NULL, GW_CHOICE, IN(goal.goal),
     .help = "Rank by the time until as much is learnt as in 1,000 iterations without compression, "
             "or by the iteration alone",
     .otherwise = "iteration, or learning with --learning", .choices = gw_goal_names},
    {.kind = GW_INCLUDE, .offset = IN(goal), .table = gw_learning_table},
    {"mixed", 0, NULL, GW_FLAG, IN(mixed),
     .help =
         "Say how far each is above the fastest plan of all merges, and of their ways to travel "
         "for each group"},
    {"out", 'o', "FILE", GW_TEXT, IN(out), .help = "Draw the crossovers: .png, .svg or .pdf",
     .names = GW_NAMES_FILES, .writes = true},
    {"data", 0, "FILE.csv", GW_TEXT, IN(data), .help = "Write the crossovers' times",
     .names = GW_NAMES_FILES, .writes = true},
    {.kind = GW_INCLUDE, .offset = IN(changes), .table = gw_changes_table},
    {.kind = GW_INCLUDE, .offset = IN(scenario.interference), .table = gw_interference_table},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_writing_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    GW_NEEDS_MODEL("MODEL"),
    GW_NEEDS_ANY_CLUSTER("cluster nodes"),
    GW_MAKING_RULES(" network"),
    {"accuracy", GW_EXCLUDES, "policy compressor exchange",
     "--accuracy: expected none of --policy, --compressor and --exchange with it, as the "
     "trainings used the algorithms unchanged"},
    {"learning", GW_EXCLUDES, "policy compressor exchange accuracy",
     "--learning: expected none of --policy, --compressor, --exchange and --accuracy with it"},
    {"mixed", GW_EXCLUDES, "policy compressor exchange",
     "--mixed: expected none of --policy, --compressor and --exchange with it"},
    {0}};

/* ---- answering ----------------------------------------------------------------------------- */

static enum gw_status rank_algorithms(const struct options *options,
                                      const struct gw_comparison *comparison,
                                      struct gw_error *error) {
    struct gw_ranking ranking;
    enum gw_status status = gw_rank(comparison, &ranking, error);
    if (status == GW_OK) {
        status = gw_print_ranking(&ranking, options->output.json, error);
    }
    gw_ranking_free(&ranking);
    return status;
}

static enum gw_status rank_by_accuracy(const struct options *options,
                                       const struct gw_comparison *comparison,
                                       struct gw_error *error) {
    struct gw_comparison by_accuracy = *comparison;
    struct gw_accuracy accuracy;
    GW_TRY(gw_accuracy_read(options->accuracy, &accuracy, error));
    by_accuracy.accuracy = &accuracy;
    enum gw_status status = gw_accuracy_check(&accuracy, error);
    status = status == GW_OK ? rank_algorithms(options, &by_accuracy, error) : status;
    gw_accuracy_free(&accuracy);
    return status;
}

static enum gw_status rank_by_learning(const struct options *options,
                                       const struct gw_comparison *comparison,
                                       struct gw_error *error) {
    struct gw_comparison by_learning = *comparison;
    struct gw_learning learning;
    GW_TRY(gw_learning_open(options->goal.learning, &learning, error));
    by_learning.learning = &learning;
    by_learning.by_learning = true;
    enum gw_status status = rank_algorithms(options, &by_learning, error);
    gw_learning_close(&learning);
    return status;
}

static bool is_by_learning(const struct options *options) {
    return options->goal.goal == GW_BY_LEARNING ||
           (options->goal.goal == GW_GOALS && options->goal.learning != NULL);
}

static enum gw_status find_crossovers(const struct options *options,
                                      const struct gw_comparison *comparison,
                                      const struct gw_axis_values *values, struct gw_error *error) {
    struct gw_crossovers crossovers;
    enum gw_status status = gw_crossovers_open(comparison, values, &crossovers, error);
    if (status == GW_OK && (options->out != NULL || options->data != NULL)) {
        status = gw_crossovers_draw(&crossovers, options->out, options->data, error);
    }
    if (status == GW_OK) {
        status = gw_crossovers_print(&crossovers, options->output.json, error);
    }
    gw_crossovers_close(&crossovers);
    return status;
}

static enum gw_status answer_with(const struct options *options, const struct gw_scenario *scenario,
                                  const struct gw_axis_values *bandwidth,
                                  const struct gw_axis_values *varied,
                                  const struct gw_recorded_gradients *gradients,
                                  struct gw_error *error) {
    struct gw_arena arena = {0};
    const struct gw_algorithm **algorithms = NULL;
    struct gw_comparison comparison = {.scenario = scenario,
                                       .changes = options->changes,
                                       .intervals = varied == NULL,
                                       .mixed = options->mixed,
                                       .trained = strcmp(options->counts, "asked") != 0,
                                       .gradients = gradients};
    gw_bandwidth_note(bandwidth, comparison.note);
    enum gw_status status =
        gw_algorithms_parse(options->algorithms, &arena, &algorithms, &comparison.count, error);
    comparison.algorithms = algorithms;
    if (status == GW_OK) {
        status = varied != NULL              ? find_crossovers(options, &comparison, varied, error)
                 : options->accuracy != NULL ? rank_by_accuracy(options, &comparison, error)
                 : is_by_learning(options)   ? rank_by_learning(options, &comparison, error)
                                             : rank_algorithms(options, &comparison, error);
    }
    gw_arena_free(&arena);
    return status;
}

static enum gw_status read_gradients(const char *path, struct gw_recorded_gradients *out,
                                     struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_json_read(path, &document, error));
    if (gw_are_recorded_gradients(document)) {
        return gw_recorded_gradients_take(document, path, out, error);
    }
    cJSON_Delete(document);
    return gw_fail(error, GW_BAD_INPUT,
                   "--counts: expected asked, trained or a file of gradients, got \"%s\"", path);
}

/* ---- parameters ---------------------------------------------------------------------------- */

enum { PARAMETERS = 2 };

static enum gw_status check_varied(const struct options *options, bool varied,
                                   struct gw_error *error) {
    if (strcmp(options->counts, "asked") != 0 && varied) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--counts %s: expected one value of --workers and --bandwidth with it",
                       options->counts);
    }
    if (options->mixed && varied) {
        return gw_fail(error, GW_BAD_INPUT,
                       "--mixed: expected one value of --workers and --bandwidth with it");
    }
    if ((options->accuracy != NULL || is_by_learning(options)) && varied) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected one value of --workers and --bandwidth with it",
                       options->accuracy != NULL ? "--accuracy" : "--learning");
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
            GW_TRY(gw_file_check_target(files[i], NULL, error));
        }
    }
    return GW_OK;
}

/* Applies parameters that have one value to the scenario; one with several values is varied. */
static enum gw_status apply_and_answer(const struct options *options,
                                       const struct gw_scenario *scenario,
                                       const struct gw_axis_values parameters[PARAMETERS],
                                       struct gw_error *error) {
    struct gw_scenario changed = *scenario;
    const struct gw_axis_values *varied = NULL;
    for (size_t i = 0; i < PARAMETERS; i++) {
        const struct gw_axis_values *one = &parameters[i];
        if (one->count > 1 && varied != NULL) {
            return gw_fail(error, GW_BAD_INPUT,
                           "--workers, --bandwidth: expected several values of one of them, got "
                           "%zu and %zu",
                           parameters[0].count, parameters[1].count);
        }
        varied = one->count > 1 ? one : varied;
        if (one->count == 1) {
            changed = gw_axis_ask(one, one->values[0], &changed);
        }
    }
    GW_TRY(check_varied(options, varied != NULL, error));
    if (strcmp(options->counts, "asked") == 0 || strcmp(options->counts, "trained") == 0) {
        return answer_with(options, &changed, &parameters[1], varied, NULL, error);
    }
    struct gw_recorded_gradients gradients;
    GW_TRY(read_gradients(options->counts, &gradients, error));
    enum gw_status status = gw_recorded_gradients_check(&gradients, &changed, error);
    status = status == GW_OK
                 ? answer_with(options, &changed, &parameters[1], varied, &gradients, error)
                 : status;
    gw_recorded_gradients_free(&gradients);
    return status;
}

static enum gw_status answer_compare_scenario(void *values, struct gw_error *error) {
    const struct options *options = values;
    struct gw_scenario scenario;
    struct gw_axis_values parameters[PARAMETERS] = {{0}};
    GW_TRY(gw_scenario_make(&options->scenario, &options->made, &scenario, error));
    enum gw_status status = options->workers == NULL
                                ? GW_OK
                                : gw_axis_parse(GW_AXIS_WORKERS, options->workers, "--workers",
                                                scenario.cluster, &parameters[0], error);
    if (status == GW_OK && options->bandwidth != NULL) {
        status = gw_axis_parse(GW_AXIS_BANDWIDTH, options->bandwidth, "--bandwidth",
                               scenario.cluster, &parameters[1], error);
    }
    if (status == GW_OK) {
        status = apply_and_answer(options, &scenario, parameters, error);
    }
    for (size_t i = 0; i < PARAMETERS; i++) {
        free(parameters[i].values);
    }
    gw_scenario_close(&scenario);
    return status;
}

static struct options options = {.made = GW_MAKING_NOTHING, .goal.goal = GW_GOALS};

const struct gw_verb gw_verb_compare = {
    .name = "compare",
    .title = "ranks all pipelines",
    .usage = "MODEL --cluster CLUSTER\nNETWORK --gpu GPU --nodes N --network LINK",
    .about = "Predicts an iteration of every pipeline and ranks them, the fastest first.\v"
             "With several numbers of workers (--workers 2:256 doubles them, 2:256:STEP and 2,4,16 "
             "are others) or several bandwidths it shows the fastest at each, and where another "
             "one takes over.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one MODEL, got also",
    .values = &options,
    .answer = answer_compare_scenario,
};
