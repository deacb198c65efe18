/*
 * Sums in double precision and in one order, which a processor's vectors and a GPU's threads make
 * alike, so that they are to the bit the same everywhere; private to kernels/.
 *
 * Values come in segments of GW_SUM_SEGMENT. In one of these, the value at place i goes to sum
 * i mod GW_SUM_LANES; segment s goes to sum s mod GW_SUM_GROUPS of segments. Sums of either kind
 * are added in halves: the first of the lower half to the first of the upper, and so on.
 */
#ifndef GW_KERNELS_SUMS_H
#define GW_KERNELS_SUMS_H

#include <stddef.h>

enum { GW_SUM_LANES = 16, GW_SUM_SEGMENT = 1024, GW_SUM_GROUPS = 512 };

/* Of |values|. NaN if, and only if, there is one. */
double gw_sum_magnitudes(const float *values, size_t n);

/* Of their squares. */
double gw_sum_squares(const float *values, size_t n);

#endif
