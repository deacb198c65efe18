/* The threshold of hard_threshold.c, in one pass. */
#include "kernels/gpu/collect.cuh"

extern "C" {
extern const struct gw_gpu_kernel gw_gpu_kernel_hard_threshold;
}

static enum gw_status select_hard(const gw_task *task, gw_device_stream *stream,
                                  gw_gpu_workspace *workspace, gw_gpu_selection *out,
                                  gw_error *error) {
    gw_gpu_span span = gw_gpu_span_of(task->u, task->gradient, 0, task->n);
    gw_gpu_tell_all rule = {{out->on_gpu, out->on_host}};
    return gw_gpu_collect<0>(&span, gw_magnitude_from(task->threshold), out->entries, out->capacity,
                             stream, workspace, rule, error);
}

const struct gw_gpu_kernel gw_gpu_kernel_hard_threshold = {select_hard, false};
