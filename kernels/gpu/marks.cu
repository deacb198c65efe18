/*
 * Lists of marked elements in order, and random-k. One kernel counts the marks of each tile, the
 * next sums the counts of the tiles before each, and the last writes each mark to its place. The
 * marks are read twice, which is 1/16 of a pass over the elements.
 */
#include "kernels/gpu/kernels.cuh"

enum {
    THREADS = GW_GPU_THREADS,
    WORDS = 4, /* adjacent ones of a thread */
    TILE = THREADS * WORDS,
    SCANNING = 1024, /* threads */
    WARP = GW_GPU_WARP,
};

size_t gw_gpu_marks_words(size_t n) {
    return (n / (32 * WORDS) + (n % (32 * WORDS) != 0)) * WORDS;
}

size_t gw_gpu_marks_counts(size_t words) {
    return (words + TILE - 1) / TILE;
}

/* ---- sums over earlier threads ------------------------------------------------------------- */

/* The sum of the earlier threads' numbers; *all = the sum of all. `of_warps`, [warps], is shared
 * memory. */
template <typename number>
static __device__ number before_thread(number own, number *of_warps, number *all) {
    unsigned lane = threadIdx.x % WARP;
    number sum = own;
    for (int by = 1; by < WARP; by *= 2) {
        number other = __shfl_up_sync(GW_GPU_ALL_LANES, sum, by);
        sum += lane >= (unsigned)by ? other : 0;
    }
    if (lane == WARP - 1) {
        of_warps[threadIdx.x / WARP] = sum;
    }
    __syncthreads();
    number before = 0;
    *all = 0;
    for (unsigned warp = 0; warp < blockDim.x / WARP; warp++) {
        before += warp < threadIdx.x / WARP ? of_warps[warp] : 0;
        *all += of_warps[warp];
    }
    __syncthreads();
    return before + sum - own;
}

/* ---- kernels ------------------------------------------------------------------------------- */

struct words {
    uint32_t of[WORDS];
};

static __device__ struct words load_words(const uint32_t *marks, size_t count, size_t first) {
    struct words words = {{0, 0, 0, 0}};
    if (first < count) {
        uint4 loaded = *(const uint4 *)(marks + first);
        words.of[0] = loaded.x;
        words.of[1] = loaded.y;
        words.of[2] = loaded.z;
        words.of[3] = loaded.w;
    }
    return words;
}

static __device__ uint32_t count_marks(const struct words &words) {
    uint32_t count = 0;
    for (int w = 0; w < WORDS; w++) {
        count += (uint32_t)__popc(words.of[w]);
    }
    return count;
}

static __global__ void count_tiles(const uint32_t *marks, size_t count, uint32_t *counts) {
    __shared__ uint32_t of_warps[THREADS / WARP];
    size_t first = (size_t)blockIdx.x * TILE + threadIdx.x * WORDS;
    uint32_t all;
    (void)before_thread(count_marks(load_words(marks, count, first)), of_warps, &all);
    if (threadIdx.x == 0) {
        counts[blockIdx.x] = all;
    }
}

/* Replaces counts[i] by the sum of those before it; one block. There are less than 2^32 marks. */
static __global__ void sum_counts(uint32_t *counts, size_t tiles, unsigned long long *count) {
    __shared__ uint32_t of_warps[SCANNING / WARP];
    uint32_t before = 0;
    for (size_t first = 0; first < tiles; first += SCANNING) {
        size_t i = first + threadIdx.x;
        uint32_t own = i < tiles ? counts[i] : 0;
        uint32_t all;
        uint32_t here = before_thread(own, of_warps, &all);
        if (i < tiles) {
            counts[i] = before + here;
        }
        before += all;
    }
    if (threadIdx.x == 0) {
        *count = before;
    }
}

static __global__ void list_marks(const uint32_t *marks, size_t count, const uint32_t *counts,
                                  size_t capacity, uint32_t *indices) {
    __shared__ uint32_t of_warps[THREADS / WARP];
    size_t first = (size_t)blockIdx.x * TILE + threadIdx.x * WORDS;
    struct words words = load_words(marks, count, first);
    uint32_t all;
    size_t place = counts[blockIdx.x];
    place += before_thread(count_marks(words), of_warps, &all);
    for (int w = 0; w < WORDS; w++) {
        for (uint32_t left = words.of[w]; left != 0; left &= left - 1, place++) {
            if (place < capacity) {
                indices[place] = (uint32_t)(first + w) * 32 + (uint32_t)__ffs((int)left) - 1;
            }
        }
    }
}

enum gw_status gw_gpu_marks_list(const uint32_t *marks, size_t words, uint32_t *counts,
                                 size_t capacity, uint32_t *indices, uint64_t *count,
                                 struct gw_device_stream *stream, struct gw_error *error) {
    size_t tiles = gw_gpu_marks_counts(words);
    GW_TRY(GW_LAUNCH(count_tiles, tiles, THREADS, stream, error, marks, words, counts));
    GW_TRY(GW_LAUNCH(sum_counts, 1, SCANNING, stream, error, counts, tiles,
                     (unsigned long long *)count));
    return GW_LAUNCH(list_marks, tiles, THREADS, stream, error, marks, words, counts, capacity,
                     indices);
}

/* ---- random marks -------------------------------------------------------------------------- */

static __global__ void draw_marks(struct gw_permutation permutation, size_t k, uint32_t *marks) {
    GW_GPU_EACH(i, k) {
        uint64_t index = gw_permutation_at(&permutation, i);
        atomicOr(&marks[index / 32], 1u << index % 32);
    }
}

enum gw_status gw_gpu_marks_draw(const struct gw_permutation *permutation, size_t k,
                                 uint32_t *marks, struct gw_device_stream *stream,
                                 struct gw_error *error) {
    return GW_GPU_LAUNCH_EACH(draw_marks, k, stream, error, *permutation, k, marks);
}

/* ---- random-k ------------------------------------------------------------------------------ */

/* The first k numbers of the permutation of randk.c; marks put them in order. */
struct scratch {
    size_t words;
    uint32_t *marks, *counts, *indices;
    uint64_t *count;
};

static enum gw_status reserve_randk(const struct gw_task *task, struct gw_gpu_workspace *workspace,
                                    struct scratch *scratch, struct gw_error *error) {
    enum { ALIGNED = 4 }; /* words that marks are read by */
    size_t words = gw_gpu_marks_words(task->n);
    size_t counts = (gw_gpu_marks_counts(words) + ALIGNED - 1) / ALIGNED * ALIGNED;
    size_t bytes = sizeof(uint64_t) + (words + counts + task->k) * sizeof(uint32_t);
    GW_TRY(gw_gpu_workspace_reserve(workspace, bytes, error));
    scratch->words = words;
    scratch->marks = (uint32_t *)workspace->memory;
    scratch->counts = scratch->marks + words;
    scratch->count = (uint64_t *)(scratch->counts + counts);
    scratch->indices = (uint32_t *)(scratch->count + 1);
    return GW_OK;
}

static enum gw_status select_randk(const struct gw_task *task, struct gw_device_stream *stream,
                                   struct gw_gpu_workspace *workspace, struct gw_gpu_selection *out,
                                   struct gw_error *error) {
    struct scratch scratch;
    struct gw_permutation permutation =
        gw_permutation_of(task->n, gw_mix_pair(task->seed, task->iteration));
    GW_TRY(reserve_randk(task, workspace, &scratch, error));
    GW_TRY(gw_gpu_outcome_begin(out, stream, error));
    GW_TRY(gw_gpu_outcome_accumulate(task, out, stream, error));
    GW_TRY(gw_device_clear(stream, scratch.marks, scratch.words * sizeof *scratch.marks, error));
    GW_TRY(gw_gpu_marks_draw(&permutation, task->k, scratch.marks, stream, error));
    GW_TRY(gw_gpu_marks_list(scratch.marks, scratch.words, scratch.counts, task->k, scratch.indices,
                             scratch.count, stream, error));
    GW_TRY(gw_gpu_outcome_select(task->u, scratch.indices, task->k, out, stream, error));
    return gw_gpu_outcome_end(task->k, out, stream, error);
}

const struct gw_gpu_kernel gw_gpu_kernel_randk = {select_randk, false};
