/*
 * Count sketch and HEAVYMIX: how Sketched-SGD (Ivkin et al., Communication-efficient Distributed
 * SGD with Sketching, 2019) and gs-SGD (Dai et al., 2022) choose which elements travel.
 *
 * A sketch is a table of rows x columns. Row r adds every coordinate, with a sign, to one cell:
 *
 *     table[r][column_r(i)] += sign_r(i) u[i]
 *
 * so that sign_r(i) table[r][column_r(i)] is u[i] plus the other coordinates of the cell, with
 * random signs: mean u[i], variance at most ||u||^2 / columns. The estimate is the median over the
 * rows. Sketches are linear: sketch(a) + sketch(b) = sketch(a + b), to rounding.
 *
 * The papers hash every coordinate. Here 16 neighbours, a block, are hashed together to the 16
 * cells of one cache line, in an order and with signs of the block's own:
 *
 *     column_r(i) = place_r(i / 16) xor (i mod 16)
 *     sign_r(i)   = -1 if bit i mod 16 of signs_r(i / 16) is set, 1 otherwise
 *
 * so that a row takes 16 coordinates by one load, one add and one store of a vector. place_r and
 * signs_r are upper bits of
 *
 *     (a mix(block) + b) mod 2^64,    a, b random 64-bit numbers, others for each row and function
 *
 * (multiply-shift: Dietzfelbinger, Universal hashing and k-wise independent random variables via
 * integer arithmetic without primes, 1996), which are uniform, and independent for two blocks.
 * The mean and the variance above follow, as for the papers' hash functions: two coordinates of
 * different blocks share a cell with probability 1 / columns, two of one block never do; of a block
 * that shares a line, one coordinate is in the cell; and signs of different blocks are independent
 * of each other and of the places. The price: a collision hits all of a block at once, so that
 * errors of neighbours are correlated. Blocks are not 4-wise independent, which the usual bound for
 * the error of ||u||^2 requires; that bound is tested, not proven. mix() is a fixed bijection. It
 * changes no probability, but without it neighbouring blocks, whose gradients have similar sizes,
 * would go to lines of a regular pattern.
 */
#ifndef GW_KERNELS_SKETCH_H
#define GW_KERNELS_SKETCH_H

#include "kernels/kernels.h"

enum {
    GW_SKETCH_ROWS_LIMIT = 15,
};

struct gw_sketch {
    size_t rows, columns;
    uint64_t seed; /* of the hash functions: only sketches of the same seed can be added */
    float *table;  /* [rows * columns], row by row: the part that is sent */
};

/* Opens a sketch of zeros. `rows` is odd and at most GW_SKETCH_ROWS_LIMIT, `columns` a power of two
 * from GW_SKETCH_BLOCK to 2^31; GW_BAD_INPUT otherwise, and *out may then be freed. */
enum gw_status gw_sketch_open(struct gw_sketch *out, size_t rows, size_t columns, uint64_t seed,
                              struct gw_error *error);
void gw_sketch_free(struct gw_sketch *sketch);

void gw_sketch_clear(struct gw_sketch *sketch);

/*
 * Adds u[0..n) as the coordinates first .. first + n - 1, all below 2^32. Adding consecutive chunks
 * gives the same table, bit for bit, as one call. GW_BAD_INPUT if u holds a NaN; the caller then
 * clears the table. An infinity makes its cells infinite, two may make them NaN; coordinates of
 * such cells are estimated as infinite or NaN.
 */
enum gw_status gw_sketch_encode(struct gw_sketch *sketch, const float *u, size_t first, size_t n,
                                struct gw_error *error);

/* Estimates the coordinates first .. first + n - 1: the median over the rows of each. NaNs, which
 * only infinities or overflow leave in a table, are ordered beyond the infinity of their sign. */
void gw_sketch_estimate(const struct gw_sketch *sketch, size_t first, size_t n, float *estimates);

/* Estimates ||u||^2: the median over the rows of the row's sum of squares. Infinite if a cell is
 * infinite or NaN in more than half of the rows. */
double gw_sketch_norm2(const struct gw_sketch *sketch);

/*
 * HEAVYMIX (gs-SGD, Algorithm 2): writes k of the coordinates 0 .. n-1, ascending, to `indices`,
 * and the number of heavy hitters among them to *heavy (may be NULL). A heavy hitter is a
 * coordinate with
 *
 *     estimate^2 >= ||u||^2 / k,
 *
 * with the estimated ||u||^2. Of more than k, those of the largest |estimate| are taken, ties by
 * lower index. If there are fewer, coordinates drawn at random without repetition from
 * sketch->seed and `iteration` fill up to k: workers with the same sketch choose the same ones. An
 * estimate of zero is never heavy, so that a sketch of zeros gives a random choice and not always
 * the first k. 1 <= k <= n < 2^32.
 *
 * The papers' line reads "estimate >= ||u||^2 / k", without the square, and without the magnitude
 * loses all negative elements; the query in the line above it is of the square. Exact values have
 * at most k heavy hitters, estimates may have more, for which the papers' l = k - |H| is negative.
 */
enum gw_status gw_sketch_heavymix(const struct gw_sketch *sketch, size_t n, size_t k,
                                  uint64_t iteration, struct gw_workspace *workspace,
                                  uint32_t *indices, size_t *heavy, struct gw_error *error);

#endif
