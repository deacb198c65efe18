/* The error of top-k on bell-shaped vectors, and its proven bound. */
#include "tests/kernels/kernels_support.h"

enum { N = 100000, KS = 11 };

static const size_t ks[KS] = {1,     10,    100,   1000,  5000, 10000,
                              20000, 50000, 80000, 99999, N}; /* any order does */

static void fill(float *u, enum gw_shape shape, double freedom, uint64_t stream) {
    draw_gradient(shape, 1e-3, freedom, seed + stream, N, u);
}

/* Squares 16, 9, 4, 1: of 30, 14 are left after one, 5 after two, 1 after three. */
TEST(bounds_by_hand) {
    const float u[] = {-3, 1, 4, -2};
    const size_t some[] = {4, 1, 3, 2};
    const double left[] = {0, 14.0 / 30, 1.0 / 30, 5.0 / 30};
    const double random[] = {0, 0.75, 0.25, 0.5};
    struct gw_bounds bounds[4];
    assert_ok(gw_find_bounds(u, 4, some, 4, bounds, NULL));
    for (size_t i = 0; i < 4; i++) {
        assert_true(near(bounds[i].topk, left[i], 1e-15));
        assert_true(near(bounds[i].random, random[i], 1e-15));
        assert_true(near(bounds[i].proven, random[i] * random[i], 1e-15));
    }
}

/* Theorem 1, for each bell shape; top-k's error falls with k, and is far below the bound. */
TEST(topk_stays_below_its_bound) {
    const struct {
        enum gw_shape shape;
        double freedom;
    } shapes[] = {{GW_SHAPE_NORMAL, 0},  {GW_SHAPE_LAPLACE, 0}, {GW_SHAPE_STUDENT, 2},
                  {GW_SHAPE_STUDENT, 5}, {GW_SHAPE_SPARSE, 0},  {GW_SHAPE_SORTED, 0}};
    float *u = allocate(N, sizeof *u);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        fill(u, shapes[s].shape, shapes[s].freedom, s);
        struct gw_bounds bounds[KS];
        assert_ok(gw_find_bounds(u, N, ks, KS, bounds, NULL));
        for (size_t i = 0; i < KS; i++) {
            assert_true(bounds[i].topk <= bounds[i].proven && bounds[i].topk >= 0);
            assert_true(bounds[i].proven <= bounds[i].random);
            assert_true(i == 0 || bounds[i].topk <= bounds[i - 1].topk);
        }
    }
    free(u);
}

/*
 * The share of a normal vector's square below |x| = z is erf(z / sqrt 2) - 2 z phi(z), and z is
 * 1.6448536 for k / d = 0.1. Of an even slope (1 - k / d)^3 is left.
 */
TEST(errors_are_those_of_the_distributions) {
    float *u = allocate(N, sizeof *u);
    struct gw_bounds bounds;
    const double z = 1.6448536269514722;
    const double phi = exp(-z * z / 2) / sqrt(2 * acos(-1.0));
    fill(u, GW_SHAPE_NORMAL, 0, 0);
    assert_ok(gw_find_bounds(u, N, &ks[5], 1, &bounds, NULL));
    assert_true(near(bounds.topk, 0.9 - 2 * z * phi, 0.02)); /* 0.561 */
    fill(u, GW_SHAPE_SORTED, 0, 0);
    assert_ok(gw_find_bounds(u, N, &ks[7], 1, &bounds, NULL));
    assert_true(near(bounds.topk, 0.125, 1e-4));
    free(u);
}

/* All equal: 1 - k / d is left, more than (1 - k / d)^2. The theorem does not speak of it. */
TEST(a_constant_is_above_the_bound) {
    float *u = allocate(N, sizeof *u);
    fill(u, GW_SHAPE_CONSTANT, 0, 0);
    struct gw_bounds bounds[KS];
    assert_ok(gw_find_bounds(u, N, ks, KS, bounds, NULL));
    for (size_t i = 0; i + 1 < KS; i++) {
        assert_true(near(bounds[i].topk, bounds[i].random, 1e-9));
        assert_true(bounds[i].topk > bounds[i].proven);
    }
    free(u);
}

TEST(zeros_and_numbers_that_are_not_finite) {
    float u[] = {0, 0, 0};
    const size_t k = 1;
    struct gw_bounds bounds;
    assert_ok(gw_find_bounds(u, 3, &k, 1, &bounds, NULL));
    assert_true(near(bounds.topk, 0, 0));
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        struct gw_error error = {0};
        u[1] = bad[i];
        assert_int_equal(gw_find_bounds(u, 3, &k, 1, &bounds, &error), GW_BAD_INPUT);
        assert_non_null(strstr(error.message, "element 1 of 3"));
    }
}
