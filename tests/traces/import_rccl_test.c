/* Reads files that RCCL's tests write. */
#include "tests/traces/import_support.h"

/* ---- files of RCCL's tests ------------------------------------------------------------------- */

#define ROW_OF(name, ranks, size, in_place, time)                                                  \
    "{'#wrong':'0','algBw':1.5,'busBw':2.5," ranks ",'inPlace':" #in_place ",'name':'" name        \
    "','redop':'sum','size':" #size ",'time':" #time ",'type':'float'}"
#define MPI "'nodes':2,'ranks':4,'ranksPerNode':2,'gpusPerRank':1"
#define CSV_ROWS(ranks)                                                                            \
    "0,\"AllGather\"," ranks ",4096,\"float\",\"none\",0,10.5,1,1,\"0\"\n"                         \
    "0,\"AllGather\"," ranks ",4096,\"float\",\"none\",1,99,1,1,\"0\"\n"                           \
    "0, \"AllGather\", " ranks ", 8192, \"float\", \"none\", 0, 20, 1, 1, \"N/A\"\n"

/* Reads a line for each object, an array, and values, with MPI (and its odd heading) and without.
 */
TEST_IN_FOLDER(files_of_rccl) {
    static const double points[][2] = {{1024, 10.5}, {2048, 20}};
    static const char *const cases[] = {
        ROW_OF("AllGather", "'gpus':4", 4096, 0,
               10.5) "\n" ROW_OF("AllGather", "'gpus':4", 4096, 1,
                                 99) "\n" ROW_OF("AllGather", "'gpus':4", 8192, 0, 20) "\n",
        "[\n" ROW_OF("AllGather", MPI, 4096, 0, 10.5) ",\n" ROW_OF("AllGather", MPI, 8192, 0,
                                                                   20) "\n]\n",
        ROW_OF("AllGather", "'gpus':4", 4096, 1, 10.5) "\n" ROW_OF("AllGather", "'gpus':4", 8192, 1,
                                                                   20) "\n",
        "numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n" CSV_ROWS("4"),
        "numCycle,collective,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inplace,time,"
        "algbw,busbw,#wrong\n" CSV_ROWS("2,2,1,2"),
        "numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,"
        "busbw,#wrong\n" CSV_ROWS("2,4,2,1"),
    };
    static const size_t per_node[] = {4, 2, 4, 4, 2, 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = i < 3 ? quoted(cases[i]) : cases[i];
        struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", text, 0);
        assert_points(&cluster, "allgather", 4, points, 2);
        assert_int_equal(cluster.workers_per_node, per_node[i]);
        gw_cluster_free(&cluster);
    }
}

/* Joins the rows of a curve over the file, and judges over the file whether it has any out of
 * place.
 */
TEST_IN_FOLDER(measurements_of_rccl_may_alternate) {
    static const double gathers[][2] = {{1024, 10.5}, {2048, 20}};
    static const double reduces[][2] = {{4096, 11}, {8192, 21}};
    static const char text[] = ROW_OF("AllGather", "'gpus':4", 4096, 0, 10.5) "\n" ROW_OF(
        "AllReduce", "'gpus':4", 4096, 1,
        11) "\n" ROW_OF("AllGather", "'gpus':4", 4096, 1,
                        99) "\n" ROW_OF("AllReduce", "'gpus':4", 8192, 1,
                                        21) "\n" ROW_OF("AllGather", "'gpus':4", 8192, 0, 20) "\n";
    struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", quoted(text), 0);
    assert_points(&cluster, "allgather", 4, gathers, 2);
    assert_points(&cluster, "allreduce", 4, reduces, 2);
    assert_null(gw_import_passed_over(&cluster, 0));
    gw_cluster_free(&cluster);
}

TEST_IN_FOLDER(bad_files_of_rccl_are_refused) {
    static const struct {
        const char *old, *new, *message;
    } cases[] = {
        {"'#wrong':'0'", "'#wrong':'3'",
         "x.txt:1: #wrong: expected right results, 0 or N/A, got \"3\""},
        {"'gpus':4", "'gpus':0", "x.txt:1: gpus: expected a positive integer, got 0"},
        {"'time':10", "'time':-1", "x.txt:1: time: expected a finite number >= 0, got -1"},
        {"'type':'float'}\n{", "'type':'half'}\n{",
         "x.txt:1: expected all rows of one type and operation, those of the first one (half sum): "
         "got 1 others, such as float sum"},
        {"AllReduce", "AllMix",
         "x.txt:1: expected all_reduce, all_gather, broadcast, reduce, "
         "gather, scatter or sendrecv, got AllMix"},
        {"'gpus':4", "'ranks':2,'ranksPerNode':3",
         "x.txt:1: ranks: expected 2^24 GPUs at most, and a node's ranks among all, got 2"},
    };
    static const char text[] = ROW_OF("AllReduce", "'gpus':4", 4096, 0,
                                      10) "\n" ROW_OF("AllMix", "'gpus':4", 8192, 0, 20) "\n";
    static const char same[] = ROW_OF("AllReduce", "'gpus':4", 4096, 0,
                                      10) "\n" ROW_OF("AllReduce", "'gpus':4", 8192, 0, 20) "\n";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool is_name = strcmp(cases[i].new, "AllMix") == 0;
        assert_refused(*state, NCCL,
                       quoted(with(is_name ? text : same, cases[i].old, cases[i].new)), 0,
                       cases[i].message);
    }
    assert_refused(*state, NCCL, "numCycle,collective,gpus,size\n0,AllReduce,4\n", 0,
                   "x.txt:2: expected 4 columns, got 3");
}
