/*
 * How many marks each tile has, then how many there are before it, then each at its place: the
 * marks are read twice, which is 1/16 of a pass over the elements.
 */
#include "kernels/gpu/kernels.cuh"

enum {
    THREADS = 256,
    WORDS = 4, /* of a thread, next to each other */
    TILE = THREADS * WORDS,
    SCANNING = 1024, /* threads */
    WARP = 32,
};

#define ALL 0xffffffffu

size_t gw_gpu_marks_words(size_t n) {
    return (n / (32 * WORDS) + (n % (32 * WORDS) != 0)) * WORDS;
}

size_t gw_gpu_marks_counts(size_t words) {
    return (words + TILE - 1) / TILE;
}

/* ---- sums of what threads before this one have --------------------------------------------- */

/* With `of_warps`, one for each warp, shared; *all = what all have. */
template <typename number>
static __device__ number before_thread(number own, number *of_warps, number *all) {
    unsigned lane = threadIdx.x % WARP;
    number sum = own;
    for (int by = 1; by < WARP; by *= 2) {
        number other = __shfl_up_sync(ALL, sum, by);
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

static __device__ struct words load(const uint32_t *marks, size_t count, size_t first) {
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
    (void)before_thread(count_marks(load(marks, count, first)), of_warps, &all);
    if (threadIdx.x == 0) {
        counts[blockIdx.x] = all;
    }
}

/* counts[i] becomes the sum of those before it; one block. There are less than 2^32 marks. */
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
    struct words words = load(marks, count, first);
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

/* ---- marks by lot -------------------------------------------------------------------------- */

static __global__ void draw(struct gw_permutation permutation, size_t k, uint32_t *marks) {
    size_t threads = (size_t)gridDim.x * THREADS;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < k; i += threads) {
        uint64_t index = gw_permutation_at(&permutation, i);
        atomicOr(&marks[index / 32], 1u << index % 32);
    }
}

enum gw_status gw_gpu_marks_draw(const struct gw_permutation *permutation, size_t k,
                                 uint32_t *marks, struct gw_device_stream *stream,
                                 struct gw_error *error) {
    enum { BLOCKS_EACH = 16 /* of a multiprocessor */ };
    size_t most = BLOCKS_EACH * gw_device_multiprocessors(gw_device_stream_device(stream));
    size_t blocks = (k + THREADS - 1) / THREADS;
    return GW_LAUNCH(draw, blocks < most ? blocks : most, THREADS, stream, error, *permutation, k,
                     marks);
}
