/* Arithmetic that processors and GPUs do alike, to the bit: the order of floats, the order of sums,
 * and pseudo-random numbers. Private to kernels/. */
#ifndef GW_KERNELS_ARITHMETIC_H
#define GW_KERNELS_ARITHMETIC_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/kernels.h"

/* ---- the order of floats ------------------------------------------------------------------- */

enum { GW_INFINITE = 0x7f800000 }; /* magnitude of infinity; those of NaNs are larger */

/* |value| as an integer: the bits of non-negative floats are ordered as the floats (IEEE 754). */
GW_ON_BOTH static inline int32_t gw_magnitude(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int32_t)(bits & 0x7fffffffu);
}

/* The non-negative float of a magnitude. */
GW_ON_BOTH static inline float gw_magnitude_value(int32_t magnitude) {
    float value;
    memcpy(&value, &magnitude, sizeof value);
    return value;
}

/* The smallest magnitude of a float >= threshold. */
GW_ON_BOTH static inline int32_t gw_magnitude_from(double threshold) {
    float nearest = (float)fmax(threshold, 0.0);
    return gw_magnitude((double)nearest < threshold ? nextafterf(nearest, INFINITY) : nearest);
}

/* ---- the order of sums: thresholds --------------------------------------------------------- */

/*
 * The order of sums over u: within a run of GW_SCAN_RUN elements, element i goes to lane i mod
 * GW_SCAN_LANES. Each lane is summed over the runs of a segment of GW_SCAN_SEGMENT elements; then
 * the lanes are added in order. Segment s goes to part s mod GW_SCAN_PARTS, and the parts are added
 * in order.
 */
enum {
    GW_SCAN_LANES = 16,
    GW_SCAN_RUN = 1 << 10,
    GW_SCAN_SEGMENT = 1 << 15, /* also the unit of work of a thread of a processor */
    GW_SCAN_PARTS = 128,
};

/* ---- the order of sums: layers and sketches ------------------------------------------------ */

/*
 * Sums in double precision in a fixed order that a processor's vectors and a GPU's threads can both
 * follow, so that they are equal to the bit everywhere.
 *
 * Values are cut into segments of GW_SUM_SEGMENT. Value i of a segment goes to sum i mod
 * GW_SUM_LANES; segment s goes to sum s mod GW_SUM_GROUPS of segments. Sums of either kind are
 * added in halves: the first of the lower half to the first of the upper, and so on.
 */
enum { GW_SUM_LANES = 16, GW_SUM_SEGMENT = 1024, GW_SUM_GROUPS = 512 };

/* Adds neighbouring halves of `count` sums, a power of two. */
GW_INLINE double gw_add_in_halves(double *sums, size_t count) {
    for (size_t half = count / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < half; i++) {
            sums[i] += sums[i + half];
        }
    }
    return sums[0];
}

/* The sum of [count] sums of segments. */
double gw_sum_of_segments(const double *segments, size_t count);

/* The sum of |values|; NaN if and only if a value is NaN. */
double gw_sum_magnitudes(const float *values, size_t n);

/* ---- the order of sums: factors of matrices -------------------------------------------------- */

/*
 * Products of PowerSGD (kernels/low_rank.h) sum tiles of GW_LOW_RANK_ROWS rows and
 * GW_LOW_RANK_COLUMNS columns of a matrix; the sums of tiles are added in order. Of a row of a
 * tile, column j goes to lane j mod GW_LOW_RANK_LANES, and the lanes are added in halves; a column
 * of a tile is added row by row. Of the product of two columns of a factor, row i goes to sum i mod
 * GW_LOW_RANK_SUMS, in double precision, and the sums are added in halves.
 */
enum {
    GW_LOW_RANK_ROWS = 64,
    GW_LOW_RANK_COLUMNS = 512,
    GW_LOW_RANK_LANES = 8,
    GW_LOW_RANK_SUMS = 256,
    GW_LOW_RANK_MOST = 32, /* columns of a factor */
};

/* Tiles along so many rows or columns, at least one. */
static inline size_t gw_low_rank_tiles(size_t length, size_t of_tile) {
    return (length - 1) / of_tile + 1;
}

/* ---- pseudo-random numbers ----------------------------------------------------------------- */

/* A bijection of 64-bit words that leaves no visible order (the finaliser of SplitMix64). */
GW_ON_BOTH static inline uint64_t gw_mix(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

/* A pseudo-random word for a pair of words. */
GW_ON_BOTH static inline uint64_t gw_mix_pair(uint64_t first, uint64_t second) {
    return gw_mix(gw_mix(first + 0x9e3779b97f4a7c15u) ^ second);
}

/* A number drawn for `index`, nearly normal, as the sum of four uniform ones. */
GW_ON_BOTH static inline float gw_draw_normal(uint64_t key, uint64_t index) {
    uint64_t word = gw_mix_pair(key, index);
    int32_t sum = 0;
    for (int at = 0; at < 64; at += 16) {
        sum += (int32_t)(word >> at & 0xffff) - 0x8000;
    }
    return (float)sum * 0x1p-15f;
}

/* A pseudo-random permutation of the numbers below n: an unbalanced Feistel network permutes [0,
 * 2^(low + high)), and is applied until the number is below n. */
struct gw_permutation {
    uint64_t key, n;
    unsigned low, high; /* bits of the two halves */
};

static inline struct gw_permutation gw_permutation_of(uint64_t n, uint64_t key) {
    struct gw_permutation permutation = {key, n, 0, 0};
    unsigned bits = 2;
    while ((uint64_t)1 << bits < n) {
        bits++;
    }
    permutation.low = bits / 2;
    permutation.high = bits - bits / 2;
    return permutation;
}

GW_ON_BOTH static inline uint64_t gw_permutation_shuffle(const struct gw_permutation *permutation,
                                                         uint64_t place) {
    enum { ROUNDS = 6 };
    unsigned low = permutation->low;
    uint64_t low_mask = ((uint64_t)1 << low) - 1;
    uint64_t high_mask = ((uint64_t)1 << permutation->high) - 1;
    uint64_t left = place >> low;
    uint64_t right = place & low_mask;
    for (uint64_t round = 0; round < ROUNDS; round += 2) {
        left ^= gw_mix_pair(permutation->key + round, right) >> 32 & high_mask;
        right ^= gw_mix_pair(permutation->key + round + 1, left) >> 32 & low_mask;
    }
    return left << low | right;
}

/* The number at `place` of the permutation, place < n; takes less than two steps on average. */
GW_ON_BOTH static inline uint64_t gw_permutation_at(const struct gw_permutation *permutation,
                                                    uint64_t place) {
    do {
        place = gw_permutation_shuffle(permutation, place);
    } while (place >= permutation->n);
    return place;
}

#endif
