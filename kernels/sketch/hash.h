/* A sketch's hash functions, and what of its estimates is heavy: sketch.h; private to kernels/. */
#ifndef GW_KERNELS_SKETCH_HASH_H
#define GW_KERNELS_SKETCH_HASH_H

#include <math.h>
#include <stdint.h>

#include "kernels/on_both.h"
#include "kernels/sketch.h"

/* A row's two hash functions. */
struct gw_sketch_hash {
    uint64_t place_multiplier, place_increment;
    uint64_t signs_multiplier, signs_increment;
};

/* lowbias32 (Wellons, Prospecting for Hash Functions, 2018). */
GW_ON_BOTH static inline uint32_t gw_sketch_mix(uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* The column of a block's first coordinate, one of 2^column_bits. */
GW_ON_BOTH static inline uint32_t gw_sketch_place(struct gw_sketch_hash hash, unsigned column_bits,
                                                  uint32_t block) {
    uint64_t word = hash.place_multiplier * gw_sketch_mix(block) + hash.place_increment;
    return (uint32_t)(word >> (64 - column_bits));
}

GW_ON_BOTH static inline uint32_t gw_sketch_signs(struct gw_sketch_hash hash, uint32_t block) {
    uint64_t word = hash.signs_multiplier * gw_sketch_mix(block) + hash.signs_increment;
    return (uint32_t)(word >> (64 - GW_SKETCH_BLOCK));
}

/* The least float > 0 whose square reaches norm2 / k; infinity for an infinite norm2. */
GW_ON_BOTH static inline float gw_sketch_heavy_threshold(double norm2, size_t k) {
    double least = norm2 / (double)k;
    float threshold = (float)sqrt(least);
    while (threshold == 0 || (double)threshold * (double)threshold < least) {
        threshold = nextafterf(threshold, INFINITY); /* rounded down; squares are exact: 48 bits */
    }
    return threshold;
}

#endif
