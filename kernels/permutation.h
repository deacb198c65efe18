/* A pseudo-random permutation of the numbers below n; private to kernels/. */
#ifndef GW_KERNELS_PERMUTATION_H
#define GW_KERNELS_PERMUTATION_H

#include "kernels/hash.h"

/* Of [0, 2^(low + high)), an unbalanced Feistel network; walked on until it is below n. */
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
