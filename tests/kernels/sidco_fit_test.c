/* SIDCo's fit on vectors that are just what it takes them to be, and how its stages adapt. */
#include "kernels/threshold.h" /* private */
#include "tests/kernels/kernels_support.h"

enum { N = 400000 };

static void fill(float *u, enum gw_shape shape, double scale) {
    draw_gradient(shape, scale, 3, seed, N, u);
}

/* From what exceeds the threshold, as a pass over u finds it. */
static double next_threshold(const float *u, double threshold, double ratio) {
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < N; i++) {
        bool exceeds = fabs((double)u[i]) > threshold;
        sum += exceeds ? fabs((double)u[i]) : 0;
        count += exceeds;
    }
    return gw_sidco_exceed_threshold(threshold, count, sum, log(ratio));
}

static size_t count_above(const float *u, double threshold) {
    size_t count = 0;
    for (size_t i = 0; i < N; i++) {
        count += fabs((double)u[i]) > threshold;
    }
    return count;
}

static double fit(const float *u, double rho, size_t stages) {
    double ratios[GW_SIDCO_STAGES];
    size_t count = gw_sidco_ratios(rho, stages, ratios);
    double threshold = 0;
    for (size_t m = 0; m < count; m++) {
        threshold = next_threshold(u, threshold, ratios[m]);
    }
    return threshold;
}

/* ---- ratios -------------------------------------------------------------------------------- */

TEST(ratios_multiply_to_the_density) {
    for (size_t stages = 1; stages <= GW_SIDCO_STAGES; stages++) {
        for (int power = 0; power < 40; power++) {
            double rho = pow(0.7, power); /* down to 1e-6 */
            double ratios[GW_SIDCO_STAGES];
            size_t count = gw_sidco_ratios(rho, stages, ratios);
            assert_int_equal(count, rho >= 0.25 ? 1 : stages);
            double product = 1;
            for (size_t m = 0; m < count; m++) {
                assert_true(ratios[m] > 0 && ratios[m] <= 1);
                product *= ratios[m];
            }
            assert_true(near(product, rho, 1e-12));
            assert_true(count == 1 || near(ratios[0], 0.25, 0));
        }
    }
}

/* rho = 0.001 in three stages: 0.25 and twice sqrt(0.004). */
TEST(a_fit_by_hand) {
    double ratios[3];
    assert_int_equal(gw_sidco_ratios(0.001, 3, ratios), 3);
    assert_true(near(ratios[1], 0.0632455532033676, 1e-14));
    assert_true(near(ratios[2], 0.0632455532033676, 1e-14));
    assert_true(near(gw_sidco_exceed_threshold(0, 1, 2, log(ratios[0])), 2.772588722239781, 1e-14));
    assert_true(near(gw_sidco_exceed_threshold(3, 2, 7, log(0.25)), 3.693147180559945, 1e-14));
}

/* ---- fits ---------------------------------------------------------------------------------- */

/*
 * |u| of a Laplace vector is exponential. The count's variance is at most that of sampling, k,
 * and that of each stage's mean m, from n_m exceedances: k^2 ln^2(1 / ratio_m) / n_m.
 */
TEST(fits_select_what_is_wanted_of_laplace_vectors) {
    float *u = allocate(N, sizeof *u);
    fill(u, GW_SHAPE_LAPLACE, 0.02);
    const double rhos[] = {0.3, 0.1, 0.01, 0.001};
    for (size_t i = 0; i < 4; i++) {
        for (size_t stages = 1; stages <= 6; stages++) {
            double ratios[GW_SIDCO_STAGES];
            size_t count = gw_sidco_ratios(rhos[i], stages, ratios);
            double k = rhos[i] * N;
            double variance = k;
            double exceed = N;
            for (size_t m = 0; m < count; m++) {
                variance += k * k * log(ratios[m]) * log(ratios[m]) / exceed;
                exceed *= ratios[m];
            }
            double selected = (double)count_above(u, fit(u, rhos[i], stages));
            assert_true(fabs(selected - k) < 5 * sqrt(variance));
        }
    }
    free(u);
}

/*
 * A normal tail is lighter than an exponential: one stage selects too few, more select more. One of
 * Student's is heavier: one stage selects too many, more select fewer, and in the end too few,
 * since the mean of a heavy tail is above what its median suggests.
 */
TEST(stages_work_against_light_and_heavy_tails) {
    float *u = allocate(N, sizeof *u);
    const double k = 0.001 * N;
    fill(u, GW_SHAPE_NORMAL, 1);
    assert_true((double)count_above(u, fit(u, 0.001, 1)) < 0.1 * k);
    assert_true(near((double)count_above(u, fit(u, 0.001, 4)), k, 0.35)); /* 1.07 of it */
    fill(u, GW_SHAPE_STUDENT, 1);
    assert_true((double)count_above(u, fit(u, 0.001, 1)) > 3 * k);   /* 4.7 */
    assert_true((double)count_above(u, fit(u, 0.001, 5)) < 0.8 * k); /* 0.44 */
    free(u);
}

/* ---- adaptation ---------------------------------------------------------------------------- */

static void adapt(struct gw_sidco *state, const size_t *selected, size_t count, double rho) {
    for (size_t i = 0; i < count; i++) {
        gw_sidco_stages_adapt(state, selected[i], 100, rho);
    }
}

TEST(stages_adapt_to_the_mean_of_five) {
    struct gw_sidco sidco = {.stages = 2};
    adapt(&sidco, (const size_t[]){0, 0, 0, 0}, 4, 0.001);
    assert_int_equal(sidco.stages, 2); /* not before the fifth */
    adapt(&sidco, (const size_t[]){399}, 1, 0.001);
    assert_int_equal(sidco.stages, 3); /* 0.798 */
    adapt(&sidco, (const size_t[]){0, 0, 0, 0, 401}, 5, 0.001);
    assert_int_equal(sidco.stages, 3); /* 0.802 */
    adapt(&sidco, (const size_t[]){100, 100, 100, 100, 199}, 5, 0.001);
    assert_int_equal(sidco.stages, 3); /* 1.198 */
    adapt(&sidco, (const size_t[]){100, 100, 100, 100, 201}, 5, 0.001);
    assert_int_equal(sidco.stages, 2); /* 1.202 */
}

TEST(stages_stay_within_their_bounds) {
    static const struct {
        size_t selected;
        double rho;
        size_t stages;
    } turns[] = {{1, 0.001, 10}, /* log2(1000) = 9.97 */
                 {1000, 0.001, 1},
                 {1, 1e-12, GW_SIDCO_STAGES},
                 {1, 1, GW_SIDCO_STAGES}}; /* they stay until they select too much */
    struct gw_sidco sidco = {.stages = 1};
    for (size_t turn = 0; turn < sizeof turns / sizeof *turns; turn++) {
        for (size_t i = 0; i < 500; i++) {
            gw_sidco_stages_adapt(&sidco, turns[turn].selected, 100, turns[turn].rho);
        }
        assert_int_equal(sidco.stages, turns[turn].stages);
    }
}

static size_t select_adaptively(const float *u, struct gw_sidco *sidco) {
    size_t selected = 0;
    for (size_t i = 0; i < 50; i++) {
        selected = count_above(u, fit(u, 0.001, sidco->stages));
        gw_sidco_stages_adapt(sidco, selected, N / 1000, 0.001);
    }
    return selected;
}

/*
 * On a normal vector one stage is far off; adaptation ends within its tolerance. On a heavy tail
 * one stage selects too many, and the published rule has none to take away: it stays there.
 */
TEST(adaptation_answers_light_tails_alone) {
    float *u = allocate(N, sizeof *u);
    struct gw_sidco sidco = {.stages = 1};
    fill(u, GW_SHAPE_NORMAL, 1);
    assert_true(near((double)select_adaptively(u, &sidco), N / 1000.0, 0.35));
    assert_true(sidco.stages > 1);
    sidco = (struct gw_sidco){.stages = 1};
    fill(u, GW_SHAPE_STUDENT, 1);
    assert_true((double)select_adaptively(u, &sidco) > 3 * N / 1000.0);
    assert_int_equal(sidco.stages, 1);
    free(u);
}
