/*
 * What a compute thread does where overlap is measured: it compresses one group after the other, on
 * processors or on a GPU; private to this room.
 */
#ifndef GW_CALIBRATE_OVERLAP_LOAD_H
#define GW_CALIBRATE_OVERLAP_LOAD_H

#include "calibrate/calibrate.h"
#include "calibrate/measure/pool.h"
#include "kernels/gpu.h"

enum { GW_OVERLAP_SERIES = 8 };

struct gw_overlap_load {
    size_t elements;                        /* of a group */
    const struct gw_compressor *compressor; /* set by gw_overlap_load_choose */
    struct gw_pool gradient, residual;
    struct gw_task task;
    /* On processors: */
    struct gw_workspace workspace;
    struct gw_selection selection;
    /* On a GPU, with a stream as exec's for compute: */
    struct gw_device *device;
    struct gw_device_stream *stream;
    const struct gw_gpu_kernel *gpu;
    struct gw_gpu_workspace *gpu_workspace;
    struct gw_gpu_selection gpu_selection;
    struct gw_device_event *from[GW_OVERLAP_SERIES], *to[GW_OVERLAP_SERIES];
    double seconds; /* that the last series took */
};

/* Of the calibration's device; *out is safe to close in any case. */
enum gw_status gw_overlap_load_open(struct gw_overlap_load *out,
                                    const struct gw_calibration *calibration, int rank,
                                    struct gw_error *error);
void gw_overlap_load_close(struct gw_overlap_load *load);

void gw_overlap_load_choose(struct gw_overlap_load *load, const struct gw_compressor *compressor);

/*
 * A gw_action of a load. On a GPU it compresses a series of groups, and gw_overlap_load_took_s says
 * what that takes there by the GPU's clock. One is launched while those before it are compressed,
 * as behind a backward pass; the first, for which the GPU waits, counts as the mean of the others.
 */
enum gw_status gw_overlap_load_run(void *load, struct gw_error *error);
double gw_overlap_load_took_s(void *load);

#endif
