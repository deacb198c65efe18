/* Compares settings of tables of one curve where these are long, or stand in several tables. */
#include "tests/traces/import_support.h"
#include "traces/margins.h"

/* Asserts that a file of two texts makes a curve, or is refused with the message. */
static void assert_joined(const char *folder, const char *first, const char *second,
                          const char *message) {
    struct gw_cluster cluster = new_cluster();
    size_t size = strlen(first) + strlen(second) + 1;
    char *both = malloc(size);
    assert_non_null(both);
    (void)snprintf(both, size, "%s%s", first, second);
    enum gw_status status = import(NCCL, write_text(folder, "x.txt", both), 4, &cluster);
    status = status == GW_OK ? gw_import_finish(&cluster, &error) : status;
    gw_cluster_free(&cluster);
    free(both);
    if (message == NULL ? status != GW_OK
                        : status != GW_BAD_INPUT || strstr(error.message, message) == NULL) {
        fail_msg("expected %s, got %s", message, status == GW_OK ? "a curve" : error.message);
    }
}

/* Compares a variable with all tables before, of which the first one does not have it. */
TEST_IN_FOLDER(settings_of_all_tables_are_kept) {
    const char *run = strstr(text_of("nccl-run"), "# nccl-tests");
    char *second =
        edited_text("nccl-run", "SOCKET_IFNAME -> NET & $ mpirun -x NCCL_ALGO=Ring -> #");
    char *third = replaced(second, "eth0.100", "Socket", false);
    char both[4096];
    (void)snprintf(both, sizeof both, "%s%s", run, second);
    assert_joined(*state, both, third,
                  "under one logged variables, got NCCL_NET=Socket after NCCL_NET=eth0.100 "
                  "NCCL_SOCKET_IFNAME=eth0.100 (x.txt:9)");
    free(second);
    free(third);
}

/* Keeps whole words of a list that is longer than its room, as a value that is cut is another one.
 */
TEST_IN_FOLDER(variables_without_room_are_not_cut) {
    char first[8192];
    int length = snprintf(first, sizeof first, "# Collective test starting: all_reduce_perf\n");
    for (int i = 0; i < 40; i++) {
        length += snprintf(first + length, sizeof first - (size_t)length,
                           "left:1:1 [0] NCCL INFO NCCL_V%02d set by environment to "
                           "/a/path/of/forty/letters/or/so/for/file\n",
                           i);
    }
    (void)snprintf(first + length, sizeof first - (size_t)length, "%s",
                   strstr(text_of("nccl-run"), "# nThread"));
    char *second = replaced(first, "NCCL_V00 set by", "NCCL_V00 by", false);
    assert_joined(*state, first, second, NULL);
    free(second);
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

/* Tells layouts of thousands of nodes and long variables apart that differ at their ends. */
TEST_IN_FOLDER(long_settings_are_told_apart) {
    static const size_t lasts[][2] = {{1, 2}, {2, 1}};
    enum { SIZE = 1 << 20 };
    char *texts[] = {malloc(SIZE), malloc(SIZE)};
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(texts[i]);
        write_uneven(5000, lasts[i], texts[i], SIZE);
    }
    assert_joined(*state, texts[0], texts[0], NULL);
    assert_joined(*state, texts[0], texts[1], "under one layout, got 1+2+1+2+");
    write_uneven(4, lasts[0], texts[0], SIZE);
    char *moved = replaced(texts[0], "node-3", "node-4", true);
    char *other = replaced(moved, "node-1", "node-0", true);
    assert_joined(*state, texts[0], other, "got 3+1+2 ranks on 3 nodes after 1+2+1+2 ranks on");
    for (size_t i = 0; i < 2; i++) {
        static const char padding[] = "/a/path/of/forty/letters/or/so/for/a/file";
        (void)snprintf(texts[i], SIZE, "$ env NCCL_AA=%s NCCL_AB=%s NCCL_AC=%s NCCL_ALGO=%s %s",
                       padding, padding, padding, i == 0 ? "Ring" : "Tree",
                       strstr(text_of("nccl-run"), "all_reduce_perf"));
    }
    assert_joined(*state, texts[0], texts[1], "under one variables, got NCCL_AA=/a/path");
    free(moved);
    free(other);
    free(texts[0]);
    free(texts[1]);
}

/* Gives a size that was measured again an interval from the least to the most of its rows. */
TEST_IN_FOLDER(repeats_have_an_interval) {
    struct gw_cluster cluster = new_cluster();
    char *second = edited_text("nccl-run", " 10 0 0 0 ->  16 0 0 0");
    assert_ok(import(NCCL, write_text(*state, "a", text_of("nccl-run")), 0, &cluster));
    assert_ok(import(NCCL, write_text(*state, "b", second), 0, &cluster));
    assert_ok(gw_import_finish(&cluster, &error));
    const struct gw_collective_cost *cost = gw_cluster_find_collective(&cluster, "allreduce", 4);
    assert_true(
        near(gw_margins_at(&cost->margins, 1024), hypot(3. / 13, GW_COLLECTIVE_MARGIN), 1e-12));
    assert_true(gw_margins_at(&cost->margins, 2048) == GW_COLLECTIVE_MARGIN);
    gw_cluster_free(&cluster);
    free(second);
}
