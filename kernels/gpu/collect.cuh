/* The pass over a gradient that adds to it, collects the elements that reach a magnitude, counts
 * those that reach other magnitudes, and calls a rule with the results. Private to kernels/. */
#ifndef GW_KERNELS_GPU_COLLECT_CUH
#define GW_KERNELS_GPU_COLLECT_CUH

#include "kernels/gpu/tiles.cuh"

/* ---- a gradient as a source of tiles ------------------------------------------------------- */

/* A gradient of which elements [first, end) are read and those in [begin, stop) may be selected. */
struct gw_gpu_span {
    float *u;
    const float *gradient; /* added first; NULL: no gradient */
    int64_t first, end, begin, stop;
    int64_t origin;        /* start of the tiles: at or before `first`, and u + origin is aligned */
    bool gradient_aligned; /* gradient + origin is aligned too */
};

static inline gw_gpu_span gw_gpu_span_of(float *u, const float *gradient, size_t first,
                                         size_t end) {
    gw_gpu_span span;
    size_t misplaced = ((uintptr_t)u / sizeof *u + first) % 4;
    span.u = u;
    span.gradient = gradient;
    span.first = span.begin = (int64_t)first;
    span.end = span.stop = (int64_t)end;
    span.origin = (int64_t)first - (int64_t)misplaced;
    span.gradient_aligned = ((uintptr_t)u - (uintptr_t)gradient) % 16 == 0;
    return span;
}

enum { GW_GPU_DENSE_ROWS = 8 };

static inline size_t gw_gpu_dense_tiles(const gw_gpu_span *span) {
    size_t items = gw_gpu_tile<GW_GPU_DENSE_ROWS>::items;
    return ((size_t)(span->end - span->origin) + items - 1) / items;
}

/* The source of tiles of a gradient. Counts the elements that reach `COUNTS` thresholds. */
template <int COUNTS> struct gw_gpu_dense {
    static constexpr int rows = GW_GPU_DENSE_ROWS;
    typedef gw_gpu_tile<rows> shape;

    gw_gpu_span span;
    gw_gpu_control *control;
    int32_t largest;
    int32_t thresholds[COUNTS + 1];
    uint32_t counts[COUNTS + 1];

    __device__ gw_gpu_dense(const gw_gpu_span &what, gw_gpu_control *told)
        : span(what), control(told), largest(0) {
        for (int i = 0; i < COUNTS; i++) {
            thresholds[i] = told->magnitudes[i];
            counts[i] = 0;
        }
    }

    __device__ int64_t index(int64_t tile, int place) const {
        return span.origin + tile * shape::items + place;
    }

    __device__ gw_entry entry(int64_t tile, int place) const {
        gw_entry made;
        made.index = (uint32_t)index(tile, place);
        made.value = span.u[made.index];
        return made;
    }

    /* Loads rows of which all four elements exist. */
    __device__ void load_rows(int64_t tile, int32_t (&out)[4 * rows]) const {
        float4 values[rows];
#pragma unroll
        for (int row = 0; row < rows; row++) {
            values[row] = gw_gpu_load_four(span.u + index(tile, shape::place(row)), true);
        }
        if (span.gradient != NULL) {
            float4 added[rows];
#pragma unroll
            for (int row = 0; row < rows; row++) {
                added[row] = gw_gpu_load_four(span.gradient + index(tile, shape::place(row)),
                                              span.gradient_aligned);
            }
#pragma unroll
            for (int row = 0; row < rows; row++) {
                values[row] =
                    make_float4(values[row].x + added[row].x, values[row].y + added[row].y,
                                values[row].z + added[row].z, values[row].w + added[row].w);
                *(float4 *)(span.u + index(tile, shape::place(row))) = values[row];
            }
        }
#pragma unroll
        for (int row = 0; row < rows; row++) {
            out[4 * row] = gw_magnitude(values[row].x);
            out[4 * row + 1] = gw_magnitude(values[row].y);
            out[4 * row + 2] = gw_magnitude(values[row].z);
            out[4 * row + 3] = gw_magnitude(values[row].w);
        }
    }

    __device__ int32_t load_one(int64_t at) const {
        if (at < span.first || at >= span.end) {
            return -1;
        }
        if (span.gradient != NULL) {
            span.u[at] += span.gradient[at];
        }
        return gw_magnitude(span.u[at]);
    }

    /* Counts and finds the largest, before elements that may not be selected are masked. */
    __device__ void count_thresholds(int64_t tile, const int32_t (&magnitudes)[4 * rows]) {
        int32_t most = -1;
#pragma unroll
        for (int i = 0; i < 4 * rows; i++) {
            most = max(most, magnitudes[i]);
#pragma unroll
            for (int j = 0; j < COUNTS; j++) {
                counts[j] += magnitudes[i] >= thresholds[j];
            }
        }
        if (most > GW_INFINITE) {
            for (int i = 0; i < 4 * rows; i++) {
                int64_t at = index(tile, shape::place(i / 4) + i % 4);
                if (at >= span.first && at < span.end && gw_magnitude(span.u[at]) > GW_INFINITE) {
                    gw_gpu_meet_nan(control, (uint64_t)at);
                }
            }
        }
        largest = max(largest, most);
    }

    __device__ void load(int64_t tile, int32_t (&magnitudes)[4 * rows]) {
        int64_t from = index(tile, 0);
        int64_t to = from + shape::items;
        if (from >= span.first && to <= span.end) {
            load_rows(tile, magnitudes);
        } else {
#pragma unroll
            for (int i = 0; i < 4 * rows; i++) {
                magnitudes[i] = load_one(index(tile, shape::place(i / 4) + i % 4));
            }
        }
        count_thresholds(tile, magnitudes);
        if (from < span.begin || to > span.stop) {
#pragma unroll
            for (int i = 0; i < 4 * rows; i++) {
                int64_t at = index(tile, shape::place(i / 4) + i % 4);
                magnitudes[i] = at >= span.begin && at < span.stop ? magnitudes[i] : -1;
            }
        }
    }

    /* Adds the counts of the block's threads to those of all blocks. */
    __device__ void add_counts() const {
        __shared__ unsigned long long of_block[COUNTS + 1];
        __shared__ int32_t largest_of_block;
        if ((int)threadIdx.x <= COUNTS) {
            of_block[threadIdx.x] = 0;
        }
        if (threadIdx.x == 0) {
            largest_of_block = 0;
        }
        __syncthreads();
        int32_t most = __reduce_max_sync(GW_GPU_ALL_LANES, largest);
        bool first_lane = threadIdx.x % GW_GPU_WARP == 0;
        if (first_lane) {
            atomicMax(&largest_of_block, most);
        }
#pragma unroll
        for (int j = 0; j < COUNTS; j++) {
            uint32_t of_warp = __reduce_add_sync(GW_GPU_ALL_LANES, counts[j]);
            if (first_lane) {
                atomicAdd(&of_block[j], (unsigned long long)of_warp);
            }
        }
        __syncthreads();
        if ((int)threadIdx.x < COUNTS) {
            atomicAdd(&control->counts[threadIdx.x], of_block[threadIdx.x]);
        }
        if (threadIdx.x == 0) {
            atomicMax(&control->largest, largest_of_block);
        }
    }
};

/* ---- the pass ------------------------------------------------------------------------------ */

struct gw_gpu_collection {
    gw_gpu_span span;
    int32_t magnitude; /* -1: control->magnitude */
    gw_gpu_entries out;
    gw_gpu_chain chain;
    gw_gpu_control *control;
};

enum { GW_GPU_COLLECT_BLOCKS = 4 }; /* of a multiprocessor */

/* One thread calls rule(collection, control), once, after the pass. */
template <int COUNTS, class Rule>
static __global__ void __launch_bounds__(GW_GPU_THREADS)
    gw_gpu_collect_kernel(gw_gpu_collection what, int64_t tiles, Rule rule) {
    gw_gpu_control *control = what.control;
    gw_gpu_dense<COUNTS> source(what.span, control);
    gw_gpu_cut cut = {what.magnitude < 0 ? control->magnitude : what.magnitude, true, 0};
    gw_gpu_sweep<GW_GPU_DENSE_ROWS>(source, tiles, cut, what.chain, what.out);
    source.add_counts();
    if (gw_gpu_is_last_block(control) && threadIdx.x == 0) {
        gw_gpu_end_sweep(control, tiles);
        rule(what, control);
        control->largest = 0;
        for (int j = 0; j < COUNTS; j++) {
            control->counts[j] = 0;
        }
    }
}

/* Collects to `entries`, up to its capacity. */
template <int COUNTS, class Rule>
static enum gw_status gw_gpu_collect(const gw_gpu_span *span, int32_t magnitude, gw_entry *entries,
                                     size_t capacity, gw_device_stream *stream,
                                     gw_gpu_workspace *workspace, const Rule &rule,
                                     gw_error *error) {
    size_t tiles = gw_gpu_dense_tiles(span);
    gw_gpu_collection what;
    what.span = *span;
    what.magnitude = magnitude;
    what.out.entries = entries;
    what.out.capacity = capacity;
    what.control = what.chain.control = gw_gpu_control_of(workspace);
    GW_TRY(gw_gpu_workspace_begin_chain(workspace, tiles, stream, error));
    what.chain.words = (unsigned long long *)workspace->tiles;
    what.chain.epoch = workspace->epoch;
    size_t blocks = gw_gpu_blocks(stream, tiles > 0 ? tiles : 1, GW_GPU_COLLECT_BLOCKS);
    return GW_LAUNCH((gw_gpu_collect_kernel<COUNTS, Rule>), blocks, GW_GPU_THREADS, stream, error,
                     what, (int64_t)tiles, rule);
}

/* Sets the selection to the elements that reach a magnitude: from the collected ones, or from u if
 * these are not all. */
static __device__ inline void gw_gpu_set_selection(const gw_gpu_collection &what,
                                                   gw_gpu_control *control, int32_t magnitude) {
    int32_t collected = what.magnitude < 0 ? control->magnitude : what.magnitude;
    control->dense = magnitude < collected || control->found > what.out.capacity;
    control->listed = control->found;
    control->narrowing = false;
    control->magnitude = magnitude;
    control->all_ties = true;
    control->ties = 0;
}

/* The rule that selects the collected elements. */
struct gw_gpu_report_all {
    gw_gpu_report report;
    __device__ void operator()(const gw_gpu_collection &what, gw_gpu_control *control) const {
        (void)what;
        gw_gpu_write_outcome(&report, control, control->found);
    }
};

#endif
