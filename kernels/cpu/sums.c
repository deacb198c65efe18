#include "kernels/arithmetic.h"
#include "kernels/cpu/scan.h"

enum { LANES = GW_SUM_LANES, SEGMENT = GW_SUM_SEGMENT, GROUPS = GW_SUM_GROUPS };

static double sum_segment_squares(const float *values, size_t n) {
    double sums[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            sums[lane] += (double)values[i + lane] * (double)values[i + lane];
        }
    }
    for (; i < n; i++) {
        sums[i % LANES] += (double)values[i] * (double)values[i];
    }
    return gw_add_in_halves(sums, LANES);
}

/* Clears the first `used` sums, a power of two, for so many segments. Terms are not negative, so
 * adding unused sums, which are 0, would change no bit. */
static size_t begin_groups(double *sums, size_t segments) {
    size_t used = 1;
    while (used < GROUPS && used < segments) {
        used *= 2;
    }
    for (size_t i = 0; i < used; i++) {
        sums[i] = 0;
    }
    return used;
}

double gw_sum_of_segments(const double *segments, size_t count) {
    double sums[GROUPS];
    size_t used = begin_groups(sums, count);
    for (size_t i = 0; i < count; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): as many sums are cleared */
        sums[i % GROUPS] += segments[i];
    }
    return gw_add_in_halves(sums, used);
}

static double sum_terms(const float *values, size_t n, double (*sum)(const float *, size_t)) {
    double sums[GROUPS];
    size_t used = begin_groups(sums, (n + SEGMENT - 1) / SEGMENT);
    for (size_t segment = 0, first = 0; first < n; segment++, first += SEGMENT) {
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): as many sums are cleared */
        sums[segment % GROUPS] += sum(values + first, n - first < SEGMENT ? n - first : SEGMENT);
    }
    return gw_add_in_halves(sums, used);
}

double gw_sum_magnitudes(const float *values, size_t n) {
    return sum_terms(values, n, gw_scan()->sum);
}

double gw_sum_squares(const float *values, size_t n) {
    return sum_terms(values, n, sum_segment_squares);
}
