#include "core/random.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>

struct gw_random {
    gsl_rng generator; /* never used by value: the handle is the GSL generator itself */
};

/* Mixes seed and stream so that neighbouring numbers give unrelated generators (SplitMix64). */
static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static gsl_rng *rng(struct gw_random *random) {
    return &random->generator;
}

enum gw_status gw_random_open(struct gw_random **out, uint64_t seed, uint64_t stream,
                              struct gw_error *error) {
    gsl_rng *generator = gsl_rng_alloc(gsl_rng_taus2);
    if (generator == NULL) {
        return gw_fail_memory(error, "making a random number generator");
    }
    gsl_rng_set(generator, (unsigned long)(mix(seed ^ mix(stream)) & 0xffffffffu));
    *out = (struct gw_random *)generator;
    return GW_OK;
}

void gw_random_close(struct gw_random *random) {
    gsl_rng_free((gsl_rng *)random);
}

double gw_random_uniform(struct gw_random *random) {
    return gsl_rng_uniform(rng(random));
}

uint64_t gw_random_below(struct gw_random *random, uint64_t limit) {
    double draw = gsl_rng_uniform(rng(random)) +
                  gsl_rng_uniform(rng(random)) / 4294967296.0; /* 2^-64 steps */
    uint64_t value = (uint64_t)(draw * (double)limit);
    return value < limit ? value : limit - 1;
}

double gw_random_normal(struct gw_random *random, double sigma) {
    return gsl_ran_gaussian_ziggurat(rng(random), sigma);
}

double gw_random_noise(struct gw_random *random, double sigma) {
    return sigma > 0 ? gsl_ran_lognormal(rng(random), -0.5 * sigma * sigma, sigma) : 1;
}
