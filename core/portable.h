/*
 * Elementary functions that give the same bits on every machine.
 *
 * libm's do not: its exp and log have variants with and without fused multiply-add, which differ in
 * the last bit, and which of them runs is chosen by the processor. These are made of what IEEE 754
 * rounds in one way only - additions, multiplications, divisions, square roots, moves of bits - and
 * compiled without contraction (-ffp-contract=off, for all rooms).
 */
#ifndef GW_CORE_PORTABLE_H
#define GW_CORE_PORTABLE_H

#include <stddef.h>

/* Of a positive, normal x, within 3 units of the last place; exact for powers of two. */
double gw_portable_log2(double x);

/*
 * Replaces each of `count` numbers by e^x, within 1.5 units of the last place; 0 below -708 and
 * infinite above 709. Vectorised: the bits do not depend on the count.
 */
void gw_portable_exp_each(double *x, size_t count);

/*
 * Replaces each of `count` numbers p, 2^-64 < p < 1, by the x at which a standard normal variable's
 * distribution function is p, to 1e-15 relative: algorithm AS 241 (PPND16) of Wichura, "The
 * percentage points of the normal distribution", Applied Statistics 37, 1988.
 */
void gw_normal_quantile_each(double *p, size_t count);

#endif
