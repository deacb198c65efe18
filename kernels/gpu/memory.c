/* Memory of selections and workspaces on GPUs. */
#include "kernels/gpu.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/gpu/parts.h"

/* ---- selections ---------------------------------------------------------------------------- */

static enum gw_status reserve_outcome(struct gw_gpu_selection *selection, struct gw_device *device,
                                      struct gw_error *error) {
    if (selection->on_host != NULL) {
        return GW_OK;
    }
    void *on_gpu = NULL;
    void *on_host = NULL;
    GW_TRY(gw_device_allocate(device, sizeof *selection->on_gpu, &on_gpu, error));
    enum gw_status status =
        gw_device_allocate_host(device, sizeof *selection->on_host, &on_host, error);
    if (status != GW_OK) {
        gw_device_free(device, on_gpu);
        return status;
    }
    selection->device = device;
    selection->on_gpu = on_gpu;
    selection->on_host = on_host;
    return GW_OK;
}

/* Replaces a block of memory that is too small. Loses its contents. */
static enum gw_status reserve_memory(struct gw_device *device, void **memory, size_t *capacity,
                                     size_t count, size_t size, struct gw_error *error) {
    if (count <= *capacity) {
        return GW_OK;
    }
    gw_device_free(device, *memory);
    *capacity = 0;
    GW_TRY(gw_device_allocate(device, count * size, memory, error));
    *capacity = count;
    return GW_OK;
}

enum gw_status gw_gpu_selection_reserve(struct gw_gpu_selection *selection,
                                        struct gw_device *device, size_t capacity,
                                        struct gw_error *error) {
    GW_TRY(reserve_outcome(selection, device, error));
    void *entries = selection->entries;
    enum gw_status status = reserve_memory(device, &entries, &selection->capacity, capacity,
                                           sizeof(struct gw_entry), error);
    selection->entries = entries;
    return status;
}

void gw_gpu_selection_free(struct gw_gpu_selection *selection) {
    if (selection->device != NULL) {
        gw_device_free(selection->device, selection->entries);
        gw_device_free(selection->device, selection->on_gpu);
        gw_device_free_host(selection->device, selection->on_host);
    }
    *selection = (struct gw_gpu_selection){0};
}

enum gw_status gw_gpu_selection_finish(const struct gw_gpu_selection *selection,
                                       struct gw_device_stream *stream, size_t *count,
                                       struct gw_error *error) {
    GW_TRY(gw_device_stream_finish(stream, error));
    if (selection->on_host->first_nan != UINT64_MAX) {
        return gw_fail(error, GW_BAD_INPUT,
                       "element %llu: expected a number or an infinity, got NaN",
                       (unsigned long long)selection->on_host->first_nan);
    }
    *count = (size_t)selection->on_host->count;
    return GW_OK;
}

/* ---- scratch memory ------------------------------------------------------------------------ */

enum gw_status gw_gpu_workspace_open(struct gw_device *device, struct gw_gpu_workspace **out,
                                     struct gw_error *error) {
    struct gw_gpu_workspace *workspace = calloc(1, sizeof *workspace);
    if (workspace == NULL) {
        return gw_fail_memory(error, "opening scratch memory of a GPU");
    }
    workspace->device = device;
    enum gw_status status =
        gw_device_allocate(device, GW_GPU_CONTROL_BYTES, &workspace->control, error);
    if (status != GW_OK) {
        free(workspace);
        return status;
    }
    *out = workspace;
    return GW_OK;
}

void gw_gpu_workspace_close(struct gw_gpu_workspace *workspace) {
    if (workspace != NULL) {
        gw_device_free(workspace->device, workspace->control);
        gw_device_free(workspace->device, workspace->tiles);
        gw_device_free(workspace->device, workspace->memory);
        gw_device_free_host(workspace->device, workspace->host);
        gw_workspace_free(&workspace->scratch);
        free(workspace);
    }
}

enum gw_status gw_gpu_workspace_reserve(struct gw_gpu_workspace *workspace, size_t bytes,
                                        struct gw_error *error) {
    return reserve_memory(workspace->device, &workspace->memory, &workspace->capacity, bytes, 1,
                          error);
}

enum gw_status gw_gpu_workspace_reserve_host(struct gw_gpu_workspace *workspace, size_t bytes,
                                             struct gw_error *error) {
    if (bytes <= workspace->host_capacity) {
        return GW_OK;
    }
    gw_device_free_host(workspace->device, workspace->host);
    workspace->host_capacity = 0;
    GW_TRY(gw_device_allocate_host(workspace->device, bytes, &workspace->host, error));
    workspace->host_capacity = bytes;
    return GW_OK;
}

enum { CHAIN_WORDS = 2 * sizeof(uint64_t) };

enum gw_status gw_gpu_workspace_reserve_chain(struct gw_gpu_workspace *workspace, size_t tiles,
                                              struct gw_error *error) {
    return reserve_memory(workspace->device, &workspace->tiles, &workspace->tile_capacity, tiles,
                          CHAIN_WORDS, error);
}

enum gw_status gw_gpu_workspace_begin_chain(struct gw_gpu_workspace *workspace, size_t tiles,
                                            struct gw_device_stream *stream,
                                            struct gw_error *error) {
    GW_TRY(gw_gpu_workspace_reserve_chain(workspace, tiles, error));
    if (++workspace->epoch == GW_GPU_EPOCHS) {
        workspace->epoch = 1;
        return gw_device_clear(stream, workspace->tiles, workspace->tile_capacity * CHAIN_WORDS,
                               error);
    }
    return GW_OK;
}
