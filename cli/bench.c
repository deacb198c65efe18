#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/bench.h"
#include "cli/cli.h"
#include "kernels/kernels.h"

struct options {
    struct gw_output_options output;
    const char *what, *compressors, *shape;
    size_t elements, threads, repeats;
    double density;
    uint64_t seed;
};

enum { KEY_SEED = 2000, KEY_SHAPE, MOST_REPEATS = 10000 };

static const struct argp_option option_table[] = {
    {"elements", 'n', "N", 0, "Elements of the gradient (default 25557032, as ResNet-50 has)", 0},
    {"density", 'd', "R", 0, "Share of elements that is asked for (default 0.001)", 0},
    {"compressor", 'c', "A[,B..]|all", 0, "The compressors (default all)", 0},
    {"shape", KEY_SHAPE, "NAME", 0,
     "Of the gradient: normal, laplace, student (of 2 degrees), sparse, constant or sorted "
     "(default normal)",
     0},
    {"threads", 't', "T", 0, "Threads that share the work (default 1)", 0},
    {"repeats", 'r', "COUNT", 0, "Repeats of each measurement (default 11)", 0},
    {"seed", KEY_SEED, "SEED", 0, "Of the gradient (default 1)", 0},
    {0},
};

static void take_word(struct options *options, char *argument, struct argp_state *state) {
    if (state->arg_num > 0 || strcmp(argument, "compressors") != 0) {
        argp_error(state, "expected compressors, got \"%s\"", argument);
    }
    options->what = argument;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->output;
        return 0;
    case 'n':
        options->elements = gw_parse_count(argument, "--elements", state);
        return 0;
    case 'd':
        options->density = gw_parse_positive(argument, "--density", 1, state);
        return 0;
    case 'c':
        options->compressors = argument;
        return 0;
    case KEY_SHAPE:
        options->shape = argument;
        return 0;
    case 't':
        options->threads = gw_parse_count(argument, "--threads", state);
        return 0;
    case 'r':
        options->repeats = gw_parse_count(argument, "--repeats", state);
        return 0;
    case KEY_SEED:
        options->seed = gw_parse_seed(argument, state);
        return 0;
    case ARGP_KEY_ARG:
        take_word(options, argument, state);
        return 0;
    case ARGP_KEY_END:
        if (options->what == NULL) {
            argp_error(state, "expected what to measure: compressors");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&gw_output_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "compressors",
    .doc = "Measures the compressors on this machine: how long a selection takes, beside one pass "
           "that reads the gradient and sums magnitudes, and how much of what exact top-k would "
           "send it captures.",
    .children = children,
};

/* ---- what is asked for --------------------------------------------------------------------- */

static enum gw_status draw(const struct options *options, float *u, float *gradient,
                           struct gw_error *error) {
    GW_TRY(gw_draw_gradient(options->shape, options->elements, options->seed, 0, u, error));
    return gw_draw_gradient(options->shape, options->elements, options->seed, 1, gradient, error);
}

/* ---- what comes out ------------------------------------------------------------------------ */

static void print_table(const struct options *options, const struct gw_bench_result *result) {
    static const char *const headings[] = {"compressor",   "median", "passes", "with residual",
                                           "selected / k", "energy", NULL};
    char elements[GW_UNITS_SIZE];
    char pass[GW_UNITS_SIZE];
    printf("%s elements (%s), density %g, %zu thread%s, %s; one pass of reading takes %s\n\n",
           gw_format_count((double)options->elements, elements), options->shape, options->density,
           options->threads, options->threads == 1 ? "" : "s", gw_instruction_set(),
           gw_format_seconds(result->read_pass_s.median, pass));
    struct gw_table *table = gw_table_open(headings, "lrrrrr");
    for (size_t i = 0; i < result->count; i++) {
        const struct gw_bench_row *row = &result->rows[i];
        char median[GW_UNITS_SIZE];
        gw_table_cell(table, "%s", row->compressor->name);
        gw_table_cell(table, "%s", gw_format_seconds(row->select_s.median, median));
        gw_table_cell(table, "%.2f", row->passes);
        gw_table_cell(table, "%.2f", row->compress_passes);
        gw_table_cell(table, "%.3f", row->count_ratio);
        gw_table_cell(table, "%.3f", row->energy_ratio);
    }
    gw_table_print_and_close(table);
    printf("\npasses: medians of %zu repeats over that of one pass of reading; with residual: the "
           "gradient added,\nwhat is sent cleared; energy: of what is selected over that of exact "
           "top-k\n",
           options->repeats);
}

static enum gw_status put_row(const struct gw_bench_row *row, cJSON *rows, struct gw_error *error) {
    cJSON *object = cJSON_CreateObject();
    GW_TRY(gw_json_append(rows, object, error));
    GW_TRY(gw_json_put_text(object, "compressor", row->compressor->name, error));
    GW_TRY(gw_json_put_number(object, "median_s", row->select_s.median, error));
    GW_TRY(gw_json_put_number(object, "p5_s", row->select_s.p5, error));
    GW_TRY(gw_json_put_number(object, "p95_s", row->select_s.p95, error));
    GW_TRY(gw_json_put_number(object, "passes", row->passes, error));
    GW_TRY(gw_json_put_number(object, "with_residual_s", row->compress_s.median, error));
    GW_TRY(gw_json_put_number(object, "with_residual_passes", row->compress_passes, error));
    GW_TRY(gw_json_put_number(object, "count_ratio", row->count_ratio, error));
    return gw_json_put_number(object, "energy_ratio", row->energy_ratio, error);
}

static enum gw_status put_document(const struct options *options,
                                   const struct gw_bench_result *result, cJSON *document,
                                   struct gw_error *error) {
    cJSON *rows = cJSON_CreateArray();
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/bench@1", error));
    GW_TRY(gw_json_put_number(document, "elements", (double)options->elements, error));
    GW_TRY(gw_json_put_number(document, "density", options->density, error));
    GW_TRY(gw_json_put_text(document, "shape", options->shape, error));
    GW_TRY(gw_json_put_number(document, "threads", (double)options->threads, error));
    GW_TRY(gw_json_put_text(document, "instruction_set", gw_instruction_set(), error));
    GW_TRY(gw_json_put_number(document, "read_pass_s", result->read_pass_s.median, error));
    GW_TRY(gw_json_put(document, "compressors", rows, error));
    for (size_t i = 0; i < result->count; i++) {
        GW_TRY(put_row(&result->rows[i], rows, error));
    }
    return GW_OK;
}

static enum gw_status print_json(const struct options *options,
                                 const struct gw_bench_result *result, struct gw_error *error) {
    cJSON *document = cJSON_CreateObject();
    return gw_print_filled(document, put_document(options, result, document, error), error);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static enum gw_status measure(const struct options *options,
                              const struct gw_compressor *const *compressors, float *u,
                              float *gradient, struct gw_error *error) {
    struct gw_bench_result result = {0};
    GW_TRY(draw(options, u, gradient, error));
    struct gw_progress progress = gw_progress_begin("bench", 1);
    const struct gw_bench bench = {.compressors = compressors,
                                   .elements = options->elements,
                                   .kept = gw_elements_kept(options->elements, options->density),
                                   .u = u,
                                   .gradient = gradient,
                                   .threads = options->threads,
                                   .repeats = options->repeats,
                                   .seed = options->seed,
                                   .progress = &progress};
    enum gw_status status = gw_bench_run(&bench, &result, error);
    gw_progress_end(&progress);
    if (status == GW_OK && options->output.json) {
        status = print_json(options, &result, error);
    } else if (status == GW_OK) {
        print_table(options, &result);
    }
    gw_bench_free(&result);
    return status;
}

static enum gw_status bench(const struct options *options, struct gw_error *error) {
    const struct gw_compressor *compressors[GW_MOST_COMPRESSORS];
    enum gw_shape shape;
    GW_TRY(gw_compressors_parse(options->compressors, compressors, error));
    GW_TRY(gw_shape_parse(options->shape, &shape, error));
    if (options->repeats > MOST_REPEATS) {
        return gw_fail(error, GW_BAD_INPUT, "--repeats: expected at most %d, got %zu", MOST_REPEATS,
                       options->repeats);
    }
    if (options->elements > UINT32_MAX) {
        return gw_fail(error, GW_BAD_INPUT, "--elements: expected less than 2^32, got %zu",
                       options->elements);
    }
    float *u = malloc(options->elements * sizeof *u);
    float *gradient = malloc(options->elements * sizeof *gradient);
    enum gw_status status = u == NULL || gradient == NULL
                                ? gw_fail_memory(error, "measuring compressors")
                                : measure(options, compressors, u, gradient, error);
    free(u);
    free(gradient);
    return status;
}

static int run(int argc, char **argv) {
    struct options options = {.compressors = "all",
                              .shape = "normal",
                              .elements = 25557032,
                              .threads = 1,
                              .repeats = 11,
                              .density = 0.001,
                              .seed = 1};
    struct gw_error error = {0};
    gw_cli_parse(&argp, "bench", argc, argv, &options);
    enum gw_status status = bench(&options, &error);
    return status == GW_OK ? GW_OK : gw_cli_fail(&error);
}

const struct gw_verb gw_verb_bench = {
    .name = "bench", .title = "speed and quality of compressors on this machine", .run = run};
