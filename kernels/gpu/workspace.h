/* How selections on a GPU get their scratch memory; private to kernels/. */
#ifndef GW_KERNELS_GPU_WORKSPACE_H
#define GW_KERNELS_GPU_WORKSPACE_H

#include "kernels/gpu.h"

enum {
    GW_GPU_CONTROL_BYTES = 1 << 19,
    GW_GPU_EPOCHS = 1 << 30, /* after that many the words for tiles are cleared */
};

struct gw_gpu_workspace {
    struct gw_device *device;
    void *control;  /* GPU [GW_GPU_CONTROL_BYTES]: zero at first, then as its users leave it */
    uint64_t epoch; /* of the words for tiles */
    size_t tile_capacity;
    void *tiles; /* GPU [tile_capacity] pairs of words of 8 bytes (kernels/gpu/tiles.cuh) */
    size_t capacity;
    void *memory; /* GPU [capacity] bytes */
    size_t host_capacity;
    void *host;                  /* page-locked [host_capacity] bytes */
    struct gw_workspace scratch; /* of the host, for what it does itself */
};

/*
 * Makes workspace->memory at least `bytes` long. If it grows, the device's work is waited for, and
 * what it held is lost: it is then zero.
 */
enum gw_status gw_gpu_workspace_reserve(struct gw_gpu_workspace *workspace, size_t bytes,
                                        struct gw_error *error);

/* The same of workspace->host. */
enum gw_status gw_gpu_workspace_reserve_host(struct gw_gpu_workspace *workspace, size_t bytes,
                                             struct gw_error *error);

/* Words for that many tiles; those of a chain that begins say nothing in the epoch that begins. */
enum gw_status gw_gpu_workspace_reserve_chain(struct gw_gpu_workspace *workspace, size_t tiles,
                                              struct gw_error *error);
enum gw_status gw_gpu_workspace_begin_chain(struct gw_gpu_workspace *workspace, size_t tiles,
                                            struct gw_device_stream *stream,
                                            struct gw_error *error);

#endif
