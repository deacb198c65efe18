/* Merges tables of one curve: under other settings, repeated, and with disturbed rows. */
#include "tests/traces/import_support.h"
#include "traces/margins.h"

/* A run of four ranks, parts of which the cases below replace. */
static const char run[] =
    "# nccl-tests version 2.17.6 nccl-library=22807\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 2 minBytes 1024 maxBytes 2048 agg iters: 1 validation: 1 graph: 0\n"
    "left:11:11 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0.100\n"
    "#  Rank  0 Group  0 Pid 11 on  left device  0 [0x07] Some GPU\n"
    "#  Rank  1 Group  0 Pid 11 on  left device  1 [0x08] Some GPU\n"
    "#  Rank  2 Group  0 Pid 12 on right device  0 [0x07] Some GPU\n"
    "#  Rank  3 Group  0 Pid 12 on right device  1 [0x08] Some GPU\n" COLUMNS_NEW
    "1024 256 float sum -1 10 0 0 0 9 0 0 0\n"
    "2048 512 float sum -1 20 0 0 0 9 0 0 0\n"
    "# Out of bounds values : 0 OK\n";
static const char command[] = "$ mpirun -x NCCL_ALGO=Ring all_reduce_perf -g 2\n";

/* Replaces each `old` in a text by `new`. */
static void replace(const char *text, const char *old, const char *new, char *out, size_t size) {
    size_t length = 0;
    out[0] = '\0';
    for (const char *at = strstr(text, old); at != NULL; at = strstr(text, old)) {
        length +=
            (size_t)snprintf(out + length, size - length, "%.*s%s", (int)(at - text), text, new);
        text = at + strlen(old);
    }
    (void)snprintf(out + length, size - length, "%s", text);
}

static void assert_refused_saying(enum tool tool, const char *folder, const char *text,
                                  const char *message) {
    struct gw_cluster cluster = new_cluster();
    enum gw_status status = import(tool, write_text(folder, "x.txt", text), 4, &cluster);
    status = status == GW_OK ? gw_import_finish(&cluster, &error) : status;
    gw_cluster_free(&cluster);
    if (status != GW_BAD_INPUT || strstr(error.message, message) == NULL) {
        fail_msg("expected %s, got %s", message, status == GW_OK ? "a curve" : error.message);
    }
}

/* Names both places where settings differ, in one file or in two. */
TEST_IN_FOLDER(tables_under_other_settings_have_no_mean) {
    static const struct {
        const char *old, *new, *message;
    } cases[] = {
        {"right", "left", "under one layout, got 4 ranks on 1 node after 2 ranks on each of 2"},
        {"Rank  1 Group  0 Pid 11 on  left", "Rank  1 Group  0 Pid 11 on right",
         "under one layout, got 1+3 ranks on 2 nodes after"},
        {"nThread 1 nGpus 2", "nThread 2 nGpus 1", "under one processes, got nThread 2 nGpus 1"},
        {"Some GPU", "Another", "under one device, got Another after Some GPU"},
        {"float", "int32", "under one type, got int32 after float"},
        {"float sum", "float max", "under one operation, got max after sum"},
        {"graph: 0", "graph: 8", "under one repeats, got agg_iters=1 graph=8 after"},
        {"agg iters: 1", "agg iters: 4", "under one repeats, got agg_iters=4"},
        {"left:11:11 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0.100",
         "# Blocking Enabled: wait after each inner iteration (-m), no barrier ",
         "under one blocking, got wait after each inner iteration after no"},
        {"22807", "22304", "under one build, got version=2.17.6 nccl-library=22304"},
        {"eth0.100", "eth0.200",
         "under one logged variables, got NCCL_SOCKET_IFNAME=eth0.200 after "
         "NCCL_SOCKET_IFNAME=eth0.100"},
        {"=Ring", "=Tree", "under one variables, got NCCL_ALGO=Tree after NCCL_ALGO=Ring"},
        {"-x NCCL_ALGO=Ring", "", "under one variables, got none after NCCL_ALGO=Ring"},
    };
    char first[4096], second[4096], both[8192];
    (void)snprintf(first, sizeof first, "%s%s", command, run);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        replace(first, cases[i].old, cases[i].new, second, sizeof second);
        (void)snprintf(both, sizeof both, "%s%s", first, second);
        assert_refused_saying(NCCL, *state, both, cases[i].message);
        assert_non_null(strstr(error.message, "x.txt:24: allreduce among 4: expected all of a"));
        assert_non_null(strstr(error.message, "(x.txt:10): import them apart"));
        struct gw_cluster cluster = new_cluster();
        assert_ok(import(NCCL, write_text(*state, "a.txt", first), 0, &cluster));
        assert_int_equal(import(NCCL, write_text(*state, "b.txt", second), 0, &cluster),
                         GW_BAD_INPUT);
        assert_non_null(strstr(error.message, cases[i].message));
        gw_cluster_free(&cluster);
    }
}

/* The same run as a file of JSON. */
static const char document[] =
    "{'version': 3, 'args': ['all_reduce_perf'], 'env': ['HOME=/', 'NCCL_ALGO=Ring', "
    "'NCCL_DEBUG=INFO'], 'nccl_version': 22807, 'config': {'nthreads': 1, 'ngpus': 2, "
    "'aggregated_iterations': 1, 'graph': 0, 'blocking_collectives': 'false', 'devices': [{'rank': "
    "0, 'group': 0, 'hostname': 'left', 'device_info': 'Some GPU'}, {'rank': 2, 'group': 0, "
    "'hostname': 'right', 'device_info': 'Some GPU'}]}, 'results': [{'size': 1024, 'count': 256, "
    "'type': 'float', 'redop': 'sum', 'out_of_place': {'time': 10, 'nwrong': 0}}, {'size': 2048, "
    "'count': 512, "
    "'type': 'float', 'redop': 'sum', 'out_of_place': {'time': 20, 'nwrong': 0}}]}";

/* Compares settings in JSON with those of another file, of JSON or of text. */
TEST_IN_FOLDER(json_under_other_settings_has_no_mean) {
    static const struct {
        const char *old, *new, *message;
    } cases[] = {
        {"right", "left", "under one layout, got 4 ranks on 1 node after 2 ranks on each of 2"},
        {"'nthreads': 1, 'ngpus': 2", "'nthreads': 2, 'ngpus': 1",
         "under one processes, got nThread 2 nGpus 1"},
        {"Some GPU", "Another", "under one device, got Another after Some GPU"},
        {"float", "int32", "under one type, got int32 after float"},
        {"'sum'", "'max'", "under one operation, got max after sum"},
        {"'graph': 0", "'graph': 8", "under one repeats, got agg_iters=1 graph=8 after"},
        {"iterations': 1", "iterations': 4", "under one repeats, got agg_iters=4 graph=0 after"},
        {"'false'", "'true'", "under one blocking, got yes after no"},
        {"22807", "22304", "under one build, got nccl-library=22304 after"},
        {"=Ring", "=Tree", "under one variables, got NCCL_ALGO=Tree after NCCL_ALGO=Ring"},
        {", 'NCCL_ALGO=Ring'", "", "under one variables, got none after NCCL_ALGO=Ring"},
        {"DEBUG=INFO", "DEBUG=WARN", NULL},
    };
    char firsts[2][4096], second[4096];
    (void)snprintf(firsts[0], sizeof firsts[0], "%s%s", command, run);
    (void)snprintf(firsts[1], sizeof firsts[1], "%s", quoted(document));
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        struct gw_cluster cluster = new_cluster();
        replace(document, cases[i / 2].old, cases[i / 2].new, second, sizeof second);
        assert_ok(import(NCCL, write_text(*state, "a", firsts[i % 2]), 0, &cluster));
        enum gw_status status = import(NCCL, write_text(*state, "b", quoted(second)), 0, &cluster);
        assert_int_equal(status, cases[i / 2].message == NULL ? GW_OK : GW_BAD_INPUT);
        if (status != GW_OK && strstr(error.message, cases[i / 2].message) == NULL) {
            fail_msg("expected %s, got %s", cases[i / 2].message, error.message);
        }
        gw_cluster_free(&cluster);
    }
}

/* Compares a variable with all tables before, of which the first one does not have it. */
TEST_IN_FOLDER(settings_of_all_tables_are_kept) {
    char second[4096], third[4096], all[16384];
    replace(run, "SOCKET_IFNAME", "NET", second, sizeof second);
    replace(second, "eth0.100", "Socket", third, sizeof third);
    (void)snprintf(all, sizeof all, "%s%s%s", run, second, third);
    assert_refused_saying(NCCL, *state, all,
                          "under one logged variables, got NCCL_NET=Socket after "
                          "NCCL_NET=eth0.100 NCCL_SOCKET_IFNAME=eth0.100 (x.txt:9)");
}

/* Keeps whole words of a list that is longer than its room, as a value that is cut is another one.
 */
TEST_IN_FOLDER(variables_without_room_are_not_cut) {
    char first[8192], second[8192], both[16384];
    int length = snprintf(first, sizeof first, "# Collective test starting: all_reduce_perf\n");
    for (int i = 0; i < 40; i++) {
        length += snprintf(first + length, sizeof first - (size_t)length,
                           "left:1:1 [0] NCCL INFO NCCL_V%02d set by environment to "
                           "/a/path/of/forty/letters/or/so/for/file\n",
                           i);
    }
    (void)snprintf(first + length, sizeof first - (size_t)length, "%s", strstr(run, "# nThread"));
    replace(first, "NCCL_V00 set by", "NCCL_V00 by", second, sizeof second);
    (void)snprintf(both, sizeof both, "%s%s", first, second);
    struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", both, 0);
    gw_cluster_free(&cluster);
}

/* Takes a setting that one of two tables lacks for that of the other. */
TEST_IN_FOLDER(settings_that_are_not_said_may_be_the_same) {
    static const char *const parts[][2] = {{"# nccl-tests version 2.17.6 nccl-library=22807\n", ""},
                                           {"set by environment", ""},
                                           {"eth0.100", "eth0.100."}, /* as NCCL ends numbers */
                                           {" graph: 0", " graph: 0 unalign: 0"},
                                           {"agg iters: 1", ""},
                                           {" [0x07] Some GPU", ""}};
    char second[4096], both[8192];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        replace(run, parts[i][0], parts[i][1], second, sizeof second);
        (void)snprintf(both, sizeof both, "%s%s%s", command, run, second);
        struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", both, 0);
        gw_cluster_free(&cluster);
    }
}

/* Writes a run among nodes of 1 and 2 ranks in turn, but for the last two nodes, which have these.
 */
static void write_uneven(size_t nodes, const size_t last[2], char *out, size_t size) {
    size_t rank = 0;
    int length = snprintf(out, size,
                          "# Collective test starting: all_reduce_perf\n"
                          "# nThread 1 nGpus 1\n");
    for (size_t node = 0; node < nodes; node++) {
        size_t ranks = node + 2 < nodes ? 1 + node % 2 : last[node + 2 - nodes];
        for (size_t i = 0; i < ranks; i++) {
            length += snprintf(out + length, size - (size_t)length,
                               "# Rank %zu Group 0 Pid 1 on node-%zu device %zu [0] G\n", rank++,
                               node, i);
        }
    }
    (void)snprintf(
        out + length, size - (size_t)length, "%s%s", COLUMNS_NEW,
        "1024 256 float sum -1 10 0 0 0 9 0 0 0\n2048 512 float sum -1 20 0 0 0 9 0 0 0\n"
        "# Out of bounds values : 0 OK\n");
}

/* Tells long layouts and variables apart that differ only at their ends. */
TEST_IN_FOLDER(long_settings_are_told_apart) {
    static const size_t lasts[][2] = {{1, 2}, {2, 1}};
    static const char padding[] = "/a/path/of/forty/letters/or/so/for/a/file";
    char first[32768], second[32768], both[65536];
    write_uneven(200, lasts[0], first, sizeof first);
    write_uneven(200, lasts[1], second, sizeof second);
    (void)snprintf(both, sizeof both, "%s%s", first, first);
    struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", both, 0);
    gw_cluster_free(&cluster);
    (void)snprintf(both, sizeof both, "%s%s", first, second);
    assert_refused_saying(NCCL, *state, both, "under one layout, got 1+2+1+2+");
    write_uneven(4, lasts[0], first, sizeof first);
    replace(first, "node-3", "node-4", second, sizeof second);
    replace(second, "node-1", "node-0", second + 16384, sizeof second - 16384);
    (void)snprintf(both, sizeof both, "%s%s", first, second + 16384);
    assert_refused_saying(NCCL, *state, both, "got 3+1+2 ranks on 3 nodes after 1+2+1+2 ranks on");
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(
            i == 0 ? first : second, sizeof first,
            "$ env NCCL_AA=%s NCCL_AB=%s NCCL_AC=%s NCCL_ALGO=%s all_reduce_perf -g 2\n%s", padding,
            padding, padding, i == 0 ? "Ring" : "Tree", run);
    }
    (void)snprintf(both, sizeof both, "%s%s", first, second);
    assert_refused_saying(NCCL, *state, both, "under one variables, got NCCL_AA=/a/path");
}

/* Passes over rows of other types, as of -d all, in text and in JSON. */
TEST_IN_FOLDER(rows_of_a_table_have_one_type_and_operation) {
    static const double points[][2] = {{1024, 10}, {2048, 20}};
    static const char row[] = "2048 512 float sum -1 20 0 0 0 9 0 0 0\n";
    static const char result[] = "{'size': 2048, 'count': 512, 'type': 'float', 'redop': 'sum', "
                                 "'out_of_place': {'time': 20, 'nwrong': 0}}";
    char text[4096], rows[1024];
    for (size_t i = 0; i < 2; i++) {
        const char *one = i == 0 ? row : result;
        replace(one, "float", "int32", rows, sizeof rows);
        (void)snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "%s", i == 0 ? "" : ", ");
        replace(one, "sum", "max", rows + strlen(rows), sizeof rows - strlen(rows));
        (void)snprintf(text, sizeof text, "%s%s%s", one, i == 0 ? "" : ", ", rows);
        char all[4096];
        replace(i == 0 ? run : document, one, text, all, sizeof all);
        struct gw_cluster cluster =
            import_text(*state, NCCL, "x.txt", i == 0 ? all : quoted(all), 0);
        assert_points(&cluster, "allreduce", 4, points, 2);
        const char *said = gw_import_passed_over(&cluster, 0);
        assert_non_null(said);
        assert_non_null(
            strstr(said, i == 0 ? "x.txt:9: expected all rows" : "x.txt: expected all "));
        assert_non_null(strstr(said, "of one type and operation, those of the first one (float "
                                     "sum): got 2 others, such as int32 sum"));
        assert_null(gw_import_passed_over(&cluster, 1));
        gw_cluster_free(&cluster);
    }
}

/* Tells layouts of thousands of nodes apart, which differ at their ends. */
TEST_IN_FOLDER(layouts_of_many_nodes_are_told_apart) {
    static const size_t lasts[][2] = {{1, 2}, {2, 1}};
    enum { size = 1 << 20 };
    char *both = malloc(2 * size);
    assert_non_null(both);
    for (size_t i = 0; i < 2; i++) {
        write_uneven(5000, lasts[i], both + strlen(i == 0 ? "" : both), size);
    }
    assert_refused_saying(NCCL, *state, both, "under one layout, got 1+2+1+2+");
    free(both);
}

TEST_IN_FOLDER(osu_tables_of_other_settings_have_no_mean) {
    static const char *const others[][2] = {
        {"# OSU MPI Reduce Latency Test v7.5\n# Datatype: MPI_INT.\n",
         "under one type, got MPI_INT after MPI_CHAR (x.txt:3)"},
        {"# OSU MPI Reduce Latency Test v7.2\n# Datatype: MPI_CHAR.\n",
         "under one build, got version=7.2 after version=7.5"},
        {"# OSU NCCL-CUDA Reduce Latency Test v7.5\n",
         "from one program, got OSU micro-benchmarks of NCCL on CUDA after OSU"},
    };
    static const char rows[] = "# Size Avg Latency(us)\n4 1\n8 2\n";
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, "%s%s%s%s",
                       "# OSU MPI Reduce Latency Test v7.5\n# Datatype: MPI_CHAR.\n", rows,
                       others[i][0], rows);
        assert_refused_saying(OSU, *state, text, others[i][1]);
    }
}

/* ---- repeats ----------------------------------------------------------------------------------
 */

/* Gives a size that was measured again an interval from the least to the most of its rows. */
TEST_IN_FOLDER(repeats_have_an_interval) {
    char second[4096], both[8192];
    replace(run, " 10 0 0 0", " 16 0 0 0", second, sizeof second);
    (void)snprintf(both, sizeof both, "%s%s", run, second);
    struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", both, 0);
    static const double points[][2] = {{1024, 13}, {2048, 20}};
    assert_points(&cluster, "allreduce", 4, points, 2);
    const struct gw_collective_cost *cost = gw_cluster_find_collective(&cluster, "allreduce", 4);
    const cJSON *raw = cJSON_GetObjectItem(cost->kept, "raw");
    const cJSON *first = cJSON_GetArrayItem(raw, 0);
    assert_true(near(cJSON_GetObjectItem(first, "median_low_s")->valuedouble, 10e-6, 1e-12));
    assert_true(near(cJSON_GetObjectItem(first, "median_high_s")->valuedouble, 16e-6, 1e-12));
    assert_null(cJSON_GetObjectItem(cJSON_GetArrayItem(raw, 1), "median_low_s"));
    double margin = gw_margins_at(&cost->margins, 1024);
    assert_true(near(margin, hypot(3. / 13, GW_COLLECTIVE_MARGIN), 1e-12));
    assert_true(gw_margins_at(&cost->margins, 2048) == GW_COLLECTIVE_MARGIN);
    gw_cluster_free(&cluster);
}

/* ---- rows that were disturbed -----------------------------------------------------------------
 */

/* Leaves out a row that was far slower than larger ones, and changes no other row. */
TEST_IN_FOLDER(a_disturbed_row_does_not_raise_what_is_behind_it) {
    static const struct {
        const char *rows;
        double points[4][2];
        size_t count;
        const char *message;
    } cases[] = {
        {"8 900\n16 20\n32 25\n64 60\n",
         {{16, 20}, {32, 25}, {64, 60}},
         3,
         "x.txt: reduce among 4: expected times that grow with sizes, got 900 us of 8 bytes before "
         "20 us of 16"},
        {"8 10\n16 250\n32 30\n64 60\n", {{8, 10}, {32, 30}, {64, 60}}, 3, "250 us of 16 bytes"},
        {"8 10\n16 20\n32 250\n64 30\n", {{8, 10}, {16, 20}, {64, 30}}, 3, "250 us of 32 bytes"},
        /* a fall that programs have where they change their way, and one of a single row */
        {"8 10\n16 60\n32 50\n64 70\n", {{8, 10}, {16, 50}, {32, 50}, {64, 70}}, 4, NULL},
        {"8 10\n16 60\n32 5\n64 70\n", {{8, 10}, {16, 60}, {32, 60}, {64, 70}}, 4, NULL},
        {"8 120\n16 100\n", {{8, 100}, {16, 100}}, 2, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "# OSU MPI Reduce Latency Test v7.4\n# Size Avg Latency(us)\n%s",
                       cases[i].rows);
        struct gw_cluster cluster = import_text(*state, OSU, "x.txt", text, 4);
        const char *said = gw_import_passed_over(&cluster, 0);
        assert_points(&cluster, "reduce", 4, cases[i].points, cases[i].count);
        const struct gw_collective_cost *cost = gw_cluster_find_collective(&cluster, "reduce", 4);
        assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(cost->kept, "raw")),
                         cases[i].count);
        assert_true((said == NULL) == (cases[i].message == NULL));
        assert_true(said == NULL || strstr(said, cases[i].message) != NULL);
        gw_cluster_free(&cluster);
    }
}

/* Keeps the larger one of two rows alone, of which no curve can be made. */
TEST_IN_FOLDER(a_disturbed_row_of_two_leaves_no_curve) {
    assert_refused_saying(
        OSU, *state, "# OSU MPI Reduce Latency Test v7.4\n# Size Avg Latency(us)\n8 900\n16 20\n",
        "expected times that grow with sizes, got 900 us of 8 bytes before 20 us of 16");
}
