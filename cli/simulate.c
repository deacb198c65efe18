#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/simulate_goal.h"
#include "kernels/gradients/emulation.h"

/* ---- options --------------------------------------------------------------------------------- */

struct options {
    struct gw_output_options output;
    struct gw_question_options question;
    struct gw_choice_changes changes;
    struct gw_uneven_options uneven;
    struct gw_network_options network;
    struct gw_counts_source counts;
    const char *algorithm, *plan, *trace, *goal;
    size_t iterations;
    bool interference;
};

#define IN(member) offsetof(struct options, member)

static const struct gw_option option_table[] = {
    {.kind = GW_INCLUDE, .offset = IN(question), .table = gw_question_table},
    {"algo", 'a', "ALGORITHM", GW_TEXT, IN(algorithm),
     .help = "The pipeline to predict (see gradweave list algorithms)",
     .names = GW_NAMES_ALGORITHMS},
    {.kind = GW_INCLUDE, .offset = IN(changes), .table = gw_changes_table},
    {"plan", 0, "PLAN.json", GW_TEXT, IN(plan),
     .help = "Groups from a plan file instead of the algorithm's own policy",
     .names = GW_NAMES_FILES},
    {"iterations", 'n', "N", GW_COUNT, IN(iterations), .help = "Number of iterations",
     .value = "1"},
    {.kind = GW_INCLUDE, .offset = IN(uneven), .table = gw_uneven_table},
    {"interference", 0, NULL, GW_FLAG, IN(interference),
     .help = "Let compression and exchanges that run at once slow each other, as the cluster says"},
    {"counts", 0, "SOURCE", GW_TEXT, IN(counts.name),
     .help = "How many elements are selected where that depends on gradients: \"asked\", "
             "\"trained\" with generated ones, or a file",
     .otherwise = "asked", .names = GW_NAMES_FILES},
    {"counts-out", 0, "FILE", GW_TEXT, IN(counts.out), .help = "Keep the counts that were trained",
     .names = GW_NAMES_FILES},
    {"trace", 0, "FILE", GW_TEXT, IN(trace), .help = "Write the timeline for ui.perfetto.dev",
     .names = GW_NAMES_FILES},
    {.kind = GW_INCLUDE, .offset = IN(network), .table = gw_network_table},
    {"goal", 0, "FILE", GW_TEXT, IN(goal),
     .help = "Run a GOAL schedule under the LogGOPS model instead of a model's pipeline, with "
             "--loggp",
     .names = GW_NAMES_FILES},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_output_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {"counts-out", GW_NEEDS, "counts=trained", "--counts-out: expected --counts trained beside it"},
    GW_NEEDS_MODEL("MODEL goal"),
    GW_NEEDS_CLUSTER("cluster goal"),
    {"goal", GW_ALLOWS, "loggp json quiet verbose seed threads",
     "--goal: expected nothing but --loggp and --json beside it"},
    {NULL, GW_NEEDS, "algo goal", "expected --algo ALGORITHM (gradweave list algorithms)"},
    {0},
};

/* ---- answering ----------------------------------------------------------------------------- */

static void print_part(struct gw_table *table, const char *name, double seconds, double whole) {
    char text[GW_UNITS_SIZE];
    gw_table_cell(table, "%s", name);
    gw_table_cell(table, "%s", gw_format_seconds(seconds, text));
    gw_table_cell(table, "%.1f%%", whole > 0 ? 100 * seconds / whole : 0);
}

static void print_spread(const struct gw_spread *spread) {
    static const char *const headings[] = {"min", "5%", "25%", "50%", "75%", "95%", "99%", "max"};
    char text[4][GW_UNITS_SIZE];
    printf(
        "\nmean of %zu iterations, standard deviation %s; 95%% interval of the mean %s to %s\n\n",
        spread->count, gw_format_seconds(spread->sd, text[0]),
        gw_format_seconds(spread->mean_low, text[1]),
        gw_format_seconds(spread->mean_high, text[2]));
    struct gw_table *table = gw_table_open(headings, "rrrrrrrr");
    gw_table_cell(table, "%s", gw_format_seconds(spread->minimum, text[0]));
    for (size_t i = 0; i < GW_PERCENTILES; i++) {
        gw_table_cell(table, "%s", gw_format_seconds(spread->percentiles[i], text[0]));
    }
    gw_table_cell(table, "%s", gw_format_seconds(spread->maximum, text[0]));
    gw_table_print_and_close(table);
}

/* What derived curves leave open. */
static void print_range(const struct gw_result *result) {
    char text[2][GW_UNITS_SIZE];
    if (result->uncertainty_count == 0) {
        return;
    }
    printf("\niteration %s to %s, as uncertain as",
           gw_format_seconds(result->iteration_low_s, text[0]),
           gw_format_seconds(result->iteration_high_s, text[1]));
    for (size_t i = 0; i < result->uncertainty_count; i++) {
        printf("%s %s +-%.1f%%", i == 0 ? "" : ",", result->uncertainties[i].collective,
               100 * result->uncertainties[i].relative);
    }
    printf("\n");
}

/* Where they depend on gradients. */
static void print_counts(const struct gw_result *result, const struct gw_compressor *compressor) {
    if (!gw_counts_depend_on_data(compressor)) {
        return;
    }
    printf("counts %s", result->counts);
    if (result->padding > 0) {
        printf(": padding x %.3f", result->padding);
    }
    if (result->actual_density > 0) {
        printf(", actual density %.4g, %.4g times as asked", result->actual_density,
               result->actual_density / result->density);
    }
    printf("\n");
}

static void print_text(const struct gw_question *question, const struct gw_compressor *compressor,
                       const struct gw_result *result) {
    static const char *const headings[] = {"part", "time", "share"};
    char text[GW_UNITS_SIZE];
    char changed[GW_CHANGES_SIZE];
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
    print_range(result);
    if (result->iterations > 1) {
        print_spread(&result->spread);
    }
    printf("\n%s%s: %zu group%s", result->algorithm, gw_result_changes_text(result, changed),
           result->groups, result->groups == 1 ? "" : "s");
    printf(", %s from each worker", gw_format_bytes(result->bytes_per_worker, text));
    printf(", network busy %s\n", gw_format_seconds(result->comm_s, text));
    print_counts(result, compressor);
    gw_print_result_notes(result);
}

static enum gw_status predict(const struct options *options, const struct gw_question *question,
                              struct gw_pipeline *pipeline, struct gw_result *result,
                              struct gw_error *error) {
    struct gw_timeline trace = {0};
    bool traced = options->trace != NULL;
    struct gw_prediction_options how = {
        .iterations = options->iterations, .counts = options->counts, .range = true};
    GW_TRY(gw_uneven_open(&options->uneven, question, &how.simulation, error));
    how.simulation.every_worker = traced;
    how.simulation.level = options->network.level;
    how.simulation.interference = options->interference;
    how.simulation.nodes_per_switch = options->network.nodes_per_switch;
    how.simulation.oversubscription = options->network.oversubscription;
    how.simulation.choice_count = options->network.choices.count;
    how.simulation.choices = options->network.choices.each;
    enum gw_status status =
        gw_pipeline_predict(question, pipeline, &how, traced ? &trace : NULL, result, error);
    if (status == GW_OK && traced) {
        status = gw_timeline_write(&trace, options->trace, error);
    }
    gw_timeline_free(&trace);
    gw_uneven_close(&how.simulation);
    return status;
}

static enum gw_status answer(const struct options *options, const struct gw_question *question,
                             const struct gw_plan *plan, struct gw_error *error) {
    const struct gw_algorithm *preset = NULL;
    struct gw_algorithm algorithm;
    struct gw_pipeline pipeline;
    struct gw_result result;
    GW_TRY(gw_algorithm_find(options->algorithm, &preset, error));
    GW_TRY(gw_algorithm_change(preset, &options->changes, &algorithm, error));
    enum gw_status status = gw_pipeline_open(question, &algorithm, plan, &pipeline, error);
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
        print_text(question, algorithm.compressor, &result);
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
    if (asked->workers > 0) {
        plan->workers = asked->workers;
    } else {
        asked->workers = plan->workers;
    }
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
    status = status == GW_OK ? gw_network_apply(&options->network, &question, error) : status;
    if (status == GW_OK) {
        status = answer(options, &question, planned ? plan : NULL, error);
    }
    gw_question_close(&question);
    return status;
}

static int run(int argc, char **argv) {
    struct options options = {.uneven = {.threads = gw_cores()}};
    struct gw_error error = {0};
    struct gw_plan plan = {0};
    gw_parse_options(&gw_verb_simulate, argc, argv, &options);
    enum gw_status status =
        options.goal == NULL
            ? open_and_answer(&options, &plan, &error)
            : gw_simulate_goal(options.goal, options.network.loggp, options.output.json, &error);
    gw_plan_free(&plan);
    return status == GW_OK ? GW_OK : gw_cli_fail(&error);
}

const struct gw_verb gw_verb_simulate = {
    .name = "simulate",
    .title = "how long an iteration takes, and where it goes",
    .usage = "MODEL --cluster CLUSTER --algo ALGORITHM\n--goal FILE",
    .about = "Predicts an iteration of a pipeline, operation by operation: how long it takes, and "
             "where the time goes.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one MODEL, got also",
    .run = run,
};
