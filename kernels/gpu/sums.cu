/*
 * Sums in one pass over the values: 16 threads, the lanes, sum a segment; then a block sums a part.
 */
#include "kernels/gpu/kernels.cuh"

enum {
    LANES = GW_SUM_LANES,
    SEGMENT = GW_SUM_SEGMENT,
    THREADS = 256,
    GROUPS = GW_SUM_GROUPS,
    AHEAD = 8, /* values that a thread loads before it adds the first */
};

/* ---- parts --------------------------------------------------------------------------------- */

size_t gw_gpu_sum_segments(size_t size) {
    return size / SEGMENT + (size % SEGMENT != 0);
}

size_t gw_gpu_parts_words(size_t count) {
    return 2 * (count + 1);
}

struct gw_gpu_parts gw_gpu_parts_of(const size_t *sizes, size_t count, uint64_t *table,
                                    const uint64_t *on_gpu) {
    uint64_t *segment_firsts = table + count + 1;
    table[0] = 0;
    segment_firsts[0] = 0;
    for (size_t i = 0; i < count; i++) {
        table[i + 1] = table[i] + sizes[i];
        segment_firsts[i + 1] = segment_firsts[i] + gw_gpu_sum_segments(sizes[i]);
    }
    struct gw_gpu_parts parts = {count, (size_t)segment_firsts[count], on_gpu, on_gpu + count + 1};
    return parts;
}

/* ---- kernels ------------------------------------------------------------------------------- */

struct magnitude {
    static __device__ double of(float value) {
        return (double)fabsf(value);
    }
};

struct square {
    static __device__ double of(float value) {
        return (double)value * (double)value;
    }
};

/* The part of a segment: the last one that begins at it or before; some parts may be empty. */
static __device__ size_t part_of(const struct gw_gpu_parts &parts, uint64_t segment) {
    size_t low = 0;
    size_t high = parts.count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (parts.segment_firsts[middle] <= segment) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Reads 0 past the end: adding 0 changes no bit of a sum of non-negative terms. */
template <typename term>
static __global__ void sum_segments(const float *values, struct gw_gpu_parts parts, double *partial,
                                    unsigned long long *first_nan) {
    uint64_t segment = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) / LANES;
    unsigned lanes_mask = ((1u << LANES) - 1) << (threadIdx.x % 32 / LANES * LANES);
    if (segment >= parts.segments) {
        return;
    }
    size_t part = part_of(parts, segment);
    uint64_t begin = parts.firsts[part] + (segment - parts.segment_firsts[part]) * SEGMENT;
    uint64_t end = parts.firsts[part + 1];
    end = end - begin < SEGMENT ? end : begin + SEGMENT;
    double sum = 0;
    for (uint64_t i = begin + threadIdx.x % LANES; i < end; i += AHEAD * LANES) {
        float loaded[AHEAD];
        for (int j = 0; j < AHEAD; j++) {
            loaded[j] = i + j * LANES < end ? values[i + j * LANES] : 0;
        }
        for (int j = 0; j < AHEAD; j++) {
            sum += term::of(loaded[j]);
            if (first_nan != NULL && isnan(loaded[j])) {
                atomicMin(first_nan, (unsigned long long)(i + j * LANES));
            }
        }
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
        sum += __shfl_down_sync(lanes_mask, sum, half, LANES);
    }
    if (threadIdx.x % LANES == 0) {
        partial[segment] = sum;
    }
}

static __global__ void sum_parts(struct gw_gpu_parts parts, const double *partial, double *sums) {
    __shared__ double groups[GROUPS];
    uint64_t end = parts.segment_firsts[blockIdx.x + 1];
    double sum = 0;
    for (uint64_t s = parts.segment_firsts[blockIdx.x] + threadIdx.x; s < end; s += GROUPS) {
        sum += partial[s];
    }
    groups[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = GROUPS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            groups[threadIdx.x] += groups[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = groups[0];
    }
}

/* ---- launches ------------------------------------------------------------------------------ */

template <typename term>
static enum gw_status launch_sum(const float *values, const struct gw_gpu_parts *parts,
                                 double *partial, double *sums, uint64_t *first_nan,
                                 struct gw_device_stream *stream, struct gw_error *error) {
    enum { EACH = THREADS / LANES };
    GW_TRY(GW_LAUNCH(sum_segments<term>, (parts->segments + EACH - 1) / EACH, THREADS, stream,
                     error, values, *parts, partial, (unsigned long long *)first_nan));
    return GW_LAUNCH(sum_parts, parts->count, GROUPS, stream, error, *parts, partial, sums);
}

enum gw_status gw_gpu_sum_magnitudes(const float *values, const struct gw_gpu_parts *parts,
                                     double *partial, double *sums, uint64_t *first_nan,
                                     struct gw_device_stream *stream, struct gw_error *error) {
    return launch_sum<magnitude>(values, parts, partial, sums, first_nan, stream, error);
}

enum gw_status gw_gpu_sum_squares(const float *values, const struct gw_gpu_parts *parts,
                                  double *partial, double *sums, struct gw_device_stream *stream,
                                  struct gw_error *error) {
    return launch_sum<square>(values, parts, partial, sums, NULL, stream, error);
}
