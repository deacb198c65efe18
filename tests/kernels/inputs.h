/*
 * Vectors that selections on a processor and on a GPU are tried with: as gradients are, and as
 * nobody would wish them.
 */
#ifndef GW_TESTS_KERNELS_INPUTS_H
#define GW_TESTS_KERNELS_INPUTS_H

#include "tests/kernels/kernels_support.h"

static inline void fill_normal(float *u, size_t n, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = (float)gw_random_normal(random, 0.01);
    }
}

static inline void fill_constant(float *u, size_t n, struct gw_random *random) {
    float value = (float)gw_random_normal(random, 1);
    for (size_t i = 0; i < n; i++) {
        u[i] = gw_random_below(random, 2) ? value : -value;
    }
}

/* After the first cut among equals, the few that are larger by one bit must still get in. */
static inline void fill_nearly_constant(float *u, size_t n, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = gw_random_below(random, 1000) ? 1.0f : nextafterf(1, 2);
    }
}

static inline void fill_zeros(float *u, size_t n, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = gw_random_below(random, 2) ? 0.0f : -0.0f;
    }
}

static inline void fill_ties(float *u, size_t n, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = (float)gw_random_below(random, 7) - 3;
    }
}

static inline void fill_ascending(float *u, size_t n, struct gw_random *random) {
    float step = (float)gw_random_uniform(random);
    for (size_t i = 0; i < n; i++) {
        u[i] = (float)i * step;
    }
}

static inline void fill_descending(float *u, size_t n, struct gw_random *random) {
    float step = (float)gw_random_uniform(random);
    for (size_t i = 0; i < n; i++) {
        u[i] = (float)(n - i) * -step;
    }
}

static inline void fill_mostly_zeros(float *u, size_t n, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = gw_random_below(random, 10) ? 0 : (float)gw_random_normal(random, 1);
    }
}

static inline void fill_denormals(float *u, size_t n, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = float_of((uint32_t)gw_random_below(random, 1u << 12) |
                        (uint32_t)gw_random_below(random, 2) << 31);
    }
}

static inline void fill_infinities(float *u, size_t n, struct gw_random *random) {
    fill_normal(u, n, random);
    for (size_t i = 0; i < n; i++) {
        if (gw_random_below(random, 10) == 0) {
            u[i] = u[i] > 0 ? INFINITY : -INFINITY;
        }
    }
}

/* Every float that there is, but no NaN. */
static inline void fill_bits(float *u, size_t n, struct gw_random *random) {
    for (size_t i = 0; i < n; i++) {
        u[i] = float_of((uint32_t)gw_random_below(random, 0x7f800001u) |
                        (uint32_t)gw_random_below(random, 2) << 31);
    }
}

/* Merged tensors: each its own scale. */
static inline void fill_layers(float *u, size_t n, struct gw_random *random) {
    fill_normal(u, n, random);
    for (size_t begin = 0; begin < n;) {
        size_t end = begin + between(random, 1, n - begin);
        float scale = (float)gw_random_noise(random, 3);
        for (size_t i = begin; i < end; i++) {
            u[i] *= scale;
        }
        begin = end;
    }
}

/* The sample sees only the largest elements, so that its threshold is too high. */
static inline void fill_sample_too_high(float *u, size_t n, struct gw_random *random) {
    fill_normal(u, n, random);
    size_t stride = gw_sample_stride(n);
    for (size_t i = 0; i < n / stride; i++) {
        u[gw_sample_position(i, stride, 0)] += 100;
    }
}

/* The sample sees only zeros, while the others grow: every element becomes a candidate. */
static inline void fill_sample_too_low(float *u, size_t n, struct gw_random *random) {
    fill_ascending(u, n, random);
    size_t stride = gw_sample_stride(n);
    for (size_t i = 0; i < n / stride; i++) {
        u[gw_sample_position(i, stride, 0)] = 0;
    }
}

static const struct {
    const char *name;
    void (*fill)(float *u, size_t n, struct gw_random *random);
} inputs[] = {
    {"normal", fill_normal},
    {"constant", fill_constant},
    {"nearly constant", fill_nearly_constant},
    {"zeros", fill_zeros},
    {"ties", fill_ties},
    {"ascending", fill_ascending},
    {"descending", fill_descending},
    {"90% zeros", fill_mostly_zeros},
    {"denormals", fill_denormals},
    {"infinities", fill_infinities},
    {"any bits", fill_bits},
    {"layers", fill_layers},
    {"sample too high", fill_sample_too_high},
    {"sample too low", fill_sample_too_low},
};
enum { INPUTS = sizeof inputs / sizeof *inputs };

#endif
