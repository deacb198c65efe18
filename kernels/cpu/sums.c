#include "kernels/arithmetic.h"

#include <math.h>

enum { LANES = GW_SUM_LANES, SEGMENT = GW_SUM_SEGMENT, GROUPS = GW_SUM_GROUPS };

typedef double term_of(float value);

GW_INLINE double magnitude_of(float value) {
    return (double)fabsf(value);
}

GW_INLINE double square_of(float value) {
    return (double)value * (double)value;
}

/* Adds neighbouring halves; `count` is a power of two. */
GW_INLINE double add_in_halves(double *sums, size_t count) {
    for (size_t half = count / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < half; i++) {
            sums[i] += sums[i + half];
        }
    }
    return sums[0];
}

GW_INLINE double sum_segment(const float *values, size_t n, term_of *term) {
    double sums[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            sums[lane] += term(values[i + lane]);
        }
    }
    for (; i < n; i++) {
        sums[i % LANES] += term(values[i]);
    }
    return add_in_halves(sums, LANES);
}

/* Terms are not negative, so adding unused sums, which are 0, changes no bit. */
GW_INLINE double sum_terms(const float *values, size_t n, term_of *term) {
    double sums[GROUPS];
    size_t used = 1;
    while (used < GROUPS && used * SEGMENT < n) {
        used *= 2;
    }
    for (size_t i = 0; i < used; i++) {
        sums[i] = 0;
    }
    for (size_t segment = 0, first = 0; first < n; segment++, first += SEGMENT) {
        size_t size = n - first < SEGMENT ? n - first : SEGMENT;
        sums[segment % GROUPS] += sum_segment(values + first, size, term);
    }
    return add_in_halves(sums, used);
}

double gw_sum_magnitudes(const float *values, size_t n) {
    return sum_terms(values, n, magnitude_of);
}

double gw_sum_squares(const float *values, size_t n) {
    return sum_terms(values, n, square_of);
}
