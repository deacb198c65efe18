/*
 * Sums over a gradient on a GPU, in the order of kernels/arithmetic.h: a block sums a segment, four
 * of its threads a run, and each of them four lanes. A rule receives the sums. Private to kernels/.
 */
#ifndef GW_KERNELS_GPU_MOMENTS_CUH
#define GW_KERNELS_GPU_MOMENTS_CUH

#include "kernels/gpu/kernels.cuh"

enum {
    GW_GPU_RUNS = GW_SCAN_SEGMENT / GW_SCAN_RUN,
    GW_GPU_RUN_THREADS = GW_SCAN_LANES / 4,
    GW_GPU_SUM_THREADS = GW_GPU_RUNS * GW_GPU_RUN_THREADS,
    GW_GPU_RUN_ROWS = GW_SCAN_RUN / GW_SCAN_LANES,
    GW_GPU_ROWS_AHEAD = 4, /* rows that a thread loads before it adds the first */
};
static_assert((int)GW_GPU_SUM_THREADS == (int)GW_SCAN_PARTS, "a thread for each part");

/* ---- terms of the sums --------------------------------------------------------------------- */

/* Sums over all elements: the elements and their squares. */
struct gw_gpu_all_terms {
    static constexpr int sums = 2;
    int32_t largest;
    double of[sums][4]; /* the thread's lanes */

    __device__ explicit gw_gpu_all_terms(int32_t) : largest(0), of() {
    }
    __device__ void add(int lane, float value) {
        double wide = (double)value;
        of[0][lane] += wide;
        of[1][lane] += wide * wide;
        largest = max(largest, gw_magnitude(value));
    }
    __device__ uint32_t counted() const {
        return 0;
    }
};

/* Sums over elements of at least some magnitude: |u|, and their number. */
struct gw_gpu_tail_terms {
    static constexpr int sums = 1;
    int32_t least, largest;
    uint32_t count;
    double of[sums][4];

    __device__ explicit gw_gpu_tail_terms(int32_t magnitude)
        : least(magnitude), largest(0), count(0), of() {
    }
    __device__ void add(int lane, float value) {
        int32_t magnitude = gw_magnitude(value);
        bool reached = magnitude >= least;
        of[0][lane] += reached ? (double)fabsf(value) : 0;
        count += reached;
        largest = reached ? max(largest, magnitude) : largest;
    }
    __device__ uint32_t counted() const {
        return count;
    }
};

/* ---- a segment ----------------------------------------------------------------------------- */

struct gw_gpu_summing {
    float *u;
    const float *gradient; /* added first; NULL: no gradient */
    int64_t n, segments;
    int32_t magnitude; /* of tails; -1: control->magnitude */
    bool aligned;      /* u and gradient, to four elements */
    double *partial;   /* [sums][segments] */
    gw_gpu_control *control;
};

static __device__ inline void gw_gpu_store_four(float *to, float4 four, bool aligned) {
    if (aligned) {
        *(float4 *)to = four;
    } else {
        to[0] = four.x;
        to[1] = four.y;
        to[2] = four.z;
        to[3] = four.w;
    }
}

/* Adds a thread's part of a whole run: four elements of each row, from `from` on. */
template <class Terms>
static __device__ void gw_gpu_sum_rows(const gw_gpu_summing &what, int64_t from, Terms *terms) {
    for (int row = 0; row < GW_GPU_RUN_ROWS; row += GW_GPU_ROWS_AHEAD) {
        float4 fours[GW_GPU_ROWS_AHEAD];
#pragma unroll
        for (int i = 0; i < GW_GPU_ROWS_AHEAD; i++) {
            fours[i] = gw_gpu_load_four(what.u + from + (row + i) * GW_SCAN_LANES, what.aligned);
        }
        if (what.gradient != NULL) {
            float4 added[GW_GPU_ROWS_AHEAD];
#pragma unroll
            for (int i = 0; i < GW_GPU_ROWS_AHEAD; i++) {
                added[i] = gw_gpu_load_four(what.gradient + from + (row + i) * GW_SCAN_LANES,
                                            what.aligned);
            }
#pragma unroll
            for (int i = 0; i < GW_GPU_ROWS_AHEAD; i++) {
                fours[i] = make_float4(fours[i].x + added[i].x, fours[i].y + added[i].y,
                                       fours[i].z + added[i].z, fours[i].w + added[i].w);
                gw_gpu_store_four(what.u + from + (row + i) * GW_SCAN_LANES, fours[i],
                                  what.aligned);
            }
        }
#pragma unroll
        for (int i = 0; i < GW_GPU_ROWS_AHEAD; i++) {
            terms->add(0, fours[i].x);
            terms->add(1, fours[i].y);
            terms->add(2, fours[i].z);
            terms->add(3, fours[i].w);
        }
    }
}

/* The same if u ends in the run or before it. */
template <class Terms>
static __device__ void gw_gpu_sum_end(const gw_gpu_summing &what, int64_t from, Terms *terms) {
    for (int row = 0; row < GW_GPU_RUN_ROWS; row++) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int64_t at = from + row * GW_SCAN_LANES + i;
            if (at < what.n) {
                float value = what.u[at];
                if (what.gradient != NULL) {
                    value += what.gradient[at];
                    what.u[at] = value;
                }
                terms->add(i, value);
            }
        }
    }
}

static __device__ inline void gw_gpu_find_nan(const gw_gpu_summing &what, int64_t from) {
    for (int row = 0; row < GW_GPU_RUN_ROWS; row++) {
        for (int i = 0; i < 4; i++) {
            int64_t at = from + row * GW_SCAN_LANES + i;
            if (at < what.n && gw_magnitude(what.u[at]) > GW_INFINITE) {
                gw_gpu_meet_nan(what.control, (uint64_t)at);
            }
        }
    }
}

/*
 * Adds lanes over runs, then the lanes in order. All threads call it; `sum` is one of Terms::sums.
 */
template <class Terms>
static __device__ void gw_gpu_join_runs(const gw_gpu_summing &what, int64_t segment, int sum,
                                        const Terms &terms) {
    __shared__ double of_runs[GW_GPU_RUNS][GW_SCAN_LANES];
    __shared__ double of_lanes[GW_SCAN_LANES];
    int run = (int)threadIdx.x / GW_GPU_RUN_THREADS;
    int first = (int)threadIdx.x % GW_GPU_RUN_THREADS * 4;
    for (int i = 0; i < 4; i++) {
        of_runs[run][first + i] = terms.of[sum][i];
    }
    __syncthreads();
    if (threadIdx.x < GW_SCAN_LANES) {
        double lane = 0;
        for (int i = 0; i < GW_GPU_RUNS; i++) {
            lane += of_runs[i][threadIdx.x];
        }
        of_lanes[threadIdx.x] = lane;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        double all = 0;
        for (int i = 0; i < GW_SCAN_LANES; i++) {
            all += of_lanes[i];
        }
        what.partial[sum * what.segments + segment] = all;
    }
}

/* Adds the warps' counts and largest magnitudes to control. */
template <class Terms>
static __device__ void gw_gpu_join_counts(gw_gpu_control *control, const Terms &terms) {
    uint32_t count = __reduce_add_sync(GW_GPU_ALL_LANES, terms.counted());
    int32_t largest = __reduce_max_sync(GW_GPU_ALL_LANES, terms.largest);
    if (threadIdx.x % GW_GPU_WARP == 0) {
        if (count > 0) {
            atomicAdd(&control->counts[0], (unsigned long long)count);
        }
        atomicMax(&control->largest, largest);
    }
}

/* ---- all segments -------------------------------------------------------------------------- */

/* Adds segments by part, then the parts in order; thread 0 has the result. All threads of the last
 * block call it. */
static __device__ inline double gw_gpu_join_segments(const double *partial, int64_t segments) {
    __shared__ double parts[GW_SCAN_PARTS];
    double part = 0;
#pragma unroll 8
    for (int64_t i = threadIdx.x; i < segments; i += GW_SCAN_PARTS) {
        part += __ldcg(partial + i);
    }
    __syncthreads();
    parts[threadIdx.x] = part;
    __syncthreads();
    double sum = 0;
    for (int i = 0; i < GW_SCAN_PARTS && threadIdx.x == 0; i++) {
        sum += parts[i];
    }
    return sum;
}

/* One thread calls rule(sums, control), once. */
template <class Terms, class Rule>
static __global__ void __launch_bounds__(GW_GPU_SUM_THREADS)
    gw_gpu_sum_kernel(gw_gpu_summing what, Rule rule) {
    gw_gpu_control *control = what.control;
    Terms terms(what.magnitude < 0 ? control->magnitude : what.magnitude);
    int64_t segment = blockIdx.x;
    int64_t from = segment * GW_SCAN_SEGMENT +
                   (int64_t)(threadIdx.x / GW_GPU_RUN_THREADS) * GW_SCAN_RUN +
                   threadIdx.x % GW_GPU_RUN_THREADS * 4;
    if ((segment + 1) * GW_SCAN_SEGMENT <= what.n) {
        gw_gpu_sum_rows(what, from, &terms);
    } else {
        gw_gpu_sum_end(what, from, &terms);
    }
    if (terms.largest > GW_INFINITE) {
        gw_gpu_find_nan(what, from);
    }
    for (int sum = 0; sum < Terms::sums; sum++) {
        gw_gpu_join_runs(what, segment, sum, terms);
        __syncthreads();
    }
    gw_gpu_join_counts(control, terms);
    if (gw_gpu_is_last_block(control)) {
        double sums[Terms::sums];
        for (int sum = 0; sum < Terms::sums; sum++) {
            sums[sum] = gw_gpu_join_segments(what.partial + sum * what.segments, what.segments);
        }
        if (threadIdx.x == 0) {
            rule(sums, control);
            control->largest = 0;
            control->counts[0] = 0;
        }
    }
}

/* Bytes of workspace->memory for sums over n elements. */
static inline size_t gw_gpu_sum_bytes_of(size_t n) {
    return gw_gpu_all_terms::sums * sizeof(double) * ((n + GW_SCAN_SEGMENT - 1) / GW_SCAN_SEGMENT);
}

/* Sums over a gradient. Adds the task's gradient first if `adding`. */
template <class Terms, class Rule>
static enum gw_status gw_gpu_sum(const gw_task *task, int32_t magnitude, bool adding,
                                 gw_device_stream *stream, gw_gpu_workspace *workspace,
                                 const Rule &rule, gw_error *error) {
    GW_TRY(gw_gpu_workspace_reserve(workspace, gw_gpu_sum_bytes_of(task->n), error));
    size_t segments = (task->n + GW_SCAN_SEGMENT - 1) / GW_SCAN_SEGMENT;
    gw_gpu_summing what;
    what.u = task->u;
    what.gradient = adding ? task->gradient : NULL;
    what.n = (int64_t)task->n;
    what.segments = (int64_t)segments;
    what.magnitude = magnitude;
    what.aligned = (uintptr_t)what.u % 16 == 0 && (uintptr_t)what.gradient % 16 == 0;
    what.partial = (double *)workspace->memory;
    what.control = gw_gpu_control_of(workspace);
    return GW_LAUNCH((gw_gpu_sum_kernel<Terms, Rule>), segments, GW_GPU_SUM_THREADS, stream, error,
                     what, rule);
}

#endif
