/* libgradweave through its public header alone, as someone who embeds it would use it. */
#include "tests/library/library_support.h"

static const uint64_t elements[] = {9408, 64, 2048000, 1000};
static const double backward_s[] = {0.0012, 0.0001, 0.0030, 0.0001};
static const struct gradweave_network network = {.tensor_count = 4,
                                                 .elements = elements,
                                                 .backward_s = backward_s,
                                                 .forward_s = 0.002,
                                                 .bytes_per_element = 4};
static const struct gradweave_costs sparse = {.density = 0.001,
                                              .exchange = {.startup_s = 1e-3, .per_unit_s = 1e-8},
                                              .compress = {.per_unit_s = 1e-9}};

/* Groups of all four tensors that end where `lasts` says. */
static void check_groups(const struct gradweave_group *groups, const size_t *lasts, size_t count) {
    size_t first = 3;
    for (size_t g = 0; g < count; g++) {
        assert_int_equal(groups[g].first, first);
        assert_int_equal(groups[g].last, lasts[g]);
        first = lasts[g] - 1;
    }
}

TEST(plans_in_a_few_lines) {
    struct gradweave_group groups[4];
    struct gradweave_plan plan;
    assert_done(gradweave_plan(&network, &sparse, "single", groups, &plan, &error));
    assert_int_equal(plan.group_count, 1);
    check_groups(groups, (const size_t[]){0}, 1);
    /* 2,058,472 elements, of which 2,058 are kept, 8 bytes each. */
    double expected = 0.002 + 0.0044 + 2058472e-9 + 1e-3 + 16464e-8;
    assert_true(fabs(plan.iteration_s - expected) < 1e-12);
    assert_true(plan.lower_bound_s <= plan.iteration_s);
    assert_done(gradweave_plan(&network, &sparse, "threshold:5000", groups, &plan, &error));
    assert_int_equal(plan.group_count, 2);
    check_groups(groups, (const size_t[]){2, 0}, 2);
    assert_done(gradweave_plan(&network, &sparse, "optimal", groups, &plan, &error));
    assert_true(plan.lower_bound_s == plan.iteration_s);
    assert_true(plan.iteration_s < expected);
}

/* Points on a straight line cost what the line does; without bytes_per_element it is a float's. */
TEST(plans_with_measured_points) {
    static const struct gradweave_point points[] = {{1e3, 1e-3 + 1e-5}, {1e6, 1e-3 + 1e-2}};
    struct gradweave_group groups[4];
    struct gradweave_plan straight;
    struct gradweave_plan measured;
    struct gradweave_costs dense = {.density = 1,
                                    .exchange = {.startup_s = 1e-3, .per_unit_s = 1e-8}};
    assert_done(gradweave_plan(&network, &dense, "optimal", groups, &straight, NULL));
    struct gradweave_network of_floats = network;
    of_floats.bytes_per_element = 0;
    dense.exchange = (struct gradweave_curve){.points = points, .point_count = 2};
    assert_done(gradweave_plan(&of_floats, &dense, "optimal", groups, &measured, NULL));
    assert_int_equal(measured.group_count, straight.group_count);
    assert_true(fabs(measured.iteration_s - straight.iteration_s) < 1e-12);
    struct gradweave_costs compressed = sparse;
    compressed.compress = (struct gradweave_curve){.points = points, .point_count = 2};
    assert_done(gradweave_plan(&network, &compressed, "single", groups, &measured, NULL));
    double compress_s = 1e-3 + 2058472e-8;
    assert_true(fabs(measured.iteration_s - (0.002 + 0.0044 + compress_s + 1e-3 + 16464e-8)) <
                1e-12);
}

static void check_refused(const struct gradweave_network *asked,
                          const struct gradweave_costs *costs, const char *policy,
                          const char *message) {
    struct gradweave_group groups[4];
    struct gradweave_plan plan;
    assert_refused(gradweave_plan(asked, costs, policy, groups, &plan, &error), message);
}

TEST(refuses_points_that_make_no_sense) {
    static const struct {
        struct gradweave_point points[3];
        size_t count;
        const char *message;
    } cases[] = {
        {{{1, 1}}, 1, "compress.point_count: expected none or at least 2, got 1"},
        {{{1, 1}, {3, 1}, {2, 1}},
         3,
         "compress.points[2].size: expected a number above 3 and at most 2^53, got 2"},
        {{{1, 1}, {1, 2}},
         2,
         "compress.points[1].size: expected a number above 1 and at most 2^53, got 1"},
        {{{0, 1}, {1, 1}},
         2,
         "compress.points[0].size: expected a number above 0 and at most 2^53, got 0"},
        {{{1, 1}, {INFINITY, 1}},
         2,
         "compress.points[1].size: expected a number above 1 and at most 2^53, got inf"},
        {{{1, 1}, {2, -1}}, 2, "compress.points[1].time_s: expected 0 to 1e6 seconds, got -1"},
        {{{1, 0.1}, {1000, 0.002}},
         2,
         "compress.points[1].time_s: expected no less time than for the smaller sizes, got 0.002"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gradweave_costs costs = sparse;
        costs.compress =
            (struct gradweave_curve){.points = cases[i].points, .point_count = cases[i].count};
        check_refused(&network, &costs, "single", cases[i].message);
    }
}

TEST(refuses_what_makes_no_sense) {
    struct gradweave_group groups[4];
    struct gradweave_plan plan;
    struct gradweave_costs costs = sparse;
    costs.density = 0;
    check_refused(&network, &costs, "omgs", "density: expected a number in (0, 1], got 0");
    costs = sparse;
    costs.exchange.startup_s = -1;
    check_refused(&network, &costs, "omgs", "exchange: expected coefficients from 0 to 1e6");
    check_refused(&network, &sparse, "magic", "expected one of per-tensor");
    check_refused(&network, &sparse, NULL, "expected one of per-tensor");
    static const uint64_t most[] = {1, 1, 1, (UINT64_C(1) << 53) - 3};
    static const uint64_t more[] = {1, 1, 1, (UINT64_C(1) << 53) - 2};
    struct gradweave_network large = network;
    large.elements = most;
    large.bytes_per_element = 2047;
    assert_done(gradweave_plan(&large, &sparse, "single", groups, &plan, NULL));
    large.bytes_per_element = 2048;
    check_refused(&large, &sparse, "single", "bytes_per_element: expected less than 2^64 bytes");
    large.elements = more;
    large.bytes_per_element = 4;
    check_refused(&large, &sparse, "single", "elements[3]: expected a positive integer");
    static const double endless_s[] = {1e308, 1e308, 0, 0};
    struct gradweave_network endless = network;
    endless.backward_s = endless_s;
    check_refused(&endless, &sparse, "single", "backward_s[0]: expected 0 to 1e6 seconds");
    endless = network;
    endless.update_s = 1e20;
    check_refused(&endless, &sparse, "optimal", "forward_s, update_s: expected 0 to 1e6 seconds");
    costs = sparse;
    costs.exchange.startup_s = 1.6e29;
    check_refused(&network, &costs, "optimal", "exchange: expected coefficients from 0 to 1e6");
    struct gradweave_network empty = network;
    empty.tensor_count = 0;
    assert_int_equal(gradweave_plan(&empty, &sparse, "omgs", groups, &plan, NULL),
                     GRADWEAVE_BAD_INPUT);
}

/* Each is asked for what selects elements 3 and 4, by a number, a threshold or whole layers. */
TEST(compresses_with_memory) {
    static const float gradient[] = {0.5f, 2, -2, -3, 1}, broken[] = {0.5f, NAN, 0, 0, 0};
    static const float left[] = {0.5f, 2, -2, 0, 0};
    static const size_t layers[] = {1, 2, 2};
    static const struct gradweave_compression cases[] = {
        {.compressor = "topk", .elements = 5, .kept = 2},
        {.compressor = "hard-threshold", .elements = 5, .kept = 1, .threshold = 2.4},
        {.compressor = "layer-drop", .elements = 5, .kept = 2, .layers = layers, .layer_count = 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float residual[5];
        struct gradweave_compressor *compressor = NULL;
        const struct gradweave_entry *entries;
        size_t count;
        assert_done(gradweave_compressor_open(&cases[i], &compressor, NULL));
        for (int round = 0; round < 2; round++) {
            memcpy(residual, (float[]){0, 0, 0, 0, 1.5f}, sizeof residual);
            assert_done(gradweave_compress(compressor, gradient, residual, &entries, &count, NULL));
            assert_int_equal(count, 2);
            assert_true(entries[0].index == 3 && entries[0].value == -3);
            assert_true(entries[1].index == 4 && entries[1].value == 2.5f);
            assert_memory_equal(residual, left, sizeof left);
            gradweave_compressor_observe(compressor, &count);
        }
        assert_refused(gradweave_compress(compressor, broken, residual, &entries, &count, &error),
                       "element 1 of 5: expected a number or an infinity, got NaN");
        gradweave_compressor_close(compressor);
    }
    gradweave_compressor_close(NULL);
}

TEST(refuses_compressions_that_make_no_sense) {
    const struct gradweave_compression good = {.compressor = "topk", .elements = 5, .kept = 2};
    enum { BAD = 9 };
    struct gradweave_compression bad[BAD];
    for (size_t i = 0; i < BAD; i++) {
        bad[i] = good;
    }
    bad[0].kept = 6;
    bad[1].elements = 0;
    bad[2].compressor = "magic";
    bad[3].threshold = NAN;
    bad[4].worker = 2;
    bad[5].layers = (const size_t[]){2, 2};
    bad[5].layer_count = 2;
    bad[6].layers = (const size_t[]){2, SIZE_MAX};
    bad[6].layer_count = 2;
    bad[7].compressor = NULL;
    bad[8] = (struct gradweave_compression){
        .compressor = "exdyna", .elements = 100, .kept = 10, .workers = (size_t)1 << 61};
    static const char *const messages[] = {"1 <= kept <= elements",
                                           "1 <= kept <= elements",
                                           "got \"magic\"",
                                           "threshold: expected",
                                           "worker: expected",
                                           "layers: expected 5 elements",
                                           "layers[1]: expected 1 to 3",
                                           "got \"\"",
                                           "workers: expected less than 2^32"};
    for (size_t i = 0; i < BAD; i++) {
        struct gradweave_compressor *none = (void *)&error;
        assert_refused(gradweave_compressor_open(&bad[i], &none, &error), messages[i]);
        assert_null(none);
    }
}
