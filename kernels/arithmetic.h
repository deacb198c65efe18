/*
 * What processors and GPUs compute alike, to the bit: the order of floats, the orders of sums, and
 * numbers that look random. Private to kernels/.
 */
#ifndef GW_KERNELS_ARITHMETIC_H
#define GW_KERNELS_ARITHMETIC_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/kernels.h"

/* ---- the order of floats ------------------------------------------------------------------- */

enum { GW_INFINITE = 0x7f800000 }; /* magnitude of infinity; NaNs lie above */

/* |value| as an integer: floats of one sign are ordered as their bits are (IEEE 754). */
GW_ON_BOTH static inline int32_t gw_magnitude(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int32_t)(bits & 0x7fffffffu);
}

/* The float of that magnitude that is not negative. */
GW_ON_BOTH static inline float gw_magnitude_value(int32_t magnitude) {
    float value;
    memcpy(&value, &magnitude, sizeof value);
    return value;
}

/* The least magnitude of floats that reach a threshold. */
GW_ON_BOTH static inline int32_t gw_magnitude_from(double threshold) {
    float nearest = (float)fmax(threshold, 0.0);
    return gw_magnitude((double)nearest < threshold ? nextafterf(nearest, INFINITY) : nearest);
}

/* ---- the order of sums: thresholds --------------------------------------------------------- */

/*
 * Within a run of GW_SCAN_RUN elements, i goes to lane i mod GW_SCAN_LANES; each lane is summed
 * over the runs of a segment of GW_SCAN_SEGMENT; then lane after lane. Segment s goes to part s mod
 * GW_SCAN_PARTS, and part after part makes the sum.
 */
enum {
    GW_SCAN_LANES = 16,
    GW_SCAN_RUN = 1 << 10,
    GW_SCAN_SEGMENT = 1 << 15, /* also what a thread of a processor takes at a time */
    GW_SCAN_PARTS = 128,
};

/* ---- the order of sums: layers and sketches ------------------------------------------------ */

/*
 * Sums in double precision and in one order, which a processor's vectors and a GPU's threads make
 * alike, so that they are to the bit the same everywhere.
 *
 * Values come in segments of GW_SUM_SEGMENT. In one of these, the value at place i goes to sum
 * i mod GW_SUM_LANES; segment s goes to sum s mod GW_SUM_GROUPS of segments. Sums of either kind
 * are added in halves: the first of the lower half to the first of the upper, and so on.
 */
enum { GW_SUM_LANES = 16, GW_SUM_SEGMENT = 1024, GW_SUM_GROUPS = 512 };

/* Of |values|. NaN if, and only if, there is one. */
double gw_sum_magnitudes(const float *values, size_t n);

/* Of their squares. */
double gw_sum_squares(const float *values, size_t n);

/* ---- numbers that look random -------------------------------------------------------------- */

/* A bijection of 64-bit words that leaves no visible order (the finaliser of SplitMix64). */
GW_ON_BOTH static inline uint64_t gw_mix(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

/* Of a pair. */
GW_ON_BOTH static inline uint64_t gw_mix_pair(uint64_t first, uint64_t second) {
    return gw_mix(gw_mix(first + 0x9e3779b97f4a7c15u) ^ second);
}

/*
 * A pseudo-random permutation of the numbers below n: of [0, 2^(low + high)), an unbalanced
 * Feistel network, walked on until it is below n.
 */
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

/* The place-th number, place < n: less than two steps are taken on average. */
GW_ON_BOTH static inline uint64_t gw_permutation_at(const struct gw_permutation *permutation,
                                                    uint64_t place) {
    do {
        place = gw_permutation_shuffle(permutation, place);
    } while (place >= permutation->n);
    return place;
}

#endif
