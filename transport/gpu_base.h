/* The common part of communicators for memory of GPUs; private to transport/. */
#ifndef GW_TRANSPORT_GPU_BASE_H
#define GW_TRANSPORT_GPU_BASE_H

#include "transport/gpu.h"

/* The first member of each kind's state. */
struct gw_gpu_base {
    struct gw_communicator host; /* a communicator of its own, for memory of the host */
    struct gw_gpu_settings settings;
    const struct gw_gpu_kind *kind;
};

struct gw_gpu_kind {
    const struct gw_transport *transport;
    size_t state_bytes;
    /* Opens the rest of the state, which is zero; all ranks call it and all fail if one fails. Or
     * NULL. */
    enum gw_status (*open)(struct gw_communicator *communicator, struct gw_error *error);
    /* Frees the rest of the state, even if it was opened only in part. Or NULL. */
    void (*close)(struct gw_communicator *communicator);
};
extern const struct gw_gpu_kind gw_gpu_cuda_aware, gw_gpu_nccl, gw_gpu_staged;

/* Opens a communicator over `host`, which it takes over, also on failure; all ranks fail if one
 * fails. */
enum gw_status gw_gpu_open(struct gw_communicator *out, const struct gw_gpu_kind *kind,
                           struct gw_communicator host, const struct gw_gpu_settings *settings,
                           struct gw_error *error);

static inline struct gw_gpu_base *gw_gpu_base(const struct gw_communicator *communicator) {
    return communicator->state;
}

/* The transport's functions of these names, over the communicator for memory of the host. */
enum gw_status gw_gpu_barrier(struct gw_communicator *communicator, struct gw_error *error);
enum gw_status gw_gpu_post(struct gw_communicator *communicator, int to, const void *message,
                           size_t bytes, struct gw_error *error);
enum gw_status gw_gpu_poll(struct gw_communicator *communicator, void *message, size_t capacity,
                           size_t *bytes, int *from, struct gw_error *error);
enum gw_status gw_gpu_open_first(struct gw_communicator *parent, int size,
                                 struct gw_communicator *out, struct gw_error *error);
void gw_gpu_abort(struct gw_communicator *communicator, int status);
void gw_gpu_close(struct gw_communicator *communicator);

/* Pauses between two polls, given the time since the last progress: short waits yield only, long
 * ones leave the core to others. */
void gw_gpu_rest(double waited_s);

#endif
