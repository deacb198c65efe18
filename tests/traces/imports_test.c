/* Imports clusters from output of other projects' benchmarks. */
#include "tests/traces/import_support.h"

static const cJSON *source_of(const struct gw_cluster *cluster, const char *name, size_t workers) {
    const struct gw_collective_cost *cost = gw_cluster_find_collective(cluster, name, workers);
    assert_non_null(cost);
    return cJSON_GetObjectItem(cost->kept, "source");
}

static void assert_said(const cJSON *object, const char *key, const char *text) {
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(object, key)), text);
}

/* ---- nccl-tests: text ----------------------------------------------------------------------- */

#define RANKS_NEW                                                                                  \
    "#  Rank  0 Group  0 Pid   1200 on     left device  0 [0000:07:00] Some GPU 40GB\n"            \
    "#  Rank  1 Group  0 Pid   1200 on     left device  1 [0000:0a:00] Some GPU 40GB\n"            \
    "#  Rank  2 Group  0 Pid    977 on    right device  0 [0000:07:00] Some GPU 40GB\n"            \
    "#  Rank  3 Group  0 Pid    977 on    right device  1 [0000:0a:00] Some GPU 40GB\n"
#define RANKS_OLD                                                                                  \
    "#   Rank  0 Pid   1200 on     left device  0 [0x07] Some GPU\n"                               \
    "#   Rank  1 Pid   1200 on     left device  1 [0x0a] Some GPU\n"                               \
    "#   Rank  2 Pid   1200 on     left device  2 [0x0b] Some GPU\n"                               \
    "#   Rank  3 Pid   1200 on     left device  3 [0x0c] Some GPU\n"

/* The text of a run, whose first rows stand in lines 13 to 16. */
static const char new_text[] =
    "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 2 minBytes 0 maxBytes 4096 step: 4(factor) warmup iters: 1 iters: 20 "
    "agg iters: 1 validation: 1 graph: 0 unalign: 0\n"
    "#\n"
    "# Using devices\n" RANKS_NEW "#\n" COLUMNS_NEW
    "           0             0     float     sum      -1     9.10    0.00    0.00       0"
    "     8.80    0.00    0.00       0\n"
    "        1024           256     float     sum      -1    20.50    0.05    0.07       0"
    "    19.10    0.05    0.08       0\n"
    "        4096          1024     float     sum      -1    31.25    0.13    0.20       0"
    "    30.10    0.14    0.20     N/A\n"
    "       16384          4096     float     sum      -1  1.2e+02    0.14    0.20       0"
    "    99.10    0.17    0.25       0\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 0.115 \n"
    "#\n"
    "# Collective test concluded: all_reduce_perf\n";

static const double new_points[][2] = {{1024, 20.5}, {4096, 31.25}, {16384, 120}};

TEST_IN_FOLDER(text_of_later_versions) {
    struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", new_text, 0);
    assert_points(&cluster, "allreduce", 4, new_points, 3);
    assert_int_equal(cluster.workers, 4);
    assert_int_equal(cluster.workers_per_node, 2);
    assert_same_json(
        cJSON_Duplicate(source_of(&cluster, "allreduce", 4), 1),
        "{'kind': 'imported', 'tool': 'nccl-tests', 'version': '2.17.6', 'settings': {'layout': "
        "'2 ranks on each of 2 nodes', 'processes': 'nThread 1 nGpus 2', 'device': 'Some GPU "
        "40GB', 'type': 'float', 'operation': 'sum', 'repeats': 'agg_iters=1 graph=0 unalign=0', "
        "'blocking': 'no', 'build': 'nccl-headers=22807 nccl-library=22807 version=2.17.6'}, "
        "'place': "
        "'x.txt:11', 'workers_per_node': 2, 'files': ['x.txt']}");
    assert_same_json(cJSON_Duplicate(cJSON_GetObjectItem(cluster.kept, "source"), 1),
                     "{'kind': 'imported', 'files': ['x.txt']}");
    assert_null(cJSON_GetObjectItem(cluster.kept, "growth"));
    gw_cluster_free(&cluster);
}

/* Reads versions before 2.13, in which each test had its own columns, and no line named it. */
static const char old_text[] =
    "# nThread 1 nGpus 4 minBytes 8 maxBytes 64 step: 8(factor) warmup iters: 5 iters: 20 "
    "validation: 1 \n"
    "#\n"
    "# Using devices\n" RANKS_OLD "#\n"
    "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  "
    "error\n"
    "#        (B)    (elements)             (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)   "
    "    \n"
    "left:1200:1200 [0] NCCL INFO Launch mode Parallel\n"
    "          64             4   float    10.50    0.01    0.00  1e-07    10.20    0.01    0.00  "
    "0e+00\n"
    "        4096           256   float    12.00    0.34    0.26    N/A    11.90    0.34    0.26   "
    " "
    "N/A\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 0.13\n"
    "#\n";

TEST_IN_FOLDER(text_of_earlier_versions) {
    static const double points[][2] = {{16, 10.5}, {1024, 12}};
    static const char *const names[] = {"all_gather_perf.txt", "AllGather.log", "4-allgather"};
    for (size_t i = 0; i < 3; i++) {
        struct gw_cluster cluster = import_text(*state, NCCL, names[i], old_text, 0);
        assert_points(&cluster, "allgather", 4, points, 2);
        assert_int_equal(cluster.workers_per_node, 4);
        gw_cluster_free(&cluster);
    }
    struct gw_cluster cluster = import_text(
        *state, NCCL, "reduce.txt",
        with(old_text, "#\n# Using", "$ mpirun build/all_gather_perf -g 4\n# Using"), 0);
    assert_points(&cluster, "allgather", 4, points, 2);
    gw_cluster_free(&cluster);
}

/* Takes half of an allreduce, a reduce-scatter and an allgather, for an allgather. */
TEST_IN_FOLDER(an_allreduce_alone_says_what_gathering_takes) {
    static const double points[][2] = {{1024 / 4., 10.25}, {4096 / 4., 15.625}, {4096, 60}};
    struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", new_text, 0);
    assert_points(&cluster, "allgather", 4, points, 3);
    assert_same_json(cJSON_Duplicate(source_of(&cluster, "allgather", 4), 1),
                     "{'kind': 'assumed', 'measured': 'allreduce'}");
    assert_non_null(cJSON_GetObjectItem(gw_cluster_find_collective(&cluster, "allgather", 4)->kept,
                                        "uncertainty"));
    gw_cluster_free(&cluster);
}

TEST_IN_FOLDER(no_margin_is_of_a_size_that_readers_refuse) {
    static const char *const largest[] = {"    134217728      33554432",
                                          "8796093022208 2199023255552",
                                          "9007199254740992 2251799813685248"};
    for (size_t i = 0; i < sizeof largest / sizeof *largest; i++) {
        struct gw_cluster cluster = import_text(
            *state, NCCL, "x.txt", with(new_text, "       16384          4096", largest[i]), 0);
        gw_cluster_free(&cluster);
    }
}

/* Takes one rank's block of a size that has all ranks' blocks, and vectors and messages whole. */
TEST_IN_FOLDER(sizes_are_what_one_worker_contributes) {
    static const struct {
        const char *test, *collective;
        double parts;
    } cases[] = {{"all_reduce", "allreduce", 1}, {"all_gather", "allgather", 4},
                 {"broadcast", "broadcast", 1},  {"reduce", "reduce", 1},
                 {"gather", "gather", 4},        {"scatter", "scatter", 4},
                 {"sendrecv", "sendrecv", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096];
        double count = 65536 / (4 * cases[i].parts);
        (void)snprintf(text, sizeof text,
                       "$ ./build/%s_perf\n# nThread 2 nGpus 2 minBytes 1\n" RANKS_NEW COLUMNS_NEW
                       "65536 %g float none 0 7.5 0 0 0 7 0 0 0\n"
                       "131072 %g float none 0 8.5 0 0 0 8 0 0 0\n",
                       cases[i].test, count, 2 * count);
        struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", text, 0);
        const double points[][2] = {{65536 / cases[i].parts, 7.5}, {131072 / cases[i].parts, 8.5}};
        assert_points(&cluster, cases[i].collective, 4, points, 2);
        gw_cluster_free(&cluster);
    }
}

/* Passes over lines between rows, prefixes, and the columns of --per-iteration and timestamps. */
TEST_IN_FOLDER(lines_and_columns_of_no_use_are_passed_over) {
    static const double points[][2] = {{64, 5}, {256, 6}, {1024, 7}};
    static const char tagged[] =
        "[1,0]<stdout>:# Collective test starting: broadcast_perf\r\n"
        "[1,0]<stdout>:# nThread 1 nGpus 1 minBytes 64\r\n"
        "[1,0]<stdout>:#  Rank  0 Group  0 Pid 1 on a device 0 [0] G\r\n"
        "[1,0]<stdout>:#  Rank  1 Group  0 Pid 1 on b device 0 [0] G\r\n"
        "[1,0]<stdout>:# size count type redop root time algbw busbw #wrong i_min i_max i_p99 "
        "i_cv% time algbw busbw #wrong i_min i_max i_p99 i_cv% timestamp\r\n"
        "[1,1]<stderr>:10.1.2.3:17 NCCL INFO 64 channels\r\n"
        "[1,0]<stdout>:64 16 float none 0 5 1 1 0 4 6 6 9 3 1 1 0 2 4 4 9 2026-01-02 03:04:05\r\n"
        "2026-01-02 03:04:05 something\r\n"
        "\r\n"
        "[1,0]<stdout>:1024 256 float none 0 0.00 1 1 0 4 6 6 9 3 1 1 0 2 4 4 9 2026-01-02 "
        "03:04:05\r\n"
        "[1,0]<stdout>:256 64 float none 0 6 1 1 0 4 6 6 9 2026-01-02 03:04:06\r\n"
        "[1,0]<stdout>:1024 256 float none 0 7 1 1 0 4 6 6 9 3 1 1 0 2 4 4 9 2026-01-02 "
        "03:04:05\r\n"
        "[1,0]<stdout>:# Out of bounds values : 0 OK\r\n"
        "12 processes\r\n";
    struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", tagged, 0);
    assert_points(&cluster, "broadcast", 2, points, 3);
    assert_int_equal(cluster.workers_per_node, 1);
    gw_cluster_free(&cluster);
}

/* Gives each run its own test and ranks, whether or not the run before it came to its end. */
TEST_IN_FOLDER(runs_follow_one_another) {
    static const double points[][2] = {{64, 1}, {128, 2}};
    static const char second[] = "# Collective test starting: reduce_perf\n"
                                 "# nThread 1 nGpus 2 minBytes 64\n"
                                 "#  Rank  0 Group  0 Pid 1 on a device 0 [0] G\n"
                                 "#  Rank  1 Group  0 Pid 1 on a device 1 [0] G\n" COLUMNS_NEW
                                 "64 16 float sum 0 1 1 1 0 3 1 1 0\n"
                                 "128 32 float sum 0 2 1 1 0 3 1 1 0\n";
    for (int cut = 0; cut < 2; cut++) {
        char text[8192];
        int length = cut ? (int)(strstr(new_text, "# Out of") - new_text) : (int)strlen(new_text);
        (void)snprintf(text, sizeof text, "%.*s%s", length, new_text, second);
        struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", text, 0);
        assert_points(&cluster, "allreduce", 4, new_points, 3);
        assert_points(&cluster, "reduce", 2, points, 2);
        assert_int_equal(cluster.workers, 4);
        gw_cluster_free(&cluster);
    }
}

/* ---- nccl-tests: JSON ----------------------------------------------------------------------- */

static const char json_text[] =
    "{'version': 2, 'start_time': '2026-03-04 05:06:07', 'args': ['..\\/build\\/scatter_perf', "
    "'-g', '2'], 'env': ['A=b'], 'nccl_version': 22807, 'config': {'nthreads': 1, 'ngpus': 2, "
    "'devices': [{'rank': 0, 'group': 0, 'pid': 1, 'hostname': 'a', 'device': 0, "
    "'device_hex': '0', 'device_info': 'G'}, {'rank': 2, 'group': 0, 'pid': 1, 'hostname': 'a', "
    "'device': 2, 'device_hex': '0', 'device_info': 'G'}]}, 'results': ["
    "{'size': 0, 'count': 0, 'type': 'float', 'redop': 'none', 'root': '     0', "
    "'out_of_place': {'time': 3.5, 'alg_bw': 0, 'bus_bw': 0, 'nwrong': 0}, 'in_place': null}, "
    "{'size': 1024, 'count': 64, 'type': 'float', 'redop': 'none', 'root': '     0', "
    "'out_of_place': {'time': 4.5, 'alg_bw': 0, 'bus_bw': 0, 'nwrong': 0.000000}, "
    "'in_place': {'time': 4.25, 'alg_bw': 0, 'bus_bw': 0, 'nwrong': null}}, "
    "{'size': 4096, 'count': 256, 'type': 'float', 'redop': 'none', 'root': '     0', "
    "'out_of_place': null, 'in_place': {'time': 6, 'alg_bw': 0, 'bus_bw': 0, 'nwrong': 0}}], "
    "'out_of_bounds': {'count': 0, 'okay': 'true'}, 'errors': []}";

TEST_IN_FOLDER(json) {
    static const double points[][2] = {{256, 4.5}, {1024, 6}};
    struct gw_cluster cluster = import_text(*state, NCCL, "x.json", quoted(json_text), 0);
    assert_points(&cluster, "scatter", 4, points, 2);
    assert_int_equal(cluster.workers_per_node, 4);
    assert_said(source_of(&cluster, "scatter", 4), "date", "2026-03-04 05:06:07");
    gw_cluster_free(&cluster);
    /* A list of all ranks has rank 1 second; else the second one begins another process. */
    const char *all = with(json_text, "{'rank': 2, 'group': 0, 'pid': 1, 'hostname': 'a'",
                           "{'rank': 1, 'group': 0, 'pid': 1, 'hostname': 'b'");
    all = with(with(all, "'count': 64", "'count': 128"), "'count': 256", "'count': 512");
    cluster = import_text(*state, NCCL, "x.json", quoted(all), 0);
    assert_non_null(gw_cluster_find_collective(&cluster, "scatter", 2));
    assert_int_equal(cluster.workers_per_node, 1);
    gw_cluster_free(&cluster);
}

/* ---- OSU ------------------------------------------------------------------------------------ */

static const char osu_plain[] = "\n"
                                "# OSU MPI Allgather Latency Test v7.4\n"
                                "# Datatype: MPI_CHAR.\n"
                                "# Size       Avg Latency(us)\n"
                                "1                       2.50\n"
                                "64                      3.25\n"
                                "4096                   11.00\n";
static const char osu_full[] =
    "# OSU MPI-CUDA Broadcast Latency Test v5.6.2\n"
    "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations   "
    "P50 Tail Lat(us)   P99 Tail Lat(us)        Validation\n"
    "0                       9.00              1.00             19.00        1000   "
    "           1.00              19.00              Pass\n"
    "8                       2.50              1.25              3.75        1000   "
    "           2.40               3.70              Pass\n"
    "[host:mpi_rank_0] 8 entries are evicted\n"
    "1024                    5.50              4.25              6.75        1000   "
    "           5.40               6.70              Pass\n";

/* Takes sizes as those of one rank, and means of times, from all columns that there are. */
TEST_IN_FOLDER(osu_benchmarks) {
    static const double plain[][2] = {{1, 2.5}, {64, 3.25}, {4096, 11}};
    static const double full[][2] = {{8, 2.5}, {1024, 5.5}};
    struct gw_cluster cluster = import_text(*state, OSU, "osu.txt", osu_plain, 16);
    assert_points(&cluster, "allgather", 16, plain, 3);
    assert_int_equal(cluster.workers, 16);
    assert_int_equal(cluster.workers_per_node, 1);
    assert_said(source_of(&cluster, "allgather", 16), "tool", "OSU micro-benchmarks");
    assert_said(source_of(&cluster, "allgather", 16), "version", "7.4");
    gw_cluster_free(&cluster);
    cluster = import_text(*state, OSU, "osu.txt", osu_full, 3);
    assert_points(&cluster, "broadcast", 3, full, 2);
    assert_said(source_of(&cluster, "broadcast", 3), "tool", "OSU micro-benchmarks on CUDA");
    gw_cluster_free(&cluster);
    static const char *const libraries[][2] = {
        {"NCCL-CUDA", "OSU micro-benchmarks of NCCL on CUDA"},
        {"NCCL", "OSU micro-benchmarks of NCCL"},
        {"RCCL-ROCM", "OSU micro-benchmarks of RCCL on ROCM"},
    };
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        const char *text = with(osu_full, "MPI-CUDA", libraries[i][0]);
        cluster = import_text(*state, OSU, "osu.txt", text, 3);
        assert_points(&cluster, "broadcast", 3, full, 2);
        assert_said(source_of(&cluster, "broadcast", 3), "tool", libraries[i][1]);
        gw_cluster_free(&cluster);
    }
}

TEST_IN_FOLDER(each_osu_title_has_its_collective) {
    static const char *const cases[][2] = {
        {"Allreduce ", "allreduce"},   {"Allgather ", "allgather"},
        {"Allgatherv ", "allgatherv"}, {"Broadcast ", "broadcast"},
        {"Reduce ", "reduce"},         {"Gather ", "gather"},
        {"Scatter ", "scatter"},       {"", "sendrecv"}};
    static const double points[][2] = {{1, 2.5}, {64, 3.25}, {4096, 11}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool is_pair = cases[i][0][0] == '\0';
        const char *text = with(osu_plain, "Allgather ", cases[i][0]);
        struct gw_cluster cluster = import_text(*state, OSU, "x", text, is_pair ? 0 : 8);
        assert_points(&cluster, cases[i][1], is_pair ? 2 : 8, points, 3);
        assert_int_equal(cluster.collective_count, i == 0 ? 2 : 1);
        gw_cluster_free(&cluster);
    }
}

/* Reads osu_latency, between two ranks, behind benchmarks among more; its header has a blank more.
 */
TEST_IN_FOLDER(osu_tables_follow_one_another) {
    static const double allgather[][2] = {{1, 2.5}, {64, 3.25}, {4096, 11}};
    static const double others[][2] = {{4, 1}, {8, 2}};
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "%s# OSU MPI Allgatherv Latency Test v7.4\n# Size       Avg Latency(us)\n4 1\n8 "
                   "2\n# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n4 1\n8 2\n",
                   osu_plain);
    struct gw_cluster cluster = import_text(*state, OSU, "osu.txt", text, 8);
    assert_points(&cluster, "allgather", 8, allgather, 3);
    assert_points(&cluster, "allgatherv", 8, others, 2);
    assert_points(&cluster, "sendrecv", 2, others, 2);
    gw_cluster_free(&cluster);
}

/* ---- several files -------------------------------------------------------------------------- */

TEST_IN_FOLDER(sizes_of_several_files_are_merged) {
    static const char start[] =
        "# OSU MPI Reduce Latency Test v7.4\n# Size       Avg Latency(us)\n";
    static const char *const rows[] = {"64 4\n16 2\n", "4096 90\n64 7\n256 5\n", "64 10\n"};
    /* The mean of 4, 7 and 10 lies above that of 256 bytes. */
    static const double points[][2] = {{16, 2}, {64, 5}, {256, 5}, {4096, 90}};
    struct gw_cluster cluster = new_cluster();
    for (size_t i = 0; i < 3; i++) {
        char name[] = "0.txt";
        char text[256];
        name[0] = (char)('0' + i);
        (void)snprintf(text, sizeof text, "%s%s", start, rows[i]);
        assert_ok(gw_import_osu(write_text(*state, name, text), 4, &cluster, &error));
    }
    assert_ok(gw_import_finish(&cluster, &error));
    assert_points(&cluster, "reduce", 4, points, 4);
    const struct gw_collective_cost *cost = gw_cluster_find_collective(&cluster, "reduce", 4);
    const cJSON *raw = cJSON_GetObjectItem(cost->kept, "raw");
    static const double means[][3] = {{16, 2, 1}, {64, 7, 3}, {256, 5, 1}, {4096, 90, 1}};
    assert_int_equal(cJSON_GetArraySize(raw), 4);
    for (int i = 0; i < 4; i++) {
        const cJSON *item = cJSON_GetArrayItem(raw, i);
        assert_true(cJSON_GetObjectItem(item, "bytes")->valuedouble == means[i][0]);
        assert_true(
            near(cJSON_GetObjectItem(item, "median_s")->valuedouble, means[i][1] * 1e-6, 1e-12));
        assert_true(cJSON_GetObjectItem(item, "rows")->valuedouble == means[i][2]);
    }
    assert_same_json(cJSON_Duplicate(cJSON_GetObjectItem(cluster.kept, "source"), 1),
                     "{'kind': 'imported', 'files': ['0.txt', '1.txt', '2.txt'], 'note': 'Nothing "
                     "imported says how many workers a node has: one is assumed, "
                     "--gpus-per-node says otherwise.'}");
    gw_cluster_free(&cluster);
}

/* Writes and reads the cluster as a file, where unknown keys are bad input. */
TEST_IN_FOLDER(several_numbers_of_workers_grow) {
    struct gw_cluster cluster = new_cluster();
    struct gw_cluster again;
    for (size_t workers = 2; workers <= 8; workers *= 2) {
        char text[1024];
        double steps = (double)workers - 1;
        (void)snprintf(text, sizeof text,
                       "# OSU MPI Allgather Latency Test v7.4\n# Size       Avg Latency(us)\n"
                       "1000 %g\n2000 %g\n4000 %g\n",
                       11 * steps, 12 * steps, 14 * steps);
        assert_ok(gw_import_osu(write_text(*state, "osu.txt", text), workers, &cluster, &error));
    }
    assert_ok(gw_import_finish(&cluster, &error));
    assert_int_equal(cluster.workers, 8);
    const cJSON *growth = cJSON_GetObjectItem(cluster.kept, "growth");
    assert_int_equal(cJSON_GetArraySize(growth), 1);
    assert_said(cJSON_GetObjectItem(cJSON_GetObjectItem(growth, "allgather"), "bandwidth"), "law",
                "P-1");
    const char *path = path_in(*state, "cluster.json");
    assert_ok(gw_cluster_write(&cluster, path, &error));
    gw_key_rules.strict = true;
    enum gw_status status = gw_cluster_read(path, &again, &error);
    gw_key_rules.strict = false;
    assert_ok(status);
    static const double points[][2] = {{1000, 33}, {2000, 36}, {4000, 42}};
    assert_points(&again, "allgather", 4, points, 3);
    gw_cluster_free(&again);
    gw_cluster_free(&cluster);
}

/* ---- refusals ------------------------------------------------------------------------------- */

TEST_IN_FOLDER(bad_text_of_nccl_tests_is_refused) {
    static const struct {
        const char *old, *new, *message;
    } cases[] = {
        {"   20.50    0.05", "   20.50", "x.txt:14: expected 13 columns, got 12"},
        {"    20.50", "      nan", "x.txt:14: expected a time in us, up to 1e12, got nan"},
        {"    20.50", "    -1.00", "x.txt:14: expected a time in us, up to 1e12, got -1.00"},
        {"    20.50", "     2e12", "x.txt:14: expected a time in us, up to 1e12, got 2e12"},
        {"    19.10", "      inf", "x.txt:14: expected a time in us, up to 1e12, got inf"},
        {"0.07       0", "0.07       3", "x.txt:14: expected right results, got 3 wrong"},
        {"0.08       0", "0.08       1", "x.txt:14: expected right results, got 1 wrong"},
        {"0.08       0", "0.08       ?", "x.txt:14: expected N/A or a number of errors, got ?"},
        {"  1024           256", "  1024           255",
         "x.txt:14: expected the size that 255 elements of float have in all_reduce among 4, got "
         "1024: is it that test?"},
        {"  1024           256", "  1024K          256",
         "x.txt:14: expected a size in bytes and a count of elements, got 1024K and 256"},
        {": 0 OK", ": 1 FAILED",
         "x.txt:17: expected right results ('Out of bounds values : 0 OK'), got 'Out of bounds "
         "values : 1 FAILED'"},
        {"starting: all_reduce", "starting: all_mixed",
         "x.txt:2: expected all_reduce, all_gather, broadcast, reduce, gather, scatter or "
         "sendrecv, got all_mixed_perf"},
        {"starting: all_reduce", "starting: alltoall",
         "x.txt:11: expected all_reduce, all_gather, broadcast, reduce, gather, scatter or "
         "sendrecv, got alltoall"},
        {"starting: all_reduce", "starting: reduce_scatter",
         "x.txt:11: expected all_reduce, all_gather, broadcast, reduce, gather, scatter or "
         "sendrecv, got reduce_scatter"},
        {"starting: all_reduce", "starting: all_gather",
         "x.txt:14: expected the size that 256 elements of float have in all_gather among 4, got "
         "1024: is it that test?"},
        {"# Collective test starting: all_reduce_perf", "#",
         "x.txt:11: expected a line above, or a file name, that says which test it was, such as "
         "all_reduce_perf"},
        {"#  Rank  3", "#  Rank  4",
         "x.txt:9: expected ranks one after another, got rank 4 of group 0"},
        {"#  Rank  3 Group  0", "#  Rank  3 Group  1",
         "x.txt:9: expected all ranks in one group (without NCCL_TESTS_SPLIT): groups slow each "
         "other, got rank 3 of group 1"},
        {"#  Rank  3 Group", "#  Rank  three Group",
         "x.txt:9: expected '#  Rank NUMBER Group NUMBER Pid NUMBER on HOST ...'"},
        {"#  Rank  3", "# ...",
         "x.txt:11: expected a line '#  Rank ...' above for each rank, 2 in each process, got 3"},
        {"nGpus 2", "nGpus 0",
         "x.txt:3: expected '# nThread NUMBER nGpus NUMBER ...', from 1 to 1024"},
        {"nThread 1 nGpus 2", "nThread 4294967296 nGpus 4294967296",
         "x.txt:3: expected '# nThread NUMBER nGpus NUMBER ...', from 1 to 1024"},
        {"  time ", "  cputime ",
         "x.txt:11: expected time, got cputime (-C 1), which is not how long a collective takes"},
        {"  algbw ", "  speed ",
         "x.txt:11: expected the columns size, count and type, then time, algbw, busbw and "
         "#wrong"},
        {"#       size", "#      bytes",
         "x.txt: expected what nccl-tests print, with a line '#  size  count  type ...', got "
         "none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(*state, NCCL, with(new_text, cases[i].old, cases[i].new), 0,
                       cases[i].message);
    }
    assert_refused(*state, NCCL, "", 0,
                   "x.txt: expected what nccl-tests print, with a line '#  size  count  type "
                   "...', got none");
}

TEST_IN_FOLDER(tables_without_points_are_refused) {
    static const char start[] = "# Collective test starting: all_reduce_perf\n"
                                "# nThread 1 nGpus 2 minBytes 0\n"
                                "#  Rank  0 Group  0 Pid 1 on a device 0 [0] G\n"
                                "#  Rank  1 Group  0 Pid 1 on a device 1 [0] G\n" COLUMNS_NEW;
    static const char *const cases[][2] = {
        {"", "x.txt:5: allreduce among 2: expected rows of more than 0 bytes and 0 us, got none"},
        {"0 0 float sum -1 5 0 0 0 5 0 0 0\n",
         "x.txt:5: allreduce among 2: expected rows of more than 0 bytes and 0 us, got none"},
        {"4 1 float sum -1 5 0 0 0 5 0 0 0\n4 1 float sum -1 6 0 0 0 5 0 0 0\n",
         "x.txt: allreduce among 2: expected two sizes or more, got one"},
    };
    char text[4096];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)snprintf(text, sizeof text, "%s%s", start, cases[i][0]);
        assert_refused(*state, NCCL, text, 0, cases[i][1]);
    }
    (void)snprintf(text, sizeof text, "%s4 1 float sum -1 5 0 0 0 5 0 0 0\n", start);
    const char *alone = with(text, "#  Rank  1 Group  0 Pid 1 on a device 1 [0] G\n", "");
    assert_refused(*state, NCCL, with(alone, "nGpus 2", "nGpus 1"), 0,
                   "x.txt:4: allreduce: expected two ranks or more, got 1");
    struct gw_cluster cluster = new_cluster();
    assert_int_equal(gw_import_finish(&cluster, &error), GW_BAD_INPUT);
    gw_cluster_free(&cluster);
}

TEST_IN_FOLDER(bad_json_of_nccl_tests_is_refused) {
    static const struct {
        const char *old, *new, *message;
    } cases[] = {
        {"scatter_perf", "alltoall_perf",
         "x.txt: args[0]: expected all_reduce, all_gather, broadcast, reduce, gather, scatter or "
         "sendrecv, got \"../build/alltoall_perf\""},
        {"'time': 4.5", "'time': 'nan'",
         "x.txt: results[1].out_of_place.time: expected a finite number >= 0, got \"nan\""},
        {"'time': 4.5", "'cpu_time': 4.5",
         "x.txt: results[1].out_of_place: expected time, not cpu_time (-C 1), got an object"},
        {"'nwrong': 0.000000", "'nwrong': 2",
         "x.txt: results[1].out_of_place.nwrong: expected right results, 0 or null, got 2"},
        {"'out_of_bounds': {'count': 0", "'out_of_bounds': {'count': 2",
         "x.txt: out_of_bounds.count: expected right results, 0, got 2"},
        {"'size': 1024", "'size': 1000",
         "x.txt: results[1].size: expected the size of `count` elements in this test, got 1000"},
        {"'rank': 2, 'group': 0", "'rank': 2, 'group': 1",
         "x.txt: config.devices[1]: expected all ranks in one group (without NCCL_TESTS_SPLIT): "
         "groups slow each other, got an object"},
        {"'rank': 2", "'rank': 3",
         "x.txt: config.devices[1]: expected ranks one after another, got an object"},
        {"'nthreads': 1, 'ngpus': 2", "'nthreads': 4294967296, 'ngpus': 4294967296",
         "x.txt: config.ngpus: expected at most 1024, got 4294967296"},
        {"'ngpus': 2, ", "", "x.txt: config.ngpus: expected a positive integer, got nothing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(*state, NCCL, quoted(with(json_text, cases[i].old, cases[i].new)), 0,
                       cases[i].message);
    }
}

TEST_IN_FOLDER(bad_text_of_osu_is_refused) {
    static const struct {
        const char *old, *new, *message;
    } cases[] = {
        {"3.25", "3.25 4", "x.txt:6: expected 2 columns, got 3"},
        {"3.25", "nan", "x.txt:6: expected a number in column 2, got nan"},
        {"3.25", "2e12",
         "x.txt:6: expected a size in bytes and a time in us, up to 1e12, got 64 and 2e12"},
        {"64  ", "64KB",
         "x.txt:6: expected a size in bytes and a time in us, up to 1e12, got 64KB and 3.25"},
        {"Allgather ", "All-to-All Personalized Exchange ",
         "x.txt:2: expected osu_allreduce, osu_allgather, osu_allgatherv, osu_bcast, osu_reduce, "
         "osu_gather, osu_scatter or osu_latency, got 'OSU MPI All-to-All Personalized Exchange "
         "Latency Test v7.4'"},
        {"Allgather Latency", "Bandwidth",
         "x.txt:2: expected osu_allreduce, osu_allgather, osu_allgatherv, osu_bcast, osu_reduce, "
         "osu_gather, osu_scatter or osu_latency, got 'OSU MPI Bandwidth Test v7.4'"},
        {"# OSU MPI Allgather Latency Test v7.4", "",
         "x.txt:4: expected a line '# OSU MPI ... Latency Test' above"},
        {"Avg Latency(us)", "Bandwidth (MB/s)",
         "x.txt:4: expected the columns Size and Avg Latency(us)"},
        {"Avg Latency(us)", "Avg Latency(us)   Transmit Size",
         "x.txt:4: expected Min and Max Latency(us), Iterations, Tail Lat(us) or Validation, got "
         "Transmit Size"},
        {"# Size", "# Sizes are",
         "x.txt: expected what OSU micro-benchmarks print, with lines '# OSU MPI ... Latency "
         "Test' and '# Size ...', got none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(*state, OSU, with(osu_plain, cases[i].old, cases[i].new), 8,
                       cases[i].message);
    }
    assert_refused(*state, OSU, osu_plain, 0,
                   "x.txt:2: expected --workers: this program does not print how many ranks it "
                   "had");
    assert_refused(*state, OSU, with(osu_full, "Pass\n[", "Fail\n["), 3,
                   "x.txt:4: expected right results (Pass), got Fail");
}

/* Refuses a curve of two programs, of two kinds of memory, and of measured and imported times. */
TEST_IN_FOLDER(a_curve_is_of_one_program) {
    struct gw_cluster cluster = new_cluster();
    assert_ok(gw_import_osu(write_text(*state, "a", osu_plain), 4, &cluster, &error));
    const char *path = write_text(*state, "all_gather.txt", old_text);
    assert_int_equal(gw_import_nccl_tests(path, 0, &cluster, &error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "all_gather.txt: allgather among 4: expected all of a "
                                          "curve from one program, got nccl-tests after OSU "
                                          "micro-benchmarks"));
    path = write_text(*state, "b", with(osu_plain, "MPI ", "MPI-CUDA "));
    assert_int_equal(gw_import_osu(path, 4, &cluster, &error), GW_BAD_INPUT);
    assert_ok(gw_import_osu(path, 8, &cluster, &error));
    gw_cluster_free(&cluster);
    cluster = new_cluster();
    assert_ok(gw_cluster_add_collective(
        &cluster, "allgather", 4, (struct gw_curve){.fixed_s = 1, .per_unit_s = 1}, NULL, &error));
    assert_int_equal(gw_import_nccl_tests(path_in(*state, "all_gather.txt"), 0, &cluster, &error),
                     GW_BAD_INPUT);
    gw_cluster_free(&cluster);
}
