/* The state of count-sketch, on the host and, once it has selected there, on a GPU; private. */
#ifndef GW_KERNELS_COUNT_SKETCH_H
#define GW_KERNELS_COUNT_SKETCH_H

#include "kernels/gpu.h"

struct gw_count_sketch {
    struct gw_sketch sketch;
    uint32_t *indices; /* [k] */
    struct gw_gpu_sketch on_gpu;
    uint32_t *indices_on_gpu; /* GPU [k] */
};

#endif
