/* Reads logs of NCCL's inspector. */
#include <math.h>

#include "tests/test.h"
#include "tests/traces/traces_support.h"
#include "traces/imports.h"

/* ---- a job that was logged ------------------------------------------------------------------- */

enum { RANKS = 4, CALLS = 60, MOST_TEXT = 1 << 18 };

/* A line in which a rank logs a call. */
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

/* Adds a line to a text. */
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

/* Writes each rank's text into a file of its own; the paths last until the next call. */
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
 * Takes the time of the rank that comes last, whichever that is, for the collective's: ranks come
 * at random, and the others wait.
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

/* Adds calls of two sizes by all ranks. */
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

/* Passes over calls that no exchange uses, that the host's clock timed, or that a rank lacks. */
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

/* Takes communicators of two sizes; refuses two of one size, unless one is named. */
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
                                          "4 ranks in 2 nodes; 0x99 (TP) of 4 ranks in 1 node"));
    gw_cluster_free(&cluster);
    static const char *const chosen[] = {"TP", "0x99", "DP Group 0"};
    for (size_t i = 0; i < 3; i++) {
        assert_ok(import(&paths, chosen[i], &cluster));
        assert_point(&cluster, "allreduce", RANKS, 0, 1024, i < 2 ? 5 : 10);
        assert_int_equal(cluster.workers_per_node, i < 2 ? 4 : 2);
        gw_cluster_free(&cluster);
    }
    /* of one name, on as many nodes or not */
    for (other.nodes = 1; other.nodes <= 2; other.nodes++) {
        other.name = entry.name;
        clear_texts();
        put_two_sizes(entry, 0);
        put_two_sizes(other, 0);
        paths = write_ranks(*state, texts, RANKS);
        assert_int_equal(import(&paths, entry.name, &cluster),
                         other.nodes == entry.nodes ? GW_OK : GW_BAD_INPUT);
        if (other.nodes == entry.nodes) {
            assert_point(&cluster, "allreduce", RANKS, 0, 1024, 7.5);
        } else {
            assert_non_null(strstr(error.message, "expected --communicator, one of 0x7f8c"));
        }
        gw_cluster_free(&cluster);
    }
    other.ranks = 2;
    other.nodes = 1;
    clear_texts();
    put_two_sizes(entry, 0);
    put_two_sizes(other, 0);
    paths = write_ranks(*state, texts, RANKS);
    assert_ok(import(&paths, NULL, &cluster));
    assert_point(&cluster, "allreduce", RANKS, 0, 1024, 10);
    assert_point(&cluster, "allreduce", 2, 0, 1024, 5);
    gw_cluster_free(&cluster);
}

/* Reads calls of many communicators in turn, in time by the length of the file. */
TEST_IN_FOLDER(many_communicators_take_time_by_their_number) {
    enum { count = 20000 };
    static char list[2][64];
    const char *const paths[] = {list[0], list[1]};
    struct gw_text text = {0};
    struct gw_cluster cluster;
    for (int rank = 0; rank < 2; rank++) {
        FILE *stream = gw_text_open(&text);
        assert_non_null(stream);
        for (int call = 0; call < 2; call++) {
            for (int i = 0; i < count; i++) {
                (void)fprintf(
                    stream,
                    "{\"header\":{\"id\":\"%d\",\"rank\":%d,\"n_ranks\":2,\"nnodes\":1},"
                    "\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":%d,\"coll_msg_size_"
                    "bytes\":%d,\"coll_exec_time_us\":5}}\n",
                    i, rank, call, 1024 << call);
            }
        }
        assert_ok(gw_text_close(&text, "printing", &error));
        (void)snprintf(list[rank], sizeof list[rank], "%s", path_in(*state, rank == 0 ? "0" : "1"));
        assert_ok(gw_file_write(list[rank], text.text, strlen(text.text), &error));
        free(text.text);
    }
    const struct gw_import_paths both = {.count = 2, .list = paths};
    assert_int_equal(import(&both, NULL, &cluster), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "expected --communicator, one of 0 of 2 ranks"));
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
