/*
 * What a build without CUDA answers: there are no streams, so that only what frees is ever called.
 * What works on lists and sketches is called by files alone that such a build leaves out.
 */
#include "kernels/gpu.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static enum gw_status refuse(struct gw_error *error) {
    return gw_fail(error, GW_BAD_INPUT, "expected a GPU: this build has no CUDA in it");
}

enum gw_status gw_gpu_selection_reserve(struct gw_gpu_selection *selection,
                                        struct gw_device *device, size_t capacity,
                                        struct gw_error *error) {
    return refuse(error);
}

void gw_gpu_selection_free(struct gw_gpu_selection *selection) {
    *selection = (struct gw_gpu_selection){0};
}

enum gw_status gw_gpu_selection_finish(const struct gw_gpu_selection *selection,
                                       struct gw_device_stream *stream, size_t *count,
                                       struct gw_error *error) {
    *count = 0;
    return refuse(error);
}

enum gw_status gw_gpu_workspace_open(struct gw_device *device, struct gw_gpu_workspace **out,
                                     struct gw_error *error) {
    *out = NULL;
    return refuse(error);
}

void gw_gpu_workspace_close(struct gw_gpu_workspace *workspace) {
}

enum gw_status gw_gpu_compress(const struct gw_gpu_kernel *compressor, const struct gw_task *task,
                               struct gw_device_stream *stream, struct gw_gpu_workspace *workspace,
                               struct gw_gpu_selection *out, struct gw_error *error) {
    return refuse(error);
}

enum gw_status gw_gpu_read_pass(const float *u, size_t n, struct gw_device_stream *stream,
                                float *sum, struct gw_error *error) {
    return refuse(error);
}

void gw_gpu_sketch_free(struct gw_gpu_sketch *sketch) {
    *sketch = (struct gw_gpu_sketch){0};
}
