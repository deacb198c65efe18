/* A sketch's hash functions as kernels take them; private to kernels/. */
#ifndef GW_KERNELS_GPU_SKETCH_FUNCTIONS_CUH
#define GW_KERNELS_GPU_SKETCH_FUNCTIONS_CUH

#include "kernels/gpu/kernels.cuh"

extern "C" {
#include "kernels/sketch/loops.h"
}

struct gw_gpu_sketch_functions {
    struct gw_sketch_hash of[GW_SKETCH_ROWS_LIMIT];
    unsigned rows, column_bits;
};

static inline gw_gpu_sketch_functions gw_gpu_sketch_functions_of(const struct gw_sketch *shape) {
    gw_gpu_sketch_functions functions;
    memset(&functions, 0, sizeof functions);
    functions.rows = (unsigned)shape->rows;
    functions.column_bits = gw_sketch_column_bits(shape);
    for (size_t row = 0; row < shape->rows; row++) {
        functions.of[row] = gw_sketch_hash_of(shape->seed, row);
    }
    return functions;
}

#endif
