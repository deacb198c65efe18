/* What the compressors that select by ExDyna share on a GPU; private to kernels/. */
#ifndef GW_KERNELS_EXDYNA_GPU_H
#define GW_KERNELS_EXDYNA_GPU_H

#include "kernels/exdyna.h"
#include "kernels/gpu.h"

gw_gpu_select gw_gpu_exdyna_select;

#endif
