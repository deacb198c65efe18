/* Kernels that use what kernels may, each in a way whose result is known. */
#ifndef GW_TESTS_DEVICE_KERNELS_H
#define GW_TESTS_DEVICE_KERNELS_H

#include <stdint.h>

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out[i] = a[i] + b[i], i < n. */
enum gw_status test_add(struct gw_device_stream *stream, const float *a, const float *b, float *out,
                        size_t n, struct gw_error *error);

/* sums[block] = of 256 values each, by shuffles within warps and shared memory between them. */
enum gw_status test_sum_blocks(struct gw_device_stream *stream, const uint32_t *values,
                               uint64_t *sums, size_t blocks, struct gw_error *error);

/* ranks[i] = how many odd values stand before i in its block of 256; *odd += those of all. */
enum gw_status test_rank_odd(struct gw_device_stream *stream, const uint32_t *values,
                             uint32_t *ranks, unsigned long long *odd, size_t blocks,
                             struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
