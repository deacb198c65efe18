/* Costs of exchanges and compressions in a cluster file, worked out by hand. */
#include "tests/test.h"
#include "tests/traces/traces_support.h"

TEST(elements_kept_and_bytes_exchanged) {
    const struct {
        uint64_t n;
        double density;
        uint64_t kept;
    } table[] = {{1, 0.001, 1},
                 {999, 0.001, 1},
                 {2000, 0.001, 2},
                 {2999, 0.001, 2},
                 {25557032, 0.001, 25557},
                 {10, 1, 10},
                 {7, 0.5, 3},
                 {1, 1e-300, 1},
                 {UINT64_C(1) << 53, 1, UINT64_C(1) << 53},
                 {UINT64_C(1) << 53, 0.25, UINT64_C(1) << 51}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_true(gw_elements_kept(table[i].n, table[i].density) == table[i].kept);
        assert_true(gw_exchange_bytes(true, 4, table[i].n, table[i].density) == 8 * table[i].kept);
        assert_true(gw_exchange_bytes(false, 2, table[i].n, table[i].density) == 2 * table[i].n);
    }
}

static const char measured_text[] =
    "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 8, 'collectives': {"
    "'allgather': [{'workers': 4, 'alpha_s': 3, 'beta_s_per_byte': 0.5}],"
    "'allreduce': [{'workers': 4, 'alpha_s': 3, 'beta_s_per_byte': 0.75}],"
    "'reduce': [{'workers': 16, 'points': [[10, 31], [20, 32]]}],"
    "'gather': [{'workers': 3, 'alpha_s': 4, 'beta_s_per_byte': 0.2}],"
    "'exscan': [{'workers': 3, 'alpha_s': 4, 'beta_s_per_byte': 0.2}],"
    "'broadcast': [{'workers': 1, 'alpha_s': 1, 'beta_s_per_byte': 1}]}, "
    "'compressors': {'topk': {'fixed_s': 1}}}";

/* Startup and value at 100 bytes, worked out by hand from the usual algorithms' laws. */
TEST(collectives_are_derived) {
    const struct {
        const char *name;
        size_t workers;
        double startup_s, time_s;
        size_t from;
        const char *algorithm;
    } table[] = {{"allgather", 4, 3, 53, 0, ""},
                 {"allgather", 7, 6, 106, 4, "ring algorithm"},
                 {"allgather", 2, 1, 1 + 50. / 3, 4, "ring algorithm"},
                 {"allreduce", 4, 3, 78, 0, ""},
                 {"allreduce", 2, 1, 51, 4, "ring algorithm"},
                 {"allreduce", 7, 6, 6 + 75 * (6. / 7) / 0.75, 4, "ring algorithm"},
                 {"allreduce", 16, 15, 15 + 75 * (15. / 16) / 0.75, 4, "ring algorithm"},
                 {"reduce", 16, 30, 40, 0, ""},
                 {"reduce", 8, 22.5, 30, 16, "binomial tree"},
                 {"reduce", 64, 45, 60, 16, "binomial tree"},
                 {"gather", 4, 6, 36, 3, "linear algorithm"},
                 {"exscan", 4, 6, 36, 3, "ring algorithm"},
                 {"alltoall", 4, 3, 15.5, 0,
                  "alltoall: not measured; made up of allgather of 1/4 of the bytes"},
                 {"alltoall", 7, 6, 6 + 100. / 7, 0,
                  "alltoall: not measured; made up of allgather of 1/7 of the bytes"}};
    struct gw_cluster cluster;
    parse_whole(measured_text, &cluster);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char derivation[GW_DERIVATION_SIZE];
        char expected[GW_DERIVATION_SIZE] = "";
        struct gw_curve curve;
        assert_ok(gw_cluster_collective(&cluster, table[i].name, table[i].workers, &curve,
                                        derivation, &error));
        assert_true(near(gw_curve_startup(&curve), table[i].startup_s, 1e-14));
        assert_true(near(gw_curve_time(&curve, 100), table[i].time_s, 1e-14));
        if (table[i].from != 0) {
            (void)snprintf(expected, sizeof expected,
                           "%s: %zu workers not measured; derived from %zu by the %s's growth "
                           "law; how far off is not known",
                           table[i].name, table[i].workers, table[i].from, table[i].algorithm);
        }
        if (table[i].from != 0 || table[i].algorithm[0] == '\0') {
            assert_string_equal(derivation, expected);
        } else {
            assert_non_null(strstr(derivation, table[i].algorithm));
        }
        gw_curve_free(&curve);
    }
    gw_cluster_free(&cluster);
}

/* A message between two does not know of others; the curves of two, and of any one other number. */
TEST(a_message_takes_as_long_among_any_number) {
    static const char *const texts[] = {
        "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 8, 'collectives': {'sendrecv': "
        "[{'workers': 2, 'alpha_s': 3, 'beta_s_per_byte': 0.5}]}, 'compressors': {}}",
        "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 8, 'collectives': {'sendrecv': "
        "[{'workers': 4, 'alpha_s': 3, 'beta_s_per_byte': 0.5}]}, 'compressors': {}}"};
    for (size_t t = 0; t < 2; t++) {
        struct gw_cluster cluster;
        parse_whole(texts[t], &cluster);
        for (size_t workers = 2; workers <= 64; workers *= 2) {
            char derivation[GW_DERIVATION_SIZE];
            struct gw_curve curve;
            double uncertainty = 1;
            assert_ok(
                gw_cluster_collective(&cluster, "sendrecv", workers, &curve, derivation, &error));
            assert_true(near(gw_curve_startup(&curve), 3, 0));
            assert_true(near(gw_curve_time(&curve, 100), 53, 0));
            gw_curve_free(&curve);
            uncertainty = gw_cluster_uncertainty(&cluster, "sendrecv", workers);
            if (t == 0) {
                assert_string_equal(derivation, "");
                assert_true(near(uncertainty, 0, 0));
            }
        }
        gw_cluster_free(&cluster);
    }
}

/* Worked out by hand; for collectives made of others, the last of those counts, which is known for
 * 4 workers. */
TEST(the_first_worker_is_done_before_the_last) {
    static const char text[] =
        "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 4, 'collectives': {"
        "'sendrecv': [{'workers': 2, 'alpha_s': 100, 'beta_s_per_byte': 100}],"
        "'allgather': [{'workers': 4, 'alpha_s': 1, 'beta_s_per_byte': 1}],"
        "'broadcast': [{'workers': 4, 'alpha_s': 1, 'beta_s_per_byte': 2, 'skew': [[10, 0.5], [20, "
        "0.3], [40, 0.1]]}, {'workers': 8, 'alpha_s': 1, 'beta_s_per_byte': 5}]},"
        "'compressors': {}}";
    static const struct {
        const char *name;
        size_t workers;
        double bytes, skew_s;
    } table[] = {{"broadcast", 4, 5, 0.5 * 11},
                 {"broadcast", 4, 10, 0.5 * 21},
                 {"broadcast", 4, 15, 0.4 * 31},
                 {"broadcast", 4, 30, 0.2 * 61},
                 {"gtopk", 4, 30, 0.2 * 61},
                 {"broadcast", 4, 100, 0.1 * 201},
                 {"broadcast", 3, 15, 0},
                 {"broadcast", 8, 15, 0},
                 {"gtopk", 8, 15, 0},
                 {"allgather", 4, 15, 0}};
    struct gw_cluster cluster;
    parse_whole(text, &cluster);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gw_collective_part parts[GW_COLLECTIVE_MAX_PARTS];
        size_t count =
            gw_cluster_collective_parts(&cluster, table[i].name, table[i].workers, parts);
        const struct gw_collective_cost *last = parts[count - 1].measured;
        assert_true(near(last == NULL ? 0 : gw_collective_skew_s(last, 1, table[i].bytes),
                         table[i].skew_s, 1e-12));
    }
    gw_cluster_free(&cluster);
}

/* Computes 1e-9 s a byte by hand, and finds the curves that end faster than that. */
TEST(messages_bound_what_long_exchanges_take) {
    static const char text[] =
        "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 4, 'collectives': {"
        "'allreduce': [{'workers': 4, 'alpha_s': 1, 'beta_s_per_byte': 1.4e-9},"
        "{'workers': 2, 'alpha_s': 0, 'beta_s_per_byte': 0.97e-9}],"
        "'allgather': [{'workers': 4, 'alpha_s': 0, 'beta_s_per_byte': 2.7e-9}]},"
        "'network': {'between': {'latency_s': 0, 'overhead_s': 0, 'gap_s': 0, 'gap_s_per_byte': "
        "1e-9}}, 'compressors': {}}";
    static const struct {
        const char *name;
        size_t workers;
        double bytes, least_s;
    } table[] = {{"allreduce", 4, 2e6, 3e-3},  {"allreduce", 2, 2e6, 2e-3},
                 {"allgather", 4, 2e6, 6e-3},  {"gather", 3, 2e6, 4e-3},
                 {"alltoall", 4, 2e6, 1.5e-3}, {"reduce_scatter", 4, 2e6, 1.5e-3},
                 {"broadcast", 4, 2e6, 2e-3},  {"sendrecv", 2, 2e6, 2e-3},
                 {"allreduce", 4, 1e6, 0},     {"allreduce", 1, 2e6, 0}};
    struct gw_cluster cluster;
    char excess[GW_EXCESS_SIZE];
    parse_whole(text, &cluster);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_true(
            near(gw_cluster_least_s(&cluster, table[i].name, table[i].workers, table[i].bytes),
                 table[i].least_s, 1e-12));
    }
    for (size_t i = 0; i < cluster.collective_count; i++) {
        const struct gw_collective_cost *cost = &cluster.collectives[i];
        bool is_gather = strcmp(cost->name, "allgather") == 0;
        assert_int_equal(gw_cluster_exceeds_messages(&cluster, cost, excess), is_gather);
        assert_true(!is_gather ||
                    strstr(excess, "256.0 MiB take 724.8 ms, less than the 805.3 ms"));
    }
    /* Messages of several workers of a node are of another way. */
    cluster.workers_per_node = 2;
    assert_true(gw_cluster_least_s(&cluster, "allreduce", 4, 2e6) == 0);
    gw_cluster_free(&cluster);
}

/* Sums by hand; of one's own curve no sum is made. */
TEST(collectives_are_composed) {
    static const char text[] =
        "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 5, 'collectives': {"
        "'sendrecv': [{'workers': 2, 'alpha_s': 0.25, 'beta_s_per_byte': 0.5}],"
        "'broadcast': [{'workers': 5, 'points': [[4, 2], [8, 3]]}, {'workers': 2, 'points': [[4, "
        "1], [8, 2]]}],"
        "'gather': [{'workers': 6, 'alpha_s': 3, 'beta_s_per_byte': 1}],"
        "'sketch': [{'workers': 5, 'alpha_s': 7, 'beta_s_per_byte': 0}]},"
        "'compressors': {}}";
    static const struct {
        const char *name;
        size_t workers;
        double bytes, time_s;
        const char *derivation;
    } table[] = {
        {"gtopk", 5, 6, 3 * (0.25 + 3) + 2.5,
         "gtopk: not measured; made up of 3 sendrecv + broadcast"},
        {"gtopk", 2, 4, 0.25 + 2 + 1, "gtopk: not measured; made up of sendrecv + broadcast"},
        {"gtopk", 1, 4, 0, "one worker exchanges nothing"},
        {"push", 5, 2, 5,
         "push: not measured; made up of gather among 6 ranks, the server one of them"},
        {"sketch", 5, 1e9, 7, ""},
    };
    struct gw_cluster cluster;
    char derivation[GW_DERIVATION_SIZE];
    struct gw_curve curve;
    double uncertainty = -1;
    parse_whole(text, &cluster);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_ok(gw_cluster_collective(&cluster, table[i].name, table[i].workers, &curve,
                                        derivation, &error));
        assert_true(near(gw_curve_time(&curve, table[i].bytes), table[i].time_s, 1e-15));
        assert_string_equal(derivation, table[i].derivation);
        uncertainty = gw_cluster_uncertainty(&cluster, table[i].name, table[i].workers);
        assert_true(uncertainty == 0);
        gw_curve_free(&curve);
    }
    /* Among 3, of a broadcast that is derived, and so uncertain. */
    double of_broadcast = 0;
    assert_ok(gw_cluster_collective(&cluster, "gtopk", 3, &curve, derivation, &error));
    assert_non_null(strstr(derivation, "; broadcast: 3 workers not measured; from 2, 5 by growth"));
    gw_curve_free(&curve);
    of_broadcast = gw_cluster_uncertainty(&cluster, "broadcast", 3);
    uncertainty = gw_cluster_uncertainty(&cluster, "gtopk", 3);
    assert_true(uncertainty > 0 && uncertainty == of_broadcast);
    uncertainty = gw_cluster_uncertainty(&cluster, "push", 3);
    assert_true(isnan(uncertainty));
    assert_int_equal(gw_cluster_collective(&cluster, "pull", 5, &curve, derivation, &error),
                     GW_BAD_INPUT);
    assert_string_equal(error.message,
                        "pull: f: collectives.scatter: expected a measured curve, got nothing "
                        "(gradweave calibrate --only scatter --add measures it)");
    gw_cluster_free(&cluster);
}

TEST(missing_costs_are_named) {
    struct gw_cluster cluster;
    struct gw_curve curve;
    const struct gw_kernel_cost *compressor = NULL;
    char derivation[GW_DERIVATION_SIZE];
    parse_whole(measured_text, &cluster);
    assert_int_equal(gw_cluster_collective(&cluster, "sendrecv", 4, &curve, derivation, &error),
                     GW_BAD_INPUT);
    assert_string_equal(error.message,
                        "f: collectives.sendrecv: expected a measured curve, got "
                        "nothing (gradweave calibrate --only sendrecv --add measures "
                        "it)");
    assert_int_equal(gw_cluster_collective(&cluster, "broadcast", 4, &curve, derivation, &error),
                     GW_BAD_INPUT);
    assert_ok(gw_cluster_compressor(&cluster, "topk", &compressor, &error));
    assert_true(near(gw_curve_time(&compressor->curve, 5), 1, 0));
    assert_int_equal(gw_cluster_compressor(&cluster, "top", &compressor, &error), GW_BAD_INPUT);
    assert_string_equal(error.message, "f: compressors.top: expected a measured curve, got nothing "
                                       "(gradweave calibrate --only top --add measures it)");
    gw_cluster_free(&cluster);
}

/* ---- compressors at other densities ---------------------------------------------------------- */

/* The concurrent time at the second density is read, and written again unchanged. */
TEST(concurrent_times_at_another_density_are_kept) {
    static const char text[] =
        "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 2, 'workers_per_node': 1, "
        "'collectives': {}, 'compressors': {'topk': {'fixed_s': 1, 'denser': {'densities': [0.001, "
        "0.016], 'fixed_s': 2, 'together': {'fixed_s': 1, 'per_element_s': 7}}}}}";
    struct gw_cluster cluster;
    parse_whole(text, &cluster);
    assert_true(cluster.compressors.list[0].denser_together.per_unit_s == 7);
    assert_cluster(&cluster, text);
    gw_cluster_free(&cluster);
}

/* PowerSGD's other curve is at a rank; densities and ranks do not stand for each other. */
TEST(times_at_another_rank_are_kept) {
    static const struct {
        const char *amounts;
        bool fits;
    } cases[] = {{"'ranks': [4, 16]", true},           {"'ranks': [1, 32]", true},
                 {"'ranks': [4, 33]", false},          {"'ranks': [4, 5]", false},
                 {"'ranks': [0.001, 0.016]", false},   {"'densities': [4, 16]", false},
                 {"'densities': [0.001, 0.016]", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        struct gw_cluster cluster;
        (void)snprintf(text, sizeof text,
                       "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 2, "
                       "'workers_per_node': 1, 'collectives': {}, 'compressors': {'powersgd': "
                       "{'fixed_s': 1, 'denser': {%s, 'fixed_s': 2}}}}",
                       cases[i].amounts);
        if (cases[i].fits) {
            parse_whole(text, &cluster);
            assert_cluster(&cluster, text);
        } else {
            assert_int_equal(read_cluster(&cluster,
                                          "'workers': 2, 'collectives': {}, 'compressors': "
                                          "{'powersgd': {'fixed_s': 1, 'denser': {%s, 'fixed_s': "
                                          "2}}}",
                                          cases[i].amounts),
                             GW_BAD_INPUT);
        }
        gw_cluster_free(&cluster);
    }
}

/* ---- the network and overlap factors --------------------------------------------------------- */

#define CLUSTER_WITH(workers, per_node, part)                                                      \
    "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': " workers                           \
    ", 'workers_per_node': " per_node ", 'collectives': {}, 'compressors': {}" part "}"
#define NETWORK_OF(workers, per_node, fields)                                                      \
    CLUSTER_WITH(workers, per_node, ", 'network': " fields)
#define OVERLAP(fields) CLUSTER_WITH("1", "1", ", 'overlap': " fields)

#define FAST                                                                                       \
    "{'latency_s': 5e-07, 'overhead_s': 0.30000000000000004, 'gap_s': 0, "                         \
    "'gap_s_per_byte': 1e-10, 'overhead_s_per_byte': 5e-11, 'fit': {'error': 0.5}}"
#define SLOW                                                                                       \
    "{'latency_s': 5e-05, 'overhead_s': 1e-06, 'gap_s': 2e-06, 'gap_s_per_byte': 8e-09, "          \
    "'overhead_s_per_byte': 0}"
#define TOPOLOGY ", 'nodes_per_switch': 4, 'oversubscription': 2.5"
#define FLAT ", 'nodes_per_switch': 0, 'oversubscription': 1"

static void assert_same_loggp(const struct gw_loggp *a, const struct gw_loggp *b) {
    assert_memory_equal(a, b, sizeof *a); /* five numbers without gaps */
}

static const struct gw_loggp fast = {.latency_s = 5e-7,
                                     .overhead_s = 0.1 + 0.2,
                                     .gap_s_per_byte = 1e-10,
                                     .overhead_s_per_byte = 5e-11};
static const struct gw_loggp slow = {
    .latency_s = 5e-5, .overhead_s = 1e-6, .gap_s = 2e-6, .gap_s_per_byte = 8e-9};

/* A network is read, and written back unchanged. */
TEST(a_network_comes_back) {
    static const struct {
        const char *text;
        const struct gw_loggp *within, *between;
        size_t nodes_per_switch;
        double oversubscription;
    } table[] = {
        {NETWORK_OF("8", "4", "{'within': " FAST ", 'between': " SLOW TOPOLOGY ", 'by': ['me']}"),
         &fast, &slow, 4, 2.5},
        {NETWORK_OF("8", "1", "{'between': " SLOW FLAT "}"), &slow, &slow, 0, 1},
        {NETWORK_OF("8", "1", "{'within': " FAST ", 'between': " SLOW FLAT "}"), &fast, &slow, 0,
         1},
        {NETWORK_OF("4", "4", "{'within': " FAST FLAT "}"), &fast, &fast, 0, 1},
        {NETWORK_OF("4", "4", "{'within': " FAST ", 'between': " SLOW FLAT "}"), &fast, &slow, 0,
         1},
        {NETWORK_OF("1", "1", "{'within': " FAST FLAT "}"), &fast, &fast, 0, 1},
        {NETWORK_OF("1", "1", "{'between': " SLOW FLAT "}"), &slow, &slow, 0, 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gw_cluster cluster;
        parse_whole(table[i].text, &cluster);
        assert_non_null(cluster.network);
        assert_same_loggp(&cluster.network->within, table[i].within);
        assert_same_loggp(&cluster.network->between, table[i].between);
        assert_int_equal(cluster.network->nodes_per_switch, table[i].nodes_per_switch);
        assert_true(cluster.network->oversubscription == table[i].oversubscription);
        assert_cluster(&cluster, table[i].text);
        gw_cluster_free(&cluster);
    }
}

/* Made of numbers alone, on clusters where "within" or "between" say nothing of their own. */
TEST(a_network_is_built) {
    static const struct {
        size_t workers, per_node;
        const char *network;
    } table[] = {{8, 4, "{'within': " SLOW ", 'between': " SLOW FLAT "}"},
                 {8, 1, "{'between': " SLOW FLAT "}"},
                 {4, 4, "{'within': " SLOW FLAT "}"},
                 {1, 1, "{'within': " SLOW FLAT "}"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct gw_cluster cluster;
        struct gw_network network = {.within = fast, .between = slow, .oversubscription = 7};
        char expected[1024];
        assert_ok(gw_cluster_create(&cluster, "c", table[i].workers, table[i].per_node, &error));
        assert_ok(gw_cluster_set_network(&cluster, network, &error));
        network = (struct gw_network){.within = slow, .between = slow, .oversubscription = 1};
        network.kept = cJSON_CreateObject();
        assert_ok(gw_cluster_set_network(&cluster, network, &error));
        (void)snprintf(expected, sizeof expected,
                       "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': %zu, "
                       "'workers_per_node': %zu, 'collectives': {}, 'compressors': {}, "
                       "'network': %s}",
                       table[i].workers, table[i].per_node, table[i].network);
        assert_cluster(&cluster, expected);
        gw_cluster_free(&cluster);
    }
}

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

TEST(factors_are_read_and_written) {
    struct gw_cluster cluster;
    parse_whole(OVERLAP(MEASURED), &cluster);
    assert_cluster(&cluster, OVERLAP(MEASURED));
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
    parse_whole(OVERLAP(MEASURED), &cluster);
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

TEST(measured_overlap_is_written) {
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
