/*
 * What ExDyna keeps across iterations, as functions of small arrays: which worker looks where, and
 * which threshold comes next. Private to kernels/. Algorithms and equations are those of Yoon and
 * Oh, Preserving Near-Optimal Gradient Sparsification Cost for Scalable Distributed Deep Learning,
 * 2024; constants that the paper leaves open are those of its released implementation.
 *
 * The vector is cut into blocks; partition p has blocks_of[p] of them, next to each other and in
 * order, so that partitions are disjoint and cover everything. Worker r has partition (t + r) mod P
 * in iteration t, and counts[r] is how many elements it selected there.
 */
#ifndef GW_KERNELS_EXDYNA_H
#define GW_KERNELS_EXDYNA_H

#include "kernels/kernels.h"

/* ---- who looks where ----------------------------------------------------------------------- */

struct gw_exdyna_layout {
    size_t elements, workers;
    size_t blocks, block_size; /* block_size in elements; what is left goes to the last partition */
    size_t least;              /* blocks that a partition keeps */
};

/*
 * elements, workers >= 1. From 2^20 elements on: 1,024 blocks (4 for each worker, if that is more)
 * whose size is a multiple of 32, as published. The rest, up to 32 elements for each block, would
 * be half of a vector of 64,000 elements; so below 2^20 elements there are as many blocks as fit,
 * of at least 32 elements; and of fewer where there would be less than 4 blocks for each worker.
 * With fewer elements than workers some partitions are empty.
 */
struct gw_exdyna_layout gw_exdyna_layout_of(size_t elements, size_t workers);

/* Algorithm 2: fills blocks_of[0..workers), as equal as can be, the first ones larger by one. */
void gw_exdyna_topology(const struct gw_exdyna_layout *layout, size_t *blocks_of);

/* Algorithm 3, line 29. */
size_t gw_exdyna_partition(uint64_t iteration, size_t worker, size_t workers);

/*
 * Algorithm 3, lines 1 to 28: where one of two neighbours selected more than alpha = 1.05 times the
 * mean and the other less than 1 / alpha, one block moves. counts[0..workers) are those that the
 * workers selected in iteration `last`, the one before; nothing moves if they are all 0.
 */
void gw_exdyna_allocate(const struct gw_exdyna_layout *layout, uint64_t last, const size_t *counts,
                        size_t *blocks_of);

struct gw_exdyna_range {
    size_t begin, end; /* elements [begin, end) */
};
struct gw_exdyna_range gw_exdyna_range_of(const struct gw_exdyna_layout *layout,
                                          const size_t *blocks_of, size_t partition);

/* The one element that a worker sends if none of its range, which is not empty, is selected. */
size_t gw_exdyna_lone_index(struct gw_exdyna_range range, uint64_t iteration);

/* Eq. (5): f(t) = P max counts / sum counts, what padding multiplies traffic by; 1 if all are 0. */
double gw_exdyna_padding(const size_t *counts, size_t workers);

/* ---- which threshold ----------------------------------------------------------------------- */

/* 1 / (2 sqrt(k)): half of what each of k equal elements has in a vector of norm 1. */
double gw_exdyna_first_threshold(size_t wanted);

/* Algorithm 5, beta = 1.1 and gamma = 0.005; `selected` is k', `wanted` is k >= 1. */
double gw_exdyna_next_threshold(double threshold, size_t selected, size_t wanted);

/*
 * Algorithm 5 moves up while k' / k is within its band and by +gamma or -gamma outside, so that it
 * ends at an edge of the band, and swings where a step of gamma changes k' by much. This, which is
 * not published, steps in proportion to the error and remembers the trend of scales:
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
 * At a density of 0.0001 neither keeps it while scales shrink so fast: residuals are then all that
 * there is to select, and steps too large for what lies close below the threshold. Begins as
 * {.value = first threshold}.
 */
struct gw_exdyna_threshold {
    double value;
    double trend;
};
void gw_exdyna_track(struct gw_exdyna_threshold *threshold, size_t selected, size_t wanted);

/* ---- selections, on the host and on a GPU -------------------------------------------------- */

/*
 * Where the task's worker selects, [begin, end), from which |u| on, and which element it sends if
 * it finds none.
 */
struct gw_exdyna_aim {
    size_t begin, end, lone;
    double threshold;
};
struct gw_exdyna_aim gw_exdyna_aim_of(const struct gw_task *task);

#endif
