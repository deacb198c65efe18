#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "kernels/bounds.h"
#include "plots/plots.h"

struct options {
    struct gw_output_options output;
    struct gw_question_options question;
    const char *kind, *subject, *algorithms, *shape, *out, *data;
    size_t elements;
};

enum { KEY_DATA = 2000, KEY_SHAPE, KEY_ELEMENTS };

static const struct argp_option option_table[] = {
    {"out", 'o', "FILE", 0, "The picture: .png, .svg or .pdf (required)", 0},
    {"data", KEY_DATA, "FILE.csv", 0, "Keep the plotted numbers", 0},
    {"algo", 'a', "A[,B..]|all", 0, "breakdown: the pipelines (default all)", 0},
    {"shape", KEY_SHAPE, "NAME", 0,
     "bounds: of the gradient, as for gradweave bench (default normal)", 0},
    {"elements", KEY_ELEMENTS, "N", 0, "bounds: of the gradient (default 100000)", 0},
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
    case KEY_SHAPE:
        options->shape = argument;
        return 0;
    case KEY_ELEMENTS:
        options->elements = gw_parse_count(argument, "--elements", state);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1) {
            argp_error(state, "expected KIND and MODEL or FILE, got also \"%s\"", argument);
        }
        *(state->arg_num == 0 ? &options->kind : &options->subject) = argument;
        return 0;
    case ARGP_KEY_END:
        if (options->kind == NULL || options->out == NULL) {
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
                "validation VALIDATION.json --out PICTURE\n"
                "bounds --out PICTURE",
    .doc = "Draws a picture with gnuplot.\v"
           "breakdown: the predicted iteration time of each pipeline, stacked by where it goes. "
           "validation: the same from a document of `gradweave validate --json`, with the measured "
           "time beside the predicted one. bounds: how much of a gradient's energy the k largest "
           "elements leave behind, and what is proven about that.",
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

/* ---- bounds -------------------------------------------------------------------------------- */

enum { BOUNDS_VALUES = 41 };

/* From one element to all, evenly on a logarithmic scale; as shares of all. */
static size_t spread_ks(size_t elements, size_t *ks, double *shares) {
    size_t count = 0;
    for (size_t i = 0; i < BOUNDS_VALUES; i++) {
        double exponent = (double)i / (BOUNDS_VALUES - 1);
        size_t k = (size_t)round(pow((double)elements, exponent));
        if (count == 0 || k > ks[count - 1]) {
            ks[count] = k;
            shares[count++] = (double)k / (double)elements;
        }
    }
    return count;
}

static enum gw_status draw_bounds(const struct options *options, const float *u,
                                  struct gw_error *error) {
    enum { LINES = 3 };
    size_t ks[BOUNDS_VALUES];
    double shares[BOUNDS_VALUES];
    double heights[LINES][BOUNDS_VALUES];
    struct gw_bounds bounds[BOUNDS_VALUES];
    size_t count = spread_ks(options->elements, ks, shares);
    GW_TRY(gw_bounds(u, options->elements, ks, count, bounds, error));
    for (size_t i = 0; i < count; i++) {
        heights[0][i] = bounds[i].random;
        heights[1][i] = bounds[i].proven;
        heights[2][i] = bounds[i].topk;
    }
    const struct gw_line lines[LINES] = {
        {.label = "random-k: 1 - k/d", .colour = 0, .heights = heights[0]},
        {.label = "bound: (1 - k/d)^2", .colour = 1, .heights = heights[1]},
        {.label = "top-k", .colour = 2, .heights = heights[2]}};
    char title[128];
    char elements[GW_UNITS_SIZE];
    snprintf(title, sizeof title, "What k of d = %s elements leave behind (%s)",
             gw_format_count((double)options->elements, elements), options->shape);
    const struct gw_line_chart chart = {.title = title,
                                        .axis = "k / d",
                                        .height_axis = "||u - selection||^2 / ||u||^2",
                                        .unit = 1,
                                        .value_count = count,
                                        .values = shares,
                                        .line_count = LINES,
                                        .lines = lines};
    return gw_plot_lines(&chart, options->out, options->data, error);
}

static enum gw_status plot_bounds(const struct options *options, struct gw_error *error) {
    if (options->elements < 2 || options->elements > UINT32_MAX) {
        return gw_fail(error, GW_BAD_INPUT, "--elements: expected 2 to 2^32 - 1, got %zu",
                       options->elements);
    }
    float *u = malloc(options->elements * sizeof *u);
    enum gw_status status =
        u == NULL ? gw_fail_memory(error, "plotting")
                  : gw_draw_gradient(options->shape, options->elements, 1, 0, u, error);
    if (status == GW_OK) {
        status = draw_bounds(options, u, error);
    }
    free(u);
    return status;
}

/* ---- the verb ------------------------------------------------------------------------------ */

static const struct kind {
    const char *name;
    const char *subject; /* what is expected after the name; NULL: nothing */
    enum gw_status (*plot)(const struct options *options, struct gw_error *error);
} kinds[] = {{"breakdown", "MODEL", plot_breakdown},
             {"validation", "VALIDATION.json", plot_validation},
             {"bounds", NULL, plot_bounds}};

static enum gw_status plot_kind(const struct kind *kind, const struct options *options,
                                struct gw_error *error) {
    if ((kind->subject == NULL) != (options->subject == NULL)) {
        return gw_fail(error, GW_BAD_INPUT, "plot %s: expected %s, got %s%s%s", kind->name,
                       kind->subject == NULL ? "no more words" : kind->subject,
                       options->subject == NULL ? "" : "\"",
                       options->subject == NULL ? "nothing" : options->subject,
                       options->subject == NULL ? "" : "\"");
    }
    return kind->plot(options, error);
}

static enum gw_status plot(const struct options *options, struct gw_error *error) {
    GW_TRY(gw_plot_check(options->out, error));
    GW_TRY(gw_file_check_target(options->out, error));
    if (options->data != NULL) {
        GW_TRY(gw_file_check_target(options->data, error));
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, options->kind) == 0) {
            return plot_kind(&kinds[i], options, error);
        }
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "plot: expected breakdown, validation or bounds, got \"%s\"", options->kind);
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
    return gw_print_filled(document, put_document(options, document, error), error);
}

static int run(int argc, char **argv) {
    struct options options = {
        .algorithms = "all", .shape = "normal", .elements = 100000, .question = {.partial = true}};
    struct gw_error error = {0};
    gw_cli_parse(&argp, "plot", argc, argv, &options);
    enum gw_status status = plot(&options, &error);
    if (status == GW_OK && options.output.json) {
        status = print_json(&options, &error);
    }
    return status == GW_OK ? GW_OK : gw_cli_fail(&error);
}

const struct gw_verb gw_verb_plot = {
    .name = "plot", .title = "pictures of predictions, validations and bounds", .run = run};
