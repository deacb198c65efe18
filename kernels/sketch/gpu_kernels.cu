/* Kernels of sketches: encoding, estimates, and HEAVYMIX. */
#include "kernels/gpu/kernels.cuh"

extern "C" {
#include "kernels/sketch/gpu.h"
#include "kernels/sketch/loops.h"
}

enum { THREADS = GW_GPU_THREADS };

/* Hash functions, as kernels receive them. */
struct hash_functions {
    struct gw_sketch_hash of[GW_SKETCH_ROWS_LIMIT];
    unsigned rows, column_bits;
};

static hash_functions functions_of(const struct gw_sketch *shape) {
    hash_functions functions;
    memset(&functions, 0, sizeof functions);
    functions.rows = (unsigned)shape->rows;
    functions.column_bits = gw_sketch_column_bits(shape);
    for (size_t row = 0; row < shape->rows; row++) {
        functions.of[row] = gw_sketch_hash_of(shape->seed, row);
    }
    return functions;
}

/* ---- encoding ------------------------------------------------------------------------------ */

/*
 * Encoding: 16 threads own a line of a row, and add its blocks in ascending order, as a processor
 * does; there are no atomics. With few columns, lines are long and too few to hide memory latency:
 * then a block of threads has a line, and all other threads load for the 16 that add, which wait
 * only for one addition after the other.
 */
enum {
    BLOCK = GW_SKETCH_BLOCK,
    GROUPS = THREADS / BLOCK,
    ADDING = 32 / BLOCK, /* groups of the warp that adds, of which one is enough */
    STAGE = (GROUPS - ADDING) * BLOCK,
    FEW_LINES = 8, /* of a multiprocessor: the number of blocks of threads that it runs at once */
};

struct chunk {
    float *table;
    hash_functions functions;
    const uint32_t *blocks, *offsets; /* of the order */
    size_t size;                      /* in blocks */
    const float *u;
    size_t n;
    unsigned long long *first_nan;
};

/* The part of a line in a chunk. */
struct sketch_line {
    gw_sketch_hash hash;
    const uint32_t *blocks;
    uint32_t count;
    bool first_row;
};

static __device__ struct sketch_line chunk_line(const struct chunk &chunk, uint64_t number) {
    uint64_t lines = (uint64_t)1 << chunk.functions.column_bits >> 4;
    uint64_t row = number / lines;
    const uint32_t *own = chunk.offsets + row * (lines + 1) + number % lines;
    return {chunk.functions.of[row], chunk.blocks + row * chunk.size + own[0], own[1] - own[0],
            row == 0};
}

/* Records NaNs among the values that load_blocks() gave. Threads of the first row call it; mostly
 * there is no NaN. */
static __device__ void record_nan(const struct chunk &chunk, const struct sketch_line &line,
                                  uint32_t first, const uint32_t (&values)[BLOCK]) {
    bool any = false;
#pragma unroll
    for (int b = 0; b < BLOCK; b++) {
        any = any || (values[b] & 0x7fffffffu) > GW_INFINITE;
    }
    for (uint32_t b = first; any && b < line.count && b < first + BLOCK; b++) {
        uint32_t place = gw_sketch_place(line.hash, chunk.functions.column_bits, line.blocks[b]);
        size_t i = (size_t)line.blocks[b] * BLOCK + (threadIdx.x ^ place) % BLOCK;
        if (i < chunk.n && gw_magnitude(chunk.u[i]) > GW_INFINITE) {
            atomicMin(chunk.first_nan, (unsigned long long)i);
        }
    }
}

/*
 * Loads the elements that the 16 blocks from `first` on add to a thread's cell, as bits of floats;
 * 0 for missing blocks. A group of threads calls it. All loads are in flight before one is used: a
 * branch on each would wait for each.
 */
static __device__ void load_blocks(const struct chunk &chunk, const struct sketch_line &line,
                                   uint32_t first, uint32_t (&values)[BLOCK]) {
    unsigned lane = threadIdx.x % BLOCK;
    unsigned together = 0xffffu << (threadIdx.x % 32 / BLOCK * BLOCK);
    uint32_t count = min(line.count - first, (uint32_t)BLOCK);
    uint32_t block = lane < count ? line.blocks[first + lane] : 0;
    uint32_t word = gw_sketch_signs(line.hash, block) << 16 |
                    gw_sketch_place(line.hash, chunk.functions.column_bits, block) % BLOCK;
#pragma unroll
    for (int b = 0; b < BLOCK; b++) {
        uint32_t other = __shfl_sync(together, block, b, BLOCK);
        uint32_t words = __shfl_sync(together, word, b, BLOCK);
        uint32_t from = lane ^ words % BLOCK;
        size_t i = (size_t)other * BLOCK + from;
        bool any = (uint32_t)b < count && i < chunk.n;
        values[b] = any ? __float_as_uint(chunk.u[i]) ^ (words >> 16 >> from & 1) << 31 : 0;
    }
    if (line.first_row) {
        record_nan(chunk, line, first, values);
    }
}

/* Adds the values. Zeros of missing blocks do not change the sum, which is never -0. */
static __device__ float add_values(float sum, const uint32_t (&values)[BLOCK]) {
#pragma unroll
    for (int b = 0; b < BLOCK; b++) {
        sum += __uint_as_float(values[b]);
    }
    return sum;
}

static __global__ void add_chunk(struct chunk chunk) {
    uint64_t number = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) / BLOCK;
    if (number >= (uint64_t)chunk.functions.rows << chunk.functions.column_bits >> 4) {
        return;
    }
    struct sketch_line line = chunk_line(chunk, number);
    float *cell = chunk.table + number * BLOCK + threadIdx.x % BLOCK;
    float sum = *cell;
    for (uint32_t first = 0; first < line.count; first += BLOCK) {
        uint32_t values[BLOCK];
        load_blocks(chunk, line, first, values);
        sum = add_values(sum, values);
    }
    *cell = gw_add(sum, 0);
}

/* Adds blocks to a line: one of two stages is loaded while the other is added. */
static __global__ void __launch_bounds__(THREADS) add_to_few_lines(struct chunk chunk) {
    __shared__ uint32_t stages[2][STAGE / BLOCK][BLOCK][BLOCK]; /* ...[block][cell of the line] */
    struct sketch_line line = chunk_line(chunk, blockIdx.x);
    unsigned group = threadIdx.x / BLOCK;
    unsigned lane = threadIdx.x % BLOCK;
    float *cell = chunk.table + (uint64_t)blockIdx.x * BLOCK + lane;
    float sum = *cell;
    unsigned stage = 0;
    for (uint32_t first = 0; first < line.count + STAGE; first += STAGE, stage ^= 1) {
        uint32_t values[BLOCK];
        uint32_t own = first + (group - ADDING) * BLOCK;
        if (group >= ADDING && own < line.count) {
            load_blocks(chunk, line, own, values);
#pragma unroll
            for (int b = 0; b < BLOCK; b++) {
                stages[stage][group - ADDING][b][lane] = values[b];
            }
        }
        for (uint32_t at = 0; group == 0 && first > 0 && at < STAGE; at += BLOCK) {
            if (first - STAGE + at < line.count) {
#pragma unroll
                for (int b = 0; b < BLOCK; b++) {
                    values[b] = stages[stage ^ 1][at / BLOCK][b][lane];
                }
                sum = add_values(sum, values);
            }
        }
        __syncthreads();
    }
    if (group == 0) {
        *cell = gw_add(sum, 0);
    }
}

enum gw_status gw_gpu_sketch_add_chunk(struct gw_gpu_sketch *sketch, size_t number, const float *u,
                                       uint64_t *first_nan, struct gw_device_stream *stream,
                                       struct gw_error *error) {
    const struct gw_gpu_sketch_order *order = sketch->order;
    size_t rows = sketch->shape.rows;
    size_t lines = rows * order->lines;
    size_t few = FEW_LINES * gw_device_multiprocessors(gw_device_stream_device(stream));
    size_t blocks = (order->n + BLOCK - 1) / BLOCK;
    size_t first = number * order->chunk;
    struct chunk chunk = {sketch->table,
                          functions_of(&sketch->shape),
                          order->blocks + first * rows,
                          order->offsets + number * rows * (order->lines + 1),
                          blocks - first < order->chunk ? blocks - first : order->chunk,
                          u,
                          order->n,
                          (unsigned long long *)first_nan};
    return lines <= few ? GW_LAUNCH(add_to_few_lines, lines, THREADS, stream, error, chunk)
                        : GW_LAUNCH(add_chunk, (lines * BLOCK + THREADS - 1) / THREADS, THREADS,
                                    stream, error, chunk);
}

enum { QUARTER = BLOCK / 4 };

/* ---- estimates ----------------------------------------------------------------------------- */

template <int ROWS> static __device__ float median(int32_t *values) {
    GW_SKETCH_MEDIAN(int32_t, values, ROWS, min, max)
    return __int_as_float(gw_sketch_ordered(values[ROWS / 2]));
}

/* Estimates coordinates 4 quarter .. 4 quarter + 3, whose cells are 4 neighbours too: one hash for
 * 4. */
template <int ROWS>
static __device__ float4 estimate_quarter(const float *table, const hash_functions &functions,
                                          uint32_t quarter) {
    int32_t values[4][ROWS];
    uint32_t block = quarter / QUARTER;
    for (int row = 0; row < ROWS; row++) {
        struct gw_sketch_hash hash = functions.of[row];
        uint32_t place = gw_sketch_place(hash, functions.column_bits, block);
        uint32_t signs = gw_sketch_signs(hash, block) >> quarter % QUARTER * 4;
        size_t first =
            ((size_t)row << functions.column_bits) + ((place & ~3u) ^ (quarter % QUARTER * 4));
        uint4 cells = *(const uint4 *)(table + first);
        uint32_t other[4] = {cells.x, cells.y, cells.z, cells.w};
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t once = (place & 1) != 0 ? other[i ^ 1] : other[i];
            uint32_t twice = (place & 1) != 0 ? other[i ^ 3] : other[i ^ 2];
            uint32_t bits = (place & 2) != 0 ? twice : once;
            values[i][row] = gw_sketch_ordered((int32_t)(bits ^ (signs >> i & 1) << 31));
        }
    }
    return make_float4(median<ROWS>(values[0]), median<ROWS>(values[1]), median<ROWS>(values[2]),
                       median<ROWS>(values[3]));
}

/* Marks heavy coordinates. 8 threads make a word; all threads of a warp handle `words` or none
 * does. */
template <int ROWS>
static __global__ void mark_heavy(const float *table, hash_functions functions, size_t n,
                                  size_t words, const int32_t *threshold, uint32_t *marks) {
    int32_t least = *threshold;
    GW_GPU_EACH(q, 8 * words) {
        uint32_t hits = 0;
        if (4 * q < n) {
            float4 four = estimate_quarter<ROWS>(table, functions, (uint32_t)q);
            hits |= (uint32_t)(gw_sketch_magnitude(four.x) >= least);
            hits |= (uint32_t)(gw_sketch_magnitude(four.y) >= least && 4 * q + 1 < n) << 1;
            hits |= (uint32_t)(gw_sketch_magnitude(four.z) >= least && 4 * q + 2 < n) << 2;
            hits |= (uint32_t)(gw_sketch_magnitude(four.w) >= least && 4 * q + 3 < n) << 3;
            hits <<= 4 * (threadIdx.x % 8);
        }
        for (int by = 4; by > 0; by /= 2) {
            hits |= __shfl_xor_sync(0xffffffffu, hits, by);
        }
        if (threadIdx.x % 8 == 0) {
            marks[q / 8] = hits;
        }
    }
}

template <int ROWS>
static __global__ void list_heavy(const float *table, hash_functions functions,
                                  const uint32_t *indices, const unsigned long long *count,
                                  size_t capacity, struct gw_entry *entries) {
    uint64_t all = *count < capacity ? *count : capacity;
    GW_GPU_EACH(i, all) {
        float4 four = estimate_quarter<ROWS>(table, functions, indices[i] / 4);
        float low = indices[i] % 2 == 0 ? four.x : four.y;
        float high = indices[i] % 2 == 0 ? four.z : four.w;
        float own = indices[i] % 4 < 2 ? low : high;
        entries[i].value = gw_magnitude_value(gw_sketch_magnitude(own));
        entries[i].index = indices[i];
    }
}

/* ---- launches, with code for each number of rows ------------------------------------------- */

static_assert(GW_SKETCH_ROWS_LIMIT == 15, "a case for each");

#define FOR_ROWS(kernel, rows, n, stream, error, ...)                                              \
    ((rows) == 1    ? GW_GPU_LAUNCH_EACH(kernel<1>, n, stream, error, __VA_ARGS__)                 \
     : (rows) == 3  ? GW_GPU_LAUNCH_EACH(kernel<3>, n, stream, error, __VA_ARGS__)                 \
     : (rows) == 5  ? GW_GPU_LAUNCH_EACH(kernel<5>, n, stream, error, __VA_ARGS__)                 \
     : (rows) == 7  ? GW_GPU_LAUNCH_EACH(kernel<7>, n, stream, error, __VA_ARGS__)                 \
     : (rows) == 9  ? GW_GPU_LAUNCH_EACH(kernel<9>, n, stream, error, __VA_ARGS__)                 \
     : (rows) == 11 ? GW_GPU_LAUNCH_EACH(kernel<11>, n, stream, error, __VA_ARGS__)                \
     : (rows) == 13 ? GW_GPU_LAUNCH_EACH(kernel<13>, n, stream, error, __VA_ARGS__)                \
                    : GW_GPU_LAUNCH_EACH(kernel<15>, n, stream, error, __VA_ARGS__))

enum gw_status gw_gpu_sketch_mark(const struct gw_gpu_sketch *sketch, size_t n,
                                  const int32_t *threshold, uint32_t *marks,
                                  struct gw_device_stream *stream, struct gw_error *error) {
    hash_functions functions = functions_of(&sketch->shape);
    size_t words = gw_gpu_marks_words(n);
    return FOR_ROWS(mark_heavy, functions.rows, 8 * words, stream, error, sketch->table, functions,
                    n, words, threshold, marks);
}

enum gw_status gw_gpu_sketch_list(const struct gw_gpu_sketch *sketch, const uint32_t *indices,
                                  const uint64_t *count, size_t capacity, struct gw_entry *entries,
                                  struct gw_device_stream *stream, struct gw_error *error) {
    hash_functions functions = functions_of(&sketch->shape);
    return FOR_ROWS(list_heavy, functions.rows, capacity, stream, error, sketch->table, functions,
                    indices, (const unsigned long long *)count, capacity, entries);
}

/* ---- the threshold ------------------------------------------------------------------------- */

/*
 * The threshold of the median of the rows' sums; sums that overflow or have NaNs count as infinite.
 */
static __global__ void find_threshold(const double *squares, unsigned rows, size_t k,
                                      int32_t *threshold) {
    double sorted[GW_SKETCH_ROWS_LIMIT];
    for (unsigned row = 0; row < rows; row++) {
        double sum = squares[row] < (double)INFINITY ? squares[row] : (double)INFINITY;
        unsigned place = row;
        for (; place > 0 && sorted[place - 1] > sum; place--) {
            sorted[place] = sorted[place - 1];
        }
        sorted[place] = sum;
    }
    *threshold = gw_sketch_magnitude(gw_sketch_heavy_threshold(sorted[rows / 2], k));
}

enum gw_status gw_gpu_sketch_threshold(const struct gw_gpu_sketch *sketch, const double *squares,
                                       size_t k, int32_t *threshold,
                                       struct gw_device_stream *stream, struct gw_error *error) {
    return GW_LAUNCH(find_threshold, 1, 1, stream, error, squares, (unsigned)sketch->shape.rows, k,
                     threshold);
}

/* ---- heavy hitters and others -------------------------------------------------------------- */

/*
 * Merges heavy hitters and other coordinates. A rank plus the number of heavy hitters before it is
 * a coordinate; before heavy hitter i there are heavy[i] - i others, a number that never decreases.
 * Each thread finds by bisection how many of the other kind come before its own.
 */
static __global__ void merge_indices(const uint32_t *heavy, size_t heavy_count,
                                     const uint32_t *ranks, size_t rank_count, uint32_t *indices) {
    GW_GPU_EACH(t, heavy_count + rank_count) {
        bool is_heavy = t < heavy_count;
        size_t own = is_heavy ? t : t - heavy_count;
        uint32_t rank = is_heavy ? heavy[own] - (uint32_t)own : ranks[own];
        size_t low = 0;
        size_t high = is_heavy ? rank_count : heavy_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            bool before = is_heavy ? ranks[middle] < rank : heavy[middle] - middle <= rank;
            low = before ? middle + 1 : low;
            high = before ? high : middle;
        }
        indices[own + low] = is_heavy ? heavy[own] : rank + (uint32_t)low;
    }
}

enum gw_status gw_gpu_sketch_mix(const uint32_t *heavy, size_t heavy_count, const uint32_t *ranks,
                                 size_t rank_count, uint32_t *indices,
                                 struct gw_device_stream *stream, struct gw_error *error) {
    return GW_GPU_LAUNCH_EACH(merge_indices, heavy_count + rank_count, stream, error, heavy,
                              heavy_count, ranks, rank_count, indices);
}
