#include "core/noise.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>

#include "core/portable.h"
#include "core/random.h"

/*
 * Distributions with an exponential or a logarithm in them are not GSL's here: its are made of
 * libm's, and of arithmetic that is contracted or not as GSL was compiled. Drawing from a sample is
 * GSL's: integers alone decide it.
 */

/* ---- streams ------------------------------------------------------------------------------- */

/* Counts a stream's draws: odd, with its bits evenly spread (2^64 over the golden ratio). */
static const uint64_t STEP = 0x9e3779b97f4a7c15u;

uint64_t gw_noise_stream(uint64_t seed, uint64_t repetition, uint64_t source) {
    return gw_random_mix(gw_random_mix(gw_random_mix(seed) + repetition) + source);
}

static inline uint64_t draw(uint64_t stream, uint64_t index) {
    return gw_random_mix(stream + index * STEP);
}

/* From the upper 52 bits: in steps of 2^-52, half a step away from 0 and from 1. */
static inline double uniform(uint64_t bits) {
    return ((double)(int64_t)(bits >> 12) + 0.5) * 0x1p-52;
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

static void begin(void *state, unsigned long seed) {
    *(uint64_t *)state = seed;
}

/* A generator for GSL that begins at a draw; GSL takes further ones where it rejects some. */
static const gsl_rng_type stream_type = {"gradweave", 0xffffffffUL, 0,          sizeof(uint64_t),
                                         begin,       next_integer, next_double};

static double sampled(const struct gw_noise *noise, uint64_t stream, uint64_t index) {
    double value = 0;
    uint64_t position = draw(stream, index);
    gsl_rng generator = {&stream_type, &position};
    gsl_ran_sample(&generator, &value, 1, noise->sample, noise->count, sizeof value);
    return value;
}

/* ---- factors ------------------------------------------------------------------------------- */

void gw_noise_factors(const struct gw_noise *noise, const uint64_t *streams, size_t count,
                      uint64_t index, double *out) {
    double sigma = noise->sigma;
    if (noise->kind == GW_NOISE_NONE || noise->kind == GW_NOISE_SAMPLE) {
        for (size_t i = 0; i < count; i++) {
            out[i] = noise->kind == GW_NOISE_NONE ? 1 : sampled(noise, streams[i], index);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = uniform(draw(streams[i], index));
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
