/* Rows of the table of collectives, and their common arithmetic of blocks; private to this room. */
#ifndef GW_COLLECTIVES_LAYOUT_H
#define GW_COLLECTIVES_LAYOUT_H

#include "collectives/collectives.h"

extern const struct gw_collective gw_collective_allgather_ring,
    gw_collective_allgather_recursive_doubling, gw_collective_allgather_bruck,
    gw_collective_allreduce_ring, gw_collective_allreduce_halving_doubling,
    gw_collective_allreduce_recursive_doubling, gw_collective_allreduce_tree,
    gw_collective_broadcast_binomial, gw_collective_reduce_binomial, gw_collective_gather_linear,
    gw_collective_gather_binomial, gw_collective_scatter_linear, gw_collective_scatter_binomial,
    gw_collective_parameter_server, gw_collective_push, gw_collective_pull,
    gw_collective_gtopk_tree, gw_collective_sketch_tree, gw_collective_sendrecv_pairs,
    gw_collective_alltoall_pairwise, gw_collective_alltoall_bruck;

/* The whole vector, of algorithms that do not cut it. */
static const struct gw_blocks gw_whole = {.first = 0, .count = 1};

/* n >= 1. */
static inline uint32_t gw_floor_log2(uint32_t n) {
    return 31 - (uint32_t)__builtin_clz(n);
}
static inline uint32_t gw_ceil_log2(uint32_t n) {
    return n == 1 ? 0 : 1 + gw_floor_log2(n - 1);
}

static inline uint32_t gw_smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* A message in one direction, and the step in which one of its two ranks sends or receives it. */
struct gw_transfer {
    uint32_t from, to;
    struct gw_blocks blocks;
    uint64_t bytes;
    bool combined; /* with the receiver's data */
};
static inline struct gw_step gw_transfer_step(const struct gw_transfer *transfer, uint32_t rank) {
    if (rank == transfer->from) {
        return (struct gw_step){.to = transfer->to,
                                .from = GW_NOBODY,
                                .send_bytes = transfer->bytes,
                                .send = transfer->blocks};
    }
    return (struct gw_step){.to = GW_NOBODY,
                            .from = transfer->from,
                            .receive_bytes = transfer->bytes,
                            .combined_bytes = transfer->combined ? transfer->bytes : 0,
                            .receive = transfer->blocks};
}

/* The bytes of `count` blocks of `bytes` each; UINT64_MAX if they are more. */
static inline uint64_t gw_copies_bytes(uint64_t bytes, uint32_t count) {
    return count > 0 && bytes > UINT64_MAX / count ? UINT64_MAX : bytes * count;
}

/* The bytes of each of a call's equal shares. */
static inline uint64_t gw_equal_share(const struct gw_call *call) {
    return call->bytes / call->workers + (call->bytes % call->workers > 0);
}

/* Shares of `bytes`: the first `longer` blocks have one element more than `each`. */
struct gw_shares {
    uint64_t element, each, longer;
};

static inline struct gw_shares gw_shares_of(uint64_t bytes, uint32_t blocks) {
    uint64_t element = bytes % 4 == 0 ? 4 : 1;
    uint64_t elements = bytes / element;
    if (elements <= UINT32_MAX) { /* 32 bits divide faster */
        uint32_t few = (uint32_t)elements;
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): there is a block at least */
        return (struct gw_shares){.element = element, .each = few / blocks, .longer = few % blocks};
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): as above */
    uint64_t each = elements / blocks;
    return (struct gw_shares){.element = element, .each = each, .longer = elements % blocks};
}

static inline uint64_t gw_share_bytes(const struct gw_shares *shares, uint32_t block) {
    return shares->element * (shares->each + (block < shares->longer));
}

/* The offset of block `block` if `bytes` are cut into `blocks` shares, 0 <= block <= blocks. */
static inline uint64_t gw_share_offset(uint64_t bytes, uint32_t blocks, uint32_t block) {
    struct gw_shares shares = gw_shares_of(bytes, blocks);
    return shares.element * (shares.each * block + (block < shares.longer ? block : shares.longer));
}

/* The bytes of blocks that do not wrap around. */
static inline uint64_t gw_shares_bytes(uint64_t bytes, uint32_t blocks, struct gw_blocks which) {
    return gw_share_offset(bytes, blocks, which.first + which.count) -
           gw_share_offset(bytes, blocks, which.first);
}

#endif
