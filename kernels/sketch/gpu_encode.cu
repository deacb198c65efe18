/*
 * Encoding: 16 threads own a line of a row, and add its blocks in ascending order, as a processor
 * does; nothing is added by atomics. Lines of few columns are long and too few to hide how long
 * memory takes: there, a block of threads has a line, and all others load for the 16 that add, who
 * then wait for one sum after the other alone.
 */
#include "kernels/gpu/add.cuh"
#include "kernels/sketch/gpu_functions.cuh"

extern "C" {
#include "kernels/sketch/gpu_kernels.h"
#include "kernels/threshold.h"
}

enum {
    THREADS = 256,
    BLOCK = GW_SKETCH_BLOCK,
    GROUPS = THREADS / BLOCK,
    ADDING = 32 / BLOCK, /* groups of the warp that adds, though one is enough */
    STAGE = (GROUPS - ADDING) * BLOCK,
    FEW_LINES = 8, /* of a multiprocessor: blocks of threads that it has at once */
};

struct chunk {
    float *table;
    gw_gpu_sketch_functions functions;
    const uint32_t *blocks, *offsets; /* of the order */
    size_t size;                      /* in blocks */
    const float *u;
    size_t n;
    unsigned long long *first_nan;
};

/* What a line takes of it. */
struct line {
    gw_sketch_hash hash;
    const uint32_t *blocks;
    uint32_t count;
    bool first_row;
};

static __device__ struct line line_of(const struct chunk &chunk, uint64_t number) {
    uint64_t lines = (uint64_t)1 << chunk.functions.column_bits >> 4;
    uint64_t row = number / lines;
    const uint32_t *own = chunk.offsets + row * (lines + 1) + number % lines;
    return {chunk.functions.of[row], chunk.blocks + row * chunk.size + own[0], own[1] - own[0],
            row == 0};
}

/* By a thread of the first row's, of what load() gave; there is none as a rule. */
static __device__ void look_for_nan(const struct chunk &chunk, const struct line &line,
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

/* By a group: what the 16 blocks from `first` on bring to a thread's cell, or 0 where the line has
 * none, as bits of floats. All are on their way before one is looked at: a branch on each would
 * wait for each. */
static __device__ void load(const struct chunk &chunk, const struct line &line, uint32_t first,
                            uint32_t (&values)[BLOCK]) {
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
        look_for_nan(chunk, line, first, values);
    }
}

/* Zeros, of no block, change no sum, which is never -0. */
static __device__ float add(float sum, const uint32_t (&values)[BLOCK]) {
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
    struct line line = line_of(chunk, number);
    float *cell = chunk.table + number * BLOCK + threadIdx.x % BLOCK;
    float sum = *cell;
    for (uint32_t first = 0; first < line.count; first += BLOCK) {
        uint32_t values[BLOCK];
        load(chunk, line, first, values);
        sum = add(sum, values);
    }
    *cell = gw_add(sum, 0);
}

/* Of two stages, one is loaded while the other is added. */
static __global__ void __launch_bounds__(THREADS) add_to_few_lines(struct chunk chunk) {
    __shared__ uint32_t stages[2][STAGE / BLOCK][BLOCK][BLOCK]; /* ...[block][cell of the line] */
    struct line line = line_of(chunk, blockIdx.x);
    unsigned group = threadIdx.x / BLOCK;
    unsigned lane = threadIdx.x % BLOCK;
    float *cell = chunk.table + (uint64_t)blockIdx.x * BLOCK + lane;
    float sum = *cell;
    unsigned stage = 0;
    for (uint32_t first = 0; first < line.count + STAGE; first += STAGE, stage ^= 1) {
        uint32_t values[BLOCK];
        uint32_t own = first + (group - ADDING) * BLOCK;
        if (group >= ADDING && own < line.count) {
            load(chunk, line, own, values);
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
                sum = add(sum, values);
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
                          gw_gpu_sketch_functions_of(&sketch->shape),
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
