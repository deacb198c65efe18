/* A sum on a GPU, to the bit as x86 processors give it; private to kernels/. */
#ifndef GW_KERNELS_GPU_ADD_CUH
#define GW_KERNELS_GPU_ADD_CUH

/* The NaN of an infinity and its opposite, which has its sign set there and not on GPUs. */
static __device__ __forceinline__ float gw_add(float a, float b) {
    float sum = a + b;
    return isnan(sum) ? __uint_as_float(0xffc00000u) : sum;
}

#endif
