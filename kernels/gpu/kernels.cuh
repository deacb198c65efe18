/* What .cu files of kernels/ begin with: headers of C, seen as such by C++. */
#ifndef GW_KERNELS_GPU_KERNELS_CUH
#define GW_KERNELS_GPU_KERNELS_CUH

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "kernels/gpu.h"
#include "kernels/gpu/workspace.h"
}

#include "device/launch.cuh"

#endif
