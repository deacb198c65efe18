/*
 * The compressors' functions on a processor and on a GPU, for the table in compressors.c; private.
 */
#ifndef GW_KERNELS_COMPRESSORS_H
#define GW_KERNELS_COMPRESSORS_H

#include "kernels/codes.h"
#include "kernels/gpu.h"

extern const struct gw_kernel gw_kernel_topk, gw_kernel_randk, gw_kernel_dgc, gw_kernel_redsync,
    gw_kernel_gaussiank, gw_kernel_count_sketch, gw_kernel_layer_drop, gw_kernel_hard_threshold,
    gw_kernel_sidco, gw_kernel_exdyna, gw_kernel_exdyna_trend, gw_kernel_exdyna_static,
    gw_kernel_powersgd;

extern const struct gw_gpu_kernel gw_gpu_kernel_topk, gw_gpu_kernel_randk, gw_gpu_kernel_dgc,
    gw_gpu_kernel_redsync, gw_gpu_kernel_gaussiank, gw_gpu_kernel_count_sketch,
    gw_gpu_kernel_layer_drop, gw_gpu_kernel_hard_threshold, gw_gpu_kernel_sidco,
    gw_gpu_kernel_exdyna;

/* Memory operations on codes (kernels/memory.h). */
enum gw_status gw_gpu_encode(struct gw_memory *memory, const struct gw_task *task, bool takes,
                             const struct gw_codes *codes, struct gw_gpu_selection *on_gpu,
                             struct gw_error *error);
enum gw_status gw_gpu_decode(const struct gw_memory *memory, const struct gw_codes *codes, size_t n,
                             size_t threads, bool adding, float *out, struct gw_error *error);

/* The same on factors. */
enum gw_status gw_gpu_project(struct gw_memory *memory, struct gw_low_rank *group,
                              const struct gw_task *task, struct gw_gpu_selection *out,
                              struct gw_error *error);
enum gw_status gw_gpu_finish_project(const struct gw_memory *memory,
                                     const struct gw_low_rank *group,
                                     const struct gw_gpu_selection *on_gpu, struct gw_error *error);
enum gw_status gw_gpu_factor(const struct gw_memory *memory, struct gw_low_rank *group,
                             const struct gw_task *task, struct gw_error *error);
enum gw_status gw_gpu_expand(const struct gw_memory *memory, struct gw_low_rank *group,
                             const struct gw_task *task, float times, float *out,
                             struct gw_error *error);

#endif
