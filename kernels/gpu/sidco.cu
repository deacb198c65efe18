/* SIDCo (sidco.c): a pass for each stage and one that selects. It waits for how many they are, as
 * the stages of later iterations follow from that. */
#include "kernels/gpu/collect.cuh"
#include "kernels/gpu/moments.cuh"

extern "C" {
#include "kernels/sidco_fit.h"
extern const struct gw_gpu_kernel gw_gpu_kernel_sidco;
}

struct next_threshold {
    bool first;
    double log_ratio;
    __device__ void operator()(const double *sums, gw_gpu_control *control) const {
        double previous = first ? 0 : control->threshold;
        control->threshold = gw_sidco_exceed_threshold(
            previous, (size_t)__ldcg(&control->counts[0]), sums[0], log_ratio);
        control->magnitude = gw_magnitude_from(control->threshold);
    }
};

static enum gw_status select_sidco(const gw_task *task, gw_device_stream *stream,
                                   gw_gpu_workspace *workspace, gw_gpu_selection *out,
                                   gw_error *error) {
    gw_sidco *state = (gw_sidco *)task->state;
    double ratios[GW_SIDCO_STAGES];
    double rho = (double)task->k / (double)task->n;
    size_t stages = gw_sidco_ratios(rho, state->stages, ratios);
    gw_gpu_span span = gw_gpu_span_of(task->u, NULL, 0, task->n);
    gw_gpu_tell_all rule = {{out->on_gpu, out->on_host}};
    for (size_t m = 0; m < stages; m++) {
        next_threshold next = {m == 0, log(ratios[m])};
        GW_TRY(gw_gpu_sum<gw_gpu_tail_terms>(task, m == 0 ? 0 : -1, m == 0, stream, workspace, next,
                                             error));
    }
    GW_TRY(
        gw_gpu_collect<0>(&span, -1, out->entries, out->capacity, stream, workspace, rule, error));
    GW_TRY(gw_device_stream_finish(stream, error));
    if (out->on_host->first_nan == UINT64_MAX) {
        gw_sidco_stages_adapt(state, (size_t)out->on_host->count, task->k, rho);
    }
    return GW_OK;
}

const struct gw_gpu_kernel gw_gpu_kernel_sidco = {select_sidco, true};
