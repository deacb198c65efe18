/* What the tests of kernels share; after cmocka.h and the headers that it wants. */
#ifndef GW_TESTS_KERNELS_SUPPORT_H
#define GW_TESTS_KERNELS_SUPPORT_H

#include "kernels/kernels.h"
#include "kernels/topk.h" /* private: where the sample looks, to deceive it */
#include "support.h"

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

#endif
