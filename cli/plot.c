#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "plots/plots.h"

struct options {
    struct gw_output_options output;
    struct gw_question_options question;
    const char *kind, *subject, *algorithms, *out, *data;
};

enum { KEY_DATA = 2000 };

static const struct argp_option option_table[] = {
    {"out", 'o', "FILE", 0, "The picture: .png, .svg or .pdf (required)", 0},
    {"data", KEY_DATA, "FILE.csv", 0, "Keep the plotted numbers", 0},
    {"algo", 'a', "A[,B..]|all", 0, "breakdown: the pipelines (default all)", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->question;
        state->child_inputs[1] = &options->output;
        return 0;
    case 'o':
        options->out = argument;
        return 0;
    case KEY_DATA:
        options->data = argument;
        return 0;
    case 'a':
        options->algorithms = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1) {
            argp_error(state, "expected KIND and MODEL or FILE, got also \"%s\"", argument);
        }
        *(state->arg_num == 0 ? &options->kind : &options->subject) = argument;
        return 0;
    case ARGP_KEY_END:
        if (options->subject == NULL || options->out == NULL) {
            argp_error(state, "expected KIND, then MODEL or FILE, and --out PICTURE");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {&gw_question_argp, 0, "For breakdown:", 0}, {&gw_output_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "breakdown MODEL --cluster CLUSTER --out PICTURE\n"
                "validation VALIDATION.json --out PICTURE",
    .doc = "Draws a picture with gnuplot.\v"
           "breakdown: the predicted iteration time of each pipeline, stacked by where it goes. "
           "validation: the same from a document of `gradweave validate --json`, with the measured "
           "time beside the predicted one.",
    .children = children,
};

/* ---- breakdown ----------------------------------------------------------------------------- */

static enum gw_status predict_bars(const struct gw_question *question,
                                   const struct gw_algorithm *const *algorithms, size_t count,
                                   struct gw_bar *bars, struct gw_error *error) {
    for (size_t i = 0; i < count; i++) {
        struct gw_result result;
        GW_TRY(gw_predict(question, algorithms[i], &result, error));
        bars[i] = (struct gw_bar){.label = algorithms[i]->name, .breakdown = result.breakdown};
    }
    return GW_OK;
}

static enum gw_status draw_prediction(const struct options *options,
                                      const struct gw_question *question, struct gw_error *error) {
    const struct gw_algorithm **algorithms = NULL;
    size_t count = 0;
    GW_TRY(gw_algorithms_parse(options->algorithms, &algorithms, &count, error));
    struct gw_bar *bars = calloc(count, sizeof *bars);
    enum gw_status status = bars == NULL ? gw_fail_memory(error, "plotting")
                                         : predict_bars(question, algorithms, count, bars, error);
    if (status == GW_OK) {
        char title[256];
        snprintf(title, sizeof title, "%s on %s, %zu workers, density %g: predicted",
                 question->model.name, question->cluster.name, question->workers,
                 question->density);
        status = gw_plot_breakdown(bars, count, title, options->out, options->data, error);
    }
    free(bars);
    free(algorithms);
    return status;
}

static enum gw_status plot_breakdown(const struct options *options, struct gw_error *error) {
    struct gw_question_options asked = options->question;
    struct gw_question question;
    asked.model = options->subject;
    if (asked.cluster == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "plot breakdown: expected --cluster CLUSTER");
    }
    GW_TRY(gw_question_open(&asked, &question, error));
    enum gw_status status = draw_prediction(options, &question, error);
    gw_question_close(&question);
    return status;
}

/* ---- validation ---------------------------------------------------------------------------- */

static enum gw_status read_bar(const struct gw_json *result, bool measured, struct gw_bar *bar,
                               struct gw_error *error) {
    static const char *const keys[] = {"forward_s", "backward_s", "compress_s", "exposed_comm_s"};
    struct gw_json name = gw_json_member(result, "algorithm");
    struct gw_json side = gw_json_member(result, measured ? "measured" : "predicted");
    struct gw_json iteration = gw_json_member(&side, "iteration_s");
    struct gw_json breakdown = gw_json_member(&side, "breakdown");
    double *const parts[] = {&bar->breakdown.forward_s, &bar->breakdown.backward_s,
                             &bar->breakdown.compress_s, &bar->breakdown.exposed_comm_s};
    double rest = 0;
    bar->measured = measured;
    GW_TRY(gw_json_text(&name, &bar->label, error));
    GW_TRY(gw_json_not_negative(&iteration, &rest, error));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct gw_json part = gw_json_member(&breakdown, keys[i]);
        GW_TRY(gw_json_not_negative(&part, parts[i], error));
        rest -= *parts[i];
    }
    bar->breakdown.other_s = rest;
    return GW_OK;
}

static enum gw_status draw_validation(const struct options *options, const cJSON *document,
                                      struct gw_error *error) {
    struct gw_json root;
    GW_TRY(gw_json_root(document, options->subject, "gradweave/validation@1", &root, error));
    struct gw_json results = gw_json_member(&root, "results");
    GW_TRY(gw_json_array(&results, error));
    if (cJSON_GetArraySize(results.node) == 0) {
        return gw_json_expected(&results, "at least one result", error);
    }
    struct gw_bar *bars = calloc(2 * (size_t)cJSON_GetArraySize(results.node) + 1, sizeof *bars);
    if (bars == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    enum gw_status status = GW_OK;
    size_t count = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, results.node) {
        struct gw_json result = gw_json_item(&results, node, count / 2);
        for (int measured = 0; measured < 2 && status == GW_OK; measured++) {
            status = read_bar(&result, measured, &bars[count++], error);
        }
    }
    if (status == GW_OK) {
        const cJSON *model = cJSON_GetObjectItemCaseSensitive(document, "model");
        const cJSON *workers = cJSON_GetObjectItemCaseSensitive(document, "workers");
        char title[256];
        snprintf(title, sizeof title, "%s, %g workers: predicted (p) and measured (m)",
                 cJSON_IsString(model) ? model->valuestring : "", cJSON_GetNumberValue(workers));
        status = gw_plot_breakdown(bars, count, title, options->out, options->data, error);
    }
    free(bars);
    return status;
}

static enum gw_status plot_validation(const struct options *options, struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_json_read(options->subject, &document, error));
    enum gw_status status = draw_validation(options, document, error);
    cJSON_Delete(document);
    return status;
}

/* ---- the verb ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    enum gw_status (*plot)(const struct options *options, struct gw_error *error);
} kinds[] = {{"breakdown", plot_breakdown}, {"validation", plot_validation}};

static enum gw_status plot(const struct options *options, struct gw_error *error) {
    GW_TRY(gw_plot_check(options->out, error));
    GW_TRY(gw_file_check_target(options->out, error));
    if (options->data != NULL) {
        GW_TRY(gw_file_check_target(options->data, error));
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, options->kind) == 0) {
            return kinds[i].plot(options, error);
        }
    }
    return gw_fail(error, GW_BAD_INPUT, "plot: expected breakdown or validation, got \"%s\"",
                   options->kind);
}

static enum gw_status put_document(const struct options *options, cJSON *document,
                                   struct gw_error *error) {
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/plot@1", error));
    GW_TRY(gw_json_put_text(document, "kind", options->kind, error));
    GW_TRY(gw_json_put_text(document, "picture", options->out, error));
    return options->data == NULL ? GW_OK : gw_json_put_text(document, "data", options->data, error);
}

static enum gw_status print_json(const struct options *options, struct gw_error *error) {
    cJSON *document = cJSON_CreateObject();
    enum gw_status status = put_document(options, document, error);
    if (status != GW_OK) {
        cJSON_Delete(document);
        return status;
    }
    return gw_print_document(document, error);
}

static int run(int argc, char **argv) {
    struct options options = {.algorithms = "all", .question = {.partial = true}};
    struct gw_error error = {0};
    gw_cli_parse(&argp, "plot", argc, argv, &options);
    enum gw_status status = plot(&options, &error);
    if (status == GW_OK && options.output.json) {
        status = print_json(&options, &error);
    }
    return status == GW_OK ? GW_OK : gw_cli_fail(&error);
}

const struct gw_verb gw_verb_plot = {
    .name = "plot", .title = "pictures of predictions and validations", .run = run};
