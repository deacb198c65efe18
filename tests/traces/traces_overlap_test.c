/* A cluster's overlap factors: what is read is what is written back, and what lies between. */
#include "tests/test.h"
#include "tests/traces/bad_documents.h"
#include "tests/traces/traces_support.h"

#define BY_HAND                                                                                    \
    "{'workers': 2, 'session_s': 0.5, 'factors': {'allgather': {'topk': [{'bytes': 1, 'compute': " \
    "{'factor': 1.25}, "                                                                           \
    "'communication': {'factor': 0.5}}]}}}"

#define MEASURED                                                                                   \
    "{'workers': 4, 'elements': 10, 'waiting': {'any': [1]}, 'factors': {"                         \
    "'allreduce': {}, 'allgather': {"                                                              \
    "'topk': [{'bytes': 1024, 'seen': 'here', "                                                    \
    "'compute': {'factor': 2, 'low': 1.5, 'high': 3, 'rounds': 5}, "                               \
    "'communication': {'factor': 100, 'low': 90, 'high': 100}}, "                                  \
    "{'bytes': 4096, 'compute': {'factor': 8}, 'communication': {'factor': 100}}], "               \
    "'timed': [{'bytes': 7, 'compute': {'factor': 1}, 'communication': {'factor': 1.0625}}]}}}"

TEST(factors_come_back) {
    static const char *const texts[] = {OVERLAP(BY_HAND), OVERLAP(MEASURED)};
    for (size_t i = 0; i < 2; i++) {
        struct gw_cluster cluster;
        parse_cluster(texts[i], &cluster);
        assert_non_null(cluster.overlap);
        assert_cluster(&cluster, texts[i]);
        gw_cluster_free(&cluster);
    }
}

TEST(factors_are_read) {
    struct gw_cluster cluster;
    parse_cluster(OVERLAP(MEASURED), &cluster);
    const struct gw_overlap *overlap = cluster.overlap;
    assert_int_equal(overlap->workers, 4);
    assert_true(overlap->session_s == 0); /* nobody says */
    assert_int_equal(overlap->pair_count, 2);
    assert_null(gw_overlap_find(overlap, "allreduce", "topk"));
    assert_non_null(gw_overlap_find(overlap, "allgather", GW_OVERLAP_TIMED));
    const struct gw_overlap_pair *pair = gw_overlap_find(overlap, "allgather", "topk");
    assert_int_equal(pair->point_count, 2);
    const struct gw_overlap_factor *compute = &pair->points[0].compute;
    assert_true(compute->factor == 2 && compute->low == 1.5 && compute->high == 3);
    compute = &pair->points[1].compute;
    assert_true(compute->factor == 8 && compute->low == 8 && compute->high == 8);
    gw_cluster_free(&cluster);
}

/* Halfway between 1 and 4 KiB by their logarithms are 2 KiB, and 4 between 2 and 8. */
TEST(factors_lie_between_those_of_measured_sizes) {
    static const struct {
        double bytes, compute;
    } table[] = {{1, 2},    {1024, 2}, {2048, 4},
                 {4096, 8}, {1e12, 8}, {1448.154687870049, 2.8284271}};
    struct gw_cluster cluster;
    parse_cluster(OVERLAP(MEASURED), &cluster);
    const struct gw_overlap_pair *pair = gw_overlap_find(cluster.overlap, "allgather", "topk");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gw_slowing slowing = gw_overlap_at(pair, table[i].bytes);
        assert_true(near(slowing.compute, table[i].compute, 1e-7));
        assert_true(slowing.communication == 100);
    }
    gw_cluster_free(&cluster);
}

/* In whatever order sizes are measured. */
TEST(sizes_are_kept_in_order) {
    static const double bytes[] = {1024, 1048576, 32768, 64};
    struct gw_overlap *overlap = calloc(1, sizeof *overlap);
    assert_non_null(overlap);
    for (size_t i = 0; i < 4; i++) {
        struct gw_overlap_factor factor = {bytes[i], bytes[i], bytes[i]};
        struct gw_overlap_point point = {bytes[i], factor, factor};
        assert_ok(gw_overlap_add(overlap, "allreduce", "backward", point, &error));
    }
    const struct gw_overlap_pair *pair = gw_overlap_find(overlap, "allreduce", "backward");
    for (size_t i = 0; i < 4; i++) {
        assert_true(near(gw_overlap_at(pair, bytes[i]).compute, bytes[i], 1e-12));
    }
    gw_overlap_free(overlap);
}

TEST(what_was_measured_is_written) {
    struct gw_cluster cluster;
    struct gw_overlap *overlap = calloc(1, sizeof *overlap);
    assert_non_null(overlap);
    overlap->workers = 2;
    overlap->session_s = 0.5;
    struct gw_overlap_point point = {1, {1.25, 1.25, 1.25}, {0.5, 0.5, 0.5}};
    assert_ok(gw_overlap_add(overlap, "allgather", "topk", point, &error));
    assert_ok(gw_cluster_create(&cluster, "c", 1, 1, &error));
    gw_cluster_set_overlap(&cluster, overlap);
    assert_cluster(&cluster, OVERLAP(BY_HAND));
    gw_cluster_free(&cluster);
}
