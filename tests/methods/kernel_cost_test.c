/* Costs of kernels at densities that were not measured, worked out by hand, and as a curve. */
#include <math.h>
#include <stdio.h>

#include "methods/costs.h"
#include "methods/kernel_cost.h"
#include "tests/clusters.h"
#include "tests/test.h"

static struct gw_error error;

static void parse_denser(const char *densities, struct gw_cluster *cluster) {
    parse_cluster(cluster,
                  "'workers': 2, 'collectives': {}, 'compressors': {'topk': {'points': [[1000, 1], "
                  "[2000, 3]], 'denser': {'densities': %s, 'points': [[500, 2], [4000, 16]]}}, "
                  "'randk': {'per_element_s': 1e-9}, 'count-sketch': {'per_element_s': 1e-9, "
                  "'denser': {'densities': %s, 'per_element_s': 8e-9}}}",
                  densities, densities);
}

static enum gw_status parse_names(const char *collective, const char *compressor,
                                  const char *aggregator) {
    struct gw_cluster cluster;
    enum gw_status status =
        read_cluster(&cluster,
                     "'workers': 2, 'collectives': {'%s': []}, 'compressors': {'%s': {'fixed_s': "
                     "1}}, 'aggregation': {'%s': {'fixed_s': 1}}",
                     collective, compressor, aggregator);
    gw_cluster_free(&cluster);
    return status;
}

/* All that pipelines use, and of compressors what is near to one. */
TEST(clusters_may_have_all_that_pipelines_use) {
    gw_key_rules.strict = true;
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        char misspelt[64];
        bool is_short = strlen(gw_compressors[i]->name) == 4; /* a letter more is another name */
        (void)snprintf(misspelt, sizeof misspelt, "%sx", gw_compressors[i]->name);
        assert_ok(parse_names("allreduce", gw_compressors[i]->name, "sum"));
        assert_true(is_short || parse_names("allreduce", misspelt, "sum") == GW_BAD_INPUT);
    }
    for (size_t i = 0; i < GW_AGGREGATOR_COUNT; i++) {
        assert_ok(parse_names("allreduce", "topk", gw_aggregator_names[i]));
    }
    for (size_t i = 0; gw_exchange_kinds[i] != NULL; i++) {
        for (size_t leg = 0; leg < gw_exchange_kinds[i]->leg_count; leg++) {
            assert_ok(parse_names(gw_exchange_kinds[i]->legs[leg].collective, "topk", "sum"));
        }
    }
    gw_key_rules.strict = false;
}

/* On the line through both densities, at any size, of any curves; never less than half of one. */
TEST(compressors_take_what_lies_between_two_densities) {
    struct gw_cluster cluster;
    const struct gw_kernel_cost *topk = NULL;
    const struct gw_kernel_cost *randk = NULL;
    parse_denser("[0.001, 0.016]", &cluster);
    assert_ok(gw_cluster_compressor(&cluster, "topk", &topk, &error));
    assert_ok(gw_cluster_compressor(&cluster, "randk", &randk, &error));
    static const struct {
        double elements, density, seconds;
    } cases[] = {{1000, 0.001, 1}, {1000, 0.016, 4}, {1000, 0.0085, 2.5}, {2000, 0.016, 8},
                 {1500, 0.016, 6}, {1000, 0.031, 7}, {1000, 0.0, 0.8},    {3000, 0.0085, 8.5},
                 {100, 0.001, 0},  {0, 0.016, 0},    {1, 0.016, 0.004}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_curve curve;
        double found =
            gw_compressor_s(&gw_compressor_topk, topk, cases[i].elements, cases[i].density);
        assert_true(near(found, cases[i].seconds, 1e-12));
        assert_ok(gw_compressor_curve(&gw_compressor_topk, topk, cases[i].density, &curve, &error));
        if (cases[i].elements >= 1000) {
            assert_true(near(gw_curve_time(&curve, cases[i].elements), found, 1e-12));
        }
        gw_curve_free(&curve);
    }
    assert_true(gw_compressor_s(&gw_compressor_randk, randk, 1e9, 0.5) == 1);
    gw_cluster_free(&cluster);
    parse_denser("[0.016, 0.001]", &cluster); /* sixteen times as much takes less */
    assert_ok(gw_cluster_compressor(&cluster, "topk", &topk, &error));
    assert_true(near(gw_compressor_s(&gw_compressor_topk, topk, 1000, 0.064), 0.5, 1e-12));
    gw_cluster_free(&cluster);
}

/*
 * The same time for each element, at any size: with tables of 2^17 columns 1 ns, of 2^20 8; in
 * between by the inverse squares of the doublings, 1 : 4 and 4 : 1; beyond, that of the nearer one.
 */
TEST(sketches_take_what_their_tables_take) {
    struct gw_cluster cluster;
    const struct gw_kernel_cost *sketch = NULL;
    parse_denser("[0.001, 0.016]", &cluster);
    assert_ok(gw_cluster_compressor(&cluster, "count-sketch", &sketch, &error));
    const double n = 25557032;
    static const struct {
        double density, columns, each_s;
    } cases[] = {{0.001, 1 << 17, 1e-9}, {0.002, 1 << 18, 2.4e-9}, {0.005, 1 << 19, 6.6e-9},
                 {0.01, 1 << 20, 8e-9},  {0.016, 1 << 20, 8e-9},   {0.03, 1 << 21, 8e-9},
                 {1e-4, 1 << 14, 1e-9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double found = gw_compressor_s(&gw_compressor_count_sketch, sketch, n, cases[i].density);
        assert_true(near(found, n * cases[i].each_s, 1e-12));
        double share = gw_search_share(sketch, n, cases[i].columns);
        assert_true(found == gw_kernel_s(sketch, n, share));
    }
    gw_cluster_free(&cluster);
}

/*
 * A curve with a table of that size has its time: at 0.016 tables have 2^19 columns up to
 * 13,805,312 elements, each of which takes 2 ns, and 2^20 from there, at 4 ns. 14,728,266 elements
 * have 2^19 at 0.01, four times as many as 2^16 at 0.001, which count for 1/10 with 1 ns.
 */
TEST(tables_take_what_they_take_at_other_sizes) {
    struct gw_cluster cluster;
    const struct gw_kernel_cost *sketch = NULL;
    const double n = 14728266;
    parse_cluster(&cluster,
                  "'workers': 2, 'collectives': {}, 'compressors': {'count-sketch': "
                  "{'per_element_s': 1e-9, 'denser': {'densities': [0.001, 0.016], 'points': "
                  "[[13805312, 0.027610624], [13805313, 0.055221252], [138053130, 0.55221252]]}}}");
    assert_ok(gw_cluster_compressor(&cluster, "count-sketch", &sketch, &error));
    assert_true(near(gw_compressor_s(&gw_compressor_count_sketch, sketch, n, 0.01),
                     n * (0.1 * 1e-9 + 0.9 * 2e-9), 1e-9));
    gw_cluster_free(&cluster);
}

/* The planner's curve is what an operation takes, also between two doublings of any table. */
TEST(a_curve_of_sketches_follows_their_doublings) {
    struct gw_cluster cluster;
    const struct gw_kernel_cost *sketch = NULL;
    struct gw_random *random = random_stream(0);
    parse_denser("[0.001, 0.016]", &cluster);
    assert_ok(gw_cluster_compressor(&cluster, "count-sketch", &sketch, &error));
    for (size_t i = 0; i < 100; i++) {
        struct gw_curve curve;
        double density = 0.002 * pow(20, gw_random_uniform(random));
        assert_ok(
            gw_compressor_curve(&gw_compressor_count_sketch, sketch, density, &curve, &error));
        for (size_t j = 0; j < 20; j++) {
            double n = floor(3.3e7 * pow(16, gw_random_uniform(random)));
            double found = gw_compressor_s(&gw_compressor_count_sketch, sketch, n, density);
            assert_true(near(gw_curve_time(&curve, n), found, 1e-9));
        }
        gw_curve_free(&curve);
    }
    gw_cluster_free(&cluster);
}

/* ---- at random places, and together ---------------------------------------------------------- */

static void parse_scattered(const char *denser, struct gw_cluster *cluster) {
    parse_cluster(cluster,
                  "'workers': 2, 'collectives': {}, 'compressors': {'topk': {'per_element_s': "
                  "1e-8, 'together': {'per_element_s': 4e-8}, 'denser': %s}}",
                  denser);
}

/* (1 - 0.5)^16 of the lines of 16 elements hold none at one half, and (1 - 0.1)^16 = 0.185302 at a
 * tenth. */
TEST(entries_take_what_lines_without_any_let_them) {
    struct gw_cluster cluster;
    const struct gw_kernel_cost *cost = NULL;
    parse_scattered("{'densities': [1e-9, 0.5], 'per_element_s': 1e-9}", &cluster);
    assert_ok(gw_cluster_compressor(&cluster, "topk", &cost, &error));
    static const struct {
        double density, share;
    } cases[] = {{0, 0}, {1e-9, 0}, {0.1, 0.8147103}, {0.5, 1}, {0.7, 1.0000153}, {1, 1.0000153}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double share = gw_scatter_share(cost->densities, cases[i].density);
        assert_true(fabs(share - cases[i].share) < 1e-6);
        assert_true(near(gw_scatter_s(gw_curve_time(&cost->curve, 1e6),
                                      gw_curve_time(&cost->denser, 1e6), share),
                         1e-2 - share * 0.9e-2, 1e-9));
    }
    gw_cluster_free(&cluster);
    parse_scattered("{'densities': [0.01, 0.5], 'per_element_s': 4e-8}", &cluster);
    assert_ok(gw_cluster_compressor(&cluster, "topk", &cost, &error));
    assert_true(
        near(gw_scatter_s(gw_curve_time(&cost->curve, 1e6), gw_curve_time(&cost->denser, 1e6), 0),
             2e-2, 1e-12)); /* at least half of the second */
    gw_cluster_free(&cluster);
}

/* PowerSGD on the line through two ranks, at least half of the first one's time, whatever the
 * density; so what follows its exchanges. */
TEST(factors_take_what_lies_between_two_ranks) {
    static const struct {
        const char *name;
        double seconds;
    } cases[] = {{"powersgd", 2},     {"powersgd:16", 5},   {"powersgd:8", 3},
                 {"powersgd:2", 1.5}, {"powersgd:1", 1.25}, {"powersgd:32", 9}};
    struct gw_cluster cluster;
    const struct gw_kernel_cost *cost = NULL;
    parse_cluster(&cluster,
                  "'workers': 2, 'collectives': {}, 'compressors': {'powersgd': {'per_element_s': "
                  "2e-6, 'denser': {'ranks': [4, 16], 'per_element_s': 5e-6}}}");
    assert_ok(gw_cluster_compressor(&cluster, "powersgd", &cost, &error));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_curve curve;
        const struct gw_compressor *compressor = gw_compressor_find(cases[i].name);
        assert_true(near(gw_compressor_s(compressor, cost, 1e6, 0.001), cases[i].seconds, 1e-12));
        assert_ok(gw_compressor_curve(compressor, cost, 1, &curve, &error));
        assert_true(near(gw_curve_time(&curve, 1e6), cases[i].seconds, 1e-12));
        gw_curve_free(&curve);
        const struct gw_extent extent = {
            .size = {.elements = 1000000, .rows = 1000, .columns = 1000},
            .compressor = compressor,
            .workers = 2};
        const struct gw_leg *leg = &gw_exchange_low_rank.legs[1];
        const struct gw_aggregator_cost factor = {
            .kernel = cost, .by = GW_FACTOR, .calls = 1, .contributions = 1};
        struct gw_aggregator_call call = gw_aggregator_call_of(leg, &factor, &extent);
        struct gw_turns turns = {0};
        assert_true(near(gw_aggregator_s(&factor, call, &turns), cases[i].seconds, 1e-12));
    }
    gw_cluster_free(&cluster);
}

/* Four times as long as alone where nothing else is known, else on the line through both. */
TEST(ranks_take_together_what_they_took_at_both_densities) {
    struct gw_cluster cluster;
    const struct gw_kernel_cost *cost = NULL;
    parse_scattered("{'densities': [0.001, 0.016], 'per_element_s': 2e-8}", &cluster);
    assert_ok(gw_cluster_compressor(&cluster, "topk", &cost, &error));
    assert_true(near(gw_kernel_together_s(cost, 1e6, 0.5, 0.015), 0.06, 1e-12));
    gw_cluster_free(&cluster);
    parse_scattered("{'densities': [0.001, 0.016], 'per_element_s': 2e-8, 'together': "
                    "{'per_element_s': 12e-8}}",
                    &cluster);
    assert_ok(gw_cluster_compressor(&cluster, "topk", &cost, &error));
    /* Four times as long as alone at the first, six times at the second; no more and no less. */
    static const double cases[][3] = {{0, 0.01, 0.04},    {0.5, 0.015, 0.08},  {1, 0.02, 0.12},
                                      {1.5, 0.025, 0.15}, {-0.5, 0.005, 0.02}, {50, 0.011, 0.066}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(
            near(gw_kernel_together_s(cost, 1e6, cases[i][0], cases[i][1]), cases[i][2], 1e-12));
    }
    gw_cluster_free(&cluster);
    parse_scattered("{'densities': [0.001, 0.064], 'per_element_s': 1e-9, 'together': "
                    "{'per_element_s': 3e-9}}",
                    &cluster);
    assert_ok(gw_cluster_compressor(&cluster, "topk", &cost, &error));
    assert_true(near(gw_kernel_together_s(cost, 1e6, 1, 0.001), 0.003, 1e-12)); /* as measured */
    assert_true(near(gw_kernel_together_s(cost, 1e6, 1.5, 0.005), 0.015, 1e-12));
    gw_cluster_free(&cluster);
}
