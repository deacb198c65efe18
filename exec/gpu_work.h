/* Forward, backward and update on a GPU's stream: work of known duration; private to this room. */
#ifndef GW_EXEC_GPU_WORK_H
#define GW_EXEC_GPU_WORK_H

#include "exec/exec.h"
#include "exec/products.h"

/* ---- how long products take, by how deep they are ------------------------------------------ */

enum { GW_DEPTH_STEP = 16, GW_MOST_DEPTHS = 8 };

struct gw_depths {
    size_t count;
    struct gw_curve_point points[GW_MOST_DEPTHS]; /* of depth and time, both strictly ascending */
};

/*
 * From `count` measured depths, which ascend in multiples of GW_DEPTH_STEP: those that take less
 * time than every deeper one. GW_FAILED: a time is no time, fewer than three are left, or the
 * deepest does not take twice as long as the least deep.
 */
enum gw_status gw_depths_set(struct gw_depths *out, const struct gw_curve_point *measured,
                             size_t count, struct gw_error *error);

/*
 * The depth, a multiple of GW_DEPTH_STEP, of the next product for `*owed_s` of work, and takes off
 * its time, which is interpolated: the deepest, if that is not too long; 0, and nothing is taken
 * off, if the least is. What is taken off may be more than is owed, by half a step.
 */
size_t gw_depths_take(const struct gw_depths *depths, double *owed_s);

/* ---- work ---------------------------------------------------------------------------------- */

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
