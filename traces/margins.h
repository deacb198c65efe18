/*
 * Margins of curves: for measured ones, from their repeats and their fit; for those made of
 * published figures, as stated in the file.
 */
#ifndef GW_TRACES_MARGINS_H
#define GW_TRACES_MARGINS_H

#include "core/core.h"

/*
 * Relative change of a curve's times from one calibration to the next, and from a calibration to a
 * job, in 95% of cases: of collectives, and of compressors and aggregators. Found on two models and
 * judged on two others (docs/results/validation.md).
 */
#define GW_COLLECTIVE_MARGIN 0.04
#define GW_KERNEL_MARGIN 0.5

/* ---- measured sizes -------------------------------------------------------------------------- */

/* A size that was measured: bytes or elements, and times; NAN: not given. */
struct gw_raw_size {
    double size, median_s, low_s, high_s; /* the median with its 95% interval */
    double p5_s, p95_s;                   /* percentiles */
    double rows;                          /* of an imported median, which is their mean */
};

/* The measured sizes of a curve; all 0: none. */
struct gw_raw {
    size_t count, capacity;
    struct gw_raw_size *sizes; /* owned */
    double held_out_error;     /* relative, of the curve at sizes left out; NAN: not given */
};

/* Reads "raw" of an entry of a cluster file, and what its "fit" says of the curve; numbers that are
 * none count as not given. */
enum gw_status gw_raw_read(const cJSON *entry, struct gw_raw *out, struct gw_error *error);

/* ---- margins --------------------------------------------------------------------------------- */

/* Halves of 95% intervals, relative to the curve's times, by ascending sizes; all 0: none. */
struct gw_margins {
    size_t count;
    struct gw_curve_point *medians; /* [count], owned; of stated margins their sizes alone */
    double *relative;               /* [count]; allocated with the medians, like line_off_s */
    double elsewhere;               /* a part of `relative` that is one for all sizes */
    /* For measured curves, the time at size zero and at the smallest size, in seconds; 0: stated
     * margins, which hold beyond their ends. */
    double startup_s, first_s;
    /* Points that extrapolate the curve beyond the last size (none, two or more): the last medians,
     * and their possible errors in seconds. */
    size_t line_count;
    const struct gw_curve_point *line;
    double *line_off_s;
};

/*
 * Finds the margins of an entry of a cluster file, whose curve is `curve` and whose measured sizes
 * are `raw`. Without these, the margins are its "uncertainty": pairs of sizes and margins; without
 * either there are none. At a measured size the margin combines, as independent errors, `elsewhere`
 * (a constant above), half of the interval, and twice the larger of two distances: the curve's from
 * the median, and a quarter of the curve's from the line between the neighbouring sizes, which is a
 * smooth curve's error halfway between sizes. A median without an interval, an imported one for
 * example, counts as exact.
 */
enum gw_status gw_margins_read(const cJSON *entry, const struct gw_raw *raw,
                               const struct gw_curve *curve, double elsewhere,
                               struct gw_margins *out, struct gw_error *error);
void gw_margins_free(struct gw_margins *margins);

/*
 * Returns the margin at a size: the larger of those at the neighbouring sizes. Beyond the largest a
 * curve follows the line through its last points (core/regression.h), or, if it ends at the last of
 * them or these are too few, through the last two. In a least-squares line each point's time t_i
 * has the weight w_i(x) = 1/k + (x - s) (s_i - s) / sum of (s_j - s)^2, with s the mean of sizes;
 * and so have its errors, the margin m_i without `elsewhere` and the distance d_i from the line:
 *
 *     hypot(elsewhere, sum of |w_i(x)| hypot(m_i t_i, d_i) / sum of w_i(x) t_i)
 *
 * gw_margins_distance adds to that, and below the smallest size to its margin, as an independent
 * error. Beyond stated margins the first and the last one hold. 0: no margins.
 */
double gw_margins_at(const struct gw_margins *margins, double size);

/*
 * Returns the error of extrapolating a curve to a size x beyond all measured sizes; 0 among them.
 * Let r >= 1 be the ratio of x and the nearest measured size, whose time is t. The curve is off by
 * a factor of at most sqrt(r): the logarithmic middle between a time that is constant and one that
 * is proportional to the size. If the curve's value c at x is near one of these bounds, it is off
 * by a smaller factor:
 *
 *     t / c                        below the smallest size: no smaller message takes longer
 *     max(r t / c, c / (r t))      above the largest: of time in proportion nothing else comes;
 *                                  r^0.02 at least
 *
 * Below a largest size of GW_MARGINS_FEWEST_LONG the factor above it is sqrt(r): such sizes measure
 * startups, eager messages and caches, no bandwidth. margins_test checks the factors.
 */
#define GW_MARGINS_FEWEST_LONG (256 << 10) /* bytes or elements */
double gw_margins_distance(const struct gw_margins *margins, double size);

/* Returns the largest measured size if it is below GW_MARGINS_FEWEST_LONG, else 0. */
double gw_margins_largest_short(const struct gw_margins *margins);

#endif
