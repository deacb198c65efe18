#include <stdlib.h>

#include "cli/cli.h"

struct options {
    struct gw_output_options output;
    struct gw_question_options question;
    const char *algorithms;
};

static const struct argp_option option_table[] = {
    {"algo", 'a', "A[,B..]|all", 0, "The pipelines to compare (default all)", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->question;
        state->child_inputs[1] = &options->output;
        return 0;
    case 'a':
        options->algorithms = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "MODEL --cluster CLUSTER",
    .doc = "Predicts an iteration of every pipeline and ranks them, the fastest first.",
    .children = gw_question_children,
};

/* ---- answering ----------------------------------------------------------------------------- */

/* Inserts a result behind those that are as fast or faster, which keeps equals in their order. */
static void insert(const struct gw_result *result, struct gw_result *results, size_t count) {
    size_t place = count;
    for (; place > 0 && result->iteration_s < results[place - 1].iteration_s; place--) {
        results[place] = results[place - 1];
    }
    results[place] = *result;
}

static enum gw_status predict_all(const struct gw_question *question,
                                  const struct gw_algorithm *const *algorithms, size_t count,
                                  struct gw_result *results, struct gw_error *error) {
    for (size_t i = 0; i < count; i++) {
        struct gw_result result;
        GW_TRY(gw_predict(question, algorithms[i], &result, error));
        insert(&result, results, i);
    }
    return GW_OK;
}

static enum gw_status put_results(cJSON *document, const struct gw_result *results, size_t count,
                                  struct gw_error *error) {
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/comparison@1", error));
    cJSON *list = cJSON_CreateArray();
    GW_TRY(gw_json_put(document, "results", list, error));
    for (size_t i = 0; i < count; i++) {
        cJSON *result = NULL;
        GW_TRY(gw_result_document(&results[i], &result, error));
        GW_TRY(gw_json_append(list, result, error));
    }
    return GW_OK;
}

/* The share of an iteration that is compute: all of it, if it takes no time. */
static double efficiency(double compute_s, double iteration_s) {
    return iteration_s > 0 ? compute_s / iteration_s : 1;
}

static void print_text(const struct gw_question *question, const struct gw_result *results,
                       size_t count) {
    static const char *const headings[] = {"algorithm", "iteration", "compute", "compression",
                                           "exposed",   "groups",    "sent",    "efficiency"};
    double compute_s = question->model.forward_s + gw_model_backward_s(&question->model) +
                       question->model.update_s;
    gw_print_heading(question);
    struct gw_table *table = gw_table_open(headings, "lrrrrrrr");
    for (size_t i = 0; i < count; i++) {
        const struct gw_result *result = &results[i];
        const struct gw_breakdown *parts = &result->breakdown;
        char text[GW_UNITS_SIZE];
        gw_table_cell(table, "%s", result->algorithm);
        gw_table_cell(table, "%s", gw_format_seconds(result->iteration_s, text));
        gw_table_cell(table, "%s", gw_format_seconds(parts->forward_s + parts->backward_s, text));
        gw_table_cell(table, "%s", gw_format_seconds(parts->compress_s, text));
        gw_table_cell(table, "%s", gw_format_seconds(parts->exposed_comm_s, text));
        gw_table_cell(table, "%zu", result->groups);
        gw_table_cell(table, "%s", gw_format_bytes(result->bytes_per_worker, text));
        gw_table_cell(table, "%.1f%%", 100 * efficiency(compute_s, result->iteration_s));
    }
    gw_table_print_and_close(table);
    struct gw_result all = {0};
    for (size_t i = 0; i < count; i++) {
        gw_collect_notes(&all, &results[i]);
    }
    gw_print_result_notes(&all);
}

static enum gw_status print_json(const struct gw_result *results, size_t count,
                                 struct gw_error *error) {
    cJSON *document = cJSON_CreateObject();
    return gw_print_filled(document, put_results(document, results, count, error), error);
}

static enum gw_status answer(const struct options *options, const struct gw_question *question,
                             struct gw_error *error) {
    const struct gw_algorithm **algorithms = NULL;
    size_t count = 0;
    GW_TRY(gw_algorithms_parse(options->algorithms, &algorithms, &count, error));
    struct gw_result *results = calloc(count, sizeof *results);
    enum gw_status status = results == NULL
                                ? gw_fail_memory(error, "comparing")
                                : predict_all(question, algorithms, count, results, error);
    if (status == GW_OK && options->output.json) {
        status = print_json(results, count, error);
    } else if (status == GW_OK) {
        print_text(question, results, count);
    }
    free(results);
    free(algorithms);
    return status;
}

static int run(int argc, char **argv) {
    struct options options = {.algorithms = "all"};
    struct gw_error error = {0};
    struct gw_question question;
    gw_cli_parse(&argp, "compare", argc, argv, &options);
    enum gw_status status = gw_question_open(&options.question, &question, &error);
    if (status == GW_OK) {
        status = answer(&options, &question, &error);
        gw_question_close(&question);
    }
    return status == GW_OK ? GW_OK : gw_cli_fail(&error);
}

const struct gw_verb gw_verb_compare = {
    .name = "compare", .title = "every pipeline, ranked", .run = run};
