/*
 * Random plannings of every kind that an input file can describe. Some lie on a grid of exact
 * binary fractions, where ties happen and sums have no rounding.
 */
#ifndef GW_TESTS_PLANNER_CASES_H
#define GW_TESTS_PLANNER_CASES_H

#include <math.h>

#include "planner/planner.h"
#include "tests/planner/planner_definition.h"

enum { usual_tensors = 60, most_tensors = 300, most_points = 12 };

/* Shapes of cost curves. */
enum shape {
    shape_free,
    shape_startup,
    shape_slope,
    shape_straight,
    shape_nlogn,
    shape_nlogn_startup,
    shape_rising_points,
    shape_any_points,
    shape_steep_points,
    shape_count,
};

struct planning_case {
    struct gw_costs costs;
    struct gw_model model;
    struct gw_tensor tensors[most_tensors];
    struct gw_curve_point compress_points[most_points], exchange_points[most_points];
};

static inline double between(struct gw_random *random, double low, double high) {
    return low + (high - low) * gw_random_uniform(random);
}

static inline double power_between(struct gw_random *random, double low, double high) {
    return exp(between(random, log(low), log(high)));
}

/*
 * Times at some sizes up to `largest`, where they are about `scale_s`: rising and bent, at random,
 * or at random over many powers of ten.
 */
static inline void make_points(struct gw_random *random, enum shape shape, double largest,
                               double scale_s, struct gw_curve_point *points,
                               struct gw_curve *out) {
    const double bends[] = {0.3, 1, 1.7};
    size_t count = 2 + gw_random_below(random, most_points - 1);
    double bend = bends[gw_random_below(random, 3)];
    double size = power_between(random, 1, largest / 4);
    for (size_t i = 0; i < count; i++) {
        double share = gw_random_uniform(random);
        if (shape == shape_rising_points) {
            share = pow(size / largest, bend);
        } else if (shape == shape_steep_points) {
            share = power_between(random, 1e-6, 1e15);
        }
        points[i] = (struct gw_curve_point){.size = size, .time_s = scale_s * share};
        size *= 1 + between(random, 0.1, 1.5);
    }
    *out = (struct gw_curve){.point_count = count, .points = points};
}

static inline void make_curve(struct gw_random *random, enum shape shape, double largest,
                              struct gw_curve_point *points, struct gw_curve *out) {
    double startup_s = power_between(random, 1e-4, 0.3);
    double scale_s = power_between(random, 1e-3, 3);
    *out = (struct gw_curve){0};
    if (shape == shape_rising_points || shape == shape_any_points || shape == shape_steep_points) {
        make_points(random, shape, largest, scale_s, points, out);
        return;
    }
    if (shape == shape_startup || shape == shape_straight || shape == shape_nlogn_startup) {
        out->fixed_s = startup_s;
    }
    if (shape == shape_slope || shape == shape_straight) {
        out->per_unit_s = scale_s / largest;
    }
    if (shape == shape_nlogn || shape == shape_nlogn_startup) {
        out->per_nlog2n_s = scale_s / (largest * log2(largest + 1));
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

/* A model and what goes with it, still without curves. */
static inline void make_planning(struct gw_random *random, size_t tensor_count, bool on_grid,
                                 bool dense, struct planning_case *out) {
    const double densities[] = {1, 0.5, 0.25, 0.001, power_between(random, 1e-4, 1)};
    *out = (struct planning_case){0};
    out->model = (struct gw_model){.name = "random",
                                   .bytes_per_element = UINT64_C(1) << gw_random_below(random, 4),
                                   .forward_s = on_grid ? (double)gw_random_below(random, 64) / 64
                                                        : between(random, 0, 1),
                                   .update_s = gw_random_below(random, 2) ? 0 : 0.125,
                                   .tensor_count = tensor_count,
                                   .tensors = out->tensors};
    make_tensors(random, on_grid, out);
    out->costs =
        (struct gw_costs){.model = &out->model,
                          .workers = 16,
                          .way.compressor = dense ? &gw_compressor_none : &gw_compressor_topk,
                          .way.density = densities[gw_random_below(random, 5)]};
}

/* With curves of given shapes. The pointers in *out point into it: it must stay where it is. */
static inline void make_shaped_case(struct gw_random *random, size_t tensor_count, bool dense,
                                    enum shape compress, enum shape exchange,
                                    struct planning_case *out) {
    make_planning(random, tensor_count, false, dense, out);
    uint64_t all = gw_model_elements(&out->model);
    make_curve(random, compress, (double)all + 8, out->compress_points, &out->costs.compress);
    make_curve(random, exchange, (double)gw_costs_bytes(&out->costs, all) + 8, out->exchange_points,
               &out->costs.exchange);
}

/* On the grid: what is equal by the arithmetic is equal to the last bit. */
static inline void make_grid_case(struct gw_random *random, size_t tensor_count, bool dense,
                                  struct planning_case *out) {
    make_planning(random, tensor_count, true, dense, out);
    make_grid_curve(random, &out->costs.compress);
    make_grid_curve(random, &out->costs.exchange);
}

/* Makes a case of any kind. */
static inline void make_case(struct gw_random *random, size_t tensor_count,
                             struct planning_case *out) {
    bool dense = gw_random_below(random, 2) == 0;
    if (gw_random_below(random, 4) == 0) {
        make_grid_case(random, tensor_count, dense, out);
    } else {
        enum shape compress = (enum shape)gw_random_below(random, shape_count);
        enum shape exchange = (enum shape)gw_random_below(random, shape_count);
        make_shaped_case(random, tensor_count, dense, compress, exchange, out);
    }
}

/* The plan of an even number below 2^tensors: groups end at its ones. */
static inline size_t groups_of_number(size_t number, size_t tensor_count, struct gw_group *groups) {
    bool ends[most_tensors] = {false};
    for (size_t l = 1; l < tensor_count; l++) {
        ends[l] = (number >> l & 1) != 0;
    }
    return groups_of(ends, tensor_count, groups);
}

static inline double best_of_all_plans(const struct planning_case *x) {
    double best = INFINITY;
    size_t tensor_count = x->model.tensor_count;
    for (size_t plan = 0; plan < (size_t)1 << tensor_count; plan += 2) {
        struct gw_group groups[most_tensors];
        size_t count = groups_of_number(plan, tensor_count, groups);
        best = fmin(best, gw_plan_iteration_s(&x->costs, groups, count));
    }
    return best;
}

#endif
