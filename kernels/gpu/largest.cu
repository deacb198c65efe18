#include "kernels/gpu/collect.cuh"
#include "kernels/gpu/narrow.cuh"

enum { MIN_CANDIDATES = 1 << 12, NARROWING_BLOCKS = 8, COMPACTING_BLOCKS = 4, LIST_ROWS = 2 };

size_t gw_gpu_candidates_capacity(size_t n) {
    size_t some = n / 4 + MIN_CANDIDATES;
    return some < n ? some : n;
}

/* ---- narrowing a range of magnitudes ------------------------------------------------------- */

static __device__ int64_t bin_of(uint32_t magnitude, uint32_t low, uint32_t width, int shift) {
    uint32_t offset = magnitude - low;
    return offset <= width ? (int64_t)(offset >> shift) : -1;
}

static __device__ void narrow_to(gw_gpu_control *control, const gw_gpu_pick &pick, int shift,
                                 int above) {
    uint32_t begin = pick.bin << shift;
    uint32_t left = control->width - begin;
    uint32_t width = (1u << shift) - 1;
    control->low += begin;
    control->width = width < left ? width : left;
    control->rank = pick.rank;
    control->magnitude = (int32_t)control->low + above;
    control->ties = pick.rank;
    control->all_ties = pick.rank == pick.count;
}

static __global__ void narrow_range(const float *u, uint64_t n, const gw_entry *candidates,
                                    bool last, int above, gw_gpu_control *control) {
    if (!control->narrowing) {
        return;
    }
    uint32_t low = control->low;
    uint32_t width = control->width;
    uint32_t rank = (uint32_t)control->rank;
    int shift = (last ? 0 : (GW_GPU_WARP - __clz((int)width)) / 2);
    bool dense = control->dense;
    uint64_t count = dense ? n : control->listed;
    uint64_t threads = (uint64_t)gridDim.x * GW_GPU_THREADS;
    uint64_t first_of_warp =
        (uint64_t)blockIdx.x * GW_GPU_THREADS + threadIdx.x / GW_GPU_WARP * GW_GPU_WARP;
    for (uint64_t from = first_of_warp; from < count; from += threads) {
        uint64_t i = from + threadIdx.x % GW_GPU_WARP;
        int64_t bin = -1;
        if (i < count) {
            float value = dense ? u[i] : candidates[i].value;
            bin = bin_of((uint32_t)gw_magnitude(value), low, width, shift);
        }
        gw_gpu_count_bin(control->bins, bin);
    }
    if (gw_gpu_is_last_block(control)) {
        gw_gpu_pick pick = gw_gpu_pick_bin(control->bins, (width >> shift) + 1, rank);
        if (threadIdx.x == 0) {
            narrow_to(control, pick, shift, last ? above : 0);
        }
    }
}

/* Narrows twice, down to one magnitude, among at most n elements or candidates. */
static enum gw_status narrow_down(const float *u, size_t n, const gw_entry *candidates, bool above,
                                  gw_device_stream *stream, gw_gpu_workspace *workspace,
                                  gw_error *error) {
    gw_gpu_control *control = gw_gpu_control_of(workspace);
    size_t blocks =
        gw_gpu_blocks(stream, (n + GW_GPU_THREADS - 1) / GW_GPU_THREADS, NARROWING_BLOCKS);
    GW_TRY(GW_LAUNCH(narrow_range, blocks, GW_GPU_THREADS, stream, error, u, (uint64_t)n,
                     candidates, false, 0, control));
    return GW_LAUNCH(narrow_range, blocks, GW_GPU_THREADS, stream, error, u, (uint64_t)n,
                     candidates, true, above ? 1 : 0, control);
}

enum gw_status gw_gpu_narrow(const gw_task *task, bool above, gw_device_stream *stream,
                             gw_gpu_workspace *workspace, gw_error *error) {
    return narrow_down(task->u, task->n, (const gw_entry *)workspace->memory, above, stream,
                       workspace, error);
}

/* ---- compacting ---------------------------------------------------------------------------- */

/* The source of tiles of a list of candidates. */
struct candidate_list {
    typedef gw_gpu_tile<LIST_ROWS> shape;

    const gw_entry *entries;
    int64_t count;

    __device__ gw_entry entry(int64_t tile, int place) const {
        return entries[tile * shape::items + place];
    }

    __device__ void load(int64_t tile, int32_t (&magnitudes)[4 * LIST_ROWS]) const {
#pragma unroll
        for (int i = 0; i < 4 * LIST_ROWS; i++) {
            int64_t at = tile * shape::items + shape::place(i / 4) + i % 4;
            magnitudes[i] = at < count ? gw_magnitude(entries[at].value) : -1;
        }
    }
};

static __global__ void __launch_bounds__(GW_GPU_THREADS)
    compact_selection(gw_gpu_span span, int64_t dense_tiles, const gw_entry *candidates,
                      gw_gpu_chain chain, gw_gpu_entries out, gw_gpu_report report) {
    gw_gpu_control *control = chain.control;
    gw_gpu_cut cut = {control->magnitude, control->all_ties, (uint32_t)control->ties};
    int64_t tiles = dense_tiles;
    if (control->dense) {
        gw_gpu_dense<0> source(span, control);
        gw_gpu_sweep<GW_GPU_DENSE_ROWS>(source, tiles, cut, chain, out);
    } else {
        candidate_list source = {candidates, (int64_t)control->listed};
        tiles = (source.count + candidate_list::shape::items - 1) / candidate_list::shape::items;
        gw_gpu_sweep<LIST_ROWS>(source, tiles, cut, chain, out);
    }
    if (gw_gpu_is_last_block(control) && threadIdx.x == 0) {
        gw_gpu_end_sweep(control, tiles);
        if (report.on_gpu != NULL) {
            gw_gpu_write_outcome(&report, control, control->found);
        }
    }
}

/* Compacts a gradient, or at most `capacity` candidates. */
static enum gw_status launch_compaction(const gw_gpu_span &span, const gw_entry *candidates,
                                        size_t capacity, const gw_gpu_entries &out,
                                        const gw_gpu_report &report, gw_device_stream *stream,
                                        gw_gpu_workspace *workspace, gw_error *error) {
    size_t tiles = gw_gpu_dense_tiles(&span);
    size_t list_tiles = capacity / candidate_list::shape::items + 1;
    size_t most = tiles > list_tiles ? tiles : list_tiles;
    GW_TRY(gw_gpu_workspace_begin_chain(workspace, most, stream, error));
    gw_gpu_chain chain = {(unsigned long long *)workspace->tiles, workspace->epoch,
                          gw_gpu_control_of(workspace)};
    return GW_LAUNCH(compact_selection, gw_gpu_blocks(stream, most, COMPACTING_BLOCKS),
                     GW_GPU_THREADS, stream, error, span, (int64_t)tiles, candidates, chain, out,
                     report);
}

enum gw_status gw_gpu_compact(const gw_task *task, gw_device_stream *stream,
                              gw_gpu_workspace *workspace, gw_gpu_selection *out, gw_error *error) {
    gw_gpu_entries to = {out->entries, out->capacity};
    gw_gpu_report report = {out->on_gpu, out->on_host};
    return launch_compaction(
        gw_gpu_span_of(task->u, NULL, 0, task->n), (const gw_entry *)workspace->memory,
        gw_gpu_candidates_capacity(task->n), to, report, stream, workspace, error);
}

/* ---- the largest of a list ----------------------------------------------------------------- */

static __global__ void begin_list(const uint64_t *count, uint64_t k, gw_gpu_control *control) {
    control->dense = false;
    control->listed = *count;
    control->narrowing = true;
    control->low = 0;
    control->width = INT32_MAX; /* NaNs included */
    control->rank = k;
}

enum gw_status gw_gpu_keep_largest(const gw_entry *entries, const uint64_t *count, size_t capacity,
                                   size_t k, gw_entry *out, gw_device_stream *stream,
                                   gw_gpu_workspace *workspace, gw_error *error) {
    gw_gpu_entries to = {out, k};
    gw_gpu_report report = {NULL, NULL};
    GW_TRY(GW_LAUNCH(begin_list, 1, 1, stream, error, count, (uint64_t)k,
                     gw_gpu_control_of(workspace)));
    GW_TRY(narrow_down(NULL, capacity, entries, false, stream, workspace, error));
    return launch_compaction(gw_gpu_span_of(NULL, NULL, 0, 0), entries, capacity, to, report,
                             stream, workspace, error);
}
