/* Common parts of the tests of kernels. */
#ifndef GW_TESTS_KERNELS_SUPPORT_H
#define GW_TESTS_KERNELS_SUPPORT_H

#include "kernels/cpu/collect.h" /* private: what a pass says, and where samples look */
#include "kernels/kernels.h"
#include "tests/kernels/references.h"
#include "tests/test.h"

static inline size_t between(struct gw_random *random, size_t low, size_t high) {
    return low + (size_t)gw_random_below(random, high - low + 1);
}

static inline void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    assert_non_null(memory);
    return memory;
}

static inline uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The first gradient of a series of one tensor. */
static inline void draw_gradient(enum gw_shape shape, double scale, double freedom, uint64_t from,
                                 size_t n, float *out) {
    const struct gw_gradients_spec spec = {.shape = shape,
                                           .scale = scale,
                                           .freedom = freedom,
                                           .drift = 1,
                                           .sizes = &n,
                                           .tensor_count = 1,
                                           .seed = from};
    struct gw_gradients *gradients = NULL;
    assert_ok(gw_gradients_open(&gradients, &spec, NULL));
    gw_gradients_fill(gradients, 0, out);
    gw_gradients_close(gradients);
}

#endif
