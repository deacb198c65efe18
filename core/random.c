#include "core/random.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <stdlib.h>

struct gw_random {
    gsl_rng *generator;
};

/* The output function of SplitMix64 (Steele, Lea and Flood, 2014). */
uint64_t gw_random_mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

enum gw_status gw_random_open(struct gw_random **out, uint64_t seed, uint64_t stream,
                              struct gw_error *error) {
    struct gw_random *random = malloc(sizeof *random);
    gsl_rng *generator = gsl_rng_alloc(gsl_rng_taus2);
    if (random == NULL || generator == NULL) {
        gsl_rng_free(generator);
        free(random);
        return gw_fail_memory(error, "making a random number generator");
    }
    random->generator = generator;
    gsl_rng_set(generator,
                (unsigned long)(gw_random_mix(seed ^ gw_random_mix(stream)) & 0xffffffffu));
    *out = random;
    return GW_OK;
}

void gw_random_close(struct gw_random *random) {
    if (random != NULL) {
        gsl_rng_free(random->generator);
        free(random);
    }
}

double gw_random_uniform(struct gw_random *random) {
    return gsl_rng_uniform(random->generator);
}

uint64_t gw_random_below(struct gw_random *random, uint64_t limit) {
    double draw = gsl_rng_uniform(random->generator) +
                  gsl_rng_uniform(random->generator) / 4294967296.0; /* 2^-64 steps */
    uint64_t value = (uint64_t)(draw * (double)limit);
    return value < limit ? value : limit - 1;
}

double gw_random_normal(struct gw_random *random, double sigma) {
    return gsl_ran_gaussian_ziggurat(random->generator, sigma);
}

double gw_random_beta(struct gw_random *random, double a, double b) {
    return gsl_ran_beta(random->generator, a, b);
}

double gw_random_noise(struct gw_random *random, double sigma) {
    return sigma > 0 ? gsl_ran_lognormal(random->generator, -0.5 * sigma * sigma, sigma) : 1;
}

void gw_random_shuffle(struct gw_random *random, void *items, size_t count, size_t size) {
    if (count > 1) { /* GSL refuses smaller ones */
        gsl_ran_shuffle(random->generator, items, count, size);
    }
}
