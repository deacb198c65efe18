/* Inputs of sketches, element by element. */
#ifndef GW_TESTS_KERNELS_SKETCH_INPUTS_H
#define GW_TESTS_KERNELS_SKETCH_INPUTS_H

#include "tests/kernels/kernels_support.h"

static inline float normal(struct gw_random *random) {
    return (float)gw_random_normal(random, 0.01);
}

static inline float zero(struct gw_random *random) {
    return gw_random_below(random, 2) ? 0.0f : -0.0f;
}

static inline float integer(struct gw_random *random) {
    return (float)gw_random_below(random, 2001) - 1000;
}

static inline float denormal(struct gw_random *random) {
    return ldexpf((float)gw_random_below(random, 255) - 127, -149);
}

static inline float sometimes_infinite(struct gw_random *random) {
    float value = normal(random);
    return gw_random_below(random, 50) ? value : copysignf(INFINITY, value);
}

/* Sums overflow. */
static inline float huge(struct gw_random *random) {
    return (float)gw_random_normal(random, 1e38);
}

static inline float one(struct gw_random *random) {
    (void)random;
    return 1;
}

/* A few thousand times the others, now and then. */
static inline float peak(struct gw_random *random) {
    return gw_random_below(random, 300) ? normal(random) : 50 + normal(random);
}

static float (*const sketch_inputs[])(struct gw_random *random) = {
    normal, zero, integer, denormal, sometimes_infinite, huge, one, peak};
enum { SKETCH_INPUTS = sizeof sketch_inputs / sizeof *sketch_inputs };

static inline void fill(float *u, size_t n, size_t input, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = sketch_inputs[input % SKETCH_INPUTS](random);
    }
}

#endif
