/* ExDyna (exdyna.c) in one pass: of all u if there is a gradient to add, else of the partition. */
#include "kernels/gpu/collect.cuh"

extern "C" {
#include "kernels/exdyna.h"
}

/* A worker that selects nothing sends one element. */
struct send_something {
    gw_gpu_report report;
    bool any;
    uint32_t lone;
    __device__ void operator()(const gw_gpu_collection &what, gw_gpu_control *control) const {
        unsigned long long found = control->found;
        if (found == 0 && any) {
            what.out.entries[0].value = __ldcg(what.span.u + lone);
            what.out.entries[0].index = lone;
            found = 1;
        }
        gw_gpu_tell(&report, control, found);
    }
};

static enum gw_status select_exdyna(const gw_task *task, gw_device_stream *stream,
                                    gw_gpu_workspace *workspace, gw_gpu_selection *out,
                                    gw_error *error) {
    gw_exdyna_aim aim = gw_exdyna_aim_of(task);
    bool any = aim.begin < aim.end;
    bool adding = task->gradient != NULL;
    gw_gpu_span span =
        gw_gpu_span_of(task->u, task->gradient, adding ? 0 : aim.begin, adding ? task->n : aim.end);
    span.begin = (int64_t)aim.begin;
    span.stop = (int64_t)aim.end;
    send_something rule = {{out->on_gpu, out->on_host}, any, (uint32_t)aim.lone};
    return gw_gpu_collect<0>(&span, gw_magnitude_from(aim.threshold), out->entries, out->capacity,
                             stream, workspace, rule, error);
}

/* Of all three variants: they differ in what the host makes of counts. */
const struct gw_gpu_kernel gw_gpu_kernel_exdyna = {select_exdyna, false};
