/*
 * Exact top-k in little more than one pass over u. A sample gives a threshold that somewhat more
 * than k elements should reach; the pass collects those in index order; a radix selection among
 * them takes the best k. No input can break this, only slow it down by a constant factor. If the
 * sample is too low, the room for candidates runs out; then the best k stay, and the threshold
 * rises above the worst of them: as many must come again before that work is repeated. If the
 * sample is too high, fewer than k are collected; then the pass is repeated with threshold 0.
 */
#include "kernels/topk.h"
#include "kernels/workspace.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = 64,            /* elements that are compared at once before any is looked at */
    SAMPLE_LIMIT = 65536,  /* samples at most ... */
    SAMPLE_STRIDE = 64,    /* ... and elements per sample at least */
    BUCKET_BITS = 11,      /* three passes cover 31 bits, and the counts stay in L1 */
    INFINITE = 0x7f800000, /* magnitude of infinity; NaNs lie above */
};

/* |value| as an integer: floats of one sign are ordered as their bits are (IEEE 754). */
static inline int32_t magnitude(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int32_t)(bits & 0x7fffffffu);
}

/* ---- selection among candidates ------------------------------------------------------------ */

struct range {
    uint32_t low, high; /* magnitudes, both included */
};

static struct range range_of(const struct gw_entry *entries, size_t count) {
    struct range range = {.low = UINT32_MAX, .high = 0};
    for (size_t i = 0; i < count; i++) {
        uint32_t key = (uint32_t)magnitude(entries[i].value);
        range.low = key < range.low ? key : range.low;
        range.high = key > range.high ? key : range.high;
    }
    return range;
}

/*
 * The magnitude of the k-th largest of `count` entries, and in *ties how many of those with just
 * that magnitude belong to the k.
 */
static int32_t kth_largest(const struct gw_entry *entries, size_t count, size_t k, size_t *ties) {
    struct range range = range_of(entries, count);
    size_t rank = k; /* from above, within the range */
    unsigned bits = BUCKET_BITS;
    while (bits > 4 && (size_t)1 << bits > count) {
        bits--; /* few entries: empty buckets would cost more than another pass */
    }
    while (range.low < range.high) {
        uint32_t width = range.high - range.low;
        unsigned shift = 0;
        while (width >> shift >> bits != 0) {
            shift++;
        }
        uint32_t counts[1 << BUCKET_BITS];
        memset(counts, 0, sizeof *counts << bits);
        for (size_t i = 0; i < count; i++) {
            uint32_t offset = (uint32_t)magnitude(entries[i].value) - range.low;
            if (offset <= width) {
                counts[offset >> shift]++;
            }
        }
        uint32_t bucket = width >> shift;
        while (counts[bucket] < rank) {
            rank -= counts[bucket--];
        }
        range.low += bucket << shift;
        uint32_t last = range.low + (1u << shift) - 1;
        range.high = last < range.high ? last : range.high;
    }
    *ties = rank;
    return (int32_t)range.low;
}

/* ---- candidates ---------------------------------------------------------------------------- */

struct candidates {
    size_t k, n;
    int32_t threshold;        /* elements of at least this magnitude are collected */
    struct gw_entry *entries; /* ascending in index; room for limit + BLOCK */
    size_t count, limit;
};

/* Room for four times k: cutting down to k then costs a constant for each candidate that is cut. */
static enum gw_status prepare(struct candidates *candidates, struct gw_workspace *workspace,
                              struct gw_error *error) {
    size_t k = candidates->k;
    size_t limit = k + (3 * k > SAMPLE_LIMIT ? 3 * k : SAMPLE_LIMIT);
    candidates->limit = limit < candidates->n ? limit : candidates->n;
    size_t bytes = (candidates->limit + BLOCK) * sizeof(struct gw_entry);
    GW_TRY(gw_workspace_reserve(workspace, bytes, error));
    candidates->entries = workspace->memory;
    return GW_OK;
}

/*
 * Cuts the candidates down to the best k. From then on an element counts only if it is larger than
 * the worst of them: an equal one has the higher index.
 */
static void keep_best(struct candidates *candidates) {
    struct gw_entry *entries = candidates->entries;
    size_t ties;
    int32_t worst = kth_largest(entries, candidates->count, candidates->k, &ties);
    size_t kept = 0;
    for (size_t i = 0; i < candidates->count; i++) {
        struct gw_entry entry = entries[i];
        int32_t key = magnitude(entry.value);
        size_t tie = key == worst && ties > 0;
        ties -= tie;
        entries[kept] = entry;
        kept += (size_t)(key > worst) + tie;
    }
    candidates->count = kept;
    candidates->threshold = worst + 1;
}

/* ---- the sample ---------------------------------------------------------------------------- */

size_t gw_topk_sample_stride(size_t n) {
    size_t stride = n / SAMPLE_LIMIT + 1;
    return stride > SAMPLE_STRIDE ? stride : SAMPLE_STRIDE;
}

size_t gw_topk_sample_position(size_t sample, size_t stride) {
    uint32_t turn = (uint32_t)sample * 2654435769u; /* multiples of the golden ratio, modulo 1 */
    return sample * stride + (size_t)(((uint64_t)turn * stride) >> 32);
}

/*
 * A threshold that at least k elements reach, but for a chance of some 1e-5: the number of samples
 * among the k largest elements is nearly Poisson-distributed, so four standard deviations are added
 * to its mean.
 */
static int32_t sampled_threshold(const struct candidates *candidates, const float *u) {
    size_t stride = gw_topk_sample_stride(candidates->n);
    size_t samples = candidates->n / stride;
    double expected = (double)candidates->k / (double)stride;
    double rank = ceil(expected + 4 * sqrt(expected) + 4);
    if (rank >= (double)samples) {
        return 0;
    }
    for (size_t i = 0; i < samples; i++) {
        candidates->entries[i].value = u[gw_topk_sample_position(i, stride)];
    }
    size_t ties;
    int32_t threshold = kth_largest(candidates->entries, samples, (size_t)rank, &ties);
    return threshold < INFINITE ? threshold : INFINITE; /* NaNs must reach it */
}

/* ---- the pass ------------------------------------------------------------------------------ */

/* How many of a block reach the threshold; compilers make vector code of it. */
static int32_t count_hits(const float *block, int32_t threshold) {
    int32_t hits = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        hits += magnitude(block[i]) >= threshold;
    }
    return hits;
}

/*
 * Collects from u[begin..end), at most a block. The first NaN is met here without a pass of its
 * own: no threshold is above a NaN, so its block has a hit.
 */
static enum gw_status collect(struct candidates *candidates, const float *u, size_t begin,
                              size_t end, struct gw_error *error) {
    if (candidates->count > candidates->limit) {
        keep_best(candidates);
    }
    int32_t threshold = candidates->threshold;
    int32_t largest = 0;
    struct gw_entry *next = candidates->entries + candidates->count;
    for (size_t i = begin; i < end; i++) {
        int32_t key = magnitude(u[i]);
        *next = (struct gw_entry){.value = u[i], .index = (uint32_t)i};
        next += key >= threshold;
        largest = key > largest ? key : largest;
    }
    candidates->count = (size_t)(next - candidates->entries);
    for (size_t i = begin; largest > INFINITE; i++) {
        if (magnitude(u[i]) > INFINITE) {
            return gw_topk_fail_nan(i, candidates->n, error);
        }
    }
    return GW_OK;
}

static enum gw_status scan(struct candidates *candidates, const float *u, int32_t threshold,
                           struct gw_error *error) {
    size_t n = candidates->n;
    candidates->threshold = threshold;
    candidates->count = 0;
    size_t begin = 0;
    for (; begin + BLOCK <= n; begin += BLOCK) {
        if (count_hits(u + begin, candidates->threshold) > 0) {
            GW_TRY(collect(candidates, u, begin, begin + BLOCK, error));
        }
    }
    return collect(candidates, u, begin, n, error);
}

static enum gw_status select_topk(const float *u, size_t n, size_t k,
                                  struct gw_workspace *workspace, struct gw_entry *entries,
                                  struct gw_error *error) {
    struct candidates candidates = {.k = k, .n = n};
    GW_TRY(prepare(&candidates, workspace, error));
    GW_TRY(scan(&candidates, u, sampled_threshold(&candidates, u), error));
    if (candidates.count < k) {
        GW_TRY(scan(&candidates, u, 0, error));
    }
    if (candidates.count > k) {
        keep_best(&candidates);
    }
    memcpy(entries, candidates.entries, k * sizeof *entries);
    return GW_OK;
}

enum gw_status gw_topk_fail_nan(size_t index, size_t n, struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT,
                   "element %zu of %zu: expected a number or an infinity, got NaN", index, n);
}

const struct gw_compressor gw_compressor_topk = {
    .name = "topk",
    .title = "exact top-k: the k elements of largest magnitude",
    .paper = "Aji and Heafield, Sparse Communication for Distributed Gradient Descent, 2017",
    .select = select_topk,
    .reference = gw_topk_reference,
};
