/*
 * How well a curve is known: of one that was measured, what its repeats and its fit leave open; of
 * one that was made of published figures, what its file says.
 */
#ifndef GW_TRACES_MARGINS_H
#define GW_TRACES_MARGINS_H

#include "core/core.h"

/*
 * What a curve that was measured once is off by from one calibration to the next, and in a job from
 * what it was in a calibration, in 95% of cases, relative to its times: of collectives, and of
 * compressors and aggregators. Found on two models and judged on two others
 * (docs/results/validation.md).
 */
#define GW_COLLECTIVE_MARGIN 0.04
#define GW_KERNEL_MARGIN 0.5

/* Halves of 95% intervals, relative to the curve's times, by ascending sizes; all 0: none. */
struct gw_margins {
    size_t count;
    struct gw_curve_point *medians; /* [count], owned; of stated margins their sizes alone */
    double *relative;               /* [count], behind the medians, as is line_off_s */
    double elsewhere;               /* a part of `relative` that is one for all sizes */
    /* Of what was measured, the curve at size zero and at the smallest size, in seconds; 0: stated
     * margins, which hold beyond their ends. */
    double startup_s, first_s;
    /*
     * Points through which the curve goes on beyond the last size (none, two or more): the last
     * medians, and how far off each may be in seconds.
     */
    size_t line_count;
    const struct gw_curve_point *line;
    double *line_off_s;
};

/*
 * Of an entry of a cluster file, whose "raw" has its sizes as "bytes" or "elements" (`unit`), each
 * with its median and that one's 95% interval; the curve is the entry's. Without "raw" it is the
 * entry's "uncertainty", if it has one: pairs of sizes and margins. None without either. At a
 * measured size the margin is, as for independent errors, `elsewhere` (one of those above),
 * half of the interval, and twice the larger of what the curve is off from the median, and a
 * quarter of what the curve is off there from the line between the neighbouring sizes: halfway
 * between measured sizes a smooth curve is off by so much. A median without an interval, as of what
 * was imported, counts as one of no width.
 */
enum gw_status gw_margins_read(const cJSON *entry, const char *unit, const struct gw_curve *curve,
                               double elsewhere, struct gw_margins *out, struct gw_error *error);
void gw_margins_free(struct gw_margins *margins);

/*
 * The larger of those at the sizes around. Beyond all that were measured a curve goes on along the
 * line through its last points (core/regression.h), or, where it ends at the last of them or these
 * are too few, through the last two. Of a line by least squares each point's time t_i has the
 * weight w_i(x) = 1/k + (x - s) (s_i - s) / sum of (s_j - s)^2, with s the mean of sizes; and so
 * has what it may be off, its margin m_i without `elsewhere` and its distance d_i from the line:
 *
 *     hypot(elsewhere, sum of |w_i(x)| hypot(m_i t_i, d_i) / sum of w_i(x) t_i)
 *
 * To that, and below the smallest size to its margin, gw_margins_distance is added as independent
 * errors are. Beyond stated margins the first and the last one hold. 0: there are none.
 */
double gw_margins_at(const struct gw_margins *margins, double size);

/*
 * How far off a curve may be because x lies beyond all measured sizes; 0 among them. With r >= 1
 * from the nearest of them, whose time is t, to x, the curve is off by a factor of at most sqrt(r):
 * the middle, on a logarithmic scale, between a time that does not change with the size and one
 * that is proportional to it. It is off by less where c, the curve's own value at x, lies near to
 * the one of the two that bounds it, by a factor of
 *
 *     t / c                        below the smallest size: no smaller message takes longer
 *     max(r t / c, c / (r t))      above the largest: of time in proportion nothing else comes;
 *                                  r^0.02 at least
 *
 * Above a largest size of less than GW_MARGINS_FEWEST_LONG only sqrt(r) stands: such sizes tell of
 * startups, eager messages and caches, and of no bandwidth. How often that holds: margins_test.
 */
#define GW_MARGINS_FEWEST_LONG (256 << 10) /* bytes or elements */
double gw_margins_distance(const struct gw_margins *margins, double size);

/* Largest measured size if it is too small to tell of bandwidth (GW_MARGINS_FEWEST_LONG), else 0.
 */
double gw_margins_largest_short(const struct gw_margins *margins);

#endif
