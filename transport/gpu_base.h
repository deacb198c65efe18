/* What communicators for memory of GPUs have in common; private to transport/. */
#ifndef GW_TRANSPORT_GPU_BASE_H
#define GW_TRANSPORT_GPU_BASE_H

#include "transport/gpu.h"

/*
 * Opens one kind over a communicator of its own, which all its ranks call. The kind takes `base`
 * over, also if it fails, which it does on all ranks alike.
 */
typedef enum gw_status gw_gpu_open(struct gw_communicator *out, struct gw_communicator base,
                                   const struct gw_gpu_settings *settings, struct gw_error *error);
gw_gpu_open gw_gpu_open_cuda_aware, gw_gpu_open_nccl, gw_gpu_open_staged;

/* The first member of each kind's state. */
struct gw_gpu_base {
    struct gw_communicator host; /* its own, for memory of the host */
    struct gw_gpu_settings settings;
    gw_gpu_open *open; /* for communicators of the first ranks */
};

/* Begins a communicator on what its kind has made on this rank, NULL if it could not. */
enum gw_status gw_gpu_base_open(struct gw_communicator *out, const struct gw_transport *transport,
                                struct gw_gpu_base *state, struct gw_communicator host,
                                const struct gw_gpu_settings *settings, gw_gpu_open *open,
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

/*
 * Between two looks at what is waited for, when nothing has moved for so long: short waits take no
 * longer than they must, long ones leave the core to others.
 */
void gw_gpu_rest(double waited_s);

/* Whether this MPI library takes pointers to memory of GPUs (mpi/cuda.c; false without MPI). */
bool gw_mpi_takes_gpu_memory(void);

#endif
