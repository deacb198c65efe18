/*
 * Series of gradients: their distributions against GSL's, their scales, and that they can be
 * repeated.
 */
#include <gsl/gsl_cdf.h>

#include "tests/kernels/kernels_support.h"

enum { N = 100000 };

static struct gw_gradients_spec spec_of(enum gw_shape shape, const size_t *sizes,
                                        size_t tensor_count) {
    return (struct gw_gradients_spec){.shape = shape,
                                      .scale = 1,
                                      .freedom = 2,
                                      .drift = 1,
                                      .sizes = sizes,
                                      .tensor_count = tensor_count,
                                      .seed = seed};
}

static void fill(const struct gw_gradients_spec *spec, uint32_t iteration, float *out) {
    struct gw_gradients *gradients = NULL;
    assert_ok(gw_gradients_open(&gradients, spec, NULL));
    gw_gradients_fill(gradients, iteration, out);
    gw_gradients_close(gradients);
}

static double scale_of(const struct gw_gradients_spec *spec, size_t tensor, uint32_t iteration) {
    struct gw_gradients *gradients = NULL;
    assert_ok(gw_gradients_open(&gradients, spec, NULL));
    double scale = gw_gradients_scale(gradients, tensor, iteration);
    gw_gradients_close(gradients);
    return scale;
}

/* ---- distributions ------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a;
    float y = *(const float *)b;
    return (x > y) - (x < y);
}

typedef double cdf(double x, double parameter);

/*
 * Kolmogorov and Smirnov: sqrt(n) sup |F_n - F|, of which values above 2.5 have a probability of
 * 2 exp(-2 2.5^2) = 7e-6. Sorts.
 */
static double distance(float *values, size_t n, cdf *expected, double parameter) {
    qsort(values, n, sizeof *values, ascending);
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        double at = expected(values[i], parameter);
        largest = fmax(largest, fmax(at - (double)i / (double)n, (double)(i + 1) / (double)n - at));
    }
    return largest * sqrt((double)n);
}

TEST(distributions_are_those_of_gsl) {
    const struct {
        enum gw_shape shape;
        double freedom, scale;
        cdf *expected;
        double parameter;
    } cases[] = {
        {GW_SHAPE_NORMAL, 0, 0.25, gsl_cdf_gaussian_P, 0.25},
        {GW_SHAPE_LAPLACE, 0, 3, gsl_cdf_laplace_P, 3},
        {GW_SHAPE_STUDENT, 2, 1, gsl_cdf_tdist_P, 2},
        {GW_SHAPE_STUDENT, 0.7, 1, gsl_cdf_tdist_P, 0.7},
        {GW_SHAPE_STUDENT, 5, 1, gsl_cdf_tdist_P, 5},
        {GW_SHAPE_STUDENT, 1e6, 1, gsl_cdf_tdist_P, 1e6},
    };
    const size_t n = N;
    float *values = allocate(N, sizeof *values);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_gradients_spec spec = spec_of(cases[i].shape, &n, 1);
        spec.freedom = cases[i].freedom;
        spec.scale = cases[i].scale;
        for (uint32_t iteration = 0; iteration < 2; iteration++) {
            fill(&spec, iteration, values);
            double far = distance(values, N, cases[i].expected, cases[i].parameter);
            if (far > 2.5) {
                fail_msg("case %zu, iteration %u: distance %g", i, iteration, far);
            }
        }
    }
    free(values);
}

TEST(filled_gradients_are_normal) {
    float *values = allocate(N, sizeof *values);
    assert_ok(gw_gradient_fill(values, N, 0.25, seed, 8, NULL));
    assert_true(distance(values, N, gsl_cdf_gaussian_P, 0.25) < 2.5);
    free(values);
}

TEST(sparse_gradients_are_normal_but_for_zeros) {
    const size_t n = N;
    float *values = allocate(N, sizeof *values);
    struct gw_gradients_spec spec = spec_of(GW_SHAPE_SPARSE, &n, 1);
    fill(&spec, 0, values);
    size_t others = 0;
    for (size_t i = 0; i < N; i++) {
        if (values[i] < 0 || values[i] > 0) {
            values[others++] = values[i];
        }
    }
    assert_true(fabs((double)others - 0.1 * N) < 6 * sqrt(0.09 * N));
    assert_true(distance(values, others, gsl_cdf_gaussian_P, 1) < 2.5);
    free(values);
}

TEST(constant_and_sorted_gradients) {
    const size_t sizes[] = {4, 1};
    const float sorted[] = {-1.5f, -0.5f, 0.5f, 1.5f, 0};
    float values[5];
    struct gw_gradients_spec spec = spec_of(GW_SHAPE_CONSTANT, sizes, 2);
    spec.scale = 2;
    fill(&spec, 0, values);
    for (size_t i = 0; i < 5; i++) {
        assert_true(near((double)values[i], 2, 0));
    }
    spec.shape = GW_SHAPE_SORTED;
    fill(&spec, 0, values);
    for (size_t i = 0; i < 5; i++) {
        assert_true(near((double)values[i], (double)sorted[i], 1e-7));
    }
}

/* Neighbours, and the same elements of another worker, iteration or tensor: 1 / sqrt(n) apart. */
static double correlation(const float *a, const float *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)a[i] * (double)b[i];
    }
    return sum / sqrt((double)n);
}

TEST(elements_are_independent) {
    const size_t sizes[] = {N, N};
    float *a = allocate((size_t)2 * N, sizeof *a);
    float *b = allocate((size_t)2 * N, sizeof *b);
    struct gw_gradients_spec spec = spec_of(GW_SHAPE_NORMAL, sizes, 2);
    fill(&spec, 7, a);
    assert_true(fabs(correlation(a, a + N, N)) < 6);
    for (size_t lag = 1; lag < 4; lag++) {
        assert_true(fabs(correlation(a, a + lag, N)) < 6);
    }
    fill(&spec, 8, b);
    assert_true(fabs(correlation(a, b, N)) < 6);
    spec.worker = 1;
    fill(&spec, 7, b);
    assert_true(fabs(correlation(a, b, N)) < 6);
    spec.worker = 0;
    spec.seed++;
    fill(&spec, 7, b);
    assert_true(fabs(correlation(a, b, N)) < 6);
    free(a);
    free(b);
}

/* A tensor is what follows some place of the pool, round and round, times its scale. */
TEST(pools_are_gone_through_from_places_by_lot) {
    enum { POOL = 1000, ROUNDS = 50 };
    const size_t sizes[] = {POOL - 1, 3 * POOL + 7};
    float pool[POOL];
    float *drawn = allocate(5 * POOL, sizeof *drawn);
    size_t places[ROUNDS] = {0};
    for (size_t i = 0; i < POOL; i++) {
        pool[i] = (float)(i + 1);
    }
    struct gw_gradients_spec spec = spec_of(GW_SHAPE_NORMAL, sizes, 2);
    spec.spread = 1;
    spec.pool = pool;
    spec.pool_size = POOL;
    size_t different = 0;
    for (uint32_t t = 0; t < ROUNDS; t++) {
        float *tensor = drawn;
        fill(&spec, t, drawn);
        for (size_t which = 0; which < 2; which++) {
            float scale = (float)scale_of(&spec, which, t);
            size_t place = (size_t)lroundf(tensor[0] / scale) - 1;
            for (size_t i = 0; i < sizes[which]; i++) {
                assert_true(tensor[i] == scale * pool[(place + i) % POOL]);
            }
            tensor += sizes[which];
            places[t] = place;
        }
        different += t > 0 && places[t] != places[t - 1];
    }
    assert_true(different > ROUNDS - 10);
    free(drawn);
}

/* Any iteration can be had without those before it, and tensors of odd and no size too. */
TEST(gradients_can_be_repeated) {
    const size_t sizes[] = {1001, 0, 1, 998};
    float first[2000], second[2000];
    for (int d = 0; d < GW_SHAPES; d++) {
        struct gw_gradients_spec spec = spec_of((enum gw_shape)d, sizes, 4);
        spec.spread = 1;
        spec.walk = 0.1;
        spec.drift = 1.01;
        spec.worker = 3;
        struct gw_gradients *gradients = NULL;
        assert_ok(gw_gradients_open(&gradients, &spec, NULL));
        for (uint32_t t = 0; t <= 5; t++) {
            gw_gradients_fill(gradients, t, first);
        }
        gw_gradients_close(gradients);
        fill(&spec, 5, second);
        assert_memory_equal(first, second, sizeof first);
        assert_non_null(gw_shape_names[d]);
    }
}

/* ---- scales -------------------------------------------------------------------------------- */

TEST(scales_drift_by_a_factor) {
    const size_t n = N;
    struct gw_gradients_spec spec = spec_of(GW_SHAPE_LAPLACE, &n, 1);
    spec.scale = 1e-3;
    spec.drift = pow(100, 1.0 / 2000);
    assert_true(near(scale_of(&spec, 0, 0), 1e-3, 1e-12));
    assert_true(near(scale_of(&spec, 0, 2000), 0.1, 1e-12));
    float *values = allocate(N, sizeof *values);
    fill(&spec, 1000, values);
    assert_true(distance(values, N, gsl_cdf_laplace_P, 0.01) < 2.5);
    free(values);
}

/* Logarithms of scales are normal over tensors, the same for all workers. */
TEST(scales_spread_over_tensors) {
    enum { TENSORS = 10000 };
    size_t *sizes = allocate(TENSORS, sizeof *sizes);
    float *logarithms = allocate(TENSORS, sizeof *logarithms);
    struct gw_gradients_spec spec = spec_of(GW_SHAPE_NORMAL, sizes, TENSORS);
    spec.spread = 1.5;
    struct gw_gradients *gradients = NULL;
    assert_ok(gw_gradients_open(&gradients, &spec, NULL));
    for (size_t t = 0; t < TENSORS; t++) {
        logarithms[t] = (float)log(gw_gradients_scale(gradients, t, 0));
    }
    gw_gradients_close(gradients);
    spec.worker = 1;
    assert_true(near(log(scale_of(&spec, 17, 0)), (double)logarithms[17], 1e-6));
    assert_true(distance(logarithms, TENSORS, gsl_cdf_gaussian_P, 1.5) < 2.5);
    free(sizes);
    free(logarithms);
}

/* A walk's steps, and its sums over many of them, have the variance that they should. */
TEST(scales_walk) {
    enum { TENSORS = 3000 };
    const uint32_t from[] = {0, 4, 5, 1023, 1000, 0};
    const uint32_t to[] = {1, 5, 6, 1024, 3000, UINT32_MAX};
    size_t *sizes = allocate(TENSORS, sizeof *sizes);
    float *moves = allocate(TENSORS, sizeof *moves);
    struct gw_gradients_spec spec = spec_of(GW_SHAPE_NORMAL, sizes, TENSORS);
    spec.walk = 1e-3;
    struct gw_gradients *gradients = NULL;
    assert_ok(gw_gradients_open(&gradients, &spec, NULL));
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        for (size_t t = 0; t < TENSORS; t++) {
            moves[t] = (float)log(gw_gradients_scale(gradients, t, to[i]) /
                                  gw_gradients_scale(gradients, t, from[i]));
        }
        double sd = 1e-3 * sqrt((double)(to[i] - from[i]));
        assert_true(distance(moves, TENSORS, gsl_cdf_gaussian_P, sd) < 2.5);
    }
    gw_gradients_close(gradients);
    free(sizes);
    free(moves);
}

TEST(bad_specifications_are_refused) {
    const size_t n = 1;
    struct gw_gradients_spec specs[6];
    for (size_t i = 0; i < 6; i++) {
        specs[i] = spec_of(GW_SHAPE_STUDENT, &n, 1);
    }
    specs[0].scale = -1;
    specs[1].spread = NAN;
    specs[2].walk = -1;
    specs[3].drift = 0;
    specs[4].drift = NAN;
    specs[5].freedom = 0;
    for (size_t i = 0; i < 6; i++) {
        struct gw_gradients *gradients = NULL;
        struct gw_error error = {0};
        assert_int_equal(gw_gradients_open(&gradients, &specs[i], &error), GW_BAD_INPUT);
        assert_non_null(strstr(error.message, "gradients: expected"));
        assert_null(gradients);
    }
}
