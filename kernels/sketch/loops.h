/* Hash functions and inner loops of sketches (kernels/sketch.h); private. */
#ifndef GW_KERNELS_SKETCH_LOOPS_H
#define GW_KERNELS_SKETCH_LOOPS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/arithmetic.h"
#include "kernels/sketch.h"

/* ---- shapes -------------------------------------------------------------------------------- */

/* GW_BAD_INPUT for rows or columns that no sketch can have. */
enum gw_status gw_sketch_check(size_t rows, size_t columns, struct gw_error *error);

/* ---- hashing ------------------------------------------------------------------------------- */

struct gw_sketch_hash {
    uint64_t place_multiplier, place_increment;
    uint64_t signs_multiplier, signs_increment;
};

/* SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014). */
static inline uint64_t gw_sketch_next(uint64_t *state) {
    return gw_mix(*state += 0x9e3779b97f4a7c15u);
}

/* The two hash functions of a row. */
static inline struct gw_sketch_hash gw_sketch_hash_of(uint64_t seed, size_t row) {
    uint64_t start = seed;
    uint64_t state = gw_sketch_next(&start) + row; /* neighbouring seeds share no row */
    state = gw_sketch_next(&state);
    struct gw_sketch_hash hash;
    hash.place_multiplier = gw_sketch_next(&state);
    hash.place_increment = gw_sketch_next(&state);
    hash.signs_multiplier = gw_sketch_next(&state);
    hash.signs_increment = gw_sketch_next(&state);
    return hash;
}

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

/* The smallest float > 0 whose square reaches norm2 / k; infinity for an infinite norm2. */
GW_ON_BOTH static inline float gw_sketch_heavy_threshold(double norm2, size_t k) {
    double least = norm2 / (double)k;
    float threshold = (float)sqrt(least);
    while (threshold == 0 || (double)threshold * (double)threshold < least) {
        threshold = nextafterf(threshold, INFINITY); /* rounded down; squares are exact: 48 bits */
    }
    return threshold;
}

/* log2(columns) */
static inline unsigned gw_sketch_column_bits(const struct gw_sketch *sketch) {
    return (unsigned)__builtin_ctzll(sketch->columns);
}

/* ---- inner loops --------------------------------------------------------------------------- */

enum { GW_SKETCH_TILE = 64 }; /* blocks that are hashed together */

struct gw_sketch_words {
    uint32_t places[GW_SKETCH_TILE], signs[GW_SKETCH_TILE];
};

GW_INLINE void gw_sketch_hash_blocks(struct gw_sketch_words *words, struct gw_sketch_hash hash,
                                     unsigned column_bits, uint32_t block, size_t count) {
    for (size_t b = 0; b < count; b++) {
        words->places[b] = gw_sketch_place(hash, column_bits, block + (uint32_t)b);
    }
    for (size_t b = 0; b < count; b++) {
        words->signs[b] = gw_sketch_signs(hash, block + (uint32_t)b);
    }
}

/* The hashes of a row, and the start of its table. */
struct gw_sketch_row {
    const float *cells;
    struct gw_sketch_words words;
};

GW_INLINE void gw_sketch_hash_rows(struct gw_sketch_row *rows, const struct gw_sketch *sketch,
                                   uint32_t block, size_t count) {
    for (size_t r = 0; r < sketch->rows; r++) {
        rows[r].cells = sketch->table + r * sketch->columns;
        gw_sketch_hash_blocks(&rows[r].words, gw_sketch_hash_of(sketch->seed, r),
                              gw_sketch_column_bits(sketch), block, count);
    }
}

/* |estimate| as an integer of the same order; NaN as infinity. */
GW_ON_BOTH static inline int32_t gw_sketch_magnitude(float estimate) {
    int32_t magnitude = gw_magnitude(estimate);
    return magnitude < GW_INFINITE ? magnitude : GW_INFINITE;
}

/* Floats as integers of the same order, NaNs outside; its own inverse. */
GW_ON_BOTH static inline int32_t gw_sketch_ordered(int32_t bits) {
    /* cppcheck-suppress shiftTooManyBitsSigned ; all our compilers repeat the sign */
    return bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
}

/* Sorts enough of `values` by compare-exchanges that the median stands in the middle: the smallest,
 * the second smallest and so on move to the front. */
#define GW_SKETCH_MEDIAN(type, values, rows, min, max)                                             \
    for (int low = 0; low <= (int)(rows) / 2; low++) {                                             \
        for (int high = (int)(rows)-1; high > low; high--) {                                       \
            type left = (values)[high - 1];                                                        \
            type right = (values)[high];                                                           \
            (values)[high - 1] = min(left, right);                                                 \
            (values)[high] = max(left, right);                                                     \
        }                                                                                          \
    }

/* Fails because of a NaN at coordinate `index`. */
enum gw_status gw_sketch_fail_nan(size_t index, struct gw_error *error);

#endif
