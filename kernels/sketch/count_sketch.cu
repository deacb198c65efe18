/* Count sketch on a GPU, like count_sketch.c. A state opens its sketch on the GPU at the first
 * selection there. */
#include "kernels/gpu/kernels.cuh"

extern "C" {
#include "kernels/sketch/gpu.h"
}

static enum gw_status open_on_gpu(struct gw_count_sketch *state, size_t k, struct gw_device *device,
                                  struct gw_error *error) {
    void *indices = NULL;
    if (state->indices_on_gpu != NULL) {
        return GW_OK;
    }
    GW_TRY(gw_gpu_sketch_open(&state->on_gpu, device, state->sketch.rows, state->sketch.columns,
                              state->sketch.seed, error));
    enum gw_status status =
        gw_device_allocate(device, k * sizeof *state->indices_on_gpu, &indices, error);
    if (status != GW_OK) {
        gw_gpu_sketch_free(&state->on_gpu);
        return status;
    }
    state->indices_on_gpu = (uint32_t *)indices;
    return GW_OK;
}

static enum gw_status select_sketched(const struct gw_task *task, struct gw_device_stream *stream,
                                      struct gw_gpu_workspace *workspace,
                                      struct gw_gpu_selection *out, struct gw_error *error) {
    struct gw_count_sketch *state = (struct gw_count_sketch *)task->state;
    struct gw_gpu_sketch *sketch = &state->on_gpu;
    uint64_t *first_nan = &out->on_gpu->first_nan;
    GW_TRY(open_on_gpu(state, task->k, gw_device_stream_device(stream), error));
    GW_TRY(gw_gpu_outcome_begin(out, stream, error));
    GW_TRY(gw_gpu_sketch_clear(sketch, stream, error));
    GW_TRY(gw_gpu_sketch_put(sketch, task->u, task->gradient, task->n, first_nan, stream, error));
    GW_TRY(gw_gpu_sketch_heavymix(sketch, task->n, task->k, task->iteration, stream, workspace,
                                  state->indices_on_gpu, NULL, error));
    GW_TRY(gw_gpu_outcome_select(task->u, state->indices_on_gpu, task->k, out, stream, error));
    return gw_gpu_outcome_end(task->k, out, stream, error);
}

const struct gw_gpu_kernel gw_gpu_kernel_count_sketch = {select_sketched, true};
