#include "planner/rest.h"

#include <math.h>

/* Sums of many times may be rounded down by less than this share. */
static const double rounding = 1e-11;

static double smallest_tensor(const uint64_t *elements, size_t count) {
    uint64_t smallest = elements[1] - elements[0];
    for (size_t p = 1; p < count; p++) {
        uint64_t n = elements[p + 1] - elements[p];
        smallest = n < smallest ? n : smallest;
    }
    return (double)smallest;
}

/*
 * The least of time(i * unit) / (i + over) over whole numbers i in [low, high]. On a straight piece
 * of the curve that ratio is monotone, so that it is least at a piece's first or last i.
 */
static double least_ratio(const struct gw_curve *curve, double unit, double over, double low,
                          double high) {
    double least = fmin(gw_curve_time(curve, low * unit) / (low + over),
                        gw_curve_time(curve, high * unit) / (high + over));
    for (size_t point = 0; point < curve->point_count; point++) {
        double below = floor(curve->points[point].size / unit);
        for (int above = 0; above <= 1; above++) {
            double i = below + above;
            if (i > low && i < high) {
                least = fmin(least, gw_curve_time(curve, i * unit) / (i + over));
            }
        }
    }
    return least;
}

static void in_proportion(const uint64_t *elements, size_t count, double per_element_s,
                          double *least_s) {
    for (size_t p = 0; p <= count; p++) {
        least_s[p] = (double)(elements[count] - elements[p]) * per_element_s * (1 - rounding);
    }
}

void gw_rest_compress_s(const struct gw_planning *planning, const uint64_t *elements,
                        double *least_s) {
    const struct gw_curve *curve = planning->compress;
    size_t count = planning->model->tensor_count;
    if (curve == NULL) {
        in_proportion(elements, count, 0, least_s);
        return;
    }
    if (curve->point_count > 0) {
        double low = smallest_tensor(elements, count);
        in_proportion(elements, count, least_ratio(curve, 1, 0, low, (double)elements[count]),
                      least_s);
        return;
    }
    /* n and n log2 n never cost less together than apart; the startup is paid once at least. */
    double apart_s = 0;
    least_s[count] = 0;
    for (size_t p = count; p-- > 0;) {
        double n = (double)(elements[p + 1] - elements[p]);
        apart_s += gw_curve_time(curve, n) - curve->fixed_s;
        least_s[p] = (apart_s + curve->fixed_s) * (1 - rounding);
    }
}

void gw_rest_exchange_s(const struct gw_planning *planning, const uint64_t *elements,
                        double *least_s) {
    struct gw_curve straight = *planning->exchange;
    straight.per_nlog2n_s = 0; /* leaving it out is less still */
    size_t count = planning->model->tensor_count;
    bool sparse = planning->compress != NULL;
    double whole = (double)elements[count];
    double low = smallest_tensor(elements, count);
    /* A sparse group of n elements sends i entries with n < (i + 1) / density. */
    double unit = (double)gw_exchange_bytes(sparse, planning->model->bytes_per_element, 1, 1);
    double share = sparse ? planning->density : 1;
    if (straight.point_count == 0 && (!sparse || straight.fixed_s >= straight.per_unit_s * unit)) {
        /* One group is best: another costs a startup and saves less than one entry. */
        least_s[count] = 0;
        for (size_t p = 0; p < count; p++) {
            double entries = share * (double)(elements[count] - elements[p]) - (sparse ? 1 : 0);
            least_s[p] =
                (straight.fixed_s + straight.per_unit_s * unit * fmax(entries, 0)) * (1 - rounding);
        }
        return;
    }
    if (sparse) {
        low = (double)gw_elements_kept((uint64_t)low, share);
        whole = (double)gw_elements_kept(elements[count], share);
    }
    in_proportion(elements, count, share * least_ratio(&straight, unit, sparse ? 1 : 0, low, whole),
                  least_s);
}
