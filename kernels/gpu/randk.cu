/* The same k places of the same permutation as randk.c; marks put them in order. */
#include "kernels/gpu/kernels.cuh"

struct scratch {
    size_t words;
    uint32_t *marks, *counts, *indices;
    uint64_t *count;
};

static enum gw_status reserve(const struct gw_task *task, struct gw_gpu_workspace *workspace,
                              struct scratch *scratch, struct gw_error *error) {
    enum { ALIGNED = 4 }; /* words that marks are read by */
    size_t words = gw_gpu_marks_words(task->n);
    size_t counts = (gw_gpu_marks_counts(words) + ALIGNED - 1) / ALIGNED * ALIGNED;
    size_t bytes = sizeof(uint64_t) + (words + counts + task->k) * sizeof(uint32_t);
    GW_TRY(gw_gpu_workspace_reserve(workspace, bytes, error));
    scratch->words = words;
    scratch->marks = (uint32_t *)workspace->memory;
    scratch->counts = scratch->marks + words;
    scratch->count = (uint64_t *)(scratch->counts + counts);
    scratch->indices = (uint32_t *)(scratch->count + 1);
    return GW_OK;
}

static enum gw_status select_randk(const struct gw_task *task, struct gw_device_stream *stream,
                                   struct gw_gpu_workspace *workspace, struct gw_gpu_selection *out,
                                   struct gw_error *error) {
    struct scratch scratch;
    struct gw_permutation permutation =
        gw_permutation_of(task->n, gw_mix_pair(task->seed, task->iteration));
    GW_TRY(reserve(task, workspace, &scratch, error));
    GW_TRY(gw_gpu_outcome_begin(out, stream, error));
    GW_TRY(gw_gpu_outcome_accumulate(task, out, stream, error));
    GW_TRY(gw_device_clear(stream, scratch.marks, scratch.words * sizeof *scratch.marks, error));
    GW_TRY(gw_gpu_marks_draw(&permutation, task->k, scratch.marks, stream, error));
    GW_TRY(gw_gpu_marks_list(scratch.marks, scratch.words, scratch.counts, task->k, scratch.indices,
                             scratch.count, stream, error));
    GW_TRY(gw_gpu_outcome_select(task->u, scratch.indices, task->k, out, stream, error));
    return gw_gpu_outcome_end(task->k, out, stream, error);
}

const struct gw_gpu_kernel gw_gpu_kernel_randk = {select_randk, false};
