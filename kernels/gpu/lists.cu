/* Operations in a GPU's memory (kernels/memory.h): each thread handles one element at a time. */
#include "kernels/gpu/tiles.cuh"

extern "C" {
#include "kernels/code_arithmetic.h"
#include "kernels/memory.h"
}

/* ---- memory -------------------------------------------------------------------------------- */

static enum gw_status gpu_allocate(const gw_memory *memory, size_t bytes, void **out,
                                   gw_error *error) {
    return gw_device_allocate(memory->device, bytes, out, error);
}

static void gpu_free(const gw_memory *memory, void *block) {
    gw_device_free(memory->device, block);
}

static enum gw_status gpu_copy(const gw_memory *memory, void *to, const void *from, size_t bytes,
                               gw_error *error) {
    return to == from ? GW_OK : gw_device_copy(memory->stream, to, from, bytes, error);
}

static enum gw_status gpu_clear(const gw_memory *memory, void *to, size_t bytes, gw_error *error) {
    return gw_device_clear(memory->stream, to, bytes, error);
}

static enum gw_status gpu_write(const gw_memory *memory, void *to, const void *from, size_t bytes,
                                gw_error *error) {
    GW_TRY(gw_device_copy(memory->stream, to, from, bytes, error));
    return gw_device_stream_finish(memory->stream, error);
}

static enum gw_status gpu_read(const gw_memory *memory, const void *from, size_t bytes,
                               gw_buffer *buffer, void **out, gw_error *error) {
    GW_TRY(gw_buffer_reserve(buffer, NULL, bytes, error));
    *out = buffer->memory;
    return gpu_write(memory, buffer->memory, from, bytes, error);
}

/* ---- vectors ------------------------------------------------------------------------------- */

static __global__ void add_vectors(float *sums, const float *vectors, size_t count, size_t n) {
    GW_GPU_EACH(i, n) {
        float sum = sums[i];
        for (size_t v = 0; v < count; v++) {
            sum = gw_add(sum, vectors[v * n + i]);
        }
        sums[i] = sum;
    }
}

static enum gw_status gpu_sum_blocks(const gw_memory *memory, float *sums, size_t blocks,
                                     size_t count, gw_error *error) {
    return GW_GPU_LAUNCH_EACH(add_vectors, count, memory->stream, error, sums, sums + count,
                              blocks - 1, count);
}

/* ---- operations on each element ------------------------------------------------------------ */

#define UNPACK(...) __VA_ARGS__
#define ADD(a, b) gw_add(a, b)
#define STORE(to, value) gw_store_now(to, value)
#define FOR_EACH(operation, n, parameters, arguments, ...)                                         \
    static __global__ void each_##operation(UNPACK parameters) {                                   \
        GW_GPU_EACH(i, n) {                                                                        \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }                                                                                              \
    static enum gw_status gpu_##operation(const gw_memory *memory, UNPACK parameters,              \
                                          gw_error *error) {                                       \
        return GW_GPU_LAUNCH_EACH(each_##operation, n, memory->stream, error, UNPACK arguments);   \
    }

#include "kernels/each.h"

/* ---- numbers of a type --------------------------------------------------------------------- */

/* clang-format off */
FOR_EACH(copy_scaled, count,
         (float *to, enum gw_number_type type, const void *numbers, float scale, size_t count),
         (to, type, numbers, scale, count),
         to[i] = scale * gw_number_at(type, numbers, i);)

FOR_EACH(accumulate, count,
         (float *residual, enum gw_number_type type, const void *numbers, float scale,
          size_t count),
         (residual, type, numbers, scale, count),
         residual[i] = gw_finite_or_0(residual[i]) + scale * gw_number_at(type, numbers, i);)

FOR_EACH(round_to_halves, count,
         (enum gw_number_type type, const float *values, size_t count, uint16_t *to),
         (type, values, count, to),
         to[i] = gw_half_of(type, values[i]);)
/* clang-format on */

/* ---- lists of entries ---------------------------------------------------------------------- */

static __global__ void scatter_entries(const gw_entry *entries, size_t count, float *dense) {
    GW_GPU_EACH(i, count) {
        gw_entry entry = entries[i];
        dense[entry.index] = gw_add(dense[entry.index], entry.value);
    }
}

/*
 * Launches each list separately, so that a list begins when the sums of the one before are written.
 */
static enum gw_status gpu_scatter_add(const gw_memory *memory, const gw_entry *entries,
                                      const size_t *counts, size_t lists, float *dense,
                                      gw_error *error) {
    for (size_t list = 0; list < lists; list++) {
        GW_TRY(GW_GPU_LAUNCH_EACH(scatter_entries, counts[list], memory->stream, error, entries,
                                  counts[list], dense));
        entries += counts[list];
    }
    return GW_OK;
}

/* ---- merging two lists --------------------------------------------------------------------- */

/*
 * Merging two lists of entries: blocks take tiles of both lists in order of their indices. Each
 * thread finds by bisection where its part begins in either list (Green, McColl and Bader, GPU
 * Merge Path, 2012). Then the largest sums are kept.
 */
enum { ROWS = 1, MERGE_BLOCKS_EACH = 4 /* of a multiprocessor */ };

/* The source of tiles of two lists of k entries: in order of index; of equal ones, a's first. */
struct pair_of_lists {
    typedef gw_gpu_tile<ROWS> shape;

    const gw_entry *a, *b;
    int64_t k;
    gw_entry sums[4 * ROWS]; /* the thread's, of this tile */

    /* The number of a's entries among the first `count`. */
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

    /* True if the entry after i of a's and j of b's is a's. */
    __device__ bool is_a(int64_t i, int64_t j) const {
        return i < k && (j == k || a[i].index <= b[j].index);
    }

    /* Adds the entry of b with the same index. Returns the sum's magnitude; -1 if b's entry was
     * added to the one before. */
    __device__ int32_t sum_entry(int64_t i, int64_t j, gw_entry *sum) const {
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
            magnitudes[item] = any ? sum_entry(i, j, &sums[item]) : -1;
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

/* Lists sums that are not kept, each moved up by the number of kept ones before it, and then
 * padding up to k. */
static __global__ void list_pruned(const gw_entry *sums, const uint64_t *count,
                                   const gw_entry *kept, size_t k, gw_entry *pruned) {
    GW_GPU_EACH(i, 2 * k) {
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

static size_t count_merge_tiles(size_t k) {
    size_t items = pair_of_lists::shape::items;
    return (2 * k + items - 1) / items;
}

/* Reserves a count and 2 k sums in the workspace. */
static enum gw_status gpu_prepare_merge(gw_memory *memory, size_t k, gw_error *error) {
    gw_gpu_workspace *workspace = memory->gpu_workspace;
    if (k > INT32_MAX) {
        return gw_fail(error, GW_BAD_INPUT, "merging lists of %zu entries: expected at most %d", k,
                       INT32_MAX);
    }
    GW_TRY(gw_gpu_workspace_reserve(workspace, sizeof(uint64_t) + 2 * k * sizeof(gw_entry), error));
    return gw_gpu_workspace_reserve_chain(workspace, count_merge_tiles(k), error);
}

static enum gw_status gpu_merge(gw_memory *memory, gw_entry *list, const gw_entry *came, size_t k,
                                gw_entry *pruned, gw_error *error) {
    gw_device_stream *stream = memory->stream;
    gw_gpu_workspace *workspace = memory->gpu_workspace;
    if (k == 0) {
        return GW_OK;
    }
    GW_TRY(gpu_prepare_merge(memory, k, error));
    GW_TRY(gw_gpu_workspace_begin_chain(workspace, count_merge_tiles(k), stream, error));
    uint64_t *count = (uint64_t *)workspace->memory;
    gw_entry *sums = (gw_entry *)(count + 1);
    size_t tiles = count_merge_tiles(k);
    pair_of_lists lists = {list, came, (int64_t)k, {}};
    gw_gpu_chain chain = {(unsigned long long *)workspace->tiles, workspace->epoch,
                          gw_gpu_control_of(workspace)};
    gw_gpu_entries out = {sums, 2 * k};
    GW_TRY(GW_LAUNCH(add_lists, gw_gpu_blocks(stream, tiles, MERGE_BLOCKS_EACH), GW_GPU_THREADS,
                     stream, error, lists, (int64_t)tiles, chain, out, count));
    GW_TRY(gw_gpu_keep_largest(sums, count, 2 * k, k, list, stream, workspace, error));
    size_t blocks = (2 * k + GW_GPU_THREADS - 1) / GW_GPU_THREADS;
    return GW_LAUNCH(list_pruned, gw_gpu_blocks(stream, blocks, MERGE_BLOCKS_EACH), GW_GPU_THREADS,
                     stream, error, sums, count, list, k, pruned);
}

/* ---- codes (gpu/codes.cu) -------------------------------------------------------------------- */

static enum gw_status gpu_finish_encode(const gw_memory *memory, const gw_codes *codes,
                                        const gw_gpu_selection *on_gpu, gw_error *error) {
    GW_TRY(gw_device_stream_finish(memory->stream, error));
    uint64_t first = on_gpu->on_host->first_nan;
    return first == UINT64_MAX ? GW_OK : gw_fail_uncoded(codes, first, error);
}

/* ---- the table of operations --------------------------------------------------------------- */

/* In the order of the struct, as C++ requires. */
const gw_memory_operations gw_memory_on_gpu = {
    gpu_allocate,
    gpu_free,
    gpu_copy,
    gpu_clear,
    gpu_read,
    gpu_write,
    gpu_add,
    gpu_copy_scaled,
    gpu_accumulate,
    gpu_round_to_halves,
    gpu_sum_blocks,
    gpu_scatter_add,
    gpu_scatter_add_where,
    gpu_prepare_merge,
    gpu_merge,
    gpu_clear_entries,
    gpu_list_indices,
    gpu_list_values,
    gpu_flag_indices,
    gpu_take,
    gpu_put,
    gw_gpu_encode,
    gpu_finish_encode,
    gw_gpu_decode,
    gw_gpu_project,
    gw_gpu_finish_project,
    gw_gpu_factor,
    gw_gpu_expand,
};
