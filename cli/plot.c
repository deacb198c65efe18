#include <stdlib.h>
#include <string.h>

#include "cli/plot.h"

enum { KEY_DATA = 2000, KEY_SHAPE, KEY_ELEMENTS, KEY_DECAY };

static const struct argp_option option_table[] = {
    {"out", 'o', "FILE", 0, "The picture: .png, .svg or .pdf (required)", 0},
    {"data", KEY_DATA, "FILE.csv", 0, "Keep the plotted numbers", 0},
    {"algo", 'a', "A[,B..]|all", 0,
     "breakdown: the pipelines (default all); density: those whose counts are drawn", 0},
    {"shape", KEY_SHAPE, "NAME", 0,
     "bounds: of the gradient, as for gradweave bench (default normal)", 0},
    {"elements", KEY_ELEMENTS, "N", 0,
     "bounds: of the gradient; density, padding: of the model, reduced (default 100000)", 0},
    {"iterations", 'n', "N", 0, "density, padding: how many (default 2000)", 0},
    {"decay", KEY_DECAY, "ITERATION", 0,
     "density, padding: from which gradients are a tenth as large (default never)", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct gw_plot_options *options = state->input;
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
    case 'n':
        options->iterations = gw_parse_count(argument, "--iterations", state);
        return 0;
    case KEY_DECAY:
        options->decay = gw_parse_count(argument, "--decay", state);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1) {
            argp_error(state, "expected KIND and what to draw, got also \"%s\"", argument);
        }
        *(state->arg_num == 0 ? &options->kind : &options->subject) = argument;
        return 0;
    case ARGP_KEY_END:
        if (options->kind == NULL || options->out == NULL) {
            argp_error(state, "expected KIND, then MODEL, FILE or CLUSTER, and --out PICTURE");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {&gw_question_argp, 0,
     "For breakdown; density and padding, without a cluster and with 16 workers:", 0},
    {&gw_output_argp, 0, NULL, 0},
    {0}};
static const struct argp argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "breakdown MODEL --cluster CLUSTER --out PICTURE\n"
                "validation VALIDATION.json --out PICTURE\n"
                "calibration CLUSTER --out PICTURE\n"
                "bounds --out PICTURE\n"
                "density MODEL --out PICTURE\n"
                "padding MODEL --out PICTURE",
    .doc = "Draws a picture with gnuplot.\v"
           "breakdown: the predicted iteration time of each pipeline, stacked by where it goes. "
           "validation: the same from a document of `gradweave validate --json`, with the measured "
           "time beside the predicted one. calibration: what collectives and compressors of a "
           "cluster took, with their fitted curves. bounds: how much of a gradient's energy the k "
           "largest elements leave behind, and what is proven about that. density: over the "
           "iterations of an emulated training, the share of elements that some worker selects. "
           "padding: what ExDyna's padded exchange costs there, with and without dynamic "
           "allocation.",
    .children = children,
};

/* ---- the verb ------------------------------------------------------------------------------ */

static const struct kind {
    const char *name;
    const char *subject; /* what is expected after the name; NULL: nothing */
    enum gw_status (*plot)(const struct gw_plot_options *options, struct gw_error *error);
    const char *algorithms; /* if none are given; NULL: it draws none */
} kinds[] = {{"breakdown", "MODEL", gw_plot_kind_breakdown, "all"},
             {"validation", "VALIDATION.json", gw_plot_kind_validation, NULL},
             {"calibration", "CLUSTER", gw_plot_kind_calibration, NULL},
             {"bounds", NULL, gw_plot_kind_bounds, NULL},
             {"density", "MODEL", gw_plot_kind_density, "hard-threshold,topk,exdyna"},
             {"padding", "MODEL", gw_plot_kind_padding, NULL}};

static enum gw_status plot_kind(const struct kind *kind, const struct gw_plot_options *options,
                                struct gw_error *error) {
    if ((kind->subject == NULL) != (options->subject == NULL)) {
        return gw_fail(error, GW_BAD_INPUT, "plot %s: expected %s, got %s%s%s", kind->name,
                       kind->subject == NULL ? "no more words" : kind->subject,
                       options->subject == NULL ? "" : "\"",
                       options->subject == NULL ? "nothing" : options->subject,
                       options->subject == NULL ? "" : "\"");
    }
    struct gw_plot_options asked = *options;
    asked.algorithms = options->algorithms == NULL ? kind->algorithms : options->algorithms;
    return kind->plot(&asked, error);
}

static enum gw_status plot(const struct gw_plot_options *options, struct gw_error *error) {
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
    return gw_fail(
        error, GW_BAD_INPUT,
        "plot: expected breakdown, validation, calibration, bounds, density or padding, got "
        "\"%s\"",
        options->kind);
}

static enum gw_status put_document(const struct gw_plot_options *options, cJSON *document,
                                   struct gw_error *error) {
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/plot@1", error));
    GW_TRY(gw_json_put_text(document, "kind", options->kind, error));
    GW_TRY(gw_json_put_text(document, "picture", options->out, error));
    return options->data == NULL ? GW_OK : gw_json_put_text(document, "data", options->data, error);
}

static enum gw_status print_json(const struct gw_plot_options *options, struct gw_error *error) {
    cJSON *document = cJSON_CreateObject();
    return gw_print_filled(document, put_document(options, document, error), error);
}

static int run(int argc, char **argv) {
    struct gw_plot_options options = {
        .shape = "normal", .elements = 100000, .question = {.partial = true}};
    struct gw_error error = {0};
    gw_cli_parse(&argp, "plot", argc, argv, &options);
    enum gw_status status = plot(&options, &error);
    if (status == GW_OK && options.output.json) {
        status = print_json(&options, &error);
    }
    return status == GW_OK ? GW_OK : gw_cli_fail(&error);
}

const struct gw_verb gw_verb_plot = {
    .name = "plot",
    .title = "pictures of predictions, validations, calibrations, bounds and counts",
    .run = run};
