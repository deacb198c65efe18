/* What compressors that find a threshold share; private to kernels/. */
#ifndef GW_KERNELS_THRESHOLD_H
#define GW_KERNELS_THRESHOLD_H

#include <math.h>

#include "kernels/kernels.h"
#include "kernels/scan_order.h"

/*
 * Each of the functions here is one pass over u. What they give is the same to the last bit on
 * every processor, with any number of threads and on a GPU, as sums are made in a fixed order; the
 * references, from definitions and in long double, differ from that by rounding. GW_BAD_INPUT if u
 * holds a NaN.
 */

/* Adds the gradient, if there is one, one by one. GW_BAD_INPUT if that gives a NaN. */
enum gw_status gw_threshold_accumulate_reference(const struct gw_task *task,
                                                 struct gw_error *error);

/* Of u: the deviation of the whole, not of a sample. */
struct gw_moments_of_u {
    double mean, deviation;
};

/* From the sum of n elements and that of their squares. */
GW_ON_BOTH static inline struct gw_moments_of_u gw_moments_from(double sum, double squares,
                                                                double n) {
    struct gw_moments_of_u moments;
    moments.mean = sum / n;
    moments.deviation = sqrt(fmax(squares / n - moments.mean * moments.mean, 0.0));
    return moments;
}

/* Adds the gradient first. */
enum gw_status gw_threshold_moments(const struct gw_task *task, struct gw_moments_of_u *out,
                                    struct gw_error *error);
enum gw_status gw_threshold_moments_reference(const struct gw_task *task,
                                              struct gw_moments_of_u *out, struct gw_error *error);

/* Of the elements with |u| >= a threshold. */
struct gw_exceedances {
    size_t count;
    double sum, largest; /* of |u| */
};

/* Adds the gradient first if `adding`. */
enum gw_status gw_threshold_exceed(const struct gw_task *task, double threshold, bool adding,
                                   struct gw_exceedances *out, struct gw_error *error);
enum gw_status gw_threshold_exceed_reference(const struct gw_task *task, double threshold,
                                             bool adding, struct gw_exceedances *out,
                                             struct gw_error *error);

enum { GW_MOST_THRESHOLDS = 16 };

/* counts[j]: the elements with |u| >= thresholds[j], j < `count`; adds nothing. */
enum gw_status gw_threshold_count(const struct gw_task *task, const double *thresholds,
                                  size_t count, size_t *counts, struct gw_error *error);

/*
 * One pass: selects |u| >= threshold; adds the gradient first if `adding`. GW_BAD_INPUT if u holds
 * a NaN.
 */
enum gw_status gw_threshold_select(const struct gw_task *task, double threshold, bool adding,
                                   struct gw_selection *out, struct gw_error *error);
enum gw_status gw_threshold_select_reference(const struct gw_task *task, double threshold,
                                             bool adding, struct gw_selection *out,
                                             struct gw_error *error);

/* The same of u[begin..end) alone, where the gradient is added. */
enum gw_status gw_threshold_select_range(const struct gw_task *task, size_t begin, size_t end,
                                         double threshold, struct gw_selection *out,
                                         struct gw_error *error);

#endif
