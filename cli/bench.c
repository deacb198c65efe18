#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/job.h"
#include "kernels/gpu.h"
#include "methods/methods.h"
#include "report/measurements.h"

struct options {
    struct gw_output_options output;
    int what;
    const char *compressors;
    struct gw_bench_request request; /* but for the GPU */
    uint64_t seed;
    struct gw_device_choice device;
};

/* A residual to select from, and a gradient to add to it first. */
struct bench_vectors {
    float *u, *gradient; /* [elements] */
};

#define IN(member) offsetof(struct options, member)

static const char *const subjects[] = {"compressors", NULL};

static const struct gw_option option_table[] = {
    {NULL, 0, "compressors", GW_CHOICE, IN(what), .help = "What is measured", .choices = subjects,
     .expected = "expected compressors, got"},
    {"elements", 'n', "N", GW_COUNT, IN(request.elements),
     .help = "Elements of the gradient, as ResNet-50 has", .value = "25557032",
     .maximum = UINT32_MAX},
    {"density", 'd', "R", GW_POSITIVE, IN(request.density), .help = "Share of elements to select",
     .value = GW_USUAL_DENSITY_TEXT, .maximum = 1},
    {"compressor", 'c', "A[,B..]|all", GW_TEXT, IN(compressors), .help = "The compressors",
     .value = "all", .names = GW_NAMES_COMPRESSORS, .is_list = true},
    {"shape", 0, "NAME", GW_TEXT, IN(request.shape),
     .help = "Distribution of the gradient: normal, laplace, student (of 2 degrees), sparse (90% "
             "zeros), "
             "constant or sorted",
     .value = "normal", .names = GW_NAMES_SHAPES},
    {"threads", 't', "T", GW_COUNT, IN(request.threads), .help = "Threads that share the work",
     .value = "1", .maximum = GW_MAX_THREADS},
    {"device", 0, "cpu|cuda[:N]", GW_CUSTOM, IN(device),
     .help = "Device that selects: this machine's processors, or GPU N (default: 0)",
     .value = "cpu", .choices = gw_device_kinds, .read = gw_read_device},
    {"repeats", 'r', "COUNT", GW_COUNT, IN(request.repeats), .help = "Repeats of each measurement",
     .value = "11", .maximum = 10000},
    {"seed", 0, "SEED", GW_INTEGER, IN(seed), .help = "Seed of the gradient", .value = "1"},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_output_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {NULL, GW_NEEDS, "compressors", "expected a subject to measure: compressors"},
    {"threads", GW_EXCLUDES, "device=cuda", "--threads: expected --device cpu with it"},
    {0},
};

/* ---- the verb ------------------------------------------------------------------------------ */

static enum gw_status bench_compressors(const struct options *options,
                                        const struct gw_compressor *const *compressors,
                                        struct gw_device *device, struct bench_vectors *vectors,
                                        struct gw_bench_result *result, struct gw_error *error) {
    const struct gw_bench_request *request = &options->request;
    size_t elements = request->elements;
    GW_TRY(gw_draw_gradient(request->shape, elements, options->seed, 0, vectors->u, error));
    GW_TRY(gw_draw_gradient(request->shape, elements, options->seed, 1, vectors->gradient, error));
    struct gw_progress progress = gw_progress_begin("bench", 1);
    const struct gw_bench bench = {.compressors = compressors,
                                   .elements = elements,
                                   .kept = gw_elements_kept(elements, request->density),
                                   .u = vectors->u,
                                   .gradient = vectors->gradient,
                                   .threads = request->threads,
                                   .repeats = request->repeats,
                                   .seed = options->seed,
                                   .progress = &progress};
    enum gw_status status = gw_bench_run(&bench, device, result, error);
    gw_progress_end(&progress);
    return status;
}

static enum gw_status measure_and_print(const struct options *options,
                                        const struct gw_compressor *const *compressors,
                                        struct gw_device *device, const struct gw_gpu *gpu,
                                        struct gw_error *error) {
    struct gw_bench_result result = {0};
    size_t bytes = options->request.elements * sizeof(float);
    struct bench_vectors vectors = {.u = malloc(bytes), .gradient = malloc(bytes)};
    struct gw_bench_request request = options->request;
    request.gpu = device == NULL ? NULL : gpu;
    enum gw_status status =
        vectors.u == NULL || vectors.gradient == NULL
            ? gw_fail_memory(error, "measuring compressors")
            : bench_compressors(options, compressors, device, &vectors, &result, error);
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

static enum gw_status answer_bench(void *values, struct gw_error *error) {
    const struct options *options = values;
    const struct gw_compressor *compressors[GW_MAX_COMPRESSORS];
    struct gw_device *device = NULL;
    struct gw_gpu gpu = {0};
    enum gw_shape shape;
    GW_TRY(gw_compressors_parse(options->compressors, compressors, error));
    GW_TRY(gw_shape_parse(options->request.shape, &shape, error));
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

static struct options options;

const struct gw_verb gw_verb_bench = {
    .name = "bench",
    .title = "measures speed and quality of compressors on this machine",
    .usage = "compressors",
    .about =
        "Measures the compressors on this machine: how long a selection takes, beside one pass "
        "that reads the gradient and sums magnitudes, and how much of what exact top-k would "
        "send it captures.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected compressors, got",
    .values = &options,
    .answer = answer_bench,
};
