/* Error feedback on a GPU: what was selected leaves the residual. */
#include "kernels/gpu/kernels.cuh"

enum { THREADS = 256, BLOCKS_OF_A_MULTIPROCESSOR = 4 };

static __global__ void clear_selected(float *u, const gw_entry *entries,
                                      const gw_gpu_outcome *outcome) {
    uint64_t count = outcome->first_nan == UINT64_MAX ? outcome->count : 0;
    uint64_t threads = (uint64_t)gridDim.x * THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += threads) {
        u[entries[i].index] = 0;
    }
}

enum gw_status gw_gpu_compress(const struct gw_gpu_kernel *compressor, const struct gw_task *task,
                               struct gw_device_stream *stream, struct gw_gpu_workspace *workspace,
                               struct gw_gpu_selection *out, struct gw_error *error) {
    size_t most =
        BLOCKS_OF_A_MULTIPROCESSOR * gw_device_multiprocessors(gw_device_stream_device(stream));
    size_t useful = (out->capacity + THREADS - 1) / THREADS;
    GW_TRY(compressor->select(task, stream, workspace, out, error));
    return GW_LAUNCH(clear_selected, useful < most ? useful : most, THREADS, stream, error, task->u,
                     out->entries, out->on_gpu);
}
