/* Reads output of benchmarks as launchers, containers, terminals and pages leave it. */
#include "tests/traces/import_support.h"

static void assert_read(const char *folder, enum tool tool, const char *text) {
    static const double points[][2] = {{1024, 10.5}, {2048, 12}, {4096, 20.25}};
    struct gw_cluster cluster = import_text(folder, tool, "x.txt", text, 2);
    assert_points(&cluster, "allreduce", 2, points, 3);
    gw_cluster_free(&cluster);
}

/* Puts a prefix, which may count seconds, and an end around each line. */
static void decorate(const char *text, const char *before, const char *end, char *out,
                     size_t size) {
    size_t length = 0;
    for (int line = 0; *text != '\0'; line++) {
        size_t width = strcspn(text, "\n");
        length += (size_t)snprintf(out + length, size - length, before, line % 60);
        length += (size_t)snprintf(out + length, size - length, "%.*s%s", (int)width, text, end);
        assert_true(length < size);
        text += width + 1;
    }
}

TEST_IN_FOLDER(prefixes_are_taken_off) {
    static const char *const prefixes[] = {
        " 0: ",                                      /* srun --label */
        "[1,0]<stdout>:",                            /* Open MPI 4 */
        "Thu May  7 10:39:%02d 2020[1,0]<stdout>:",  /* and with its time */
        "[prterun-node-a-4711@1,0]<stdout>: ",       /* Open MPI 5 */
        "[0] ",                                      /* Hydra */
        "[default0]:",                               /* torchrun */
        "(head, rank=0, pid=3808) [1,0]<stdout>:",   /* SkyPilot */
        "launcher-1  | ",                            /* docker compose */
        "[pod/nccl-launcher-x7b2/mpi] ",             /* kubectl --prefix */
        "2026-05-07T10:39:%02d.123456789Z ",         /* kubectl --timestamps */
        "2026-05-07T10:39:%02d.123+02:00 stdout F ", /* files of containers */
        "May  7 10:39:%02d node-a app[77]: ",        /* syslog */
        "[2026-05-07 10:39:%02d,123] INFO: ",        /* a logger */
        "INFO ",
        "    ",
        "\t",
        "> ",
        "> > ",
        "\x1b[36mnode-a\x1b[0m: ",
        "\x1b[1;32m",
        "\xc2\xa0\xc2\xa0",
    };
    static const char *const ends[] = {"\n", "\r\n", "\x1b[0m\r\r\n"};
    char text[8192];
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        for (size_t k = 0; k < 3; k++) {
            decorate(text_of("nccl2"), prefixes[i], ends[k], text, sizeof text);
            assert_read(*state, NCCL, text);
            decorate(text_of("osu2"), prefixes[i], ends[k], text, sizeof text);
            assert_read(*state, OSU, text);
            double bytes_per_s = 0;
            decorate(text_of("perftest"), prefixes[i], ends[k], text, sizeof text);
            const char *path = write_text(*state, "bw.txt", text);
            assert_ok(gw_import_perftest(path, &bytes_per_s, &error));
            assert_true(near(bytes_per_s, 23000. * 1048576, 1e-12));
        }
    }
}

/* Makes a text of `begin`, so many times `part`, and `end`; the caller's. */
static char *repeat(const char *begin, const char *part, size_t count, const char *end) {
    size_t length = strlen(part);
    char *text = malloc(strlen(begin) + count * length + strlen(end) + 1);
    assert_non_null(text);
    char *at = stpcpy(text, begin);
    for (size_t i = 0; i < count; i++, at += length) {
        memcpy(at, part, length);
    }
    (void)strcpy(at, end);
    return text;
}

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
/* How often a line repeats a part. The address sanitizer reads all that strstr is given. */
#ifdef __SANITIZE_ADDRESS__
enum { REPEATS = 10000 };
#else
enum { REPEATS = 500000 };
#endif

/* Reads lines of millions of bytes that seem to begin headers, in time linear in their length. */
TEST_IN_FOLDER(long_lines_take_time_by_their_length) {
    static const struct {
        enum tool tool;
        const char *begin, *part, *end;
    } cases[] = {
        {NCCL, "", "size count type ", NULL},
        {NCCL, "", "Rank Rank nThread ", NULL},
        {NCCL, "", "(B)(elements) ", NULL},
        {NCCL, "", "_perf", NULL},
        {NCCL, "all_reduce_perf -b ", "NCCL_A=", NULL},
        {NCCL,
         "[0] # Collective test starting: all_reduce_perf\n" COLUMNS_NEW
         "[0] 1024 256 float sum -1 9 0 0 0[0] 10.5 0 0 0 9.5 0 0 0\n[0] 1 1 ",
         "[0] 1", "2048 512 float sum -1 12 0 0 0[0] x\n"},
        {OSU, "", "OSU ", NULL},
        {OSU, "", "Size ", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *whole = text_of(cases[i].tool == NCCL ? "nccl2" : "osu2");
        char *end = repeat("\n", cases[i].end == NULL ? whole : cases[i].end, 1, "");
        char *text = repeat(cases[i].begin, cases[i].part, REPEATS, end);
        struct gw_cluster cluster = new_cluster();
        enum gw_status status =
            import(cases[i].tool, write_text(*state, "x.txt", text), 2, &cluster);
        assert_true(status == GW_OK || strstr(error.message, "columns") != NULL);
        gw_cluster_free(&cluster);
        free(text);
        free(end);
    }
}

/* Reads rows that fall, measurements that alternate, and ranks that go round the nodes. */
TEST_IN_FOLDER(long_files_take_time_by_their_length) {
    enum { count = REPEATS / 5, line = 128 };
    char *text = malloc((size_t)count * line);
    assert_non_null(text);
    for (int kind = 0; kind < 3; kind++) {
        char *at =
            stpcpy(text, kind == 0   ? "# OSU MPI Reduce Latency Test v7.4\n# Size Latency(us)\n"
                         : kind == 1 ? ""
                                     : "# Collective test starting: all_reduce_perf\n");
        for (int i = 0; i < count - 4; i++) {
            at += kind == 0 ? snprintf(at, line, "%d %g\n", i + 1, 2000 - 1000. * i / count)
                  : kind == 1
                      ? snprintf(at, line,
                                 "{\"busBw\":1,\"gpus\":4,\"inPlace\":0,\"name\":\"%s\",\"redop\":"
                                 "\"sum\",\"size\":%d,\"time\":%d,\"type\":\"float\"}\n",
                                 i % 2 == 0 ? "AllReduce" : "Broadcast", 4 * (i + 1), i + 1)
                      : snprintf(at, line, "# Rank %d Group 0 Pid 1 on h%d device 0 [0] G\n", i,
                                 i % (count / 2));
        }
        (void)stpcpy(at, kind < 2 ? ""
                                  : COLUMNS_NEW "1024 256 float sum -1 9 0 0 0 9 0 0 0\n"
                                                "2048 512 float sum -1 12 0 0 0 9 0 0 0\n");
        struct gw_cluster cluster = import_text(*state, kind == 0 ? OSU : NCCL, "x.txt", text, 4);
        gw_cluster_free(&cluster);
    }
    free(text);
}

/* Keeps 20 reasons, and how many more there were. */
TEST_IN_FOLDER(many_runs_of_no_use_are_counted) {
    static const char run[] = "# Collective test starting: alltoallv_perf\n# nThread 1 nGpus 2\n"
                              "# size count type redop root time algbw busbw #wrong\n";
    char *text = repeat(text_of("nccl2"), run, 23, "");
    struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", text, 2);
    assert_non_null(strstr(gw_import_passed_over(&cluster, 19), "got alltoallv"));
    assert_string_equal(gw_import_passed_over(&cluster, 20), "3 more");
    assert_null(gw_import_passed_over(&cluster, 21));
    gw_cluster_free(&cluster);
    free(text);
}
