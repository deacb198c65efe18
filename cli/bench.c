#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/cli.h"
#include "cli/device.h"
#include "kernels/kernels.h"

struct options {
    struct gw_output_options output;
    const char *what, *compressors, *shape;
    size_t elements, threads, repeats;
    double density;
    uint64_t seed;
    struct gw_device_choice device;
};

/* What selections are made from, and what is added to it first. */
struct vectors {
    float *u, *gradient; /* [elements] */
};

enum { KEY_SEED = 2000, KEY_SHAPE, KEY_DEVICE, MOST_REPEATS = 10000 };

static const struct argp_option option_table[] = {
    {"elements", 'n', "N", 0, "Elements of the gradient (default 25557032, as ResNet-50 has)", 0},
    {"density", 'd', "R", 0, "Share of elements that is asked for (default 0.001)", 0},
    {"compressor", 'c', "A[,B..]|all", 0, "The compressors (default all)", 0},
    {"shape", KEY_SHAPE, "NAME", 0,
     "Of the gradient: normal, laplace, student (of 2 degrees), sparse, constant or sorted "
     "(default normal)",
     0},
    {"threads", 't', "T", 0, "Threads that share the work (default 1)", 0},
    {"device", KEY_DEVICE, "cpu|cuda[:N]", 0, "What selects: cpu (default), or GPU N (default 0)",
     0},
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
    case KEY_DEVICE:
        options->device = gw_parse_device(argument, state);
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
        if (options->device.cuda && options->threads > 0) {
            argp_error(state, "--threads: expected --device cpu with it");
        }
        options->threads = options->threads > 0 ? options->threads : 1;
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

/* ---- the verb ------------------------------------------------------------------------------ */

static enum gw_status measure(const struct options *options,
                              const struct gw_compressor *const *compressors,
                              struct gw_device *device, struct vectors *vectors,
                              struct gw_bench_result *result, struct gw_error *error) {
    GW_TRY(draw(options, vectors->u, vectors->gradient, error));
    struct gw_progress progress = gw_progress_begin("bench", 1);
    const struct gw_bench bench = {.compressors = compressors,
                                   .elements = options->elements,
                                   .kept = gw_elements_kept(options->elements, options->density),
                                   .u = vectors->u,
                                   .gradient = vectors->gradient,
                                   .threads = options->threads,
                                   .repeats = options->repeats,
                                   .seed = options->seed,
                                   .progress = &progress};
    enum gw_status status = device == NULL ? gw_bench_run(&bench, result, error)
                                           : gw_bench_run_gpu(&bench, device, result, error);
    gw_progress_end(&progress);
    return status;
}

static enum gw_status measure_and_print(const struct options *options,
                                        const struct gw_compressor *const *compressors,
                                        struct gw_device *device, const struct gw_gpu *gpu,
                                        struct gw_error *error) {
    struct gw_bench_result result = {0};
    struct vectors vectors = {.u = malloc(options->elements * sizeof(float)),
                              .gradient = malloc(options->elements * sizeof(float))};
    const struct gw_bench_request request = {.shape = options->shape,
                                             .elements = options->elements,
                                             .threads = options->threads,
                                             .repeats = options->repeats,
                                             .density = options->density,
                                             .gpu = device == NULL ? NULL : gpu};
    enum gw_status status = vectors.u == NULL || vectors.gradient == NULL
                                ? gw_fail_memory(error, "measuring compressors")
                                : measure(options, compressors, device, &vectors, &result, error);
    if (status == GW_OK && options->output.json) {
        status = gw_bench_print_json(&request, &result, error);
    } else if (status == GW_OK) {
        gw_bench_print(&request, &result);
    }
    gw_bench_free(&result);
    free(vectors.u);
    free(vectors.gradient);
    return status;
}

static enum gw_status bench(const struct options *options, struct gw_error *error) {
    const struct gw_compressor *compressors[GW_MOST_COMPRESSORS];
    struct gw_device *device = NULL;
    struct gw_gpu gpu = {0};
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
    if (options->device.cuda) {
        GW_TRY(gw_device_choice_open(&options->device, 0, &device, &gpu, error));
    }
    enum gw_status status = device == NULL
                                ? GW_OK
                                : gw_keep_compressors_for_gpus(
                                      compressors, strcmp(options->compressors, "all") != 0, error);
    if (status == GW_OK) {
        status = measure_and_print(options, compressors, device, &gpu, error);
    }
    gw_device_close(device);
    return status;
}

static int run(int argc, char **argv) {
    struct options options = {.compressors = "all",
                              .shape = "normal",
                              .elements = 25557032,
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
