/* What NCCL's inspector logs in a job, what perftest prints, and lists of parameters. */
#include <math.h>

#include "tests/test.h"
#include "tests/traces/traces_support.h"
#include "traces/imports.h"

/* ---- a job that was logged ------------------------------------------------------------------- */

enum { RANKS = 4, CALLS = 60, MOST_TEXT = 1 << 18 };

/* A line of what a rank says of a call. */
struct entry {
    const char *id, *name, *function, *timing;
    int rank, ranks, nodes, call;
    double bytes, time_us;
};

static struct entry entry_of(int rank, int call, double bytes, double time_us) {
    return (struct entry){.id = "0x7f8c",
                          .name = "DP Group 0",
                          .function = "AllReduce",
                          .timing = "kernel_gpu",
                          .rank = rank,
                          .ranks = RANKS,
                          .nodes = 2,
                          .call = call,
                          .bytes = bytes,
                          .time_us = time_us};
}

/* Behind what is in the text. */
static void put_entry(char text[MOST_TEXT], const struct entry *entry) {
    size_t length = strlen(text);
    int written = snprintf(
        text + length, MOST_TEXT - length,
        "{\"header\":{\"id\":\"%s\",\"comm_name\":\"%s\",\"rank\":%d,\"n_ranks\":%d,\"nnodes\":%d},"
        "\"metadata\":{\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"\","
        "\"rec_mechanism\":\"nccl_profiler_interface\",\"dump_timestamp_us\":1752867229276385,"
        "\"hostname\":\"a\",\"pid\":7},\"coll_perf\":{\"coll\":\"%s\",\"coll_sn\":%d,"
        "\"coll_msg_size_bytes\":%.0f,\"coll_exec_time_us\":%.0f,\"coll_timing_source\":\"%s\","
        "\"coll_algobw_gbs\":1.5,\"coll_busbw_gbs\":2.5}}\n",
        entry->id, entry->name, entry->rank, entry->ranks, entry->nodes, entry->function,
        entry->call, entry->bytes, entry->time_us, entry->timing);
    assert_true(written > 0 && (size_t)written < MOST_TEXT - length);
}

/* Texts of ranks, each in a file of its own; the paths last until the next call. */
static struct gw_import_paths write_ranks(const char *folder, char texts[][MOST_TEXT],
                                          size_t count) {
    static const char *list[RANKS + 1];
    for (size_t i = 0; i < count; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "rank%zu.log", i);
        list[i] = path_in(folder, name);
        assert_ok(gw_file_write(list[i], texts[i], strlen(texts[i]), &error));
    }
    return (struct gw_import_paths){.count = count, .list = list};
}

static enum gw_status import(const struct gw_import_paths *paths, const char *communicator,
                             struct gw_cluster *out) {
    assert_ok(gw_cluster_create(out, "imported", 0, 0, &error));
    enum gw_status status = gw_import_inspector(paths, communicator, out, &error);
    return status == GW_OK ? gw_import_finish(out, &error) : status;
}

static char texts[RANKS + 1][MOST_TEXT];

static void clear_texts(void) {
    for (size_t i = 0; i <= RANKS; i++) {
        texts[i][0] = '\0';
    }
}

static int ascending(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median_of(double *values, size_t count) {
    qsort(values, count, sizeof *values, ascending);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static const cJSON *entry_in(const struct gw_cluster *cluster, const char *name, size_t workers) {
    const struct gw_collective_cost *cost = gw_cluster_find_collective(cluster, name, workers);
    assert_non_null(cost);
    return cost->kept;
}

static void assert_point(const struct gw_cluster *cluster, const char *name, size_t workers,
                         size_t index, double bytes, double time_us) {
    const struct gw_collective_cost *cost = gw_cluster_find_collective(cluster, name, workers);
    assert_non_null(cost);
    assert_true(index < cost->curve.point_count);
    assert_true(near(cost->curve.points[index].size, bytes, 1e-12));
    assert_true(near(cost->curve.points[index].time_s, time_us * 1e-6, 1e-9));
}

/*
 * Ranks come as late as chance will have it, those before wait: the time of the one that comes last
 * is that of the collective, whichever rank it is.
 */
TEST_IN_FOLDER(a_call_takes_the_rank_that_comes_last) {
    struct gw_random *random = random_stream(1);
    double times_us[2][CALLS];
    size_t counts[2] = {0};
    struct gw_cluster cluster;
    clear_texts();
    for (int call = 0; call < CALLS; call++) {
        int size = call < 2 ? call : gw_random_uniform(random) < 0.5;
        double true_us = 100 + 1000 * size + floor(900 * gw_random_uniform(random));
        int last = (int)(RANKS * gw_random_uniform(random));
        times_us[size][counts[size]++] = true_us;
        for (int rank = 0; rank < RANKS; rank++) {
            double early_us = rank == last ? 0 : floor(1e5 * gw_random_uniform(random));
            struct entry entry = entry_of(rank, call, size ? 65536 : 16384, true_us + early_us);
            put_entry(texts[rank], &entry);
        }
    }
    struct gw_import_paths paths = write_ranks(*state, texts, RANKS);
    assert_ok(import(&paths, NULL, &cluster));
    double medians_us[2] = {median_of(times_us[0], counts[0]), median_of(times_us[1], counts[1])};
    assert_point(&cluster, "allreduce", RANKS, 0, 16384, medians_us[0]);
    assert_point(&cluster, "allreduce", RANKS, 1, 65536, medians_us[1]);
    const cJSON *raw = cJSON_GetObjectItem(entry_in(&cluster, "allreduce", RANKS), "raw");
    for (int size = 0; size < 2; size++) {
        const cJSON *point = cJSON_GetArrayItem(raw, size);
        double rows = cJSON_GetNumberValue(cJSON_GetObjectItem(point, "rows"));
        assert_true(rows == (double)counts[size]);
    }
    assert_same_json(
        cJSON_Duplicate(cJSON_GetObjectItem(entry_in(&cluster, "allreduce", RANKS), "source"), 1),
        "{'kind': 'imported', 'tool': 'nccl-inspector', 'version': 'v4.0', 'date': '2025-07-18', "
        "'workers_per_node': 2, 'files': ['rank0.log', 'rank1.log', 'rank2.log', 'rank3.log']}");
    assert_int_equal(cluster.workers, RANKS);
    assert_int_equal(cluster.workers_per_node, 2);
    gw_cluster_free(&cluster);
}

/* Two sizes of all ranks. */
static void put_two_sizes(struct entry entry, int first_call) {
    for (int size = 0; size < 2; size++) {
        entry.call = first_call + size;
        entry.bytes = size ? 4096 : 1024;
        for (entry.rank = 0; entry.rank < entry.ranks; entry.rank++) {
            put_entry(texts[entry.rank], &entry);
            entry.time_us++;
        }
    }
}

/* What no exchange uses, what the host's clock timed, and what some rank lacks, changes nothing. */
TEST_IN_FOLDER(calls_of_no_use_are_passed_over) {
    static const char *const between =
        "{\"header\":{\"id\":\"0x7f8c\",\"rank\":0,\"n_ranks\":4,\"nnodes\":2},\"metadata\":{},"
        "\"p2p_perf\":{\"p2p\":\"Send\",\"p2p_sn\":1}}\n\n";
    struct entry entry = entry_of(0, 0, 0, 10);
    struct gw_cluster cluster;
    clear_texts();
    put_two_sizes(entry, 0);
    entry.time_us = 1;
    entry.function = "ReduceScatter";
    put_two_sizes(entry, 0);
    entry.function = "AllReduce";
    entry.timing = "collective_cpu";
    put_two_sizes(entry, 10);
    entry.timing = "kernel_gpu";
    entry.call = 20;
    put_entry(texts[0], &entry);
    (void)strcat(texts[1], between);
    (void)strcat(texts[2], "{\"header\": {\"id\": \"0x7f");
    struct gw_import_paths paths = write_ranks(*state, texts, RANKS);
    assert_ok(import(&paths, NULL, &cluster));
    assert_point(&cluster, "allreduce", RANKS, 0, 1024, 10);
    assert_point(&cluster, "allreduce", RANKS, 1, 4096, 14);
    assert_int_equal(gw_cluster_find_collective(&cluster, "allreduce", RANKS)->curve.point_count,
                     2);
    gw_cluster_free(&cluster);
}

TEST_IN_FOLDER(each_function_has_its_collective) {
    static const char *const names[][2] = {{"AllReduce", "allreduce"},
                                           {"AllGather", "allgather"},
                                           {"Broadcast", "broadcast"},
                                           {"Reduce", "reduce"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct entry entry = entry_of(0, 0, 0, 10);
        struct gw_cluster cluster;
        clear_texts();
        entry.function = names[i][0];
        put_two_sizes(entry, 0);
        struct gw_import_paths paths = write_ranks(*state, texts, RANKS);
        assert_ok(import(&paths, NULL, &cluster));
        assert_point(&cluster, names[i][1], RANKS, 1, 4096, 14);
        gw_cluster_free(&cluster);
    }
}

/* Of two communicators of as many ranks one is to be named; of different numbers both are taken. */
TEST_IN_FOLDER(communicators_are_told_apart) {
    struct entry entry = entry_of(0, 0, 0, 10);
    struct entry other = entry;
    struct gw_cluster cluster;
    other.id = "0x99";
    other.name = "TP";
    other.nodes = 1;
    other.time_us = 5;
    clear_texts();
    put_two_sizes(entry, 0);
    put_two_sizes(other, 0);
    struct gw_import_paths paths = write_ranks(*state, texts, RANKS);
    assert_int_equal(import(&paths, NULL, &cluster), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "expected --communicator, one of 0x7f8c (DP Group 0) of "
                                          "4 ranks in 2 nodes; 0x99 (TP) of 4 ranks in 1 nodes"));
    gw_cluster_free(&cluster);
    static const char *const chosen[] = {"TP", "0x99", "DP Group 0"};
    for (size_t i = 0; i < 3; i++) {
        assert_ok(import(&paths, chosen[i], &cluster));
        assert_point(&cluster, "allreduce", RANKS, 0, 1024, i < 2 ? 5 : 10);
        assert_int_equal(cluster.workers_per_node, i < 2 ? 4 : 2);
        gw_cluster_free(&cluster);
    }
    other.ranks = 2;
    clear_texts();
    put_two_sizes(entry, 0);
    put_two_sizes(other, 0);
    paths = write_ranks(*state, texts, RANKS);
    assert_ok(import(&paths, NULL, &cluster));
    assert_point(&cluster, "allreduce", RANKS, 0, 1024, 10);
    assert_point(&cluster, "allreduce", 2, 0, 1024, 5);
    gw_cluster_free(&cluster);
}

static void assert_refused(const struct gw_import_paths *paths, const char *communicator,
                           const char *message) {
    struct gw_cluster cluster;
    assert_int_equal(import(paths, communicator, &cluster), GW_BAD_INPUT);
    if (strstr(error.message, message) == NULL) {
        fail_msg("%s", error.message);
    }
    gw_cluster_free(&cluster);
}

TEST_IN_FOLDER(calls_that_cannot_be_are_refused) {
    struct entry entry = entry_of(0, 0, 0, 10);
    clear_texts();
    put_two_sizes(entry, 0);
    struct gw_import_paths paths = write_ranks(*state, texts, RANKS);
    paths.count = 3;
    assert_refused(&paths, NULL, "rank0.log: expected calls that the files of all ranks have");
    paths = write_ranks(*state, texts, RANKS);
    assert_refused(&paths, "TP", "of communicator TP, got none (0x7f8c (DP Group 0) of 4 ranks");
    (void)strcpy(texts[RANKS], texts[2]);
    paths = write_ranks(*state, texts, RANKS + 1);
    assert_refused(&paths, NULL, "AllReduce 0 of rank 2: expected it once, got it twice");
    entry.call = 9;
    put_entry(texts[0], &entry);
    entry.rank = 1;
    entry.bytes = 8;
    put_entry(texts[1], &entry);
    paths = write_ranks(*state, texts, RANKS);
    assert_refused(&paths, NULL, "AllReduce 9 of rank 1: expected one size in all ranks, got two");
}

TEST_IN_FOLDER(bad_lines_are_refused) {
    static const struct {
        const char *old, *new, *says;
    } cases[] = {
        {"{\"header\"", "[\"header\"", "rank0.log:2: expected a line of JSON"},
        {"\"rank\":0", "\"rank\":4", "rank0.log:2: header.rank: expected less than n_ranks, got 4"},
        {"\"n_ranks\":4", "\"n_ranks\":0", "header.n_ranks: expected a positive integer, got 0"},
        {"\"n_ranks\":4", "\"n_ranks\":5", "header: expected the ranks and nodes of the same id"},
        {"\"n_ranks\":4", "\"n_ranks\":16777217", "header.n_ranks: expected at most 2^24"},
        {"\"nnodes\":2", "\"nnodes\":7", "header.nnodes: expected at most a node for each rank"},
        {"_time_us\":14", "_time_us\":-1", "coll_exec_time_us: expected a finite number >= 0"},
        {"_time_us\":14", "_time_us\":1e13", "coll_exec_time_us: expected at most 1e12 us"},
        {"_bytes\":4096", "_bytes\":\"4K\"", "coll_msg_size_bytes: expected"},
        {"\"coll_perf\":{", "\"col_perf\":{", "coll_perf: expected"},
        {"\"coll\":\"AllReduce\",", "", "coll_perf.coll: expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clear_texts();
        put_two_sizes(entry_of(0, 0, 0, 10), 0);
        char *second = strchr(texts[0], '\n') + 1;
        char *at = strstr(second, cases[i].old);
        char rest[4096];
        assert_non_null(at);
        (void)snprintf(rest, sizeof rest, "%s%s", cases[i].new, at + strlen(cases[i].old));
        (void)strcpy(at, rest);
        struct gw_import_paths paths = write_ranks(*state, texts, RANKS);
        assert_refused(&paths, NULL, cases[i].says);
    }
}

/* ---- perftest -------------------------------------------------------------------------------- */

#define RULE                                                                                       \
    "---------------------------------------------------------------------------------------\n"
#define TITLE                                                                                      \
    RULE "                    RDMA_Write BW Test\n"                                                \
         " Dual-port       : OFF\t\tDevice         : mlx5_0\n"                                     \
         " Mtu             : 4096[B]\n"                                                            \
         " local address: LID 0x0e QPN 0x01c5 PSN 0x6f1a4e\n" RULE

static const char in_mib[] =
    TITLE " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n"
          " 2          5000             12.00              11.00\t\t     5.100000\n"
          " 65536      5000             23454.72            22000.00\t\t     0.375234\n"
          " 131072     5000             23454.72            23000.00\t\t     0.375234\n" RULE;

static const char in_gbit[] = TITLE
    " #bytes    #sl      #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    " 65536    3          5000             197.00              196.00\t\t     0.373\n" RULE;

static double read_rate(const char *folder, const char *text) {
    const char *path = path_in(folder, "bw.txt");
    double bytes_per_s = 0;
    assert_ok(gw_file_write(path, text, strlen(text), &error));
    assert_ok(gw_import_perftest(path, &bytes_per_s, &error));
    return bytes_per_s;
}

/* Text with one part of it exchanged. */
static const char *with(const char *text, const char *old, const char *new) {
    static char made[4096];
    const char *at = strstr(text, old);
    assert_non_null(at);
    (void)snprintf(made, sizeof made, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    return made;
}

/* A MB of perftest is 2^20 bytes, a Gb 10^9 bits; both ways together are twice one way. */
TEST_IN_FOLDER(a_link_carries_its_fastest_average_one_way) {
    char both[4096];
    assert_true(near(read_rate(*state, in_mib), 23000. * 1048576, 1e-12));
    assert_true(near(read_rate(*state, in_gbit), 196e9 / 8, 1e-12));
    (void)snprintf(both, sizeof both, "%s", with(in_mib, "RDMA_Write BW", "Send Bidirectional BW"));
    assert_true(near(read_rate(*state, both), 11500. * 1048576, 1e-12));
    (void)snprintf(both, sizeof both, "%s", with(both, " #bytes", "\n Local results: \n #bytes"));
    assert_true(near(read_rate(*state, both), 23000. * 1048576, 1e-12));
    assert_true(near(read_rate(*state, with(in_mib, "average[MiB", "average[MB")), 23000. * 1048576,
                     1e-12));
}

TEST_IN_FOLDER(bad_text_of_perftest_is_refused) {
    static const struct {
        const char *old, *new, *says;
    } cases[] = {
        {"RDMA_Write BW", "RDMA_Write Latency", "bw.txt:2: expected ib_write_bw"},
        {"RDMA_Write BW", "Atomic Fetch_add BW", "bw.txt:2: expected ib_write_bw"},
        {"average[MiB", "average[KiB", "expected a line such as"},
        {"23000.00", "fast", "bw.txt:10: expected a size in bytes"},
        {" #bytes", " #flows", "with rows of 32 KiB or more behind '#bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = with(in_mib, cases[i].old, cases[i].new);
        const char *path = path_in(*state, "bw.txt");
        double bytes_per_s = 0;
        assert_ok(gw_file_write(path, text, strlen(text), &error));
        assert_int_equal(gw_import_perftest(path, &bytes_per_s, &error), GW_BAD_INPUT);
        if (strstr(error.message, cases[i].says) == NULL) {
            fail_msg("%s", error.message);
        }
    }
}

/* ---- lists of parameters --------------------------------------------------------------------- */

static enum gw_status import_list(const char *folder, const char *text, double forward_s,
                                  struct gw_model *out) {
    const char *path = path_in(folder, "sizes.txt");
    const struct gw_sizes_request request = {
        .name = "own", .backward_s = 0.45, .forward_s = forward_s, .batch_size = 8};
    cJSON *document = NULL;
    assert_ok(gw_file_write(path, text, strlen(text), &error));
    GW_TRY(gw_import_sizes(path, &request, &document, &error));
    return gw_model_take(document, path, out, &error);
}

/* However a shape is written; roots of 3600, 900, 100, 1 and 4 elements share 103 parts. */
TEST_IN_FOLDER(a_list_is_shared_out_by_roots_of_sizes) {
    static const double elements[] = {3600, 900, 100, 1, 4};
    struct gw_model model;
    assert_ok(import_list(*state,
                          "# of my network\n\nconv.weight torch.Size([60, 60])\n"
                          "  a: 3x300\r\nb,[25,4]\nscale ()\nlast\t2 2",
                          0, &model));
    assert_int_equal(model.tensor_count, 5);
    assert_string_equal(model.tensors[0].name, "conv.weight");
    assert_string_equal(model.tensors[1].name, "a");
    assert_string_equal(model.tensors[4].name, "last");
    for (size_t i = 0; i < 5; i++) {
        assert_true((double)model.tensors[i].elements == elements[i]);
        assert_true(near(model.tensors[i].backward_s, 0.45 * sqrt(elements[i]) / 103, 1e-12));
    }
    assert_true(near(model.forward_s, 0.225, 1e-12));
    assert_true(model.batch_size == 8 && model.uncertainty > 0);
    assert_string_equal(model.kind, "given");
    gw_model_free(&model);
    assert_ok(import_list(*state, "a 1", 0.125, &model));
    assert_true(model.forward_s == 0.125);
    gw_model_free(&model);
}

TEST_IN_FOLDER(bad_lists_are_refused) {
    static const char *const cases[][2] = {
        {"", "sizes.txt: expected a line for each parameter"},
        {"# nothing\n", "sizes.txt: expected a line for each parameter"},
        {"a 3\nb\n", "sizes.txt:2: expected a parameter's name and its shape, such as "
                     "'conv1.weight 64 3 7 7', got 'b'"},
        {"a 0 3\n", "got 'a 0 3'"},
        {"a -3\n", "got 'a -3'"},
        {"a 0x1F\n", "got 'a 0x1F'"},
        {"a 1.5\n", "got 'a 1.5'"},
        {"a 3 float32\n", "got 'a 3 float32'"},
        {", 3\n", "got ', 3'"},
        {"a 9007199254740992\nb 1\n", "sizes.txt:2: expected at most 2^53 elements"},
        {"a 99999999999 99999999999\n", "sizes.txt:1: expected at most 2^53 elements"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_model model;
        assert_int_equal(import_list(*state, cases[i][0], 0, &model), GW_BAD_INPUT);
        if (strstr(error.message, cases[i][1]) == NULL) {
            fail_msg("%s", error.message);
        }
    }
}

/* ---- lists as they are pasted -----------------------------------------------------------------
 */

/* One list in many shapes: 4 tensors, of 64 x 64 x 3 x 3, 64, 2048 x 64 and 2048 elements. */
TEST_IN_FOLDER(lists_are_read_as_they_are_pasted) {
    static const char *const cases[] = {
        "a.weight 64 64 3 3\na.bias 64\nb.weight 2048 64\nb.bias 2048\n",
        "a.weight 64,64,3,3\na.bias 64\nb.weight 2048,64\nb.bias 2048\n",
        "a.weight: 36,864\na.bias: 64\nb.weight: 131,072\nb.bias: 2,048\n",
        "a.weight 36_864\na.bias 64\nb.weight 131_072\nb.bias 2_048\n",
        "a.weight torch.Size([64, 64, 3, 3]) torch.float32 True\na.bias torch.Size([64]) "
        "torch.float32 True\nb.weight torch.Size([2048, 64]) torch.bfloat16 True\n"
        "b.bias torch.Size([2048]) torch.float16 True\nb.frozen torch.Size([9]) torch.float32 "
        "False\nb.mask torch.Size([9]) torch.bool\n",
        "[('a.weight', torch.Size([64, 64, 3, 3])),\n ('a.bias', torch.Size([64])),\n"
        " ('b.weight', torch.Size([2048, 64])),\n ('b.bias', torch.Size([2048])),\n]\n",
        "{'a.weight': (64, 64, 3, 3),\n 'a.bias': (64,),\n 'b.weight': (2048, 64),\n 'b.bias': "
        "(2048,)}\n",
        "0: a.weight 64 64 3 3\n1: a.weight 64 64 3 3\n0: a.bias 64\n0: b.weight 2048 64\n"
        "1: a.bias 64\n1: b.weight 2048 64\n1: b.bias 2048\n0: b.bias 2048\n",
        "[1,0]<stdout>:a.weight 64 64 3 3\n[1,0]<stdout>:a.bias 64\n[1,0]<stdout>:b.weight 2048 "
        "64\n[1,0]<stdout>:b.bias 2048\n",
        "[rank0]: INFO: a.weight 64 64 3 3\n[rank0]: INFO: a.bias 64\n[rank0]: INFO: b.weight 2048 "
        "64\n[rank0]: INFO: b.bias 2048\n",
        "> a.weight 64x64x3x3\n> a.bias 64\n> b.weight 2048x64\n> b.bias 2048\n",
        "\x1b[32ma.weight\x1b[0m 64 64 3 3\n\x1b[32ma.bias\x1b[0m 64\nb.weight 2048 64\nb.bias "
        "2048\n",
        "a.weight 36864\na.bias 64\na.running_mean 64\na.num_batches_tracked torch.Size([])\n"
        "b.weight 131072\nb.inv_freq 32\nb.bias 2048\nTotal: 170048\n",
    };
    static const double elements[] = {36864, 64, 131072, 2048};
    static const char *const names[] = {"a.weight", "a.bias", "b.weight", "b.bias"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_model model;
        if (import_list(*state, cases[i], 0, &model) != GW_OK) {
            fail_msg("%s: %s", cases[i], error.message);
        }
        assert_int_equal(model.tensor_count, 4);
        for (size_t k = 0; k < 4; k++) {
            assert_string_equal(model.tensors[k].name, names[k]);
            assert_true((double)model.tensors[k].elements == elements[k]);
        }
        gw_model_free(&model);
    }
}

/* Commas that no line explains, and tables of layers, of which sizes are not known. */
TEST_IN_FOLDER(lists_that_could_mean_two_things_are_refused) {
    static const char *const cases[][2] = {
        {"a: 2,359,296\nb: 64\n", "sizes.txt:1: expected shapes (64x3x7x7) or numbers without "
                                  "commas, got commas that may be of thousands (a: 2359296 "
                                  "elements, or 212528?)"},
        {"a: 1,048,576\nb 2048\n", "sizes.txt:1: expected shapes"},
        {"a 3\nb 4\na 4\n", "sizes.txt:3: expected one size of a, got 4 elements after 3"},
        {"0: a 3\nb 4\n", "sizes.txt:2: expected the same before each name ('0: '), got 'b 4'"},
        {"====\nLayer (type:depth-idx)   Output Shape   Param #\n====\n├─Linear: 1-1  [1, 9]  90\n",
         "expected a line for each parameter, as 'for name, p in model.named_parameters(): "
         "print(name, *p.shape)' prints them, got a table of torchinfo"},
        {"----\n        Layer (type)     Output Shape   Param #\n====\n  Linear-1  [-1, 9]  90\n",
         "got a table of torchsummary or Keras"},
        {"Net(\n  (fc): Linear(in_features=9, out_features=9, bias=True)\n)\n",
         "got a printed model, without sizes of its parameters"},
        {"{\"metadata\": {\"total_size\": 9},\n\"weight_map\": {\"a\": \"b\"}}\n",
         "got an index of files, without sizes of its parameters"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gw_model model;
        assert_int_equal(import_list(*state, cases[i][0], 0, &model), GW_BAD_INPUT);
        if (strstr(error.message, cases[i][1]) == NULL) {
            fail_msg("%s", error.message);
        }
    }
}

/* What is left out is said, and weights that may be one. */
TEST_IN_FOLDER(lists_say_what_they_leave_open) {
    const char *path = path_in(*state, "sizes.txt");
    static const char text[] =
        "wte.weight 50257 768\nbn.running_var 768\nlm_head.weight 50257 768\n"
        "wte.weight 50257 768\n";
    const struct gw_sizes_request request = {.name = "own", .backward_s = 0.45};
    cJSON *document = NULL;
    assert_ok(gw_file_write(path, text, strlen(text), &error));
    assert_ok(gw_import_sizes(path, &request, &document, &error));
    const cJSON *source = cJSON_GetObjectItem(document, "source");
    assert_same_json(cJSON_Duplicate(cJSON_GetObjectItem(source, "notes"), 1),
                     "['1 without gradients left out, such as bn.running_var', '1 names that come "
                     "again, as of several ranks, count once', 'lm_head.weight is as large as "
                     "wte.weight: where one is the other (tied), take one out']");
    cJSON_Delete(document);
}
