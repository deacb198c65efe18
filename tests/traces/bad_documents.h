/*
 * Models, clusters and plans that must be refused, and the words in which they are. Single quotes
 * stand for double ones, in documents and messages; every message begins with the file's name, here
 * f.
 */
#ifndef GW_TESTS_BAD_DOCUMENTS_H
#define GW_TESTS_BAD_DOCUMENTS_H

enum document_kind { MODEL, CLUSTER, PLAN };

struct bad_document {
    enum document_kind kind;
    const char *text, *message;
};

#define MODEL_OF(fields) "{'schema': 'gradweave/model@1', " fields "}"
#define TENSORS(list) MODEL_OF("'name': 'm', 'forward_s': 1, 'tensors': " list)
#define TENSOR(fields) TENSORS("[{'name': 'a', 'elements': 1, 'backward_s': 0}, {" fields "}]")
#define MODEL_WITH(field)                                                                          \
    MODEL_OF("'name': 'm', 'forward_s': 1, " field                                                 \
             ", 'tensors': [{'name': 'a', 'elements': 1, 'backward_s': 0}]")

#define CLUSTER_OF(fields) "{'schema': 'gradweave/cluster@1', " fields "}"
#define COSTS(collectives, compressors)                                                            \
    CLUSTER_OF("'name': 'c', 'workers': 16, 'collectives': " collectives                           \
               ", 'compressors': " compressors)
#define ALLREDUCE(entries) COSTS("{'allreduce': " entries "}", "{}")
#define POINTS(list) ALLREDUCE("[{'workers': 16, 'points': " list "}]")
#define TOPK(curve) COSTS("{}", "{'topk': " curve "}")

#define NETWORK_OF(workers, per_node, fields)                                                      \
    CLUSTER_OF("'name': 'c', 'workers': " workers ", 'workers_per_node': " per_node                \
               ", 'collectives': {}, 'compressors': {}, 'network': " fields)
#define NETWORK(fields) NETWORK_OF("8", "1", fields)
#define LOGGP "{'latency_s': 1, 'overhead_s': 2, 'gap_s': 3, 'gap_s_per_byte': 4}"
#define LINK(latency, overhead, gap, gap_per_byte, rest)                                           \
    NETWORK("{'between': {'latency_s': " latency ", 'overhead_s': " overhead ", 'gap_s': " gap     \
            ", 'gap_s_per_byte': " gap_per_byte rest "}}")

#define OVERLAP(fields)                                                                            \
    CLUSTER_OF("'name': 'c', 'workers': 1, 'workers_per_node': 1, 'collectives': {}, "             \
               "'compressors': {}, 'overlap': " fields)
#define FACTORS(fields) OVERLAP("{'workers': 2, 'factors': " fields "}")
#define SLOWED(list) FACTORS("{'allgather': {'topk': " list "}}")
#define SLOWED_BY(compute, communication)                                                          \
    SLOWED("[{'bytes': 8, 'compute': " compute ", 'communication': " communication "}]")

#define PLAN_OF(fields) "{'schema': 'gradweave/plan@1', " fields "}"
#define PLAN_WITH(density, workers, groups, times)                                                 \
    PLAN_OF("'model': 'm', 'policy': 'single', 'compressor': 'topk', 'density': " density          \
            ", 'workers': " workers ", 'groups': " groups times)
#define TIMES ", 'iteration_s': 1, 'lower_bound_s': 1"
#define GROUPS(list) PLAN_WITH("0.1", "4", list, TIMES)

static const struct bad_document bad_documents[] = {
    {MODEL, "", "line 1, column 1: expected valid JSON"},
    {MODEL, "{'schema': 'gradweave/model@1',\n 'name': }",
     "line 2, column 10: expected valid JSON"},
    {CLUSTER, "{} x", "line 1, column 4: expected valid JSON"},
    {PLAN, "{'a': 1,\n\n\n  'b': ]}", "line 4, column 8: expected valid JSON"},
    {MODEL, TENSOR("'name': 'b', 'elements': 01, 'backward_s': 0"),
     "line 1, column 147: expected a number as JSON writes it, got 01"},
    {MODEL, TENSOR("'name': 'a\\u0000b', 'elements': 1, 'backward_s': 0"),
     "line 1, column 132: expected text without zero characters, got \\u0000"},
    {MODEL, "[]", "expected an object, got an empty array"},
    {CLUSTER, "'text'", "expected an object, got 'text'"},
    {PLAN, "null", "expected an object, got null"},
    {MODEL, "{}", "schema: expected 'gradweave/model@1', got nothing"},
    {MODEL, "{'schema': 1}", "schema: expected 'gradweave/model@1', got 1"},
    {MODEL, CLUSTER_OF("'name': 'c'"),
     "schema: expected 'gradweave/model@1', got 'gradweave/cluster@1'"},
    {CLUSTER, "{'schema': 'gradweave/cluster@2'}",
     "schema: expected 'gradweave/cluster@1', got 'gradweave/cluster@2'"},
    {PLAN, "{'Schema': 'gradweave/plan@1'}", "schema: expected 'gradweave/plan@1', got nothing"},

    {MODEL, MODEL_OF("'forward_s': 1"), "name: expected a string, got nothing"},
    {MODEL, MODEL_OF("'name': 7"), "name: expected a string, got 7"},
    {MODEL, MODEL_OF("'name': 'm'"), "forward_s: expected a finite number >= 0, got nothing"},
    {MODEL, MODEL_OF("'name': 'm', 'forward_s': '1'"),
     "forward_s: expected a finite number >= 0, got '1'"},
    {MODEL, MODEL_OF("'name': 'm', 'forward_s': -1e-9"),
     "forward_s: expected a finite number >= 0, got -1e-09"},
    {MODEL, MODEL_OF("'name': 'm', 'forward_s': 1e999"),
     "forward_s: expected a finite number >= 0, got inf"},
    {MODEL, MODEL_OF("'name': 'm', 'forward_s': 1"), "tensors: expected an array, got nothing"},
    {MODEL, MODEL_WITH("'update_s': -1"), "update_s: expected a finite number >= 0, got -1"},
    {MODEL, MODEL_WITH("'update_s': null"), "update_s: expected a finite number >= 0, got null"},
    {MODEL, MODEL_WITH("'batch_size': 0"), "batch_size: expected a finite number > 0, got 0"},
    {MODEL, MODEL_WITH("'batch_size': 1e999"), "batch_size: expected a finite number > 0, got inf"},
    {MODEL, MODEL_WITH("'bytes_per_element': 0"),
     "bytes_per_element: expected a positive integer, got 0"},
    {MODEL, MODEL_WITH("'bytes_per_element': 2.5"),
     "bytes_per_element: expected a positive integer, got 2.5"},
    {MODEL, MODEL_WITH("'source': 'me'"), "source: expected an object, got 'me'"},
    {MODEL, TENSORS("{}"), "tensors: expected an array, got an object"},
    {MODEL, TENSORS("[]"), "tensors: expected at least one tensor, got an empty array"},
    {MODEL, TENSORS("[3]"), "tensors[0]: expected an object, got 3"},
    {MODEL, TENSOR("'elements': 1, 'backward_s': 0"),
     "tensors[1].name: expected a string, got nothing"},
    {MODEL, TENSOR("'name': 'b', 'backward_s': 0"),
     "tensors[1].elements: expected a positive integer, got nothing"},
    {MODEL, TENSOR("'name': 'b', 'elements': 0, 'backward_s': 0"),
     "tensors[1].elements: expected a positive integer, got 0"},
    {MODEL, TENSOR("'name': 'b', 'elements': -3, 'backward_s': 0"),
     "tensors[1].elements: expected a positive integer, got -3"},
    {MODEL, TENSOR("'name': 'b', 'elements': 1e999, 'backward_s': 0"),
     "tensors[1].elements: expected a positive integer, got inf"},
    {MODEL, TENSOR("'name': 'b', 'elements': 9007199254740992, 'backward_s': 0"),
     "tensors[1].elements: expected at most 2^53 elements in all tensors, got 9007199254740992"},
    {MODEL,
     MODEL_OF("'name': 'm', 'forward_s': 1, 'bytes_per_element': 4503599627370496, "
              "'tensors': [{'name': 'a', 'elements': 4096, 'backward_s': 0}]"),
     "bytes_per_element: expected fewer than 2^64 bytes in all tensors, got 4503599627370496"},
    {MODEL, TENSOR("'name': 'b', 'elements': 1"),
     "tensors[1].backward_s: expected a finite number >= 0, got nothing"},
    {MODEL, TENSOR("'name': 'b', 'elements': 1, 'backward_s': -0.5"),
     "tensors[1].backward_s: expected a finite number >= 0, got -0.5"},
    {MODEL, TENSOR("'name': 'b', 'elements': 1, 'backward_s': 1e999"),
     "tensors[1].backward_s: expected a finite number >= 0, got inf"},

    {CLUSTER, CLUSTER_OF("'workers': 16"), "name: expected a string, got nothing"},
    {CLUSTER, CLUSTER_OF("'name': 'c'"), "workers: expected a positive integer, got nothing"},
    {CLUSTER, CLUSTER_OF("'name': 'c', 'workers': 0"),
     "workers: expected a positive integer, got 0"},
    {CLUSTER, CLUSTER_OF("'name': 'c', 'workers': 1, 'workers_per_node': 0"),
     "workers_per_node: expected a positive integer, got 0"},
    {CLUSTER, CLUSTER_OF("'name': 'c', 'workers': 1"),
     "collectives: expected an object, got nothing"},
    {CLUSTER, CLUSTER_OF("'name': 'c', 'workers': 1, 'collectives': {}"),
     "compressors: expected an object, got nothing"},
    {CLUSTER, ALLREDUCE("{}"), "collectives.allreduce: expected an array, got an object"},
    {CLUSTER, ALLREDUCE("[[]]"),
     "collectives.allreduce[0]: expected an object, got an empty array"},
    {CLUSTER, ALLREDUCE("[{'alpha_s': 1, 'beta_s_per_byte': 1}]"),
     "collectives.allreduce[0].workers: expected a positive integer, got nothing"},
    {CLUSTER, ALLREDUCE("[{'workers': 16}]"),
     "collectives.allreduce[0].alpha_s: expected a finite number >= 0, got nothing"},
    {CLUSTER, ALLREDUCE("[{'workers': 16, 'alpha_s': 1}]"),
     "collectives.allreduce[0].beta_s_per_byte: expected a finite number >= 0, got nothing"},
    {CLUSTER, ALLREDUCE("[{'workers': 16, 'alpha_s': -1, 'beta_s_per_byte': 1}]"),
     "collectives.allreduce[0].alpha_s: expected a finite number >= 0, got -1"},
    {CLUSTER, ALLREDUCE("[{'workers': 16, 'alpha_s': 1, 'beta_s_per_byte': 1e999}]"),
     "collectives.allreduce[0].beta_s_per_byte: expected a finite number >= 0, got inf"},
    {CLUSTER,
     ALLREDUCE("[{'workers': 4, 'alpha_s': 1, 'beta_s_per_byte': 1}, "
               "{'workers': 8, 'alpha_s': 1, 'beta_s_per_byte': 1}, "
               "{'workers': 4, 'alpha_s': 1, 'beta_s_per_byte': 1}]"),
     "collectives.allreduce[2].workers: expected one entry for each number of workers, got 4"},
    {CLUSTER, POINTS("7"), "collectives.allreduce[0].points: expected an array, got 7"},
    {CLUSTER, POINTS("[]"),
     "collectives.allreduce[0].points: expected at least two points, got an empty array"},
    {CLUSTER, POINTS("[[1, 1]]"),
     "collectives.allreduce[0].points: expected at least two points, got an array"},
    {CLUSTER, POINTS("[[1, 1], [2]]"),
     "collectives.allreduce[0].points[1]: expected a pair [size, seconds], got an array"},
    {CLUSTER, POINTS("[[1, 1], 2]"),
     "collectives.allreduce[0].points[1]: expected a pair [size, seconds], got 2"},
    {CLUSTER, POINTS("[[0, 1], [2, 1]]"),
     "collectives.allreduce[0].points[0][0]: expected a finite number > 0, got 0"},
    {CLUSTER, POINTS("[[1, 1], [2, -1]]"),
     "collectives.allreduce[0].points[1][1]: expected a finite number >= 0, got -1"},
    {CLUSTER, POINTS("[[1, 1], [1e999, 1]]"),
     "collectives.allreduce[0].points[1][0]: expected a finite number > 0, got inf"},
    {CLUSTER, POINTS("[[2, 1], [2, 2]]"),
     "collectives.allreduce[0].points[1][0]: expected sizes in ascending order, got 2"},
    {CLUSTER, POINTS("[[1, 1], [3, 1], [2, 2]]"),
     "collectives.allreduce[0].points[2][0]: expected sizes in ascending order, got 2"},
    {CLUSTER, POINTS("[[1, 1], [2, 2]], 'skew': [[2, 0.5], [1, 0.5]]"),
     "collectives.allreduce[0].skew[1][0]: expected sizes in ascending order, got 1"},
    {CLUSTER, POINTS("[[1, 1], [2, 2]], 'skew': [[2, 1.5]]"),
     "collectives.allreduce[0].skew[0][1]: expected a share of at most 1, got 1.5"},
    {CLUSTER, TOPK("1"), "compressors.topk: expected an object, got 1"},
    {CLUSTER, TOPK("{'fixed_s': -1}"),
     "compressors.topk.fixed_s: expected a finite number >= 0, got -1"},
    {CLUSTER, TOPK("{'per_element_s': '1'}"),
     "compressors.topk.per_element_s: expected a finite number >= 0, got '1'"},
    {CLUSTER, TOPK("{'per_nlog2n_s': 1e999}"),
     "compressors.topk.per_nlog2n_s: expected a finite number >= 0, got inf"},
    {CLUSTER, TOPK("{'points': [[1, 1]]}"),
     "compressors.topk.points: expected at least two points, got an array"},
    {CLUSTER, TOPK("{'fixed_s': 1e-5, 'per_element_s': 1e-9, 'points': [[1, 1e-9], [10, 2e-9]]}"),
     "compressors.topk: expected points, or coefficients, got both"},
    {CLUSTER, TOPK("{'fixed_s': 1, 'together': {'points': [[1, 1], [2, 2]], 'per_nlog2n_s': 0}}"),
     "compressors.topk.together: expected points, or coefficients, got both"},
    {CLUSTER, ALLREDUCE("[{'workers': 16, 'beta_s_per_byte': 1, 'points': [[1, 1], [2, 2]]}]"),
     "collectives.allreduce[0]: expected points, or coefficients, got both"},
    {CLUSTER, TOPK("{'fixed_s': 1, 'together': 2}"),
     "compressors.topk.together: expected an object, got 2"},
    {CLUSTER, TOPK("{'fixed_s': 1, 'together': {'points': [[1, 2], [9, 1]]}}"),
     "compressors.topk.together.points[1][1]: expected no less time than for the smaller sizes, "
     "got 1"},
    {CLUSTER, TOPK("{'fixed_s': 1}}, 'sharing': {'ranks': 0, 'processors': 1"),
     "sharing.ranks: expected a positive integer, got 0"},
    {CLUSTER, TOPK("{'fixed_s': 1}}, 'sharing': {'ranks': 1"),
     "sharing.processors: expected a positive integer, got nothing"},
    {CLUSTER, TOPK("{'fixed_s': 1}}, 'sharing': {'ranks': 4, 'processors': 2, 'together': 5"),
     "sharing.together: expected at most as many as there are ranks, got 5"},

    {CLUSTER, TOPK("{}"),
     "compressors.topk: expected points, or one of fixed_s, per_element_s and per_nlog2n_s, got an "
     "object"},
    {CLUSTER, TOPK("{'per_elements_s': 5}"),
     "compressors.topk: expected points, or one of fixed_s, per_element_s and per_nlog2n_s, got an "
     "object"},

    /* keys that are there twice, with few others and with many */
    {MODEL, MODEL_WITH("'update_s': 1, 'update_s': 1"),
     "expected each key once, got 'update_s' twice"},
    {MODEL, MODEL_WITH("'source': {'a': {'b': [0, [{'c': 1, 'd': 2, 'c': 3}]]}}"),
     "source.a.b[1][0]: expected each key once, got 'c' twice"},
    {CLUSTER, TOPK("{'fixed_s': 1, 'per_element_s': 2, 'fixed_s': 1}"),
     "compressors.topk: expected each key once, got 'fixed_s' twice"},
    {PLAN, GROUPS("[[0]], 'a': 0, 'b': 0, 'c': 0, 'd': 0, 'e': 0, 'f': 0, 'g': 0, 'a': 0"),
     "expected each key once, got 'a' twice"},

    /* curves that fall, and what falls by no more than measuring explains */
    {CLUSTER, POINTS("[[1, 0.1], [1000, 0.002]]"),
     "collectives.allreduce[0].points[1][1]: expected no less time than for the smaller sizes, got "
     "0.002"},
    {CLUSTER, POINTS("[[1, 1], [2, 0.97], [3, 0.96], [4, 0.94]]"),
     "collectives.allreduce[0].points[3][1]: expected no less time than for the smaller sizes, got "
     "0.94"},
    {CLUSTER, TOPK("{'points': [[1, 1], [2, 2], [3, 1.8]]}"),
     "compressors.topk.points[2][1]: expected no less time than for the smaller sizes, got 1.8"},
    {CLUSTER,
     TOPK("{'points': [[1, 2], [2, 1]], 'raw': [{'elements': 1, 'p5_s': 1.5, 'p95_s': 3}, "
          "{'elements': 2, 'p5_s': 0.5, 'p95_s': 1.4}]}"),
     "compressors.topk.points[1][1]: expected no less time than for the smaller sizes, got 1"},

    {CLUSTER,
     TOPK(
         "{'points': [[1, 100], [2, 0.008]], 'raw': [{'elements': 1, 'p5_s': 1e-5, 'p95_s': 0.01}, "
         "{'elements': 2, 'p5_s': 0.007, 'p95_s': 0.01}]}"),
     "compressors.topk.points[1][1]: expected no less time than for the smaller sizes, got 0.008"},
    /* an infinite end of a range, which a file that is written does not keep */
    {CLUSTER,
     TOPK("{'points': [[1, 2], [2, 1]], 'raw': [{'elements': 1, 'p5_s': 1.5, 'p95_s': 1e999}, "
          "{'elements': 2, 'p5_s': 0.5, 'p95_s': 1.6}]}"),
     "compressors.topk.points[1][1]: expected no less time than for the smaller sizes, got 1"},

    /* what is larger than anything that is measured */
    {MODEL, MODEL_WITH("'update_s': 1e20"), "update_s: expected at most 1e6 seconds, got 1e+20"},
    {MODEL, TENSOR("'name': 'b', 'elements': 1, 'backward_s': 1000001"),
     "tensors[1].backward_s: expected at most 1e6 seconds, got 1000001"},
    {MODEL, MODEL_WITH("'batch_size': 1e16"), "batch_size: expected at most 2^53, got 1e+16"},
    {CLUSTER, ALLREDUCE("[{'workers': 16, 'alpha_s': 1.6e29, 'beta_s_per_byte': 1}]"),
     "collectives.allreduce[0].alpha_s: expected at most 1e6 seconds, got 1.6e+29"},
    {CLUSTER, ALLREDUCE("[{'workers': 16, 'alpha_s': 1, 'beta_s_per_byte': 1e300}]"),
     "collectives.allreduce[0].beta_s_per_byte: expected at most 1e6 seconds, got 1e+300"},
    {CLUSTER, POINTS("[[1, 1], [1e16, 1]]"),
     "collectives.allreduce[0].points[1][0]: expected at most 2^53, got 1e+16"},
    {CLUSTER, TOPK("{'points': [[1, 1], [2, 1e7]]}"),
     "compressors.topk.points[1][1]: expected at most 1e6 seconds, got 10000000"},
    {CLUSTER, LINK("1e9", "0", "0", "0", ""),
     "network.between.latency_s: expected at most 1e6 seconds, got 1000000000"},
    {CLUSTER, NETWORK("{'between': " LOGGP ", 'oversubscription': 1e7}"),
     "network.oversubscription: expected at most 1e6, got 10000000"},
    {CLUSTER, SLOWED_BY("{'factor': 1e7}", "{}"),
     "overlap.factors.allgather.topk[0].compute.factor: expected at most 1e6, got 10000000"},

    {CLUSTER, NETWORK("[]"), "network: expected an object, got an empty array"},
    {CLUSTER, NETWORK("{}"), "network.within: expected an object, got nothing"},
    {CLUSTER, NETWORK("{'between': 5}"), "network.between: expected an object, got 5"},
    {CLUSTER, NETWORK("{'within': " LOGGP "}"), "network.between: expected an object, got nothing"},
    {CLUSTER, NETWORK_OF("8", "4", "{'between': " LOGGP "}"),
     "network.within: expected an object, got nothing"},
    {CLUSTER, NETWORK_OF("4", "4", "{'between': " LOGGP "}"),
     "network.within: expected an object, got nothing"},
    {CLUSTER, NETWORK("{'within': 'none', 'between': " LOGGP "}"),
     "network.within: expected an object, got 'none'"},
    {CLUSTER, NETWORK("{'between': {}}"),
     "network.between.latency_s: expected a finite number >= 0, got nothing"},
    {CLUSTER, LINK("-1e-6", "0", "0", "0", ""),
     "network.between.latency_s: expected a finite number >= 0, got -1e-06"},
    {CLUSTER, LINK("0", "1e999", "0", "0", ""),
     "network.between.overhead_s: expected a finite number >= 0, got inf"},
    {CLUSTER, LINK("0", "0", "'1'", "0", ""),
     "network.between.gap_s: expected a finite number >= 0, got '1'"},
    {CLUSTER, LINK("0", "0", "0", "null", ""),
     "network.between.gap_s_per_byte: expected a finite number >= 0, got null"},
    {CLUSTER, LINK("0", "0", "0", "0", ", 'overhead_s_per_byte': -1"),
     "network.between.overhead_s_per_byte: expected a finite number >= 0, got -1"},
    {CLUSTER, NETWORK("{'between': " LOGGP ", 'nodes_per_switch': -1}"),
     "network.nodes_per_switch: expected an integer >= 0, got -1"},
    {CLUSTER, NETWORK("{'between': " LOGGP ", 'nodes_per_switch': 1.5}"),
     "network.nodes_per_switch: expected an integer >= 0, got 1.5"},
    {CLUSTER, NETWORK("{'between': " LOGGP ", 'oversubscription': 0.5}"),
     "network.oversubscription: expected a finite number >= 1, got 0.5"},
    {CLUSTER, NETWORK("{'between': " LOGGP ", 'oversubscription': 1e999}"),
     "network.oversubscription: expected a finite number >= 1, got inf"},
    {CLUSTER, NETWORK("{'between': " LOGGP ", 'oversubscription': 'full'}"),
     "network.oversubscription: expected a finite number >= 1, got 'full'"},

    {CLUSTER, OVERLAP("7"), "overlap: expected an object, got 7"},
    {CLUSTER, OVERLAP("{}"), "overlap.workers: expected a positive integer, got nothing"},
    {CLUSTER, OVERLAP("{'workers': 2}"), "overlap.factors: expected an object, got nothing"},
    {CLUSTER, OVERLAP("{'workers': 2, 'session_s': -1, 'factors': {}}"),
     "overlap.session_s: expected a finite number >= 0, got -1"},
    {CLUSTER, FACTORS("{'allgather': []}"),
     "overlap.factors.allgather: expected an object, got an empty array"},
    {CLUSTER, SLOWED("{}"), "overlap.factors.allgather.topk: expected an array, got an object"},
    {CLUSTER, SLOWED("[]"),
     "overlap.factors.allgather.topk: expected at least one size, got an empty array"},
    {CLUSTER, SLOWED("[1]"), "overlap.factors.allgather.topk[0]: expected an object, got 1"},
    {CLUSTER, SLOWED("[{}]"),
     "overlap.factors.allgather.topk[0].bytes: expected a finite number > 0, got nothing"},
    {CLUSTER, SLOWED("[{'bytes': 0}]"),
     "overlap.factors.allgather.topk[0].bytes: expected a finite number > 0, got 0"},
    {CLUSTER, SLOWED("[{'bytes': 8}]"),
     "overlap.factors.allgather.topk[0].compute: expected an object, got nothing"},
    {CLUSTER, SLOWED_BY("{}", "{}"),
     "overlap.factors.allgather.topk[0].compute.factor: expected a finite number > 0, got nothing"},
    {CLUSTER, SLOWED_BY("{'factor': 0}", "{}"),
     "overlap.factors.allgather.topk[0].compute.factor: expected a finite number > 0, got 0"},
    {CLUSTER, SLOWED_BY("{'factor': 1}", "{'factor': 1e999}"),
     "overlap.factors.allgather.topk[0].communication.factor: expected a finite number > 0, got "
     "inf"},
    {CLUSTER, SLOWED_BY("{'factor': 1}", "{'factor': 2, 'low': -1}"),
     "overlap.factors.allgather.topk[0].communication.low: expected a finite number > 0, got -1"},
    {CLUSTER, SLOWED_BY("{'factor': 2, 'low': 2.5, 'high': 3}", "{}"),
     "overlap.factors.allgather.topk[0].compute.low: expected at most the factor, got 2.5"},
    {CLUSTER, SLOWED_BY("{'factor': 2, 'high': 1.5}", "{}"),
     "overlap.factors.allgather.topk[0].compute.high: expected at least the factor, got 1.5"},
    {CLUSTER,
     SLOWED("[{'bytes': 8, 'compute': {'factor': 1}, 'communication': {'factor': 1}}, "
            "{'bytes': 8, 'compute': {'factor': 1}, 'communication': {'factor': 1}}]"),
     "overlap.factors.allgather.topk[1].bytes: expected sizes in ascending order, got 8"},
    {CLUSTER,
     FACTORS("{'allgather': {'topk': [{'bytes': 8, 'compute': {'factor': 1}, 'communication': "
             "{'factor': 1}}], 'topk': []}}"),
     "overlap.factors.allgather: expected each key once, got 'topk' twice"},

    {PLAN, PLAN_OF("'policy': 'omgs'"), "model: expected a string, got nothing"},
    {PLAN, PLAN_OF("'model': 'm'"), "policy: expected a string, got nothing"},
    {PLAN, PLAN_OF("'model': 'm', 'policy': 'omgs', 'compressor': null"),
     "compressor: expected a string, got null"},
    {PLAN, PLAN_WITH("0", "4", "[[0]]", TIMES), "density: expected a finite number > 0, got 0"},
    {PLAN, PLAN_WITH("-0.1", "4", "[[0]]", TIMES),
     "density: expected a finite number > 0, got -0.1"},
    {PLAN, PLAN_WITH("1.5", "4", "[[0]]", TIMES), "density: expected a density in (0, 1], got 1.5"},
    {PLAN, PLAN_WITH("0.1", "0", "[[0]]", TIMES), "workers: expected a positive integer, got 0"},
    {PLAN, PLAN_WITH("0.1", "2.5", "[[0]]", TIMES),
     "workers: expected a positive integer, got 2.5"},
    {PLAN, PLAN_WITH("0.1", "4", "[[0]]", ", 'lower_bound_s': 1"),
     "iteration_s: expected a finite number >= 0, got nothing"},
    {PLAN, PLAN_WITH("0.1", "4", "[[0]]", ", 'iteration_s': 1, 'lower_bound_s': -1"),
     "lower_bound_s: expected a finite number >= 0, got -1"},
    {PLAN, PLAN_WITH("0.1", "4", "[[0]]", TIMES ", 'notes': 'n'"),
     "notes: expected an array, got 'n'"},
    {PLAN, PLAN_WITH("0.1", "4", "[[0]]", TIMES ", 'notes': [1]"),
     "notes[0]: expected a string, got 1"},
    {PLAN, GROUPS("'all'"), "groups: expected an array, got 'all'"},
    {PLAN, GROUPS("[]"), "groups: expected at least one group, got an empty array"},
    {PLAN, GROUPS("[1, 0]"), "groups[0]: expected an array of tensor indices, got 1"},
    {PLAN, GROUPS("[[], [0]]"),
     "groups[0]: expected an array of tensor indices, got an empty array"},
    {PLAN, GROUPS("[['1'], [0]]"), "groups[0][0]: expected an integer >= 0, got '1'"},
    {PLAN, GROUPS("[[1, 0], [-1]]"), "groups[1][0]: expected an integer >= 0, got -1"},
    {PLAN, GROUPS("[[3, 1, 0]]"),
     "groups[0][1]: expected tensor indices that descend without gaps, got 1"},
    {PLAN, GROUPS("[[0, 1]]"),
     "groups[0][1]: expected tensor indices that descend without gaps, got 1"},
    {PLAN, GROUPS("[[2, 2, 1, 0]]"),
     "groups[0][1]: expected tensor indices that descend without gaps, got 2"},
    {PLAN, GROUPS("[[3], [1, 0]]"),
     "groups[1]: expected groups that descend without gaps, got an array"},
    {PLAN, GROUPS("[[0], [1]]"),
     "groups[1]: expected groups that descend without gaps, got an array"},
    {PLAN, GROUPS("[[1, 0], [0]]"),
     "groups[1]: expected groups that descend without gaps, got an array"},
    {PLAN, GROUPS("[[3, 2], [1]]"), "groups: expected groups that end with tensor 0, got an array"},
};

#endif
