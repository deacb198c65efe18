#include <stdlib.h>
#include <string.h>

#include "cli/plot.h"

#define MISSING "expected KIND, then MODEL, FILE or CLUSTER, and --out PICTURE"
#define IN(member) offsetof(struct gw_plot_options, member)

static const struct gw_option option_table[] = {
    {NULL, 0, "KIND", GW_TEXT, IN(kind), .help = "What kind of picture"},
    {NULL, 0, "SUBJECT", GW_TEXT, IN(subject), .help = "What is drawn", .names = GW_NAMES_FILES},
    {"out", 'o', "FILE", GW_TEXT, IN(out), .help = "The picture: .png, .svg or .pdf (required)",
     .names = GW_NAMES_FILES},
    {"data", 0, "FILE.csv", GW_TEXT, IN(data), .help = "Keep the plotted numbers",
     .names = GW_NAMES_FILES},
    {.kind = GW_INCLUDE, .offset = IN(question), .table = gw_cluster_table},
    {.kind = GW_INCLUDE, .offset = IN(question), .table = gw_workers_table},
    {"algo", 'a', "A[,B..]|all", GW_TEXT, IN(algorithms),
     .help = "breakdown: the pipelines; density: those whose counts are drawn",
     .otherwise = "all; of density hard-threshold,topk,exdyna", .names = GW_NAMES_ALGORITHMS,
     .is_list = true},
    {"shape", 0, "NAME", GW_TEXT, IN(shape),
     .help = "bounds: of the gradient, as for gradweave bench", .value = "normal",
     .names = GW_NAMES_SHAPES},
    {"elements", 0, "N", GW_COUNT, IN(elements),
     .help = "bounds: of the gradient; density, padding: of the model, reduced", .value = "100000"},
    {"iterations", 'n', "N", GW_COUNT, IN(iterations), .help = "density, padding: how many",
     .otherwise = "2000"},
    {"decay", 0, "ITERATION", GW_COUNT, IN(decay),
     .help = "density, padding: from which gradients are a tenth as large", .otherwise = "never"},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_output_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {NULL, GW_NEEDS, "KIND", MISSING},
    {NULL, GW_NEEDS, "out", MISSING},
    {0},
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
    struct gw_plot_options options = {0};
    struct gw_error error = {0};
    gw_parse_options(&gw_verb_plot, argc, argv, &options);
    enum gw_status status = plot(&options, &error);
    if (status == GW_OK && options.output.json) {
        status = print_json(&options, &error);
    }
    return status == GW_OK ? GW_OK : gw_cli_fail(&error);
}

const struct gw_verb gw_verb_plot = {
    .name = "plot",
    .title = "pictures of predictions, validations, calibrations, bounds and counts",
    .usage = "breakdown MODEL --cluster CLUSTER --out PICTURE\n"
             "validation VALIDATION.json --out PICTURE\n"
             "calibration CLUSTER --out PICTURE\n"
             "bounds --out PICTURE\n"
             "density MODEL --out PICTURE\n"
             "padding MODEL --out PICTURE",
    .about = "Draws a picture with gnuplot.\v"
             "breakdown: the predicted iteration time of each pipeline, stacked by where it goes. "
             "validation: the same from a document of `gradweave validate --json`, with the "
             "measured time beside the predicted one. calibration: what collectives and "
             "compressors of a cluster took, with their fitted curves. bounds: how much of a "
             "gradient's energy the k largest elements leave behind, and what is proven about "
             "that. density: over the iterations of an emulated training, the share of elements "
             "that some worker selects. padding: what ExDyna's padded exchange costs there, with "
             "and without dynamic allocation.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected KIND and what to draw, got also",
    .run = run,
};
