/* Plans and the contract's arithmetic a second time, from its text and in long double. */
#ifndef GW_TESTS_PLANNER_DEFINITION_H
#define GW_TESTS_PLANNER_DEFINITION_H

#include <math.h>

#include "planner/planner.h"

/* Groups from marks: ends[l] says that tensor l closes its group. Returns how many. */
static inline size_t groups_of(const bool *ends, size_t tensor_count, struct gw_group *groups) {
    size_t count = 0;
    size_t first = tensor_count - 1;
    for (size_t l = tensor_count; l-- > 0;) {
        if (ends[l] || l == 0) {
            groups[count++] = (struct gw_group){.first = first, .last = l};
            first = l - 1;
        }
    }
    return count;
}

static inline long double curve_by_definition(const struct gw_curve *curve, long double n) {
    if (n == 0) {
        return 0;
    }
    if (curve->point_count == 0) {
        return curve->fixed_s + curve->per_unit_s * n + curve->per_nlog2n_s * n * log2l(n);
    }
    size_t i = 1;
    while (i + 1 < curve->point_count && curve->points[i].size < n) {
        i++;
    }
    const struct gw_curve_point *a = &curve->points[i - 1];
    const struct gw_curve_point *b = &curve->points[i];
    if (n > b->size && b->time_s < a->time_s) {
        return b->time_s; /* beyond the points no curve falls */
    }
    return fmaxl(0, (a->time_s * (b->size - n) + b->time_s * (n - a->size)) /
                        ((long double)b->size - a->size));
}

/* `ends` says of each tensor whether it closes its group; tensor 0 always does. */
static inline long double iteration_by_definition(const struct gw_costs *costs, const bool *ends) {
    const struct gw_model *model = costs->model;
    long double compute = model->forward_s;
    long double communication = 0;
    double elements =
        0; /* exact up to 2^53, and rho * n is rounded as the contract's numbers are */
    for (size_t l = model->tensor_count; l-- > 0;) {
        compute += model->tensors[l].backward_s;
        elements += (double)model->tensors[l].elements;
        if (!ends[l] && l > 0) {
            continue;
        }
        double bytes = (double)model->bytes_per_element * elements;
        if (gw_costs_compress(costs)) {
            compute += curve_by_definition(&costs->compress, elements);
            bytes = 8 * fmax(1, floor(costs->way.density * elements));
        }
        communication =
            fmaxl(compute, communication) + curve_by_definition(&costs->exchange, bytes);
        elements = 0;
    }
    return fmaxl(compute, communication) + model->update_s;
}

#endif
