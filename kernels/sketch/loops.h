/* Hash functions and inner loops of sketches (kernels/sketch.h); private. */
#ifndef GW_KERNELS_SKETCH_LOOPS_H
#define GW_KERNELS_SKETCH_LOOPS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "kernels/sketch.h"

/* ---- shapes -------------------------------------------------------------------------------- */

/* GW_BAD_INPUT for rows or columns that no sketch can have. */
enum gw_status gw_sketch_check(size_t rows, size_t columns, struct gw_error *error);
/* ---- hashing ------------------------------------------------------------------------------- */

/* The two hash functions of a row. */
struct gw_sketch_hash {
    uint64_t place_multiplier, place_increment;
    uint64_t signs_multiplier, signs_increment;
};

struct gw_sketch_hash gw_sketch_hash_of(uint64_t seed, size_t row);

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

/* ---- instruction sets ---------------------------------------------------------------------- */

enum { GW_SKETCH_TILE = 64 }; /* blocks that vector code hashes together */

/* The inner loops for one instruction set, over `count` <= GW_SKETCH_TILE whole blocks. */
struct gw_sketch_loops {
    const char *name; /* a name of gw_instruction_set() */
    /* Adds blocks to the row `cells`; false if they hold a NaN. */
    bool (*add)(float *cells, struct gw_sketch_hash hash, unsigned column_bits, const float *u,
                uint32_t block, size_t count);
    void (*estimate)(const struct gw_sketch *sketch, uint32_t block, size_t count,
                     float *estimates);
};

/* Fastest first, ended by NULL; the last one runs everywhere. */
extern const struct gw_sketch_loops *const gw_sketch_loops[];

/* Fails because of a NaN at coordinate `index`. */
enum gw_status gw_sketch_fail_nan(size_t index, struct gw_error *error);

#endif
