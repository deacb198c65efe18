/*
 * Gradients that change over iterations as those of a training do. Every element is a hash of seed,
 * worker, iteration and index (a counter-based generator), so any iteration can be generated
 * without those before it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/arithmetic.h"
#include "kernels/kernels.h"
#include "traces/gradients.h"

const char *const gw_shape_names[GW_SHAPES] = {
    [GW_SHAPE_NORMAL] = "normal", [GW_SHAPE_LAPLACE] = "laplace",   [GW_SHAPE_STUDENT] = "student",
    [GW_SHAPE_SPARSE] = "sparse", [GW_SHAPE_CONSTANT] = "constant", [GW_SHAPE_SORTED] = "sorted",
};

struct gw_gradients {
    struct gw_gradients_spec spec;
    size_t elements;
    size_t sizes[]; /* spec.tensor_count */
};

static const double pi = 3.14159265358979323846;
static const float two_pi = 6.2831853071795864769f;
static const float dense_share = 0.1f; /* of a sparse gradient that is not 0 */

/* ---- numbers from counters ----------------------------------------------------------------- */

/* SplitMix64's step (Steele, Lea and Flood, OOPSLA 2014). */
static const uint64_t golden = 0x9e3779b97f4a7c15u;

static inline uint64_t derive_key(uint64_t key, uint64_t number) {
    return gw_mix(key + golden * (number + 1));
}

/* Two uniform numbers of a hash: in (0, 1], so that the logarithm is finite, and in [0, 1). */
static inline float upper_uniform(uint64_t hash) {
    return ((float)(uint32_t)(hash >> 32) + 0.5f) * 0x1p-32f;
}
static inline float lower_uniform(uint64_t hash) {
    return (float)((uint32_t)hash >> 8) * 0x1p-24f;
}

/* One normal number in double precision. */
static double hash_normal(uint64_t hash) {
    double u = ((double)(hash >> 32) + 0.5) * 0x1p-32;
    double v = (double)(uint32_t)hash * 0x1p-32;
    return sqrt(-2 * log(u)) * cos(2 * pi * v);
}

/* ---- distributions of scale 1, times `scale` ----------------------------------------------- */

/* Box and Muller: two numbers from each hash. */
static void fill_normal(float *out, size_t n, float scale, uint64_t key) {
    size_t i = 0;
    for (; i + 1 < n; i += 2) {
        uint64_t hash = derive_key(key, i);
        float radius = scale * sqrtf(-2 * logf(upper_uniform(hash)));
        float angle = two_pi * lower_uniform(hash);
        out[i] = radius * cosf(angle);
        out[i + 1] = radius * sinf(angle);
    }
    if (i < n) {
        out[i] = scale * (float)hash_normal(derive_key(key, i));
    }
}

/* ---- scales -------------------------------------------------------------------------------- */

/*
 * A random walk with normal steps of variance 1, after `steps` of them: 32 draws halve 2^32 steps
 * down to it (Levy's construction: given both ends, the middle of 2 m steps is normal about their
 * mean, of variance m / 2).
 */
static double walk_after(uint64_t key, uint32_t steps) {
    uint64_t low = 0, length = (uint64_t)1 << 32;
    double at_low = 0, at_high = 0x1p16 * hash_normal(derive_key(key, 0));
    while (low < steps) {
        length /= 2;
        uint64_t middle = low + length;
        double deviation = sqrt((double)length / 2);
        double at_middle =
            (at_low + at_high) / 2 + deviation * hash_normal(derive_key(key, middle));
        if (steps < middle) {
            at_high = at_middle;
        } else {
            at_low = at_middle;
            low = middle;
        }
    }
    return at_low;
}

double gw_gradients_scale(const struct gw_gradients *gradients, size_t tensor, uint32_t iteration) {
    const struct gw_gradients_spec *spec = &gradients->spec;
    uint64_t key = derive_key(derive_key(spec->seed, 1), tensor); /* the same for all workers */
    double exponent = spec->spread * hash_normal(derive_key(key, 0));
    if (spec->walk > 0) {
        exponent += spec->walk * walk_after(derive_key(key, 1), iteration);
    }
    return spec->scale * exp(exponent + (double)iteration * log(spec->drift));
}

/* ---- the series ---------------------------------------------------------------------------- */

enum gw_status gw_gradients_open(struct gw_gradients **out, const struct gw_gradients_spec *spec,
                                 struct gw_error *error) {
    if (!(spec->scale >= 0) || !(spec->spread >= 0) || !(spec->walk >= 0)) {
        return gw_fail(error, GW_BAD_INPUT,
                       "gradients: expected scale, spread and walk >= 0, got %g, %g and %g",
                       spec->scale, spec->spread, spec->walk);
    }
    if (!(spec->drift > 0)) {
        return gw_fail(error, GW_BAD_INPUT, "gradients: expected a drift > 0, got %g", spec->drift);
    }
    if (spec->shape == GW_SHAPE_STUDENT && !(spec->freedom > 0)) {
        return gw_fail(error, GW_BAD_INPUT, "gradients: expected degrees of freedom > 0, got %g",
                       spec->freedom);
    }
    size_t bytes = spec->tensor_count * sizeof *spec->sizes;
    struct gw_gradients *gradients = malloc(sizeof *gradients + bytes);
    if (gradients == NULL) {
        return gw_fail_memory(error, "making gradients");
    }
    gradients->spec = *spec;
    memcpy(gradients->sizes, spec->sizes, bytes);
    gradients->spec.sizes = gradients->sizes;
    gradients->elements = 0;
    for (size_t t = 0; t < spec->tensor_count; t++) {
        gradients->elements += spec->sizes[t];
    }
    *out = gradients;
    return GW_OK;
}

void gw_gradients_close(struct gw_gradients *gradients) {
    free(gradients);
}

static void fill_shape(const struct gw_gradients_spec *spec, float scale, uint64_t key, float *out,
                       size_t n) {
    float nu = (float)spec->freedom;
    switch (spec->shape) {
    case GW_SHAPE_NORMAL:
        fill_normal(out, n, scale, key);
        break;
    case GW_SHAPE_LAPLACE:
        for (size_t i = 0; i < n; i++) {
            uint64_t hash = derive_key(key, i);
            float size = -scale * logf(upper_uniform(hash));
            out[i] = (hash & 1) == 0 ? size : -size;
        }
        break;
    case GW_SHAPE_STUDENT: /* sqrt(nu (U^(-2/nu) - 1)) cos(2 pi V): Bailey, Mathematics of
                            * Computation 62 (1994) */
        for (size_t i = 0; i < n; i++) {
            uint64_t hash = derive_key(key, i);
            float radius = sqrtf(nu * expm1f(-2 / nu * logf(upper_uniform(hash))));
            out[i] = scale * radius * cosf(two_pi * lower_uniform(hash));
        }
        break;
    case GW_SHAPE_SPARSE:
        for (size_t i = 0; i < n; i++) {
            uint64_t hash = derive_key(key, i);
            float u = upper_uniform(hash); /* below dense_share, u / dense_share is uniform again */
            float radius = u <= dense_share ? sqrtf(-2 * logf(u / dense_share)) : 0;
            out[i] = u <= dense_share ? scale * radius * cosf(two_pi * lower_uniform(hash)) : 0;
        }
        break;
    case GW_SHAPE_CONSTANT:
        for (size_t i = 0; i < n; i++) {
            out[i] = scale;
        }
        break;
    case GW_SHAPE_SORTED: /* evenly from -scale to scale */
        for (size_t i = 0; i < n; i++) {
            out[i] = scale * (float)((2 * (double)i + 1) / (double)n - 1);
        }
        break;
    }
}

/* Copies from a pseudo-random place on, wrapping around. */
static void fill_from_pool(const struct gw_gradients_spec *spec, float scale, uint64_t key,
                           float *out, size_t n) {
    size_t place = (size_t)(derive_key(key, 0) % spec->pool_size);
    while (n > 0) {
        size_t count = spec->pool_size - place < n ? spec->pool_size - place : n;
        for (size_t i = 0; i < count; i++) {
            out[i] = scale * spec->pool[place + i];
        }
        out += count;
        n -= count;
        place = 0;
    }
}

void gw_gradients_fill(const struct gw_gradients *gradients, uint32_t iteration, float *out) {
    const struct gw_gradients_spec *spec = &gradients->spec;
    if (spec->recorded != NULL) {
        for (size_t t = 0; t < spec->tensor_count; t++) {
            gw_recorded_gradients_fill(spec->recorded, iteration, spec->worker,
                                       spec->recorded_tensors[t], out);
            out += spec->sizes[t];
        }
        return;
    }
    uint64_t key = derive_key(derive_key(derive_key(spec->seed, 2), spec->worker), iteration);
    for (size_t t = 0; t < spec->tensor_count; t++) {
        float scale = (float)gw_gradients_scale(gradients, t, iteration);
        if (spec->pool == NULL) {
            fill_shape(spec, scale, derive_key(key, t), out, gradients->sizes[t]);
        } else {
            fill_from_pool(spec, scale, derive_key(key, t), out, gradients->sizes[t]);
        }
        out += gradients->sizes[t];
    }
}

/* ---- one gradient -------------------------------------------------------------------------- */

enum gw_status gw_gradient_fill(float *values, size_t n, double sigma, uint64_t seed,
                                uint64_t stream, struct gw_error *error) {
    struct gw_random *random = NULL;
    GW_TRY(gw_random_open(&random, seed, stream, error));
    for (size_t i = 0; i < n; i++) {
        values[i] = (float)gw_random_normal(random, sigma);
    }
    gw_random_close(random);
    return GW_OK;
}

enum gw_status gw_shape_parse(const char *name, enum gw_shape *out, struct gw_error *error) {
    for (size_t i = 0; i < GW_SHAPES; i++) {
        if (strcmp(gw_shape_names[i], name) == 0) {
            *out = (enum gw_shape)i;
            return GW_OK;
        }
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "--shape: expected normal, laplace, student, sparse, constant or sorted, got "
                   "\"%s\"",
                   name);
}

enum gw_status gw_draw_gradient(const char *shape, size_t elements, uint64_t seed,
                                uint32_t iteration, float *out, struct gw_error *error) {
    struct gw_gradients_spec spec = {.seed = seed,
                                     .scale = 1 / sqrt((double)elements),
                                     .freedom = 2,
                                     .drift = 1,
                                     .sizes = &elements,
                                     .tensor_count = 1};
    struct gw_gradients *gradients = NULL;
    GW_TRY(gw_shape_parse(shape, &spec.shape, error));
    GW_TRY(gw_gradients_open(&gradients, &spec, error));
    gw_gradients_fill(gradients, iteration, out);
    gw_gradients_close(gradients);
    return GW_OK;
}

/* ---- the error of a selection -------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sets tails[i] to the sum of the i + 1 smallest squares; adds small ones first, for accuracy. */
static enum gw_status sum_tails(const float *u, size_t n, double *tails, struct gw_error *error) {
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(u[i])) {
            return gw_fail(error, GW_BAD_INPUT,
                           "element %zu of %zu: expected a finite number, got %g", i, n,
                           (double)u[i]);
        }
        tails[i] = (double)u[i] * (double)u[i];
    }
    qsort(tails, n, sizeof *tails, compare_doubles);
    for (size_t i = 1; i < n; i++) {
        tails[i] += tails[i - 1];
    }
    return GW_OK;
}

enum gw_status gw_find_bounds(const float *u, size_t n, const size_t *ks, size_t count,
                              struct gw_bounds *out, struct gw_error *error) {
    double *tails = malloc(n * sizeof *tails);
    if (tails == NULL) {
        return gw_fail_memory(error, "sorting a gradient");
    }
    enum gw_status status = sum_tails(u, n, tails, error);
    for (size_t i = 0; status == GW_OK && i < count; i++) {
        double total = tails[n - 1];
        double left = ks[i] == n ? 0 : tails[n - ks[i] - 1];
        double random = (double)(n - ks[i]) / (double)n;
        out[i] = (struct gw_bounds){
            .topk = total > 0 ? left / total : 0,
            .random = random,
            .proven = random * random,
        };
    }
    free(tails);
    return status;
}
