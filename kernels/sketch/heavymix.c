/* HEAVYMIX (kernels/sketch.h): the choice of coordinates by a sketch. */
#include <string.h>

#include "kernels/arithmetic.h"
#include "kernels/cpu/collect.h"
#include "kernels/cpu/scan.h"
#include "kernels/sketch.h"
#include "kernels/sketch/loops.h"

/*
 * HEAVYMIX makes one pass over the estimates and stores none of them: those that reach the
 * threshold become candidates. If there are many more than k, the best k stay and the threshold
 * rises above the smallest of them: as many must be found again before that work is repeated.
 */
enum { ESTIMATES = GW_SKETCH_TILE * GW_SKETCH_BLOCK }; /* estimated together */

/* ---- heavy hitters -------------------------------------------------------------------------- */

struct candidates {
    size_t k;
    int32_t threshold;           /* smallest magnitude that is collected */
    struct gw_selection entries; /* |estimate| and coordinate, ascending */
};

/* Collects candidates. Drops all but k once there are four times as many, so that each costs a
 * constant. */
static enum gw_status collect_candidates(struct candidates *candidates, const float *estimates,
                                         size_t first, size_t n, struct gw_error *error) {
    struct gw_selection *entries = &candidates->entries;
    if (entries->count > 4 * candidates->k) {
        candidates->threshold = gw_keep_largest(entries, candidates->k) + 1;
    }
    size_t room = entries->count + n;
    if (room > entries->capacity) {
        GW_TRY(gw_selection_reserve(entries, room + room / 2, error));
    }
    struct gw_entry *next = entries->entries + entries->count;
    for (size_t i = 0; i < n; i++) {
        int32_t key = gw_sketch_magnitude(estimates[i]);
        *next = (struct gw_entry){.value = gw_magnitude_value(key), .index = (uint32_t)(first + i)};
        next += key >= candidates->threshold;
    }
    entries->count = (size_t)(next - entries->entries);
    return GW_OK;
}

static enum gw_status find_candidates(struct candidates *candidates, const struct gw_sketch *sketch,
                                      size_t n, struct gw_error *error) {
    float estimates[ESTIMATES];
    for (size_t first = 0; first < n; first += ESTIMATES) {
        size_t count = n - first < ESTIMATES ? n - first : ESTIMATES;
        gw_sketch_estimate(sketch, first, count, estimates);
        int32_t hits = 0;
        for (size_t i = 0; i < count; i++) {
            hits += gw_sketch_magnitude(estimates[i]) >= candidates->threshold;
        }
        if (hits > 0) {
            GW_TRY(collect_candidates(candidates, estimates, first, count, error));
        }
    }
    return GW_OK;
}

/* ---- the others ----------------------------------------------------------------------------- */

/* Draws `count` of the ranks 0 .. ranks-1: the first numbers of a pseudo-random permutation, each
 * of which a thread of a GPU can compute by itself. */
static void draw_ranks(uint64_t *taken, size_t ranks, size_t count, uint64_t key) {
    struct gw_permutation permutation = gw_permutation_of(ranks, key);
    memset(taken, 0, (ranks / 64 + 1) * sizeof *taken);
    for (size_t place = 0; place < count; place++) {
        uint64_t rank = gw_permutation_at(&permutation, place);
        taken[rank / 64] |= (uint64_t)1 << rank % 64;
    }
}

/* Merges the heavy hitters and the other coordinates whose rank is taken, ascending: a rank plus
 * the number of heavy hitters before it is a coordinate. */
static void merge_indices(const struct gw_entry *heavy, size_t heavy_count, const uint64_t *taken,
                          size_t ranks, uint32_t *indices) {
    size_t passed = 0;
    for (size_t word = 0; word < ranks / 64 + 1; word++) {
        for (uint64_t left = taken[word]; left != 0; left &= left - 1) {
            size_t rank = word * 64 + (size_t)__builtin_ctzll(left);
            while (passed < heavy_count && heavy[passed].index <= rank + passed) {
                *indices++ = heavy[passed++].index;
            }
            *indices++ = (uint32_t)(rank + passed);
        }
    }
    while (passed < heavy_count) {
        *indices++ = heavy[passed++].index;
    }
}

/* ---- both ----------------------------------------------------------------------------------- */

/*
 * Chooses the k largest heavy hitters, and leaves only them in *heavy; or all of them, and others.
 */
static enum gw_status choose_indices(const struct gw_sketch *sketch, size_t n, size_t k,
                                     uint64_t iteration, struct gw_selection *heavy,
                                     struct gw_workspace *workspace, uint32_t *indices,
                                     struct gw_error *error) {
    if (heavy->count > k) {
        (void)gw_keep_largest(heavy, k);
    }
    size_t ranks = n - heavy->count;
    GW_TRY(gw_workspace_reserve(workspace, (ranks / 64 + 1) * sizeof(uint64_t), error));
    draw_ranks(workspace->memory, ranks, k - heavy->count, gw_mix_pair(sketch->seed, iteration));
    merge_indices(heavy->entries, heavy->count, workspace->memory, ranks, indices);
    return GW_OK;
}

enum gw_status gw_sketch_heavymix(const struct gw_sketch *sketch, size_t n, size_t k,
                                  uint64_t iteration, struct gw_workspace *workspace,
                                  uint32_t *indices, size_t *heavy, struct gw_error *error) {
    float threshold = gw_sketch_heavy_threshold(gw_sketch_norm2(sketch), k);
    GW_TRY(gw_workspace_reserve_parts(workspace, 1, error));
    struct candidates candidates = {
        .k = k, .threshold = gw_sketch_magnitude(threshold), .entries = workspace->parts[0]};
    candidates.entries.count = 0;
    enum gw_status status = find_candidates(&candidates, sketch, n, error);
    if (status == GW_OK) {
        status =
            choose_indices(sketch, n, k, iteration, &candidates.entries, workspace, indices, error);
    }
    workspace->parts[0] = candidates.entries;
    if (heavy != NULL) {
        *heavy = candidates.entries.count;
    }
    return status;
}
