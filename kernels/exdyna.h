/*
 * ExDyna's state across iterations, as functions of small arrays: the partition of each worker, and
 * the next threshold. Private to kernels/. Algorithms and equations are those of Yoon and Oh,
 * Preserving Near-Optimal Gradient Sparsification Cost for Scalable Distributed Deep Learning,
 * 2024; constants that the paper leaves open are those of its released implementation.
 *
 * The vector is cut into blocks. Partition p has blocks_of[p] of them; partitions are adjacent and
 * in order, so they are disjoint and cover everything. Worker r has partition (t + r) mod P in
 * iteration t, and selects counts[r] elements there.
 */
#ifndef GW_KERNELS_EXDYNA_H
#define GW_KERNELS_EXDYNA_H

#include "kernels/kernels.h"

/* ---- partitions ---------------------------------------------------------------------------- */

struct gw_exdyna_layout {
    size_t elements, workers;
    size_t blocks, block_size; /* block_size in elements; the remainder goes to the last partition
                                */
    size_t least;              /* minimum number of blocks of a partition */
};

/*
 * elements, workers >= 1. From 2^20 elements on: 1,024 blocks (or 4 for each worker, if that is
 * more) of a size that is a multiple of 32, as published. The remainder, up to 32 elements for each
 * block, would be half of a vector of 64,000 elements. So below 2^20 elements there are as many
 * blocks as fit, of at least 32 elements, or of fewer if a worker would have less than 4 blocks.
 * With fewer elements than workers some partitions are empty.
 */
struct gw_exdyna_layout gw_exdyna_layout_of(size_t elements, size_t workers);

/* Algorithm 2: fills blocks_of[0..workers) with numbers that differ by at most 1, larger ones
 * first. */
void gw_exdyna_topology(const struct gw_exdyna_layout *layout, size_t *blocks_of);

/* The partition of a worker: Algorithm 3, line 29. */
size_t gw_exdyna_partition(uint64_t iteration, size_t worker, size_t workers);

/*
 * Algorithm 3, lines 1 to 28: if one of two neighbours selected more than alpha = 1.05 times the
 * mean and the other less than 1 / alpha, one block moves. counts[0..workers) are the numbers that
 * the workers selected in the previous iteration, `last`; no block moves if they are all 0.
 */
void gw_exdyna_allocate(const struct gw_exdyna_layout *layout, uint64_t last, const size_t *counts,
                        size_t *blocks_of);

struct gw_exdyna_range {
    size_t begin, end; /* The elements of a partition. */
};
struct gw_exdyna_range gw_exdyna_range_of(const struct gw_exdyna_layout *layout,
                                          const size_t *blocks_of, size_t partition);

/* The element that a worker sends if it selects no element of its range, which is not empty. */
size_t gw_exdyna_lone_index(struct gw_exdyna_range range, uint64_t iteration);

/* Eq. (5): f(t) = P max counts / sum counts, the factor by which padding increases traffic; 1 if
 * all are 0. */
double gw_exdyna_padding(const size_t *counts, size_t workers);

/* ---- thresholds ---------------------------------------------------------------------------- */

/* 1 / (2 sqrt(k)): half of the magnitude of k equal elements of a vector of norm 1. */
double gw_exdyna_first_threshold(size_t wanted);

/* Algorithm 5, beta = 1.1 and gamma = 0.005; `selected` is k', `wanted` is k >= 1. */
double gw_exdyna_next_threshold(double threshold, size_t selected, size_t wanted);

/*
 * Algorithm 5 steps up while k' / k is within its band and by +gamma or -gamma outside, so that it
 * ends at an edge of the band, and oscillates if a step of gamma changes k' by much. This variant,
 * which is not published, steps in proportion to the error and follows the trend of scales:
 *
 *     e = ln(k' / k) within [-1, 1]
 *     trend = trend + 0.001 e within [-gamma, gamma]
 *     threshold = threshold exp(gamma e + trend)
 *
 * A proportional step alone would follow a trend of x in each iteration with an error of x / gamma.
 * The mean of k' / k of 1,000 elements of normal gradients with error feedback (bench/exdyna):
 *
 *     density 0.01, 0.001         published     this
 *     one scale                   0.94, 1.00    1.00, 1.00
 *     100 times in 2,000          1.07, 1.06    1.00, 1.00
 *     1/100 in 2,000              0.90, 0.84    1.00, 1.00
 *
 * At a density of 0.0001 neither variant keeps k while scales shrink so fast: then only residuals
 * are selected, and steps are too large for the many elements close below the threshold. Initialise
 * it with {.value = first threshold}.
 */
struct gw_exdyna_threshold {
    double value;
    double trend;
};
void gw_exdyna_track(struct gw_exdyna_threshold *threshold, size_t selected, size_t wanted);

/* ---- selections, on the host and on a GPU -------------------------------------------------- */

/* The range in which the task's worker selects, [begin, end), its threshold on |u|, and the element
 * that it sends if it selects none. */
struct gw_exdyna_aim {
    size_t begin, end, lone;
    double threshold;
};
struct gw_exdyna_aim gw_exdyna_aim_of(const struct gw_task *task);

#endif
