/* The table of compressors' functions on a processor and on a GPU, and the memory they work in. */
#include "kernels/compressors.h"

#include "kernels/memory.h"

#ifdef GW_HAVE_CUDA
#define ON_GPU(name) &gw_gpu_kernel_##name
#else
#define ON_GPU(name) NULL
#endif

static const struct attachment {
    const struct gw_compressor *compressor;
    const struct gw_kernel *kernel;
    const struct gw_gpu_kernel *on_gpu;
} attachments[] = {
    {&gw_compressor_topk, &gw_kernel_topk, ON_GPU(topk)},
    {&gw_compressor_randk, &gw_kernel_randk, ON_GPU(randk)},
    {&gw_compressor_dgc, &gw_kernel_dgc, ON_GPU(dgc)},
    {&gw_compressor_redsync, &gw_kernel_redsync, ON_GPU(redsync)},
    {&gw_compressor_gaussiank, &gw_kernel_gaussiank, ON_GPU(gaussiank)},
    {&gw_compressor_count_sketch, &gw_kernel_count_sketch, ON_GPU(count_sketch)},
    {&gw_compressor_layer_drop, &gw_kernel_layer_drop, ON_GPU(layer_drop)},
    {&gw_compressor_hard_threshold, &gw_kernel_hard_threshold, ON_GPU(hard_threshold)},
    {&gw_compressor_sidco, &gw_kernel_sidco, ON_GPU(sidco)},
    {&gw_compressor_exdyna, &gw_kernel_exdyna, ON_GPU(exdyna)},
    {&gw_compressor_exdyna_trend, &gw_kernel_exdyna_trend, ON_GPU(exdyna)},
    {&gw_compressor_exdyna_static, &gw_kernel_exdyna_static, ON_GPU(exdyna)},
    {&gw_compressor_powersgd, &gw_kernel_powersgd, NULL},
};

static const struct attachment *find_attachment(const struct gw_compressor *compressor) {
    for (size_t i = 0; i < sizeof attachments / sizeof *attachments; i++) {
        if (attachments[i].compressor == compressor ||
            (compressor->rank > 0 && attachments[i].compressor->rank > 0)) {
            return &attachments[i];
        }
    }
    return NULL;
}

const struct gw_kernel *gw_kernel_of(const struct gw_compressor *compressor) {
    const struct attachment *found = find_attachment(compressor);
    return found == NULL ? NULL : found->kernel;
}

/* The kernel of a compressor that selects. */
static const struct gw_kernel *needed_kernel(const struct gw_compressor *compressor) {
    return gw_needed(gw_kernel_of(compressor));
}

const struct gw_gpu_kernel *gw_gpu_kernel_of(const struct gw_compressor *compressor) {
    const struct attachment *found = find_attachment(compressor);
    return found == NULL ? NULL : found->on_gpu;
}

bool gw_is_on_gpus(const struct gw_compressor *compressor) {
#ifdef GW_HAVE_CUDA
    bool cuda = true;
#else
    bool cuda = false;
#endif
    return cuda && (!gw_compressor_selects(compressor) || gw_gpu_kernel_of(compressor) != NULL);
}

enum gw_status gw_compress(const struct gw_compressor *compressor, const struct gw_task *task,
                           struct gw_selection *out, struct gw_error *error) {
    GW_TRY(needed_kernel(compressor)->select(task, out, error));
    for (size_t i = 0; i < out->count; i++) {
        task->u[out->entries[i].index] = 0;
    }
    return GW_OK;
}

enum gw_status gw_keep_compressors_for_gpus(const struct gw_compressor **list, bool named,
                                            struct gw_error *error) {
    size_t kept = 0;
    for (size_t i = 0; list[i] != NULL; i++) {
        if (gw_is_on_gpus(list[i])) {
            list[kept++] = list[i];
        } else if (named) {
            return gw_fail(error, GW_BAD_INPUT, "%s: expected a compressor with GPU code",
                           list[i]->name);
        }
    }
    list[kept] = NULL;
    return GW_OK;
}

size_t gw_gpu_selection_capacity(const struct gw_compressor *compressor, size_t n, size_t k) {
    return !gw_compressor_selects(compressor) ? 0 : compressor->exact ? k : n;
}

enum gw_status gw_state_open(const struct gw_compressor *compressor, const struct gw_task *task,
                             void **state, struct gw_error *error) {
    struct gw_task own = *task;
    own.rank = compressor->rank;
    *state = NULL;
    enum gw_status status =
        compressor->stateful ? needed_kernel(compressor)->open(&own, state, error) : GW_OK;
    if (status != GW_OK) {
        gw_state_close(compressor, *state);
        *state = NULL;
    }
    return status;
}

void gw_state_close(const struct gw_compressor *compressor, void *state) {
    if (state != NULL) {
        needed_kernel(compressor)->close(state);
    }
}

void gw_state_observe(const struct gw_compressor *compressor, void *state, const size_t *counts) {
    if (state != NULL && needed_kernel(compressor)->observe != NULL) {
        needed_kernel(compressor)->observe(state, counts);
    }
}

struct gw_kept gw_state_kept(const struct gw_compressor *compressor, void *state) {
    return state == NULL || needed_kernel(compressor)->kept == NULL
               ? (struct gw_kept){0}
               : needed_kernel(compressor)->kept(state);
}

/* ---- memories ------------------------------------------------------------------------------ */

enum gw_status gw_memory_open(struct gw_memory *out, struct gw_device_stream *stream,
                              struct gw_error *error) {
    if (stream == NULL) {
        *out = (struct gw_memory){.does = &gw_memory_on_host};
        return GW_OK;
    }
    *out = (struct gw_memory){
        .does = &gw_memory_on_gpu, .device = gw_device_stream_device(stream), .stream = stream};
    return gw_gpu_workspace_open(out->device, &out->gpu_workspace, error);
}

void gw_memory_close(struct gw_memory *memory) {
    gw_gpu_workspace_close(memory->gpu_workspace);
    gw_workspace_free(&memory->workspace);
    gw_selection_free(&memory->selection);
    *memory = (struct gw_memory){0};
}

enum gw_status gw_memory_select(struct gw_memory *memory, const struct gw_compressor *compressor,
                                const struct gw_task *task, bool takes,
                                struct gw_gpu_selection *on_gpu, struct gw_error *error) {
    struct gw_task own = *task;
    own.workspace = &memory->workspace;
    if (memory->stream != NULL) {
        const struct gw_gpu_kernel *kernel = gw_needed(gw_gpu_kernel_of(compressor));
        return takes ? gw_gpu_compress(kernel, task, memory->stream, memory->gpu_workspace, on_gpu,
                                       error)
                     : kernel->select(task, memory->stream, memory->gpu_workspace, on_gpu, error);
    }
    return takes ? gw_compress(compressor, &own, &memory->selection, error)
                 : needed_kernel(compressor)->select(&own, &memory->selection, error);
}

enum gw_status gw_memory_finish_select(const struct gw_memory *memory,
                                       const struct gw_gpu_selection *on_gpu, size_t *count,
                                       struct gw_error *error) {
    *count = memory->selection.count;
    return memory->stream == NULL ? GW_OK
                                  : gw_gpu_selection_finish(on_gpu, memory->stream, count, error);
}
