/* What the tests of kernels share; after cmocka.h and the headers that it wants. */
#ifndef GW_TESTS_KERNELS_SUPPORT_H
#define GW_TESTS_KERNELS_SUPPORT_H

#include "kernels/collect.h" /* private: what a pass says of itself */
#include "kernels/kernels.h"
#include "kernels/sample.h" /* private: where samples look, to deceive them */
#include "kernels/topk.h"
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
