/* Layer dropping. The GPU computes the means; the host, which has the threshold, chooses from them:
 * one pass over u, a wait, and a pass over the layers that are sent. */
#include "kernels/gpu/kernels.cuh"

extern "C" {
#include "kernels/cpu/collect.h"
#include "kernels/layers.h"
}

/* ---- means --------------------------------------------------------------------------------- */

struct scratch {
    uint64_t *table; /* GPU: the table of all layers, then of those that are sent */
    double *partial, *sums;
};

static enum gw_status reserve_layers(const struct gw_layer_drop *state,
                                     struct gw_gpu_workspace *workspace, struct scratch *scratch,
                                     struct gw_error *error) {
    size_t layers = state->layer_count;
    size_t words = gw_gpu_parts_words(layers);
    size_t segments = 0;
    for (size_t i = 0; i < layers; i++) {
        segments += gw_gpu_sum_segments(state->sizes[i]);
    }
    GW_TRY(
        gw_gpu_workspace_reserve(workspace, (words + segments + layers) * sizeof(double), error));
    GW_TRY(gw_gpu_workspace_reserve_host(workspace, layers * sizeof(double), error));
    GW_TRY(gw_workspace_reserve(&workspace->scratch, words * sizeof(uint64_t), error));
    scratch->table = (uint64_t *)workspace->memory;
    scratch->sums = (double *)(scratch->table + words);
    scratch->partial = scratch->sums + layers;
    return GW_OK;
}

/* Finds the means of the layers. Waits. */
static enum gw_status find_means(const struct gw_task *task, const struct gw_layer_drop *state,
                                 const struct scratch *scratch, struct gw_device_stream *stream,
                                 struct gw_gpu_workspace *workspace,
                                 const struct gw_gpu_selection *out, struct gw_error *error) {
    size_t layers = state->layer_count;
    uint64_t *table = (uint64_t *)workspace->scratch.memory;
    double *sums = (double *)workspace->host;
    struct gw_gpu_parts parts = gw_gpu_parts_of(state->sizes, layers, table, scratch->table);
    GW_TRY(gw_device_copy(stream, scratch->table, table, gw_gpu_parts_words(layers) * sizeof *table,
                          error));
    GW_TRY(gw_gpu_sum_magnitudes(task->u, &parts, scratch->partial, scratch->sums,
                                 &out->on_gpu->first_nan, stream, error));
    GW_TRY(gw_device_copy(stream, sums, scratch->sums, layers * sizeof *sums, error));
    GW_TRY(gw_gpu_outcome_end(0, out, stream, error));
    GW_TRY(gw_device_stream_finish(stream, error));
    for (size_t i = 0; i < layers; i++) {
        state->means[i] = sums[i] / (double)state->sizes[i];
    }
    return GW_OK;
}

/* ---- selection ----------------------------------------------------------------------------- */

/* Copies layers. Layer j of those that are sent has entries from places[j] on, elements from
 * firsts[j] on. */
static __global__ void copy_layers(const float *u, const uint64_t *places, const uint64_t *firsts,
                                   size_t layers, struct gw_entry *entries) {
    uint64_t count = places[layers];
    GW_GPU_EACH(i, count) {
        size_t low = 0;
        size_t high = layers;
        while (high - low > 1) {
            size_t middle = low + (high - low) / 2;
            if (places[middle] <= i) {
                low = middle;
            } else {
                high = middle;
            }
        }
        uint64_t index = firsts[low] + (i - places[low]);
        entries[i].value = u[index];
        entries[i].index = (uint32_t)index;
    }
}

static enum gw_status
select_sent_layers(const struct gw_task *task, const struct gw_layer_drop *state,
                   const struct scratch *scratch, struct gw_device_stream *stream,
                   struct gw_gpu_workspace *workspace, const struct gw_gpu_selection *out,
                   struct gw_error *error) {
    uint64_t *places = (uint64_t *)workspace->scratch.memory;
    uint64_t *firsts = places + state->layer_count + 1;
    size_t layers = 0;
    places[0] = 0;
    for (size_t i = 0, first = 0; i < state->layer_count; first += state->sizes[i++]) {
        if (state->sent[i]) {
            firsts[layers] = first;
            places[layers + 1] = places[layers] + state->sizes[i];
            layers++;
        }
    }
    size_t count = (size_t)places[layers];
    GW_TRY(gw_device_copy(stream, scratch->table, places, (layers + 1) * sizeof *places, error));
    GW_TRY(gw_device_copy(stream, scratch->table + state->layer_count + 1, firsts,
                          layers * sizeof *firsts, error));
    GW_TRY(GW_GPU_LAUNCH_EACH(copy_layers, count, stream, error, task->u, scratch->table,
                              scratch->table + state->layer_count + 1, layers, out->entries));
    return gw_gpu_outcome_end(count, out, stream, error);
}

static enum gw_status select_layers(const struct gw_task *task, struct gw_device_stream *stream,
                                    struct gw_gpu_workspace *workspace,
                                    struct gw_gpu_selection *out, struct gw_error *error) {
    struct scratch scratch;
    const struct gw_layer_drop *state = (const struct gw_layer_drop *)task->state;
    /* Tables of the previous selection may still be read from the host's scratch memory. */
    GW_TRY(gw_device_stream_finish(stream, error));
    GW_TRY(reserve_layers(state, workspace, &scratch, error));
    GW_TRY(gw_gpu_outcome_begin(out, stream, error));
    GW_TRY(gw_gpu_outcome_accumulate(task, out, stream, error));
    GW_TRY(find_means(task, state, &scratch, stream, workspace, out, error));
    if (out->on_host->first_nan != UINT64_MAX) {
        return GW_OK; /* gw_gpu_selection_finish reports the NaN */
    }
    GW_TRY(gw_layer_drop_choose(task, error));
    return select_sent_layers(task, state, &scratch, stream, workspace, out, error);
}

const struct gw_gpu_kernel gw_gpu_kernel_layer_drop = {select_layers, true};
