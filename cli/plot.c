#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "methods/methods.h"
#include "report/pictures.h"
#include "report/report.h"

struct options {
    struct gw_output_options output;
    enum {
        TIMELINE,
        BREAKDOWN,
        PLAN,
        SCALING,
        CROSSOVER,
        FRONT,
        VALIDATION,
        DIFFERENCE,
        CALIBRATION,
        CONVERGENCE,
        BOUNDS,
        DENSITY,
        PADDING
    } kind;
    struct gw_picture picture;
};

#define MISSING "expected KIND, then MODEL, FILE or CLUSTER, and --out PICTURE"
#define IN(member) offsetof(struct options, member)

static const char *const kind_names[] = {[TIMELINE] = "timeline",     [PLAN] = "plan",
                                         [SCALING] = "scaling",       [CROSSOVER] = "crossover",
                                         [FRONT] = "front",           [CONVERGENCE] = "convergence",
                                         [BREAKDOWN] = "breakdown",   [VALIDATION] = "validation",
                                         [DIFFERENCE] = "difference", [CALIBRATION] = "calibration",
                                         [BOUNDS] = "bounds",         [DENSITY] = "density",
                                         [PADDING] = "padding",       NULL};

static const struct gw_option option_table[] = {
    {NULL, 0, "KIND", GW_CHOICE, IN(kind), .help = "What kind of picture", .choices = kind_names,
     .expected = "expected timeline, breakdown, plan, scaling, crossover, front, validation, "
                 "difference, calibration, convergence, bounds, density or padding, got"},
    {NULL, 0, "SUBJECT", GW_TEXT, IN(picture.subject), .help = "What is drawn",
     .names = GW_NAMES_DATA},
    {"out", 'o', "FILE", GW_TEXT, IN(picture.out), .help = "The picture: .png, .svg or .pdf",
     .names = GW_NAMES_FILES, .writes = true},
    {"data", 0, "FILE.csv", GW_TEXT, IN(picture.data),
     .help = "Write the plotted numbers; without --out nothing is drawn, and no gnuplot is needed",
     .names = GW_NAMES_FILES, .writes = true},
    {"cluster", 0, "CLUSTER", GW_TEXT, IN(picture.cluster),
     .help = "timeline, breakdown, plan, scaling, crossover, front: cluster file, or the name of "
             "one that ships",
     .names = GW_NAMES_CLUSTERS},
    {"density", 0, "R", GW_POSITIVE, IN(picture.density),
     .help = "Pictures of a model: share of elements that compressors keep", .maximum = 1,
     .otherwise = GW_USUAL_DENSITY_TEXT},
    {"workers", 0, "P", GW_COUNT, IN(picture.workers),
     .help = "Pictures of a model: number of workers",
     .otherwise = "the cluster's; 16 for density and padding",
     .several = "compare, sweep and plan --sweep"},
    {"algo", 'a', "A[,B..]|all", GW_TEXT, IN(picture.algorithms),
     .help = "breakdown: the pipelines; density: those whose counts are drawn; timeline, plan: one "
             "of them",
     .otherwise = "all; hard-threshold,topk,exdyna for density; omgs-optimal for timeline and plan",
     .names = GW_NAMES_ALGORITHMS, .is_list = true},
    {"choices", 0, "A,B,..", GW_TEXT, IN(picture.choices),
     .help = "front: of mixed plans, of which each group goes by one of these, as for gradweave "
             "plan"},
    {"gradients", 0, "FILE", GW_TEXT, IN(picture.gradients),
     .help = "front with --choices: the energy of each tensor by the recorded gradients in FILE",
     .otherwise = "bell-shaped ones", .names = GW_NAMES_FILES},
    {"shape", 0, "NAME", GW_TEXT, IN(picture.shape),
     .help = "bounds: distribution of the gradient, as for gradweave bench", .value = "normal",
     .names = GW_NAMES_SHAPES},
    {"elements", 0, "N", GW_COUNT, IN(picture.elements),
     .help = "Elements of the gradient (bounds) or of the reduced model (density, padding)",
     .value = "100000"},
    {"iterations", 'n', "N", GW_COUNT, IN(picture.iterations),
     .help = "density, padding: number of iterations", .otherwise = "2000"},
    {"decay", 0, "ITERATION", GW_COUNT, IN(picture.decay),
     .help = "density, padding: first iteration with gradients a tenth as large",
     .otherwise = "never"},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_writing_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {NULL, GW_NEEDS, "KIND", MISSING},
    {NULL, GW_NEEDS, "out data", MISSING},
    {"choices", GW_NEEDS, "KIND=front", "--choices: expected plot front with it"},
    {"gradients", GW_NEEDS, "choices", "--gradients: expected --choices with it"},
    {0},
};

/* ---- the verb ------------------------------------------------------------------------------ */

static const struct kind {
    const char *subject; /* operand expected after the name; NULL: none */
    enum gw_status (*draw)(const struct gw_picture *picture, struct gw_error *error);
    const char *algorithms; /* if none are given; NULL: it draws none */
} kinds[] = {[TIMELINE] = {"MODEL", gw_draw_timeline, "omgs-optimal"},
             [PLAN] = {"MODEL", gw_draw_plan, "omgs-optimal"},
             [SCALING] = {"MODEL", gw_draw_scaling, NULL},
             [CROSSOVER] = {"MODEL", gw_draw_map, NULL},
             [FRONT] = {"MODEL", gw_draw_front, NULL},
             [CONVERGENCE] = {"ACCURACY.json", gw_draw_convergence, NULL},
             [BREAKDOWN] = {"MODEL", gw_draw_breakdown, "all"},
             [VALIDATION] = {"VALIDATION.json", gw_draw_validation, NULL},
             [DIFFERENCE] = {"VALIDATION.json", gw_draw_difference, NULL},
             [CALIBRATION] = {"CLUSTER", gw_draw_calibration, NULL},
             [BOUNDS] = {NULL, gw_draw_bounds, NULL},
             [DENSITY] = {"MODEL", gw_draw_density, "hard-threshold,topk,exdyna"},
             [PADDING] = {"MODEL", gw_draw_padding, NULL}};

static enum gw_status answer_plot(void *values, struct gw_error *error) {
    const struct options *options = values;
    struct gw_result notes = {0};
    if (options->picture.out != NULL) {
        GW_TRY(gw_plot_check(options->picture.out, error));
        GW_TRY(gw_file_check_target(options->picture.out, NULL, error));
    }
    if (options->picture.data != NULL) {
        GW_TRY(gw_file_check_target(options->picture.data, NULL, error));
    }
    const struct kind *kind = &kinds[options->kind];
    if ((kind->subject == NULL) != (options->picture.subject == NULL)) {
        return gw_fail(error, GW_BAD_INPUT, "plot %s: expected %s, got %s%s%s",
                       kind_names[options->kind],
                       kind->subject == NULL ? "no more words" : kind->subject,
                       options->picture.subject == NULL ? "" : "\"",
                       options->picture.subject == NULL ? "nothing" : options->picture.subject,
                       options->picture.subject == NULL ? "" : "\"");
    }
    struct gw_picture picture = options->picture;
    picture.notes = &notes;
    picture.algorithms = picture.algorithms == NULL ? kind->algorithms : picture.algorithms;
    GW_TRY(kind->draw(&picture, error));
    if (options->output.json) {
        struct gw_json_writer writer;
        gw_writer_begin(&writer);
        gw_writer_text(&writer, "schema", "gradweave/plot@1");
        gw_writer_text(&writer, "kind", kind_names[options->kind]);
        if (options->picture.out != NULL) {
            gw_writer_text(&writer, "picture", options->picture.out);
        }
        if (options->picture.data != NULL) {
            gw_writer_text(&writer, "data", options->picture.data);
        }
        gw_result_write_notes(&notes, &writer);
        return gw_print_written(&writer, error);
    }
    gw_print_collected_notes(&notes);
    return GW_OK;
}

static struct options options;

const struct gw_verb gw_verb_plot = {
    .name = "plot",
    .title = "draws predictions, validations, calibrations, bounds and counts",
    .usage = "timeline MODEL --cluster CLUSTER --out PICTURE\n"
             "breakdown MODEL --cluster CLUSTER --out PICTURE\n"
             "plan MODEL --cluster CLUSTER --out PICTURE\n"
             "scaling MODEL --cluster CLUSTER --out PICTURE\n"
             "crossover MODEL --cluster CLUSTER --out PICTURE\n"
             "front MODEL --cluster CLUSTER --out PICTURE\n"
             "convergence ACCURACY.json --out PICTURE\n"
             "validation VALIDATION.json --out PICTURE\n"
             "difference VALIDATION.json --out PICTURE\n"
             "calibration CLUSTER --out PICTURE\n"
             "bounds --out PICTURE\n"
             "density MODEL --out PICTURE\n"
             "padding MODEL --out PICTURE",
    .about =
        "Draws a picture with gnuplot.\v"
        "timeline: operations of both streams of a pipeline. breakdown: the predicted iteration "
        "time of each pipeline, stacked by its parts. "
        "validation: the same from a document of `gradweave validate --json`, with the "
        "measured time beside the predicted one, and how far off that is. plan: which tensors "
        "travel together. scaling: efficiency over workers, of what gradweave advise "
        "recommends and of its rivals. crossover: the fastest pipeline over bandwidths and "
        "densities. front: all pipelines by time and by the energy that they send, or with "
        "--choices the fastest mixed plans by the energy that they keep at least. "
        "convergence: in how many iterations trainings came to their goal. difference: from "
        "one of `gradweave validate "
        "--explain`, both timelines of an iteration. calibration: what collectives and "
        "compressors of a cluster took, with their fitted curves. bounds: how much of a "
        "gradient's energy the k largest elements leave behind, and what is proven about "
        "that. density: over the iterations of an emulated training, the share of elements "
        "that some worker selects. padding: what ExDyna's padded exchange costs there, with "
        "and without dynamic allocation.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected KIND and its subject, got also",
    .values = &options,
    .answer = answer_plot,
};
