/* Functions for processors and for GPUs; private to kernels/. */
#ifndef GW_KERNELS_ON_BOTH_H
#define GW_KERNELS_ON_BOTH_H

#if defined(__CUDACC__)
#define GW_ON_BOTH __host__ __device__
#else
#define GW_ON_BOTH
#endif

#endif
