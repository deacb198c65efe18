/* Common parts of the tests of collectives. */
#ifndef GW_TESTS_COLLECTIVES_SUPPORT_H
#define GW_TESTS_COLLECTIVES_SUPPORT_H

#include "collectives/collectives.h"
#include "tests/support.h"

/* Like assert_true, but says of which call. */
#define check(call, collective, condition)                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            print_error("%s %s, %u workers, %llu bytes: ", (collective)->operation,                \
                        (collective)->name, (call)->workers, (unsigned long long)(call)->bytes);   \
            assert_true(condition);                                                                \
        }                                                                                          \
    } while (0)

/* Blocks that the data is cut into, as the header says it. */
static inline uint32_t count_blocks(const struct gw_collective *collective, uint32_t workers) {
    uint32_t core = 1;
    while (core <= workers / 2) {
        core *= 2;
    }
    return collective->cut == GW_ONE_BLOCK          ? 1
           : collective->cut == GW_BLOCK_PER_WORKER ? workers
                                                    : core;
}

/* The bytes of a block, computed from the header's definition: shares in elements, larger ones
 * first. */
static inline uint64_t block_bytes(const struct gw_collective *collective,
                                   const struct gw_call *call, uint32_t block) {
    if (collective->shares == GW_COPIES) {
        return call->bytes;
    }
    if (collective->shares == GW_EQUAL_SHARES) {
        return (call->bytes + call->workers - 1) / call->workers;
    }
    uint64_t element = call->bytes % 4 == 0 ? 4 : 1;
    uint32_t blocks = count_blocks(collective, call->workers);
    uint64_t elements = call->bytes / element;
    return (elements / blocks + (block < elements % blocks ? 1 : 0)) * element;
}

static inline bool is_rank(uint32_t peer) {
    return peer < GW_ANYBODY;
}

static inline struct gw_step step_of(const struct gw_collective *collective,
                                     const struct gw_call *call, uint32_t rank, uint32_t index) {
    struct gw_step step;
    memset(&step, 0xff, sizeof step); /* what is left unset is seen */
    collective->step(call, rank, index, &step);
    return step;
}

static inline const struct gw_collective *find(const char *operation, const char *name) {
    const struct gw_collective *found = NULL;
    assert_int_equal(gw_collective_find(operation, name, &found, NULL), GW_OK);
    return found;
}

#endif
