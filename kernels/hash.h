/* Numbers without order that are a function of their place alone; private to kernels/. */
#ifndef GW_KERNELS_HASH_H
#define GW_KERNELS_HASH_H

#include <stdint.h>

#include "kernels/on_both.h"

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

#endif
