/* Passes over memory and the inner loops of sketches, for each instruction set. Their results are
 * equal to the last bit, except those of read(), which sums in the fastest order. Private to this
 * room. */
#ifndef GW_KERNELS_SCAN_H
#define GW_KERNELS_SCAN_H

#include "kernels/code_arithmetic.h"
#include "kernels/kernels.h"
#include "kernels/sketch/loops.h"

enum {
    GW_SCAN_THRESHOLDS = 7, /* magnitudes that one pass counts best; more cost more passes */
    GW_SCAN_AHEAD = 2048,   /* distance in elements of prefetches, see below */
    GW_SCAN_SLACK = 16,     /* entries after the last that gw_scan.collect may overwrite */
};

/*
 * Prefetches the cache line of a later element. Without it, loops that do more than add keep too
 * few lines in flight to use the memory bandwidth of a core. The element may be past the vector's
 * end.
 */
static inline void gw_scan_ask(const float *element) {
    __builtin_prefetch((const void *)((uintptr_t)element + GW_SCAN_AHEAD * sizeof *element), 0, 3);
}

/* Sums over u by lane: element i of a pass goes to lane i mod GW_SCAN_LANES. */
struct gw_moments {
    double sum[GW_SCAN_LANES];
    double squares[GW_SCAN_LANES];
    int32_t largest; /* magnitude */
};

/* Sums over the elements of at least some magnitude, by the same lanes. */
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

/* Loops over elements that share a scale (kernels/codes.h). Codes begin with a whole byte. */
struct gw_code_loops {
    /* `first` is the index of from[0]; index and key decide by lot. With `streams` fp16 writes past
     * the caches; a fence must follow before another thread reads. */
    void (*encode)(const float *from, size_t n, float scale, uint32_t first, uint64_t key,
                   bool streams, void *codes);
    void (*decode)(const void *codes, size_t n, float scale, float *out);
    /* sums[i] += scale times code; of a negative scale: minus what encode() wrote with the positive
     */
    void (*add)(const void *codes, size_t n, float scale, float *sums);
};

/*
 * Products of PowerSGD (kernels/low_rank.h) with a matrix m of rows and columns; a factor has a row
 * of `rows` (p) or `columns` (q) elements for each of its rank columns.
 */
struct gw_low_rank_loops {
    /* p = m q, of so many rows; p begins at the first of them, its rows are p_rows apart. */
    void (*multiply)(const float *m, size_t rows, size_t columns, const float *q, size_t rank,
                     float *p, size_t p_rows);
    /* q = m^T p, of up to GW_LOW_RANK_COLUMNS columns; m and q begin at the first of them. */
    void (*multiply_transposed)(const float *m, size_t rows, size_t columns, size_t count,
                                const float *p, size_t rank, float *q);
    /* out = times p q^T and u -= p q^T, of so many rows as multiply(). */
    void (*subtract_product)(float *u, size_t rows, size_t columns, const float *p, size_t p_rows,
                             const float *q, size_t rank, float times, float *out);
};

/* Passes of an instruction set. They add the gradient to u first; with gradient = NULL they only
 * read u. */
struct gw_scan {
    const char *name;
    bool (*is_supported)(void);

    /* The sum of |u|. */
    float (*read)(const float *u, size_t n);

    /* u[i] += gradient[i]; returns the largest magnitude of the sums. */
    int32_t (*add)(float *u, const float *gradient, size_t n);

    /* The largest magnitude of a short vector. */
    int32_t (*largest)(const float *u, size_t n);

    /* The sum of |u| of a segment, n <= GW_SUM_SEGMENT (kernels/arithmetic.h). */
    double (*sum)(const float *u, size_t n);

    /* Adds to *moments, run after run (kernels/arithmetic.h). */
    void (*moments)(float *u, const float *gradient, size_t n, struct gw_moments *moments);

    /* Adds to *tail, run after run. */
    void (*tail)(float *u, const float *gradient, size_t n, int32_t magnitude,
                 struct gw_tail *tail);

    /* Adds to counts[j] the number of elements of at least magnitudes[j], j < `count`. */
    void (*count)(const float *u, size_t n, const int32_t *magnitudes, size_t count,
                  size_t *counts);

    /*
     * Appends to `entries`, in order, the elements of at least that magnitude, with indices from
     * `first` on; returns their number. Needs a capacity of n + GW_SCAN_SLACK. Raises *largest to
     * their largest magnitude, and perhaps to that of others that are not NaN.
     */
    size_t (*collect)(float *u, const float *gradient, size_t n, uint32_t first, int32_t magnitude,
                      struct gw_entry *entries, int32_t *largest);

    /* Adds `count` <= GW_SKETCH_TILE whole blocks to the row `cells`; false if they hold a NaN. A
     * block meets every cell of its line once: adding it as a vector keeps the order of additions
     * to a cell. */
    bool (*sketch_add)(float *cells, struct gw_sketch_hash hash, unsigned column_bits,
                       const float *u, uint32_t block, size_t count);

    /* Estimates the coordinates of so many blocks: gw_sketch_estimate(). */
    void (*sketch_estimate)(const struct gw_sketch *sketch, uint32_t block, size_t count,
                            float *estimates);

    struct gw_code_loops codes[GW_CODE_FORMATS];
    struct gw_low_rank_loops low_rank;
};

extern const struct gw_scan gw_scan_avx512, gw_scan_avx2, gw_scan_portable;

/* The fastest passes that this processor supports. */
const struct gw_scan *gw_scan(void);

#endif
