/*
 * The pass over a gradient that collects what reaches a magnitude, adds to it first, counts what
 * reaches others, and then lets a rule say what follows from that. Private to kernels/.
 */
#ifndef GW_KERNELS_GPU_COLLECT_CUH
#define GW_KERNELS_GPU_COLLECT_CUH

#include "kernels/gpu/dense.cuh"

struct gw_gpu_collection {
    gw_gpu_span span;
    int32_t magnitude; /* -1: control->magnitude */
    gw_gpu_entries out;
    gw_gpu_chain chain;
    gw_gpu_control *control;
};

enum { GW_GPU_COLLECT_BLOCKS = 4 }; /* of a multiprocessor */

/* A rule is called once, by one thread, as rule(collection, control), when all is collected. */
template <int COUNTS, class Rule>
static __global__ void __launch_bounds__(GW_GPU_THREADS)
    gw_gpu_collect_kernel(gw_gpu_collection what, int64_t tiles, Rule rule) {
    gw_gpu_control *control = what.control;
    gw_gpu_dense<COUNTS> source(what.span, control);
    gw_gpu_cut cut = {what.magnitude < 0 ? control->magnitude : what.magnitude, true, 0};
    gw_gpu_sweep<GW_GPU_DENSE_ROWS>(source, tiles, cut, what.chain, what.out);
    source.share();
    if (gw_gpu_is_last_block(control) && threadIdx.x == 0) {
        gw_gpu_end_sweep(control, tiles);
        rule(what, control);
        control->largest = 0;
        for (int j = 0; j < COUNTS; j++) {
            control->counts[j] = 0;
        }
    }
}

/* Collects to `entries`, as far as there is room. */
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

/* What reaches a magnitude is selected: from what was collected, or from u if that has not all. */
static __device__ inline void gw_gpu_settle(const gw_gpu_collection &what, gw_gpu_control *control,
                                            int32_t magnitude) {
    int32_t collected = what.magnitude < 0 ? control->magnitude : what.magnitude;
    control->dense = magnitude < collected || control->found > what.out.capacity;
    control->listed = control->found;
    control->narrowing = false;
    control->magnitude = magnitude;
    control->all_ties = true;
    control->ties = 0;
}

/* What is collected is what is selected. */
struct gw_gpu_tell_all {
    gw_gpu_report report;
    __device__ void operator()(const gw_gpu_collection &what, gw_gpu_control *control) const {
        (void)what;
        gw_gpu_tell(&report, control, control->found);
    }
};

#endif
