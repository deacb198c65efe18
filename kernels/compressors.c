/* The functions of each compressor. */
#include "kernels/kernels.h"

extern const struct gw_kernel gw_kernel_topk, gw_kernel_randk, gw_kernel_dgc, gw_kernel_redsync,
    gw_kernel_gaussiank, gw_kernel_count_sketch, gw_kernel_layer_drop, gw_kernel_hard_threshold,
    gw_kernel_sidco, gw_kernel_exdyna, gw_kernel_exdyna_trend, gw_kernel_exdyna_static;

static const struct {
    const struct gw_compressor *compressor;
    const struct gw_kernel *kernel;
} kernels[] = {
    {&gw_compressor_topk, &gw_kernel_topk},
    {&gw_compressor_randk, &gw_kernel_randk},
    {&gw_compressor_dgc, &gw_kernel_dgc},
    {&gw_compressor_redsync, &gw_kernel_redsync},
    {&gw_compressor_gaussiank, &gw_kernel_gaussiank},
    {&gw_compressor_count_sketch, &gw_kernel_count_sketch},
    {&gw_compressor_layer_drop, &gw_kernel_layer_drop},
    {&gw_compressor_hard_threshold, &gw_kernel_hard_threshold},
    {&gw_compressor_sidco, &gw_kernel_sidco},
    {&gw_compressor_exdyna, &gw_kernel_exdyna},
    {&gw_compressor_exdyna_trend, &gw_kernel_exdyna_trend},
    {&gw_compressor_exdyna_static, &gw_kernel_exdyna_static},
};

const struct gw_kernel *gw_kernel_of(const struct gw_compressor *compressor) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (kernels[i].compressor == compressor) {
            return kernels[i].kernel;
        }
    }
    return NULL;
}

enum gw_status gw_state_open(const struct gw_compressor *compressor, const struct gw_task *task,
                             void **state, struct gw_error *error) {
    *state = NULL;
    return compressor->stateful ? gw_kernel_of(compressor)->open(task, state, error) : GW_OK;
}

void gw_state_close(const struct gw_compressor *compressor, void *state) {
    if (state != NULL) {
        gw_kernel_of(compressor)->close(state);
    }
}

void gw_state_observe(const struct gw_compressor *compressor, void *state, const size_t *counts) {
    const struct gw_kernel *kernel = gw_kernel_of(compressor);
    if (state != NULL && kernel->observe != NULL) {
        kernel->observe(state, counts);
    }
}
