/*
 * Passes over memory, for each instruction set; all give the same results to the last bit, but
 * read(), which is there to be fast. Private to this room.
 */
#ifndef GW_KERNELS_SCAN_H
#define GW_KERNELS_SCAN_H

#include "kernels/arithmetic.h"
#include "kernels/kernels.h"

enum {
    GW_SCAN_THRESHOLDS =
        7,                /* that one pass counts best with; magnitudes of more cost more passes */
    GW_SCAN_AHEAD = 2048, /* elements that are asked for ahead of their use, see below */
    GW_SCAN_SLACK = 16,   /* entries behind the last that gw_scan.collect may overwrite */
};

/*
 * Asks for the cache line of an element that comes later. Left to themselves, loops that do more
 * than add have too few lines on their way to use what one core can get from memory. Ends of
 * vectors may be passed.
 */
static inline void gw_scan_ask(const float *element) {
    __builtin_prefetch((const void *)((uintptr_t)element + GW_SCAN_AHEAD * sizeof *element), 0, 3);
}

/* Sums over u, in parts: element i of a pass goes into part i mod GW_SCAN_LANES. */
struct gw_moments {
    double sum[GW_SCAN_LANES];
    double squares[GW_SCAN_LANES];
    int32_t largest; /* magnitude */
};

/* Of the elements from some magnitude on, in the same parts. */
struct gw_tail {
    size_t count;
    double magnitudes[GW_SCAN_LANES];
    int32_t largest; /* magnitude */
};

static inline void gw_scan_add_lanes(double *sums, const double *more) {
    for (size_t lane = 0; lane < GW_SCAN_LANES; lane++) {
        sums[lane] += more[lane];
    }
}

/* u, and what is added to it on the way; with gradient = NULL, u is only read. */
struct gw_scan {
    const char *name;
    bool (*is_supported)(void);

    /* The sum of |u|. */
    float (*read)(const float *u, size_t n);

    /* u[i] += gradient[i]; returns the largest magnitude that this gives. */
    int32_t (*add)(float *u, const float *gradient, size_t n);

    /* Adds to what *moments holds, run after run (kernels/arithmetic.h). */
    void (*moments)(float *u, const float *gradient, size_t n, struct gw_moments *moments);

    /* Adds to what *tail holds, run after run. */
    void (*tail)(float *u, const float *gradient, size_t n, int32_t magnitude,
                 struct gw_tail *tail);

    /* counts[j] += the number of elements of at least magnitudes[j], j < `count`. */
    void (*count)(const float *u, size_t n, const int32_t *magnitudes, size_t count,
                  size_t *counts);

    /*
     * Appends to `entries`, in order, the elements of at least that magnitude, as those from
     * `first` on; returns how many. Needs room for n + GW_SCAN_SLACK. Raises *largest to their
     * largest magnitude, and perhaps to that of others, but then to no NaN's.
     */
    size_t (*collect)(float *u, const float *gradient, size_t n, uint32_t first, int32_t magnitude,
                      struct gw_entry *entries, int32_t *largest);
};

extern const struct gw_scan gw_scan_avx512, gw_scan_avx2, gw_scan_portable;

/* The fastest that this processor supports. */
const struct gw_scan *gw_scan(void);

#endif
