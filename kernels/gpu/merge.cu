/*
 * Merging two lists of entries: blocks take tiles of both lists in order of their indices, each
 * thread finding by bisection where in either its part begins (Green, McColl and Bader, GPU Merge
 * Path, 2012); of the sums, the largest are kept.
 */
#include "kernels/gpu/add.cuh"
#include "kernels/gpu/tiles.cuh"

extern "C" {
#include "kernels/gpu/largest.h"
}

enum { ROWS = 1, BLOCKS_EACH = 4 /* of a multiprocessor */ };

/* Two lists of k entries as what tiles are taken from: in order of index, of equals a's first. */
struct pair_of_lists {
    typedef gw_gpu_tile<ROWS> shape;

    const gw_entry *a, *b;
    int64_t k;
    gw_entry sums[4 * ROWS]; /* the thread's, of this tile */

    /* How many of the first `count` are a's. */
    __device__ int64_t count_a(int64_t count) const {
        int64_t low = count > k ? count - k : 0;
        int64_t high = count < k ? count : k;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (a[middle].index <= b[count - 1 - middle].index) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /* Whether the one behind i of a's and j of b's is a's. */
    __device__ bool is_a(int64_t i, int64_t j) const {
        return i < k && (j == k || a[i].index <= b[j].index);
    }

    /* Its magnitude, with b's of its index added; -1 if it was added to the one before. */
    __device__ int32_t add_up(int64_t i, int64_t j, gw_entry *sum) const {
        bool of_a = is_a(i, j);
        *sum = of_a ? a[i] : b[j];
        if (of_a && j < k && b[j].index == sum->index) {
            sum->value = gw_add(sum->value, b[j].value);
        }
        bool added = !of_a && i > 0 && a[i - 1].index == sum->index;
        return added ? -1 : gw_magnitude(sum->value);
    }

    __device__ gw_entry entry(int64_t tile, int place) const {
        (void)tile;
        return sums[place % 4];
    }

    __device__ void load(int64_t tile, int32_t (&magnitudes)[4 * ROWS]) {
        int64_t first = tile * shape::items + shape::place(0);
        int64_t i = count_a(first < 2 * k ? first : 2 * k);
#pragma unroll
        for (int item = 0; item < 4; item++) {
            int64_t j = first + item - i;
            bool any = i + j < 2 * k;
            magnitudes[item] = any ? add_up(i, j, &sums[item]) : -1;
            i += any && is_a(i, j);
        }
    }
};

static_assert(ROWS == 1, "a thread's entries of a tile are four");

static __global__ void __launch_bounds__(GW_GPU_THREADS)
    add_lists(pair_of_lists lists, int64_t tiles, gw_gpu_chain chain, gw_gpu_entries out,
              uint64_t *count) {
    gw_gpu_cut all = {0, true, 0};
    gw_gpu_sweep<ROWS>(lists, tiles, all, chain, out);
    if (gw_gpu_is_last_block(chain.control) && threadIdx.x == 0) {
        gw_gpu_end_sweep(chain.control, tiles);
        *count = chain.control->found;
    }
}

/* Sums that are not kept, at the place that those before leave them; behind them, none up to k. */
static __global__ void prune(const gw_entry *sums, const uint64_t *count, const gw_entry *kept,
                             size_t k, gw_entry *pruned) {
    size_t threads = (size_t)gridDim.x * GW_GPU_THREADS;
    for (size_t i = (size_t)blockIdx.x * GW_GPU_THREADS + threadIdx.x; i < 2 * k; i += threads) {
        bool is_sum = i < *count;
        size_t before = is_sum ? gw_entries_before(kept, k, sums[i].index) : k;
        if (!is_sum) {
            pruned[i - k].value = 0;
            pruned[i - k].index = GW_NO_INDEX;
        } else if (before == k || kept[before].index != sums[i].index) {
            pruned[i - before] = sums[i];
        }
    }
}

/* ---- on the host --------------------------------------------------------------------------- */

static size_t tiles_of(size_t k) {
    size_t items = pair_of_lists::shape::items;
    return (2 * k + items - 1) / items;
}

/* In the workspace: a count, and 2 k sums. */
enum gw_status gw_gpu_merge_reserve(size_t k, gw_gpu_workspace *workspace, gw_error *error) {
    if (k > INT32_MAX) {
        return gw_fail(error, GW_BAD_INPUT, "merging lists of %zu entries: expected at most %d", k,
                       INT32_MAX);
    }
    GW_TRY(gw_gpu_workspace_reserve(workspace, sizeof(uint64_t) + 2 * k * sizeof(gw_entry), error));
    return gw_gpu_workspace_reserve_chain(workspace, tiles_of(k), error);
}

enum gw_status gw_gpu_merge(gw_entry *list, const gw_entry *came, size_t k, gw_entry *pruned,
                            gw_device_stream *stream, gw_gpu_workspace *workspace,
                            gw_error *error) {
    if (k == 0) {
        return GW_OK;
    }
    GW_TRY(gw_gpu_merge_reserve(k, workspace, error));
    GW_TRY(gw_gpu_workspace_begin_chain(workspace, tiles_of(k), stream, error));
    uint64_t *count = (uint64_t *)workspace->memory;
    gw_entry *sums = (gw_entry *)(count + 1);
    size_t tiles = tiles_of(k);
    pair_of_lists lists = {list, came, (int64_t)k, {}};
    gw_gpu_chain chain = {(unsigned long long *)workspace->tiles, workspace->epoch,
                          gw_gpu_control_of(workspace)};
    gw_gpu_entries out = {sums, 2 * k};
    GW_TRY(GW_LAUNCH(add_lists, gw_gpu_blocks(stream, tiles, BLOCKS_EACH), GW_GPU_THREADS, stream,
                     error, lists, (int64_t)tiles, chain, out, count));
    GW_TRY(gw_gpu_keep_largest(sums, count, 2 * k, k, list, stream, workspace, error));
    size_t blocks = (2 * k + GW_GPU_THREADS - 1) / GW_GPU_THREADS;
    return GW_LAUNCH(prune, gw_gpu_blocks(stream, blocks, BLOCKS_EACH), GW_GPU_THREADS, stream,
                     error, sums, count, list, k, pruned);
}
