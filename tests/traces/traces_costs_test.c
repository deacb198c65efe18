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
    "'alltoall': [{'workers': 3, 'alpha_s': 4, 'beta_s_per_byte': 0.2}],"
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
                 {"alltoall", 4, 6, 36, 3, "ring algorithm"}};
    struct gw_cluster cluster;
    parse_cluster(measured_text, &cluster);
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
        assert_string_equal(derivation, expected);
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
        parse_cluster(texts[t], &cluster);
        for (size_t workers = 2; workers <= 64; workers *= 2) {
            char derivation[GW_DERIVATION_SIZE];
            struct gw_curve curve;
            double uncertainty = 1;
            assert_ok(
                gw_cluster_collective(&cluster, "sendrecv", workers, &curve, derivation, &error));
            assert_true(near(gw_curve_startup(&curve), 3, 0));
            assert_true(near(gw_curve_time(&curve, 100), 53, 0));
            gw_curve_free(&curve);
            assert_ok(gw_cluster_uncertainty(&cluster, "sendrecv", workers, &uncertainty, &error));
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
    parse_cluster(text, &cluster);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_true(
            near(gw_cluster_skew_s(&cluster, table[i].name, table[i].workers, 1, table[i].bytes),
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
    parse_cluster(text, &cluster);
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

TEST(curves_are_found_by_name_and_workers) {
    struct gw_cluster cluster;
    parse_cluster(measured_text, &cluster);
    const struct gw_collective_cost *reduce = gw_cluster_find_collective(&cluster, "reduce", 16);
    assert_non_null(reduce);
    assert_string_equal(reduce->name, "reduce");
    assert_int_equal(reduce->workers, 16);
    assert_ptr_equal(gw_cluster_find_collective(&cluster, "reduce", 0), reduce);
    assert_null(gw_cluster_find_collective(&cluster, "reduce", 4));
    assert_null(gw_cluster_find_collective(&cluster, "topk", 0));
    const struct gw_kernel_cost *topk = gw_kernel_cost_find(&cluster.compressors, "topk");
    assert_ptr_equal(topk, &cluster.compressors.list[0]);
    assert_null(gw_kernel_cost_find(&cluster.compressors, "reduce"));
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
    parse_cluster(text, &cluster);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_ok(gw_cluster_collective(&cluster, table[i].name, table[i].workers, &curve,
                                        derivation, &error));
        assert_true(near(gw_curve_time(&curve, table[i].bytes), table[i].time_s, 1e-15));
        assert_string_equal(derivation, table[i].derivation);
        assert_ok(gw_cluster_uncertainty(&cluster, table[i].name, table[i].workers, &uncertainty,
                                         &error));
        assert_true(uncertainty == 0);
        gw_curve_free(&curve);
    }
    /* Among 3, of a broadcast that is derived, and so uncertain. */
    double of_broadcast = 0;
    assert_ok(gw_cluster_collective(&cluster, "gtopk", 3, &curve, derivation, &error));
    assert_non_null(strstr(derivation, "; broadcast: 3 workers not measured; from 2, 5 by growth"));
    gw_curve_free(&curve);
    assert_ok(gw_cluster_uncertainty(&cluster, "broadcast", 3, &of_broadcast, &error));
    assert_ok(gw_cluster_uncertainty(&cluster, "gtopk", 3, &uncertainty, &error));
    assert_true(uncertainty > 0 && uncertainty == of_broadcast);
    assert_ok(gw_cluster_uncertainty(&cluster, "push", 3, &uncertainty, &error));
    assert_true(isnan(uncertainty));
    assert_int_equal(gw_cluster_collective(&cluster, "pull", 5, &curve, derivation, &error),
                     GW_BAD_INPUT);
    assert_string_equal(error.message,
                        "pull: f: collectives.scatter: expected a measured curve, got nothing "
                        "(gradweave calibrate --only scatter --add measures it)");
    gw_cluster_free(&cluster);
}

TEST(one_worker_exchanges_nothing) {
    struct gw_cluster cluster;
    parse_cluster(measured_text, &cluster);
    const char *names[] = {"allgather", "allreduce"};
    for (size_t i = 0; i < 2; i++) {
        char derivation[GW_DERIVATION_SIZE];
        struct gw_curve curve;
        assert_ok(gw_cluster_collective(&cluster, names[i], 1, &curve, derivation, &error));
        assert_true(near(gw_curve_startup(&curve), 0, 0));
        assert_true(near(gw_curve_time(&curve, 1e9), 0, 0));
        gw_curve_free(&curve);
    }
    gw_cluster_free(&cluster);
}

TEST(missing_costs_are_named) {
    struct gw_cluster cluster;
    struct gw_curve curve;
    const struct gw_kernel_cost *compressor = NULL;
    char derivation[GW_DERIVATION_SIZE];
    parse_cluster(measured_text, &cluster);
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

TEST(densities_that_say_nothing_are_refused) {
    static const char *const bad[] = {"[0.001]",          "[0.001, 0.001]",
                                      "[0, 0.1]",         "[0.1, 2]",
                                      "[0.1, 0.2, 0.3]",  "0.1",
                                      "[\"a\", 0.1]",     "[0.1, 0.2, 5]",
                                      "[1e-320, 2e-320]", "[0.001, 0.0010000000001]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[400];
        struct gw_cluster cluster;
        (void)snprintf(text, sizeof text,
                       "{\"schema\": \"gradweave/cluster@1\", \"name\": \"c\", \"workers\": 2, "
                       "\"collectives\": {}, \"compressors\": {\"topk\": {\"fixed_s\": 1, "
                       "\"denser\": {\"densities\": %s, \"fixed_s\": 2}}}}",
                       bad[i]);
        assert_int_equal(gw_cluster_parse(text, strlen(text), "f", &cluster, &error), GW_BAD_INPUT);
        assert_non_null(strstr(error.message, "f: compressors.topk.denser.densities: expected "));
    }
}

/* The concurrent time at the second density is read, and written again unchanged. */
TEST(what_is_taken_together_at_another_density_is_kept) {
    static const char *const entries[] = {"{\"fixed_s\": 1, \"per_element_s\": 7}", "{}"};
    for (size_t i = 0; i < 2; i++) {
        char text[400];
        struct gw_cluster cluster;
        (void)snprintf(text, sizeof text,
                       "{\"schema\": \"gradweave/cluster@1\", \"name\": \"c\", \"workers\": 2, "
                       "\"collectives\": {}, \"compressors\": {\"topk\": {\"fixed_s\": 1, "
                       "\"denser\": {\"densities\": [0.001, 0.016], \"fixed_s\": 2, "
                       "\"together\": %s}}}}",
                       entries[i]);
        enum gw_status status = gw_cluster_parse(text, strlen(text), "f", &cluster, &error);
        assert_int_equal(status, i == 0 ? GW_OK : GW_BAD_INPUT);
        if (status != GW_OK) {
            assert_non_null(strstr(error.message, "compressors.topk.denser.together: expected "));
            continue;
        }
        cJSON *document = NULL;
        assert_true(cluster.compressors.list[0].denser_together.per_unit_s == 7);
        assert_ok(gw_cluster_document(&cluster, &document, &error));
        cJSON *first = cJSON_Parse(text);
        const cJSON *as_read = cJSON_GetObjectItem(first, "compressors");
        assert_true(cJSON_Compare(as_read, cJSON_GetObjectItem(document, "compressors"), true));
        cJSON_Delete(first);
        cJSON_Delete(document);
        gw_cluster_free(&cluster);
    }
}
