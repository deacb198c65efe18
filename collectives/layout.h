/*
 * What several algorithms say of their ranks and their data, and the bytes of blocks; private to
 * this room. Functions that have no comment are values of the fields of struct gw_collective that
 * they are named after.
 */
#ifndef GW_COLLECTIVES_LAYOUT_H
#define GW_COLLECTIVES_LAYOUT_H

#include "collectives/collectives.h"

#define COLLECTIVE(name) extern const struct gw_collective gw_collective_##name;
#include "collectives/list.inc"
#undef COLLECTIVE

/* The whole vector, where it is not cut. */
static const struct gw_blocks gw_whole = {.first = 0, .count = 1};

/* Of n >= 1. */
static inline uint32_t gw_floor_log2(uint32_t n) {
    return 31 - (uint32_t)__builtin_clz(n);
}
static inline uint32_t gw_ceil_log2(uint32_t n) {
    return n == 1 ? 0 : 1 + gw_floor_log2(n - 1);
}

static inline uint32_t gw_smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

bool gw_symmetric_always(uint32_t workers);
bool gw_symmetric_never(uint32_t workers);
bool gw_symmetric_power_of_two(uint32_t workers);

uint32_t gw_ranks_workers(uint32_t workers);
uint32_t gw_ranks_with_server(uint32_t workers);

/* A message in one direction, and the step in which one of the two ranks sends or receives it. */
struct gw_transfer {
    uint32_t from, to;
    struct gw_blocks blocks;
    uint64_t bytes;
    bool combined; /* with what the receiver holds */
};
struct gw_step gw_transfer_step(const struct gw_transfer *transfer, uint32_t rank);

uint32_t gw_blocks_one(uint32_t workers);
uint32_t gw_blocks_per_worker(uint32_t workers);

/* Of `count` blocks that have `bytes` each. */
uint64_t gw_copies_bytes(uint64_t bytes, uint32_t count);

/* Where block `block` begins if `bytes` are cut into `blocks` shares, 0 <= block <= blocks. */
uint64_t gw_share_offset(uint64_t bytes, uint32_t blocks, uint32_t block);

/* Of blocks that do not go round the end. */
uint64_t gw_shares_bytes(uint64_t bytes, uint32_t blocks, struct gw_blocks which);

/* The same for single blocks of one call: the first `longer` have an element more than `each`. */
struct gw_shares {
    uint64_t element, each, longer;
};

static inline struct gw_shares gw_shares_of(uint64_t bytes, uint32_t blocks) {
    uint64_t element = bytes % 4 == 0 ? 4 : 1;
    uint64_t elements = bytes / element;
    if (elements <= UINT32_MAX) { /* which divides faster */
        uint32_t few = (uint32_t)elements;
        return (struct gw_shares){.element = element, .each = few / blocks, .longer = few % blocks};
    }
    return (struct gw_shares){
        .element = element, .each = elements / blocks, .longer = elements % blocks};
}

static inline uint64_t gw_share_bytes(const struct gw_shares *shares, uint32_t block) {
    return shares->element * (shares->each + (block < shares->longer));
}

#endif
