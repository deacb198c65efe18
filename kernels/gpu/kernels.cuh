/* What .cu files of kernels/ begin with: headers of C, seen as such by C++. */
#ifndef GW_KERNELS_GPU_KERNELS_CUH
#define GW_KERNELS_GPU_KERNELS_CUH

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "kernels/compressors.h"
#include "kernels/gpu/workspace.h"
}

#include "device/launch.cuh"

/*
 * A sum, to the bit as x86 processors give it: the NaN of an infinity and its opposite has its sign
 * set there and not on GPUs.
 */
static __device__ __forceinline__ float gw_add(float a, float b) {
    float sum = a + b;
    return isnan(sum) ? __uint_as_float(0xffc00000u) : sum;
}

#endif
