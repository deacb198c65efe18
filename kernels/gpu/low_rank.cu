/*
 * PowerSGD on a GPU (kernels/low_rank.h), to the bit as a processor does it: products by tiles, one
 * block each, whose sums another kernel adds in order. All matrices of a group share the launches.
 */
#include "kernels/gpu/kernels.cuh"

extern "C" {
#include "kernels/low_rank.h"
}

enum {
    ROWS = GW_LOW_RANK_ROWS,
    COLUMNS = GW_LOW_RANK_COLUMNS,
    LANES = GW_LOW_RANK_LANES,
    SUMS = GW_LOW_RANK_SUMS,
    WIDTH = 4, /* of a factor's columns that a thread has at a time */
};
static_assert(COLUMNS == ROWS * LANES, "a thread for each column, or for each lane of a row");

/* ---- a group's matrices -------------------------------------------------------------------- */

struct factors {
    const gw_low_rank_matrix *matrices; /* GPU [count] */
    size_t count, rank;
    float *u, *p, *q, *sums; /* sums: of tiles */
};

static factors factors_of(const gw_low_rank *group, const gw_task *task) {
    return {group->found, group->matrix_count,    group->rank, task->u, group->p,
            group->q,     (float *)group->scratch};
}

/* The number of matrices whose first `member` is at most `at`; ascending. */
static __device__ size_t count_up_to(const factors &of, size_t gw_low_rank_matrix::*member,
                                     size_t at) {
    size_t low = 0;
    size_t high = of.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (of.matrices[middle].*member <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The block's tile of a matrix. */
struct tile {
    gw_low_rank_matrix of;
    size_t first_row, rows, first_column, columns;
    size_t down, across; /* number of tiles before it in its column and in its row */
};

static __device__ tile find_tile(const factors &of) {
    tile found;
    found.of = of.matrices[count_up_to(of, &gw_low_rank_matrix::tile, blockIdx.x) - 1];
    size_t wide = (found.of.columns - 1) / COLUMNS + 1;
    found.down = (blockIdx.x - found.of.tile) / wide;
    found.across = (blockIdx.x - found.of.tile) % wide;
    found.first_row = found.down * ROWS;
    found.first_column = found.across * COLUMNS;
    size_t rows = found.of.rows - found.first_row;
    size_t columns = found.of.columns - found.first_column;
    found.rows = rows < ROWS ? rows : (size_t)ROWS;
    found.columns = columns < COLUMNS ? columns : (size_t)COLUMNS;
    return found;
}

static __device__ void record_infinite(gw_gpu_outcome *outcome, float value, uint64_t index) {
    if (gw_magnitude(value) >= GW_INFINITE) {
        atomicMin((unsigned long long *)&outcome->first_nan, (unsigned long long)index);
    }
}

/* ---- the first product ---------------------------------------------------------------------- */

/* A block for each column of q. */
static __global__ void begin_columns(factors of, uint64_t key) {
    __shared__ int any;
    const gw_low_rank_matrix matrix = of.matrices[blockIdx.x / of.rank];
    size_t first = matrix.q + blockIdx.x % of.rank * matrix.columns;
    if (threadIdx.x == 0) {
        any = 0;
    }
    __syncthreads();
    int own = 0;
    for (size_t j = threadIdx.x; j < matrix.columns; j += blockDim.x) {
        own |= gw_magnitude(of.q[first + j]) > 0;
    }
    atomicOr(&any, own);
    __syncthreads();
    for (size_t j = threadIdx.x; any == 0 && j < matrix.columns; j += blockDim.x) {
        of.q[first + j] = gw_draw_normal(key, first + j);
    }
}

/* Eight threads, the lanes, for each row of a tile. */
static __global__ void __launch_bounds__(COLUMNS) multiply(factors of, gw_gpu_outcome *outcome) {
    tile at = find_tile(of);
    size_t row = at.first_row + threadIdx.x / LANES;
    size_t lane = threadIdx.x % LANES;
    bool used = threadIdx.x / LANES < at.rows;
    size_t m = at.of.first + row * at.of.columns;
    size_t end = used ? at.first_column + at.columns : 0;
    for (size_t first = 0; first < of.rank; first += WIDTH) {
        size_t width = of.rank - first < WIDTH ? of.rank - first : (size_t)WIDTH;
        const float *q = of.q + at.of.q + first * at.of.columns;
        float sums[WIDTH] = {0};
#pragma unroll 8
        for (size_t j = at.first_column + lane; j < end; j += LANES) {
            float value = of.u[m + j];
            record_infinite(outcome, value, m + j);
#pragma unroll
            for (size_t w = 0; w < WIDTH; w++) {
                sums[w] += w < width ? value * q[w * at.of.columns + j] : 0;
            }
        }
        for (size_t w = 0; w < width; w++) {
            for (int half = LANES / 2; half > 0; half /= 2) {
                sums[w] += __shfl_down_sync(GW_GPU_ALL_LANES, sums[w], half, LANES);
            }
            if (lane == 0 && used) {
                of.sums[at.of.p_sums + (at.across * of.rank + first + w) * at.of.rows + row] =
                    sums[w];
            }
        }
    }
}

/* Adds the sums of tiles across, in order. */
static __global__ void add_across(factors of, size_t n, size_t elements, gw_gpu_outcome *outcome) {
    GW_GPU_EACH(i, n) {
        const gw_low_rank_matrix *matrix =
            &of.matrices[count_up_to(of, &gw_low_rank_matrix::p, i) - 1];
        const float *sums = of.sums + matrix->p_sums + (i - matrix->p);
        float sum = sums[0];
        for (size_t j = COLUMNS; j < matrix->columns; j += COLUMNS) {
            sums += of.rank * matrix->rows;
            sum += *sums;
        }
        of.p[i] = sum;
        record_infinite(outcome, sum, elements);
    }
}

/* The place in the group of an element that is not compressed. */
static __device__ size_t find_raw(const factors &of, size_t i) {
    size_t before = count_up_to(of, &gw_low_rank_matrix::raw, i);
    if (before == 0) {
        return i;
    }
    const gw_low_rank_matrix *last = &of.matrices[before - 1];
    return last->first + last->rows * last->columns + (i - last->raw);
}

static __global__ void take_raw(factors of, size_t n, float *raw, gw_gpu_outcome *outcome) {
    GW_GPU_EACH(i, n) {
        size_t at = find_raw(of, i);
        raw[i] = of.u[at];
        record_infinite(outcome, raw[i], at);
    }
}

enum gw_status gw_gpu_project(gw_memory *memory, gw_low_rank *group, const gw_task *task,
                              gw_gpu_selection *out, gw_error *error) {
    gw_device_stream *stream = memory->stream;
    factors of = factors_of(group, task);
    GW_TRY(gw_gpu_outcome_begin(out, stream, error));
    GW_TRY(gw_gpu_outcome_accumulate(task, out, stream, error));
    GW_TRY(GW_LAUNCH(begin_columns, of.count * of.rank, GW_GPU_THREADS, stream, error, of,
                     gw_mix_pair(group->seed, task->iteration)));
    GW_TRY(GW_LAUNCH(multiply, group->matrices[of.count].tile, COLUMNS, stream, error, of,
                     out->on_gpu));
    GW_TRY(GW_GPU_LAUNCH_EACH(add_across, group->p_count, stream, error, of, group->p_count,
                              group->elements, out->on_gpu));
    GW_TRY(GW_GPU_LAUNCH_EACH(take_raw, group->raw_count, stream, error, of, group->raw_count,
                              group->raw, out->on_gpu));
    return gw_gpu_outcome_end(0, out, stream, error);
}

enum gw_status gw_gpu_finish_project(const gw_memory *memory, const gw_low_rank *group,
                                     const gw_gpu_selection *on_gpu, gw_error *error) {
    GW_TRY(gw_device_stream_finish(memory->stream, error));
    uint64_t first = on_gpu->on_host->first_nan;
    return first == UINT64_MAX ? GW_OK : gw_fail_unfactored(group, first, error);
}

/* ---- orthonormal columns, and the second product -------------------------------------------- */

/* The product of two columns, in all threads of a block. */
static __device__ double dot(const double *a, const double *b, size_t n) {
    __shared__ double sums[SUMS];
    double sum = 0;
    for (size_t i = threadIdx.x; i < n; i += SUMS) {
        sum += a[i] * b[i];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = SUMS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        __syncthreads();
    }
    sum = sums[0];
    __syncthreads();
    return sum;
}

/* A block for each matrix; a thread has the same rows of all columns. */
static __global__ void orthogonalise(factors of, double *scratch) {
    const gw_low_rank_matrix matrix = of.matrices[blockIdx.x];
    size_t rows = matrix.rows;
    for (size_t w = 0; w < of.rank; w++) {
        float *p = of.p + matrix.p + w * rows;
        double *column = scratch + matrix.p + w * rows;
        for (size_t i = threadIdx.x; i < rows; i += SUMS) {
            column[i] = (double)p[i];
        }
        double before = sqrt(dot(column, column, rows));
        for (size_t other = 0; other < 2 * w; other++) {
            const double *earlier = scratch + matrix.p + other % w * rows;
            double factor = dot(column, earlier, rows);
            for (size_t i = threadIdx.x; i < rows; i += SUMS) {
                column[i] -= factor * earlier[i];
            }
        }
        double norm = sqrt(dot(column, column, rows));
        double scale = norm > 1e-6 * before ? 1 / norm : 0;
        for (size_t i = threadIdx.x; i < rows; i += SUMS) {
            column[i] *= scale;
            p[i] = (float)column[i];
        }
    }
}

/* A thread for each column of a tile. */
static __global__ void __launch_bounds__(COLUMNS) multiply_transposed(factors of) {
    tile at = find_tile(of);
    if (threadIdx.x >= at.columns) {
        return;
    }
    size_t column = at.first_column + threadIdx.x;
    const float *m = of.u + at.of.first + at.first_row * at.of.columns + column;
    for (size_t first = 0; first < of.rank; first += WIDTH) {
        size_t width = of.rank - first < WIDTH ? of.rank - first : (size_t)WIDTH;
        const float *p = of.p + at.of.p + first * at.of.rows + at.first_row;
        float sums[WIDTH] = {0};
#pragma unroll 8
        for (size_t row = 0; row < at.rows; row++) {
            float value = m[row * at.of.columns];
#pragma unroll
            for (size_t w = 0; w < WIDTH; w++) {
                sums[w] += w < width ? value * p[w * at.of.rows + row] : 0;
            }
        }
        for (size_t w = 0; w < width; w++) {
            of.sums[at.of.q_sums + (at.down * of.rank + first + w) * at.of.columns + column] =
                sums[w];
        }
    }
}

/* Adds the sums of tiles down, in order. */
static __global__ void add_down(factors of, size_t n) {
    GW_GPU_EACH(i, n) {
        const gw_low_rank_matrix *matrix =
            &of.matrices[count_up_to(of, &gw_low_rank_matrix::q, i) - 1];
        const float *sums = of.sums + matrix->q_sums + (i - matrix->q);
        float sum = sums[0];
        for (size_t row = ROWS; row < matrix->rows; row += ROWS) {
            sums += of.rank * matrix->columns;
            sum += *sums;
        }
        of.q[i] = sum;
    }
}

enum gw_status gw_gpu_factor(const gw_memory *memory, gw_low_rank *group, const gw_task *task,
                             gw_error *error) {
    gw_device_stream *stream = memory->stream;
    factors of = factors_of(group, task);
    GW_TRY(GW_LAUNCH(orthogonalise, of.count, SUMS, stream, error, of, (double *)group->scratch));
    GW_TRY(
        GW_LAUNCH(multiply_transposed, group->matrices[of.count].tile, COLUMNS, stream, error, of));
    return GW_GPU_LAUNCH_EACH(add_down, group->q_count, stream, error, of, group->q_count);
}

/* ---- decompression -------------------------------------------------------------------------- */

/* A thread for each column of a tile. */
static __global__ void __launch_bounds__(COLUMNS)
    subtract_product(factors of, float times, float *out) {
    tile at = find_tile(of);
    const float *q = of.q + at.of.q + at.first_column + threadIdx.x;
    for (size_t row = at.first_row; row < at.first_row + at.rows; row++) {
        const float *p = of.p + at.of.p + row;
        size_t i = at.of.first + row * at.of.columns + at.first_column + threadIdx.x;
        if (threadIdx.x < at.columns) {
            float sum = q[0] * p[0];
            for (size_t w = 1; w < of.rank; w++) {
                sum += q[w * at.of.columns] * p[w * at.of.rows];
            }
            out[i] = sum * times;
            of.u[i] -= sum;
        }
    }
}

static __global__ void put_raw(factors of, size_t n, const float *raw, float *out) {
    GW_GPU_EACH(i, n) {
        size_t at = find_raw(of, i);
        out[at] = raw[i];
        of.u[at] = 0;
    }
}

enum gw_status gw_gpu_expand(const gw_memory *memory, gw_low_rank *group, const gw_task *task,
                             float times, float *out, gw_error *error) {
    factors of = factors_of(group, task);
    GW_TRY(GW_LAUNCH(subtract_product, group->matrices[of.count].tile, COLUMNS, memory->stream,
                     error, of, times, out));
    return GW_GPU_LAUNCH_EACH(put_raw, group->raw_count, memory->stream, error, of,
                              group->raw_count, group->raw, out);
}
