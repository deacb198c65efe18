/*
 * Elementary functions with the same bits on every machine.
 *
 * libm's differ: its exp and log have variants with and without fused multiply-add, which differ in
 * the last bit, and the processor determines the variant. These use only operations that IEEE 754
 * rounds in one way - additions, multiplications, divisions, square roots, moves of bits - and are
 * compiled without contraction (-ffp-contract=off, for all rooms).
 */
#ifndef GW_CORE_PORTABLE_H
#define GW_CORE_PORTABLE_H

#include <stddef.h>

/* log2 of a positive, normal x, within 3 units of the last place; exact for powers of two. */
double gw_portable_log2(double x);

/* Replaces each of `count` numbers by e^x, within 1.5 units of the last place; 0 below -708 and
 * infinite above 709. Vectorised: the bits do not depend on the count. */
void gw_portable_exp_each(double *x, size_t count);

/*
 * Replaces each of `count` numbers p, 2^-64 < p < 1, by the p-quantile of the standard normal
 * distribution, to 1e-15 relative: algorithm AS 241 (PPND16) of Wichura, "The percentage points of
 * the normal distribution", Applied Statistics 37, 1988.
 */
void gw_normal_quantile_each(double *p, size_t count);

#endif
