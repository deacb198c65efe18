/* A build without CUDA: there are no streams, so nothing here but gw_gpu_kernel_of, _capacity
 * and what frees is ever called. */
#include "kernels/gpu.h"

static enum gw_status refuse(struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT, "expected a GPU: this build has no CUDA in it");
}

enum gw_status gw_gpu_selection_reserve(struct gw_gpu_selection *selection,
                                        struct gw_device *device, size_t capacity,
                                        struct gw_error *error) {
    (void)selection, (void)device, (void)capacity;
    return refuse(error);
}

void gw_gpu_selection_free(struct gw_gpu_selection *selection) {
    *selection = (struct gw_gpu_selection){0};
}

enum gw_status gw_gpu_selection_finish(const struct gw_gpu_selection *selection,
                                       struct gw_device_stream *stream, size_t *count,
                                       struct gw_error *error) {
    (void)selection, (void)stream;
    *count = 0;
    return refuse(error);
}

enum gw_status gw_gpu_workspace_open(struct gw_device *device, struct gw_gpu_workspace **out,
                                     struct gw_error *error) {
    (void)device;
    *out = NULL;
    return refuse(error);
}

void gw_gpu_workspace_close(struct gw_gpu_workspace *workspace) {
    (void)workspace;
}

enum gw_status gw_gpu_compress(const struct gw_gpu_kernel *compressor, const struct gw_task *task,
                               struct gw_device_stream *stream, struct gw_gpu_workspace *workspace,
                               struct gw_gpu_selection *out, struct gw_error *error) {
    (void)compressor, (void)task, (void)stream, (void)workspace, (void)out;
    return refuse(error);
}

enum gw_status gw_gpu_read_pass(const float *u, size_t n, struct gw_device_stream *stream,
                                float *sum, struct gw_error *error) {
    (void)u, (void)n, (void)stream, (void)sum;
    return refuse(error);
}
