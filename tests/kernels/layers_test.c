/*
 * Layer dropping by hand, against every possible choice, and by what must always hold. Random cases
 * follow from one seed, which is printed; GRADWEAVE_SEED repeats a run.
 */
#include "kernels/layers.h"
#include "tests/kernels/kernels_support.h"

enum { LAYERS_LIMIT = 12 };

struct layers {
    size_t count;
    size_t sizes[LAYERS_LIMIT];
    double means[LAYERS_LIMIT];
};

/* With few different means, of which one is infinite, so that there are ties; every third time
 * with many. */
static struct layers random_layers(struct gw_random *random, size_t at) {
    struct layers layers = {.count = 1 + (size_t)gw_random_below(random, LAYERS_LIMIT)};
    for (size_t i = 0; i < layers.count; i++) {
        layers.sizes[i] = 1 + (size_t)gw_random_below(random, at % 2 ? 10 : 1000);
        uint64_t mean = gw_random_below(random, 6);
        layers.means[i] = at % 3 == 0 ? gw_random_uniform(random)
                          : mean == 5 ? INFINITY
                                      : (double)mean;
    }
    return layers;
}

static double threshold_of(const struct layers *layers, double ratio) {
    double threshold = -2;
    assert_ok(
        gw_layers_threshold(layers->means, layers->sizes, layers->count, ratio, &threshold, NULL));
    return threshold;
}

/* Elements of the layers that reach the threshold. */
static size_t kept(const struct layers *layers, double threshold) {
    size_t elements = 0;
    for (size_t i = 0; i < layers->count; i++) {
        elements += layers->means[i] >= threshold ? layers->sizes[i] : 0;
    }
    return elements;
}

static size_t total(const struct layers *layers) {
    return kept(layers, -1);
}

/* ---- by hand ------------------------------------------------------------------------------- */

TEST(an_example_by_hand) {
    const float u[] = {-1, 3, 0.5f, -0.5f, 0.5f, -0.5f, 4, 0, -2, 0};
    const size_t sizes[] = {2, 4, 1, 3};
    const double expected[] = {2, 0.5, 4, 2.0 / 3};
    double means[4];
    assert_ok(gw_layers_means(u, sizes, 4, means, NULL));
    for (size_t i = 0; i < 4; i++) {
        assert_true(near(means[i], expected[i], 1e-15));
    }
    static const struct {
        double ratio, threshold;
        size_t elements;
        bool sent[4];
    } cases[] = {
        {0, 0.5, 10, {true, true, true, true}},        {0.39, 0.5, 10, {true, true, true, true}},
        {0.4, 2.0 / 3, 7, {true, false, true, true}}, /* 4 of 10 are just allowed */
        {0.69, 2.0 / 3, 7, {true, false, true, true}}, {0.7, 2, 5, {true, false, true, false}},
        {0.9, 4, 4, {false, false, true, false}},      {1, 4, 4, {false, false, true, false}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double threshold;
        bool sent[4];
        assert_ok(gw_layers_threshold(means, sizes, 4, cases[c].ratio, &threshold, NULL));
        assert_true(near(threshold, cases[c].threshold, 1e-15));
        assert_int_equal(gw_layers_choose(means, sizes, 4, threshold, sent), cases[c].elements);
        assert_memory_equal(sent, cases[c].sent, sizeof sent);
    }
}

TEST(a_threshold_of_old_may_drop_everything) {
    const double means[] = {1, 2, 3};
    const size_t sizes[] = {10, 20, 30};
    bool sent[3];
    assert_int_equal(gw_layers_choose(means, sizes, 3, 3.5, sent), 3);
    assert_false(sent[0] || sent[1] || sent[2]);
}

/* ---- means --------------------------------------------------------------------------------- */

TEST(means_are_those_of_a_plain_sum) {
    enum { N = 4000 };
    struct gw_random *random = random_stream(1);
    float u[N];
    for (size_t i = 0; i < N; i++) {
        u[i] = (float)gw_random_normal(random, 1);
    }
    for (size_t at = 0; at < 300; at++) {
        size_t sizes[2] = {1 + (size_t)gw_random_below(random, at % 2 ? 40 : N / 2),
                           1 + (size_t)gw_random_below(random, at % 2 ? 40 : N / 2)};
        double means[2];
        double sums[2] = {0};
        assert_ok(gw_layers_means(u, sizes, 2, means, NULL));
        for (size_t i = 0; i < sizes[0] + sizes[1]; i++) {
            sums[i >= sizes[0]] += (double)fabsf(u[i]);
        }
        assert_true(near(means[0], sums[0] / (double)sizes[0], 1e-13));
        assert_true(near(means[1], sums[1] / (double)sizes[1], 1e-13));
    }
}

TEST(infinities_count_and_nan_is_bad_input) {
    float u[40] = {0};
    const size_t sizes[] = {3, 37};
    double means[2];
    u[10] = INFINITY;
    u[20] = -INFINITY;
    u[1] = ldexpf(3, -149);
    assert_ok(gw_layers_means(u, sizes, 2, means, NULL));
    assert_true(means[0] == ldexp(1, -149) && means[1] == (double)INFINITY);
    for (size_t bad = 0; bad < 40; bad++) {
        struct gw_error error = {0};
        float before = u[bad];
        char place[64];
        snprintf(place, sizeof place, "element %zu of layer %d:", bad < 3 ? bad : bad - 3,
                 bad >= 3);
        u[bad] = bad % 2 ? NAN : -NAN;
        assert_int_equal(gw_layers_means(u, sizes, 2, means, &error), GW_BAD_INPUT);
        assert_non_null(strstr(error.message, place));
        u[bad] = before;
    }
}

TEST(ratios_outside_0_to_1_are_refused) {
    static const double bad[] = {-0.1, 1.1, (double)NAN, (double)INFINITY};
    const double means[] = {1};
    const size_t sizes[] = {1};
    for (size_t i = 0; i < 4; i++) {
        double threshold;
        assert_int_equal(gw_layers_threshold(means, sizes, 1, bad[i], &threshold, NULL),
                         GW_BAD_INPUT);
    }
}

/* The highest of the relevant thresholds, the means, that drops at most R. */
TEST(the_threshold_is_the_best_of_all) {
    struct gw_random *random = random_stream(2);
    for (size_t at = 0; at < 3000; at++) {
        struct layers layers = random_layers(random, at);
        double ratio = at % 5 ? gw_random_uniform(random) : (double)(at % 10) / 5;
        double limit = ratio * (double)total(&layers);
        double best = -1;
        for (size_t i = 0; i < layers.count; i++) {
            size_t dropped = total(&layers) - kept(&layers, layers.means[i]);
            if ((double)dropped <= limit && layers.means[i] > best) {
                best = layers.means[i];
            }
        }
        assert_true(threshold_of(&layers, ratio) == best);
    }
}
