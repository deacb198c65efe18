#include "core/noise.h"

#include <errno.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/fields.h"
#include "core/file.h"
#include "core/portable.h"
#include "core/random.h"

/*
 * Distributions with an exponential or a logarithm do not use GSL's functions: those use libm's,
 * and arithmetic that depends on how GSL was compiled. Drawing from a sample uses GSL's: only
 * integers decide it.
 */

/* ---- streams ------------------------------------------------------------------------------- */

/* Counts a stream's draws: odd, with its bits evenly spread (2^64 over the golden ratio). */
static const uint64_t STEP = 0x9e3779b97f4a7c15u;

uint64_t gw_noise_stream(uint64_t seed, uint64_t repetition, uint64_t source) {
    return gw_random_mix(gw_random_mix(gw_random_mix(seed) + repetition) + source);
}

static inline uint64_t draw_bits(uint64_t stream, uint64_t index) {
    return gw_random_mix(stream + index * STEP);
}

/* ---- a measured sample --------------------------------------------------------------------- */

static unsigned long next_integer(void *state) {
    uint64_t *position = state;
    *position += STEP;
    return (unsigned long)(gw_random_mix(*position) >> 32);
}

static double next_double(void *state) {
    return (double)next_integer(state) * 0x1p-32;
}

static void begin_stream(void *state, unsigned long seed) {
    *(uint64_t *)state = seed;
}

/* A generator for GSL that begins at a draw; GSL takes more draws if it rejects some. */
static const gsl_rng_type stream_type = {"gradweave",  0xffffffffUL, 0,          sizeof(uint64_t),
                                         begin_stream, next_integer, next_double};

static double sampled_factor(const struct gw_noise *noise, uint64_t stream, uint64_t index) {
    double value = 0;
    uint64_t position = draw_bits(stream, index);
    gsl_rng generator = {&stream_type, &position};
    gsl_ran_sample(&generator, &value, 1, noise->sample, noise->count, sizeof value);
    return value;
}

/* ---- a job's noise ------------------------------------------------------------------------- */

size_t gw_noise_iterations(const struct gw_noise *noise) {
    return noise->kind == GW_NOISE_RECORDED ? noise->count / noise->ranks : 0;
}

uint64_t gw_noise_worker_stream(const struct gw_noise *noise, uint64_t seed, uint64_t repetition,
                                uint64_t worker) {
    if (noise->kind != GW_NOISE_RECORDED) {
        return gw_noise_stream(seed, repetition, worker);
    }
    uint64_t position = gw_noise_stream(seed, repetition, worker / noise->ranks);
    gsl_rng generator = {&stream_type, &position};
    uint64_t iteration = gsl_rng_uniform_int(&generator, gw_noise_iterations(noise));
    return iteration * noise->ranks + worker % noise->ranks;
}

/* ---- factors ------------------------------------------------------------------------------- */

void gw_noise_factors(const struct gw_noise *noise, const uint64_t *streams, size_t count,
                      uint64_t index, double *out) {
    double sigma = noise->sigma;
    if (noise->kind != GW_NOISE_NORMAL && noise->kind != GW_NOISE_LOGNORMAL) {
        for (size_t i = 0; i < count; i++) {
            out[i] = noise->kind == GW_NOISE_SAMPLE     ? sampled_factor(noise, streams[i], index)
                     : noise->kind == GW_NOISE_RECORDED ? noise->sample[streams[i]]
                                                        : 1;
        }
        return;
    }
    /* From the upper 52 bits: in steps of 2^-52, half a step away from 0 and from 1. */
    for (size_t i = 0; i < count; i++) {
        out[i] = ((double)(int64_t)(draw_bits(streams[i], index) >> 12) + 0.5) * 0x1p-52;
    }
    gw_normal_quantile_each(out, count);
    if (noise->kind == GW_NOISE_NORMAL) {
        for (size_t i = 0; i < count; i++) {
            double factor = 1 + sigma * out[i];
            out[i] = factor > 0 ? factor : 0;
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = sigma * (out[i] - 0.5 * sigma); /* an infinite sigma^2 gives -infinity, not NaN */
    }
    gw_portable_exp_each(out, count);
}

double gw_noise_factor(const struct gw_noise *noise, uint64_t stream, uint64_t index) {
    double factor = 1;
    gw_noise_factors(noise, &stream, 1, index, &factor);
    return factor;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The names of noise, and the sample that it may be drawn from. */

static bool parse_noise_number(const char *text, char **end, double *out) {
    errno = 0;
    *out = strtod(text, end);
    return *end != text && errno != ERANGE && isfinite(*out) && *out >= 0;
}

/* ---- samples ------------------------------------------------------------------------------- */

static enum gw_status add_value(struct gw_noise *noise, size_t *capacity, double value,
                                struct gw_error *error) {
    GW_GROW(noise->sample, noise->count + 1, *capacity, "reading a sample", error);
    noise->sample[noise->count++] = value;
    return GW_OK;
}

static enum gw_status read_array(const char *text, size_t length, const char *path,
                                 struct gw_noise *out, struct gw_error *error) {
    cJSON *document = NULL;
    size_t capacity = 0;
    GW_TRY(gw_json_parse(text, length, path, &document, error));
    struct gw_json root = {.node = document, .file = path};
    enum gw_status status = GW_OK;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, document) {
        double value = 0;
        struct gw_json item = gw_json_item(&root, node, out->count);
        status = gw_json_not_negative(&item, &value, error);
        status = status == GW_OK ? add_value(out, &capacity, value, error) : status;
        if (status != GW_OK) {
            break;
        }
    }
    cJSON_Delete(document);
    return status;
}

/* Each line is ended by a zero while it is read. */
static enum gw_status read_lines(char *text, const char *path, struct gw_noise *out,
                                 struct gw_error *error) {
    size_t capacity = 0;
    size_t number = 0;
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        char *end = NULL;
        double value = 0;
        number++;
        line += strspn(line, " \t\r");
        if (*line == '\0' || *line == '#') {
            continue;
        }
        bool good = parse_noise_number(line, &end, &value);
        if (!good || end[strspn(end, " \t\r")] != '\0') {
            return gw_fail(error, GW_BAD_INPUT, "%s:%zu: expected a number >= 0, got \"%.40s\"",
                           path, number, line);
        }
        GW_TRY(add_value(out, &capacity, value, error));
    }
    return GW_OK;
}

/* Reads one iteration: a factor of each rank, equally many in each iteration. */
static enum gw_status read_ranks(const struct gw_json *iteration, struct gw_noise *out,
                                 size_t *capacity, struct gw_error *error) {
    size_t before = out->count;
    const cJSON *node = NULL;
    GW_TRY(gw_json_array(iteration, error));
    cJSON_ArrayForEach(node, iteration->node) {
        double factor = 0;
        struct gw_json item = gw_json_item(iteration, node, out->count - before);
        GW_TRY(gw_json_factor(&item, &factor, error));
        GW_TRY(add_value(out, capacity, factor, error));
    }
    size_t ranks = out->count - before;
    out->ranks = before == 0 ? ranks : out->ranks;
    return ranks > 0 && ranks == out->ranks
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: %s: expected a factor of each of %zu ranks, got "
                         "%zu",
                         iteration->file, iteration->path, out->ranks > 0 ? out->ranks : 1, ranks);
}

static enum gw_status read_factors(const struct gw_json *factors, void *out,
                                   struct gw_error *error) {
    size_t capacity = 0;
    size_t iterations = 0;
    const cJSON *node = NULL;
    GW_TRY(gw_json_array(factors, error));
    if (cJSON_GetArraySize(factors->node) == 0) {
        return gw_json_expected(factors, "at least one iteration", error);
    }
    cJSON_ArrayForEach(node, factors->node) {
        struct gw_json iteration = gw_json_item(factors, node, iterations++);
        GW_TRY(read_ranks(&iteration, out, &capacity, error));
    }
    return GW_OK;
}

static enum gw_status check_recorded(const struct gw_json *root, void *out,
                                     struct gw_error *error) {
    (void)root;
    (void)error;
    ((struct gw_noise *)out)->kind = GW_NOISE_RECORDED;
    return GW_OK;
}

static const struct gw_field rows[] = {
    {"model", .optional = true, .text = "that was recorded beside it, by its name"},
    {"compute_s", .optional = true, .text = "its computing time"},
    {"source", .optional = true, .text = "free"},
    {"factors", GW_AS_BLOCK, .at = offsetof(struct gw_noise, sample), .read = read_factors,
     .text =
         "a list for each iteration, and in it a number above 0 for each rank, of as many ranks "
         "in all: how long it computed, over `compute_s`"},
    {0}};

const struct gw_fields gw_noise_fields = {sizeof(struct gw_noise), .rows = rows,
                                          .schema = "gradweave/noise@1", .check = check_recorded};

static enum gw_status scale_to_mean_one(struct gw_noise *noise, const char *path,
                                        struct gw_error *error) {
    double mean = 0;
    for (size_t i = 0; i < noise->count; i++) {
        mean += noise->sample[i] / (double)noise->count;
    }
    if (!(mean > 0) || !isfinite(1 / mean)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected numbers with a mean above 0, got %zu with mean %g", path,
                       noise->count, mean);
    }
    for (size_t i = 0; i < noise->count; i++) {
        noise->sample[i] /= mean;
    }
    return GW_OK;
}

static enum gw_status read_sample(const char *path, struct gw_noise *out, struct gw_error *error) {
    char *text = NULL;
    size_t length = 0;
    GW_TRY(gw_file_read(path, &text, &length, error));
    *out = (struct gw_noise){.kind = GW_NOISE_SAMPLE};
    size_t blank = strspn(text, " \t\r\n");
    enum gw_status status = GW_OK;
    if (strlen(text) != length) {
        status = gw_fail(error, GW_BAD_INPUT, "%s: expected text, found a zero byte", path);
    } else if (text[blank] == '{') {
        status = gw_fields_parse(&gw_noise_fields, text, length, path, out, error);
    } else if (text[blank] == '[') {
        status = read_array(text, length, path, out, error);
    } else {
        status = read_lines(text, path, out, error);
    }
    free(text);
    if (status == GW_OK && out->kind == GW_NOISE_SAMPLE) {
        status = scale_to_mean_one(out, path, error);
    }
    if (status != GW_OK) {
        gw_noise_free(out);
    }
    return status;
}

void gw_noise_free(struct gw_noise *noise) {
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): there is no second read */
    free(noise->sample);
    *noise = (struct gw_noise){0};
}

/* ---- targets ------------------------------------------------------------------------------- */

/* Finds the text behind "<name>:"; NULL: it begins otherwise. */
static const char *find_argument(const char *name, const char *text) {
    size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && text[length] == ':' ? text + length + 1 : NULL;
}

enum gw_status gw_noise_read(const char *text, const char *option, struct gw_noise *out,
                             struct gw_error *error) {
    *out = (struct gw_noise){0};
    if (strcmp(text, "none") == 0) {
        return GW_OK;
    }
    const char *path = find_argument("sample", text);
    if (path != NULL) {
        return read_sample(path, out, error);
    }
    const char *sigma = find_argument("normal", text);
    enum gw_noise_kind kind = sigma != NULL ? GW_NOISE_NORMAL : GW_NOISE_LOGNORMAL;
    sigma = sigma != NULL ? sigma : find_argument("lognormal", text);
    char *end = NULL;
    (void)strtod(text, &end);
    if (sigma == NULL && end != text) {
        sigma = text;
    }
    if (sigma == NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected none, SIGMA, normal:SIGMA, lognormal:SIGMA or sample:FILE, "
                       "got \"%s\"",
                       option, text);
    }
    if (!parse_noise_number(sigma, &end, &out->sigma) || *end != '\0' ||
        out->sigma > GW_NOISE_MAX_SIGMA) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected a number >= 0 and at most %g, got \"%s\"",
                       option, GW_NOISE_MAX_SIGMA, sigma);
    }
    out->kind = out->sigma > 0 ? kind : GW_NOISE_NONE;
    return GW_OK;
}
