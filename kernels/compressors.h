/*
 * The compressors' functions on a processor and on a GPU, for the table in compressors.c; private.
 */
#ifndef GW_KERNELS_COMPRESSORS_H
#define GW_KERNELS_COMPRESSORS_H

#include "kernels/gpu.h"

extern const struct gw_kernel gw_kernel_topk, gw_kernel_randk, gw_kernel_dgc, gw_kernel_redsync,
    gw_kernel_gaussiank, gw_kernel_count_sketch, gw_kernel_layer_drop, gw_kernel_hard_threshold,
    gw_kernel_sidco, gw_kernel_exdyna, gw_kernel_exdyna_trend, gw_kernel_exdyna_static;

extern const struct gw_gpu_kernel gw_gpu_kernel_topk, gw_gpu_kernel_randk, gw_gpu_kernel_dgc,
    gw_gpu_kernel_redsync, gw_gpu_kernel_gaussiank, gw_gpu_kernel_count_sketch,
    gw_gpu_kernel_layer_drop, gw_gpu_kernel_hard_threshold, gw_gpu_kernel_sidco,
    gw_gpu_kernel_exdyna;

#endif
