/*
 * Random plannings of every kind that an input file can describe. Some lie on a grid of exact
 * binary fractions, where ties happen and sums have no rounding.
 */
#ifndef GW_TESTS_PLANNER_CASES_H
#define GW_TESTS_PLANNER_CASES_H

#include <math.h>

#include "planner/planner.h"

enum { most_tensors = 60, most_points = 12 };

struct planning_case {
    struct gw_planning planning;
    struct gw_model model;
    struct gw_tensor tensors[most_tensors];
    struct gw_curve compress, exchange;
    struct gw_curve_point compress_points[most_points], exchange_points[most_points];
};

static inline double between(struct gw_random *random, double low, double high) {
    return low + (high - low) * gw_random_uniform(random);
}

static inline double power_between(struct gw_random *random, double low, double high) {
    return exp(between(random, log(low), log(high)));
}

/*
 * Times at `count` sizes up to `largest`, where they are about
 * `scale_s`: rising, bent or at random.
 */
static inline void make_points(struct gw_random *random, double largest, double scale_s,
                               struct gw_curve_point *points, struct gw_curve *out) {
    const double bends[] = {0.3, 1, 1.7};
    size_t count = 2 + gw_random_below(random, most_points - 1);
    size_t shape = gw_random_below(random, 4);
    double size = power_between(random, 1, largest / 4);
    for (size_t i = 0; i < count; i++) {
        double share = shape < 3 ? pow(size / largest, bends[shape]) : gw_random_uniform(random);
        points[i] = (struct gw_curve_point){.size = size, .time_s = scale_s * share};
        size *= 1 + between(random, 0.1, 1.5);
    }
    *out = (struct gw_curve){.point_count = count, .points = points};
}

static inline void make_curve(struct gw_random *random, double largest,
                              struct gw_curve_point *points, struct gw_curve *out) {
    double startup_s = power_between(random, 1e-4, 0.3);
    double scale_s = power_between(random, 1e-3, 3);
    *out = (struct gw_curve){0};
    switch (gw_random_below(random, 8)) {
    case 0:
        break;
    case 1:
        out->fixed_s = startup_s;
        break;
    case 2:
        out->per_unit_s = scale_s / largest;
        break;
    case 3:
        out->fixed_s = gw_random_below(random, 2) ? startup_s : 0;
        out->per_nlog2n_s = scale_s / (largest * log2(largest + 1));
        break;
    case 4:
    case 5:
        out->fixed_s = startup_s;
        out->per_unit_s = scale_s / largest;
        break;
    default:
        make_points(random, largest, scale_s, points, out);
    }
}

static inline void make_grid_curve(struct gw_random *random, struct gw_curve *out) {
    *out = (struct gw_curve){.fixed_s = (double)gw_random_below(random, 16) / 64,
                             .per_unit_s = (double)gw_random_below(random, 16) / 1024};
}

static inline void make_tensors(struct gw_random *random, bool on_grid, struct planning_case *out) {
    double most_elements = power_between(random, 4, 1e7);
    double longest_s = power_between(random, 1e-3, 3) / (double)out->model.tensor_count;
    bool equal = gw_random_below(random, 5) == 0;
    for (size_t i = 0; i < out->model.tensor_count; i++) {
        struct gw_tensor *tensor = &out->tensors[i];
        tensor->elements = (uint64_t)power_between(random, 1, most_elements);
        tensor->backward_s = gw_random_below(random, 8) == 0 ? 0 : between(random, 0, longest_s);
        if (on_grid) {
            tensor->elements = 1 + gw_random_below(random, 8);
            tensor->backward_s = (double)gw_random_below(random, 8) / 64;
        }
        if (equal && i > 0) {
            *tensor = out->tensors[0];
        }
    }
}

/* The pointers in *out point into it: it must stay where it is. */
static inline void make_case(struct gw_random *random, size_t tensor_count,
                             struct planning_case *out) {
    const double densities[] = {1, 0.5, 0.25, 0.001, power_between(random, 1e-4, 1)};
    bool on_grid = gw_random_below(random, 4) == 0;
    bool dense = gw_random_below(random, 2) == 0;
    *out = (struct planning_case){0};
    out->model = (struct gw_model){.name = "random",
                                   .bytes_per_element = UINT64_C(1) << gw_random_below(random, 4),
                                   .forward_s = on_grid ? (double)gw_random_below(random, 64) / 64
                                                        : between(random, 0, 1),
                                   .update_s = gw_random_below(random, 2) ? 0 : 0.125,
                                   .tensor_count = tensor_count,
                                   .tensors = out->tensors};
    make_tensors(random, on_grid, out);
    out->planning = (struct gw_planning){.model = &out->model,
                                         .workers = 16,
                                         .compressor = dense ? "none" : "topk",
                                         .density = densities[gw_random_below(random, 5)],
                                         .compress = dense ? NULL : &out->compress,
                                         .exchange = &out->exchange};
    uint64_t all = gw_model_elements(&out->model);
    if (on_grid) {
        make_grid_curve(random, &out->compress);
        make_grid_curve(random, &out->exchange);
    } else {
        make_curve(random, (double)all + 8, out->compress_points, &out->compress);
        make_curve(random, (double)gw_planning_bytes(&out->planning, all) + 8, out->exchange_points,
                   &out->exchange);
    }
}

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

#endif
