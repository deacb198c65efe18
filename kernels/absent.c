/* The kernels of a build without CUDA: there are no streams, so only the functions that free are
 * ever called. */
#include "kernels/gpu.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define REFUSES(name, ...)                                                                         \
    enum gw_status name(__VA_ARGS__, struct gw_error *error) {                                     \
        return gw_fail(error, GW_BAD_INPUT, "expected a GPU: this build has no CUDA in it");       \
    }

const struct gw_memory_operations gw_memory_on_gpu = {0};

REFUSES(gw_gpu_selection_reserve, struct gw_gpu_selection *selection, struct gw_device *device,
        size_t capacity)
REFUSES(gw_gpu_selection_finish, const struct gw_gpu_selection *selection,
        struct gw_device_stream *stream, size_t *count)
REFUSES(gw_gpu_workspace_open, struct gw_device *device, struct gw_gpu_workspace **out)
REFUSES(gw_gpu_compress, const struct gw_gpu_kernel *compressor, const struct gw_task *task,
        struct gw_device_stream *stream, struct gw_gpu_workspace *workspace,
        struct gw_gpu_selection *out)
REFUSES(gw_gpu_read_pass, const float *u, size_t n, struct gw_device_stream *stream, float *sum)

REFUSES(gw_gpu_sketch_open, struct gw_gpu_sketch *out, struct gw_device *device, size_t rows,
        size_t columns, uint64_t seed)
REFUSES(gw_gpu_sketch_clear, struct gw_gpu_sketch *sketch, struct gw_device_stream *stream)
REFUSES(gw_gpu_sketch_prepare, struct gw_gpu_sketch *sketch, size_t n,
        struct gw_device_stream *stream)
REFUSES(gw_gpu_sketch_encode, struct gw_gpu_sketch *sketch, float *u, const float *gradient,
        size_t n, struct gw_device_stream *stream, struct gw_gpu_workspace *workspace)
REFUSES(gw_gpu_sketch_heavymix, const struct gw_gpu_sketch *sketch, size_t n, size_t k,
        uint64_t iteration, struct gw_device_stream *stream, struct gw_gpu_workspace *workspace,
        uint32_t *indices, size_t *heavy)

void gw_gpu_selection_free(struct gw_gpu_selection *selection) {
}

void gw_gpu_workspace_close(struct gw_gpu_workspace *workspace) {
}

void gw_gpu_sketch_free(struct gw_gpu_sketch *sketch) {
}
