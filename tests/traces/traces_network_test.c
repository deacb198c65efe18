/* A cluster's network: what is read is what is written back, and what may be left out. */
#include "tests/test.h"
#include "tests/traces/bad_documents.h"
#include "tests/traces/traces_support.h"

static const char measured_without_network[] =
    "{'schema': 'gradweave/cluster@1', 'name': 'c', 'workers': 2, 'workers_per_node': 1, "
    "'collectives': {}, 'compressors': {}}";

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
        parse_cluster(table[i].text, &cluster);
        assert_non_null(cluster.network);
        assert_same_loggp(&cluster.network->within, table[i].within);
        assert_same_loggp(&cluster.network->between, table[i].between);
        assert_int_equal(cluster.network->nodes_per_switch, table[i].nodes_per_switch);
        assert_true(cluster.network->oversubscription == table[i].oversubscription);
        assert_cluster(&cluster, table[i].text);
        gw_cluster_free(&cluster);
    }
}

TEST(a_network_says_little) {
    struct gw_cluster cluster;
    parse_cluster(NETWORK_OF("2", "1", "{'between': " LOGGP "}"), &cluster);
    const struct gw_loggp expected = {1, 2, 3, 4, 0};
    assert_same_loggp(&cluster.network->within, &expected);
    assert_same_loggp(&cluster.network->between, &expected);
    assert_true(cluster.network->nodes_per_switch == 0 && cluster.network->oversubscription == 1);
    gw_cluster_free(&cluster);
    parse_cluster(measured_without_network, &cluster);
    assert_null(cluster.network);
    assert_cluster(&cluster, measured_without_network);
    gw_cluster_free(&cluster);
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
