#include "exec/memory.h"

#include "kernels/gpu.h"

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
    if (memory->gpu_workspace != NULL) {
        gw_gpu_workspace_close(memory->gpu_workspace);
    }
    gw_workspace_free(&memory->workspace);
    gw_selection_free(&memory->selection);
    *memory = (struct gw_memory){0};
}
