/*
 * How fast and how good compressors are on given vectors, on this machine's processors or on a GPU:
 * times beside that of one pass over memory, and what is selected beside the exact top-k.
 */
#ifndef GW_CALIBRATE_BENCH_H
#define GW_CALIBRATE_BENCH_H

#include "core/core.h"
#include "device/device.h"
#include "kernels/kernels.h"

struct gw_bench {
    const struct gw_compressor *const *compressors; /* ended by NULL */
    size_t elements, kept;
    const float *u;        /* [elements]: what is selected from */
    const float *gradient; /* [elements]: what is added to it where residuals are kept */
    size_t threads;        /* of the CPU */
    size_t repeats;        /* of each compressor, at least 1 */
    uint64_t seed;
    struct gw_progress *progress; /* or NULL */
};

struct gw_bench_row {
    const struct gw_compressor *compressor;
    struct gw_summary select_s;     /* of a selection from u */
    struct gw_summary compress_s;   /* the same with the gradient added, and what is sent cleared */
    double passes, compress_passes; /* medians over that of a pass in the same repeats */
    bool waits;                     /* on a GPU: for a count in between, so that the GPU idles */
    double count_ratio;             /* selected over kept */
    double energy_ratio;            /* ||selected||^2 / ||top-k||^2 */
};

struct gw_bench_result {
    struct gw_summary read_pass_s; /* sum of |u| */
    struct gw_summary copy_s;      /* on a GPU: from its memory to its memory; otherwise 0 */
    size_t count;
    struct gw_bench_row *rows; /* in the order of the compressors */
};

/*
 * States settle on u first; hard-threshold is given the magnitude of the k-th largest element,
 * layer-drop layers of about k elements.
 */
enum gw_status gw_bench_run(const struct gw_bench *bench, struct gw_bench_result *out,
                            struct gw_error *error);

/*
 * The same on a GPU, for compressors that have a version for GPUs; times are by the GPU's clock,
 * and begin with nothing of the data in its cache. A pass takes half of what a copy does, which
 * reads and writes: what the memory gives, whatever a kernel that reads may reach.
 */
enum gw_status gw_bench_run_gpu(const struct gw_bench *bench, struct gw_device *device,
                                struct gw_bench_result *out, struct gw_error *error);

void gw_bench_free(struct gw_bench_result *result);

#endif
