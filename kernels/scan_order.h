/* What passes over memory go by, on processors and on GPUs: how floats are ordered, and in which
 * order sums are made. Private to kernels/. */
#ifndef GW_KERNELS_SCAN_ORDER_H
#define GW_KERNELS_SCAN_ORDER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/on_both.h"

enum { GW_INFINITE = 0x7f800000 }; /* magnitude of infinity; NaNs lie above */

/* |value| as an integer: floats of one sign are ordered as their bits are (IEEE 754). */
GW_ON_BOTH static inline int32_t gw_magnitude(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int32_t)(bits & 0x7fffffffu);
}

/* The float of that magnitude that is not negative. */
GW_ON_BOTH static inline float gw_magnitude_value(int32_t magnitude) {
    float value;
    memcpy(&value, &magnitude, sizeof value);
    return value;
}

/* The least magnitude of floats that reach a threshold. */
GW_ON_BOTH static inline int32_t gw_magnitude_from(double threshold) {
    float nearest = (float)fmax(threshold, 0.0);
    return gw_magnitude((double)nearest < threshold ? nextafterf(nearest, INFINITY) : nearest);
}

/*
 * The order of sums. Within a run of GW_SCAN_RUN elements, i goes to lane i mod GW_SCAN_LANES; each
 * lane is summed over the runs of a segment of GW_SCAN_SEGMENT; then lane after lane. Segment s
 * goes to part s mod GW_SCAN_PARTS, and part after part makes the sum.
 */
enum {
    GW_SCAN_LANES = 16,
    GW_SCAN_RUN = 1 << 10,
    GW_SCAN_SEGMENT = 1 << 15, /* also what a thread of a processor takes at a time */
    GW_SCAN_PARTS = 128,
};

#endif
