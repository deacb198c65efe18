/* Forward, backward and update on a GPU's stream: work of known duration; private to this room. */
#ifndef GW_EXEC_GPU_WORK_H
#define GW_EXEC_GPU_WORK_H

#include "exec/depths.h"
#include "exec/exec.h"
#include "exec/products.h"

struct gw_gpu_work {
    struct gw_device *device;
    struct gw_device_stream *stream;
    enum gw_compute compute;
    uint64_t *clock; /* GPU: when waiting last ended (gpu_kernels.h) */
    struct gw_products products;
    struct gw_depths depths; /* calibrated */
    double owed_s;           /* what products have been too short so far */
};

/*
 * Products are calibrated on the stream, for some milliseconds; waiting is by the GPU's timer. *out
 * is safe to close in any case. GW_BAD_INPUT: products are asked for where there is no cuBLAS.
 */
enum gw_status gw_gpu_work_open(struct gw_gpu_work *out, struct gw_device_stream *stream,
                                enum gw_compute compute, struct gw_error *error);
void gw_gpu_work_close(struct gw_gpu_work *work);

/* Puts work of that duration on the stream; it `continues` what it did last. */
enum gw_status gw_gpu_work_do(struct gw_gpu_work *work, double seconds, bool continues,
                              struct gw_error *error);

#endif
