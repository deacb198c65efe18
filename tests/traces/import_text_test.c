/* Reads output of benchmarks as launchers, containers, terminals and pages leave it. */
#include "tests/traces/import_support.h"

#define HEAD                                                                                       \
    "# Collective test starting: all_reduce_perf\n"                                                \
    "# nThread 1 nGpus 1 minBytes 1024 maxBytes 4096 step: 2(factor) agg iters: 1 graph: 0\n"      \
    "#\n"                                                                                          \
    "# Using devices\n"                                                                            \
    "#  Rank  0 Group  0 Pid     11 on     left device  0 [0x07] Some GPU\n"                       \
    "#  Rank  1 Group  0 Pid     12 on    right device  0 [0x07] Some GPU\n"                       \
    "#\n"
#define ROW_1                                                                                      \
    "        1024           256     float     sum      -1    10.50    0.05    0.07       0"
#define ROW_2                                                                                      \
    "        2048           512     float     sum      -1       12    0.05    0.07       0"
#define ROW_3                                                                                      \
    "        4096          1024     float     sum      -1    20.25    0.13    0.20       0"
#define IN_PLACE "     9.50    0.05    0.08     N/A\n"
#define FOOT                                                                                       \
    "# Out of bounds values : 0 OK\n"                                                              \
    "# Avg bus bandwidth    : 0.115\n"                                                             \
    "#\n"                                                                                          \
    "# Collective test concluded: all_reduce_perf\n"

static const char nccl[] = HEAD COLUMNS_NEW ROW_1 IN_PLACE ROW_2 IN_PLACE ROW_3 IN_PLACE FOOT;
static const char osu[] = "\n# OSU MPI Allreduce Latency Test v7.5\n# Datatype: MPI_INT.\n"
                          "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)\n"
                          "1024                   10.50              9.00             12.00\n"
                          "2048                   12.00              9.00             14.00\n"
                          "4096                   20.25              9.00             24.00\n";
static const char perftest[] =
    "---------------------------------------\n"
    "                    RDMA_Write BW Test\n"
    " Mtu             : 4096[B]\n"
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    " 65536      5000             197.00              196.00             0.373\n"
    "---------------------------------------\n";
static const double points[][2] = {{1024, 10.5}, {2048, 12}, {4096, 20.25}};

static void assert_read(const char *folder, enum tool tool, const char *text) {
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
            decorate(nccl, prefixes[i], ends[k], text, sizeof text);
            assert_read(*state, NCCL, text);
            decorate(osu, prefixes[i], ends[k], text, sizeof text);
            assert_read(*state, OSU, text);
            double bytes_per_s = 0;
            decorate(perftest, prefixes[i], ends[k], text, sizeof text);
            const char *path = write_text(*state, "bw.txt", text);
            assert_ok(gw_import_perftest(path, &bytes_per_s, &error));
            assert_true(near(bytes_per_s, 196e9 / 8, 1e-12));
        }
    }
}

/* Passes over lines of other ranks, under labels of their own, between the rows. */
TEST_IN_FOLDER(lines_of_other_ranks_lie_between) {
    assert_read(*state, NCCL,
                "\xef\xbb\xbf 0: # Collective test starting: all_reduce_perf\n"
                "11: right:12:12 [0] NCCL INFO cudaDriverVersion 12040\n"
                " 0: # nThread 1 nGpus 1 minBytes 1024\n"
                " 0: #  Rank  0 Group  0 Pid     11 on     left device  0 [0x07] Some GPU\n"
                " 0: #  Rank  1 Group  0 Pid     12 on    right device  0 [0x07] Some GPU\n"
                " 0: # size count type redop root time algbw busbw #wrong\n"
                " 0: 1024 256 float sum -1 10.5 0 0 0\n"
                "11: 17 processes are here\n"
                " 0: 2048 512 float sum -1 12 0 0 0\n"
                "11: right:12:12 [0] NCCL INFO 4096 Bytes -> Algo 1\n"
                " 0: 4096 1024 float sum -1 20.25 0 0 0\n"
                " 0: # Out of bounds values : 0 OK\n");
}

/* Reads pages of Markdown, which make headings of lines with #, and one blank of several. */
TEST_IN_FOLDER(pages_lose_marks_and_blanks) {
    assert_read(*state, NCCL,
                "Collective test starting: all_reduce_perf\n"
                "nThread 1 nGpus 1 minBytes 1024\nUsing devices\n"
                "Rank 0 Group 0 Pid 11 on left device 0 [0x07] Some GPU\n"
                "#  Rank 1 Group 0 Pid 12 on right device 0 [0x07] Some GPU\n"
                "size count type redop root time algbw busbw #wrong\n"
                "(B) (elements) (us) (GB/s) (GB/s)\n"
                "1024 256 float sum -1 10.5 0 0 0\n2048 512 float sum -1 12 0 0 0\n"
                "4096 1024 float sum -1 20.25 0 0 0\nOut of bounds values : 0 OK\n");
    assert_read(*state, OSU,
                "OSU MPI Allreduce Latency Test v7.5\nSize Avg Latency(us) Min Latency(us) Max "
                "Latency(us)\n1024 10.5 1 99\n2048 12 1 99\n4096 20.25 1 99\n");
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
        {NCCL, "", "size count type ", nccl},
        {NCCL, "", "Rank Rank nThread ", nccl},
        {NCCL, "", "(B)(elements) ", nccl},
        {NCCL, "", "_perf", nccl},
        {NCCL, "all_reduce_perf -b ", "NCCL_A=", nccl},
        {NCCL, "[0] " HEAD COLUMNS_NEW "[0] " ROW_1 "[0] 10.5 0 0 0 9.5 0 0 0\n[0] 1 1 ", "[0] 1",
         ROW_2 "[0] x\n"},
        {OSU, "", "OSU ", osu},
        {OSU, "", "Size ", osu},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *end = repeat("\n", cases[i].end, 1, "");
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
        (void)stpcpy(at, kind < 2 ? "" : COLUMNS_NEW ROW_1 IN_PLACE ROW_2 IN_PLACE);
        struct gw_cluster cluster = import_text(*state, kind == 0 ? OSU : NCCL, "x.txt", text, 4);
        gw_cluster_free(&cluster);
    }
    free(text);
}

/* ---- rows that are cut ----------------------------------------------------------------------- */

#define LOG "left:4000:4012 [0] NCCL INFO AllReduce: opCount 3 sendbuff 0x7f\n"

TEST_IN_FOLDER(rows_that_are_cut_are_joined) {
    static const char *const rows[] = {
        /* NCCL's log behind a part, alone and with other lines */
        "1024 256 float sum -1 " LOG LOG " 10.50 0.05 0.07 0 9.50 0.05 0.08 N/A\n",
        "1024 256 float sum -1" LOG "10.50 0.05 0.07 0" LOG "9.50 0.05 0.08 0\n",
        "1024 256 float sum -1 [2026-05-07 10:39:20] " LOG " 10.50 0.05 0.07 0 9.5 0 0 0\n",
        "1024 256 float sum -1\n 10.50 0.05 0.07 0 9.50 0.05 0.08 N/A\n",
        /* of two groups one is blank */
        "1024 256 float sum -1 " LOG " 10.50 0.05 0.07 0\n",
    };
    char text[8192];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)snprintf(text, sizeof text, "%s%s%s%s", HEAD COLUMNS_NEW, rows[i],
                       ROW_2 " " LOG IN_PLACE, ROW_3 IN_PLACE FOOT);
        assert_read(*state, NCCL, text);
    }
}

/* Takes out second tags, which launchers put into lines that are not yet ended. */
TEST_IN_FOLDER(second_tags_are_taken_out) {
    static const char *const rows[][2] = {
        {"[0] ", "[0]  1024 256 float sum -1[0] left:40:40 [0] NCCL INFO 1024 Bytes -> Algo 0\n"
                 "[1] right:41:41 [0] NCCL INFO 1024 Bytes -> Algo 0\n"
                 "[0]    10.50    0.05    0.10      0[0]     9.50    0.05    0.10      0\n"},
        {"[1,0]<stdout>:", "[1,0]<stdout>: 1024 256 float sum -1[1,0]<stdout>: 10.50 0.05 0.07 0 "
                           "9.50 0.05 0.08 N/A\n"},
        {"[1,0]<stdout>:", "[1,0]<stdout>: 1024 256 float sum -1[1,1]<stderr>:a warning of 2\n"
                           "[1,0]<stdout>: 10.50 0.05 0.07 0 9.50 0.05 0.08 N/A\n"},
        {"[prterun-a-4@1,0]<stdout>: ", "[prterun-a-4@1,0]<stdout>:  1024 256 float sum -1 10.50 "
                                        "0.05 0.07 0[prterun-a-4@1,0]<stdout>:  9.5 0 0 N/A\n"},
    };
    char text[8192];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        decorate(HEAD COLUMNS_NEW, rows[i][0], "\n", text, sizeof text);
        (void)strcat(text, rows[i][1]);
        decorate(ROW_2 IN_PLACE ROW_3 IN_PLACE FOOT, rows[i][0], "\n", text + strlen(text),
                 sizeof text - strlen(text));
        assert_read(*state, NCCL, text);
    }
}

/* ---- runs of no use ------------------------------------------------------------------- */

static void assert_passed_over(const char *folder, enum tool tool, const char *text,
                               const char *message) {
    struct gw_cluster cluster = import_text(folder, tool, "x.txt", text, 2);
    const char *said = gw_import_passed_over(&cluster, 0);
    assert_points(&cluster, "allreduce", 2, points, 3);
    assert_non_null(said);
    if (strstr(said, message) == NULL) {
        fail_msg("%s", said);
    }
    assert_null(gw_import_passed_over(&cluster, 1));
    gw_cluster_free(&cluster);
}

/* Passes over a run that no exchange uses, with a note, before or behind other runs. */
TEST_IN_FOLDER(runs_of_no_use_are_passed_over) {
    static const struct {
        const char *run, *message;
    } cases[] = {
        {"# Collective test starting: reduce_scatter_perf\n# nThread 1 nGpus 2\n"
         "# Rank 0 Group 0 Pid 1 on a device 0 [0] G\n# Rank 1 Group 0 Pid 1 on a device 1 [0] G\n"
         "# size count type redop root time algbw busbw #wrong\n64 8 float sum -1 5 0 0 0\n"
         "# Out of bounds values : 0 OK\n",
         "expected all_reduce, all_gather, broadcast, reduce, gather, scatter or sendrecv, got "
         "reduce_scatter"},
        {"# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 1\n"
         "# Rank 0 Group 0 Pid 1 on a device 0 [0] G\n"
         "# size count type redop root time algbw busbw #wrong\n64 16 float sum -1 5 0 0 0\n",
         "expected two ranks or more, got 1"},
        {"# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 1\n"
         "# Rank 0 Group 0 Pid 1 on a device 0 [0] G\n# Rank 0 Group 0 Pid 1 on b device 0 [0] G\n"
         "# size count type redop root time algbw busbw #wrong\n64 16 float sum -1 5 0 0 0\n",
         "expected each rank once (an MPI build of nccl-tests), got rank 0"},
        {"# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 2\n"
         "# Rank 0 Group 0 Pid 1 on a device 0 [0] G\n# Rank 1 Group 1 Pid 1 on a device 1 [0] G\n"
         "# size count type redop root time algbw busbw #wrong\n64 16 float sum -1 5 0 0 0\n",
         "expected all ranks in one group"},
        {"# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 2\n"
         "# Rank 0 Group 0 Pid 1 on a device 0 [0] G\n# Rank 1 Group 0 Pid 1 on a device 1 [0] G\n"
         "# size count type redop root cputime algbw busbw #wrong\n64 16 float sum -1 5 0 0 0\n",
         "expected time, got cputime"},
        {"# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 2\n"
         "# Rank 0 Group 0 Pid 1 on a device 0 [0] G\n# Rank 1 Group 0 Pid 1 on a device 1 [0] G\n"
         "# size count type redop root time algbw busbw #wrong\nout of memory\n",
         "expected rows of more than 0 bytes"},
        {"# Collective test starting: broadcast_perf\n# nThread 1 nGpus 2\n"
         "# Rank 0 Group 0 Pid 1 on a device 0 [0] G\n# Rank 1 Group 0 Pid 1 on a device 1 [0] G\n"
         "# size count type redop root time algbw busbw #wrong\n64 16 float none 0 5 0 0 0\n",
         "x.txt: broadcast among 2: expected two sizes or more, got one"},
    };
    char text[8192];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)snprintf(text, sizeof text, "%s%s", cases[i].run, nccl);
        assert_passed_over(*state, NCCL, text, cases[i].message);
        (void)snprintf(text, sizeof text, "%s%s", nccl, cases[i].run);
        assert_passed_over(*state, NCCL, text, cases[i].message);
    }
}

/* Keeps 20 reasons, and how many more there were. */
TEST_IN_FOLDER(many_runs_of_no_use_are_counted) {
    static const char run[] = "# Collective test starting: alltoall_perf\n# nThread 1 nGpus 2\n"
                              "# size count type redop root time algbw busbw #wrong\n";
    char *text = repeat(nccl, run, 23, "");
    struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", text, 2);
    assert_points(&cluster, "allreduce", 2, points, 3);
    assert_non_null(strstr(gw_import_passed_over(&cluster, 19), "got alltoall"));
    assert_string_equal(gw_import_passed_over(&cluster, 20), "3 more");
    assert_null(gw_import_passed_over(&cluster, 21));
    gw_cluster_free(&cluster);
    free(text);
}

/* Passes over the half of a row that a job which was killed leaves behind, wherever it was cut. */
TEST_IN_FOLDER(a_last_row_that_is_cut_is_passed_over) {
    static const char *const rows[] = {"8",
                                       "8192",
                                       "8192 \n\n",
                                       "8192 20",
                                       "8192 2048 ",
                                       "8192 2048 fl",
                                       "8192 2048 float sum -1 7 0.1"};
    static const int columns[] = {1, 1, 1, 2, 2, 3, 7};
    char text[8192], message[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)snprintf(text, sizeof text, "%s%s%s", HEAD COLUMNS_NEW,
                       ROW_1 IN_PLACE ROW_2 IN_PLACE ROW_3 IN_PLACE, rows[i]);
        (void)snprintf(message, sizeof message, "x.txt:13: expected 13 columns, got %d",
                       columns[i]);
        assert_passed_over(*state, NCCL, text, message);
    }
    (void)snprintf(text, sizeof text, "%s8192", osu);
    assert_passed_over(*state, OSU, text, "x.txt:8: expected 4 columns, got 1 in the last row");
    (void)snprintf(text, sizeof text, "%s%s", HEAD COLUMNS_NEW,
                   ROW_1 IN_PLACE ROW_2 IN_PLACE ROW_3 IN_PLACE "8192 2048 float sum -1");
    assert_passed_over(*state, NCCL, text,
                       "x.txt:13: expected 13 columns, got 5: other output cuts");
    (void)snprintf(text, sizeof text, "%s%s", HEAD COLUMNS_NEW,
                   ROW_1 IN_PLACE "512 128 float sum -1\n" ROW_2 IN_PLACE ROW_3 IN_PLACE FOOT);
    struct gw_cluster cluster = new_cluster();
    assert_int_equal(import(NCCL, write_text(*state, "x.txt", text), 0, &cluster), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "x.txt:11: expected 13 columns, got 5: other output cuts "
                                          "the row (send NCCL's log elsewhere, by "
                                          "NCCL_DEBUG_FILE)"));
    gw_cluster_free(&cluster);
}

/* Forgets the head of a run that was cut short, with or without lines of ranks. */
TEST_IN_FOLDER(a_run_that_was_cut_short_leaves_nothing) {
    char text[8192];
    (void)snprintf(text, sizeof text, "%s%s",
                   "# Collective test starting: all_gather_perf\n# nThread 4 nGpus 4\n"
                   "# Rank 0 Group 0 Pid 1 on a device 0 [0] G\n",
                   nccl);
    assert_read(*state, NCCL, text);
    static const char begin[] = "# nThread 1 nGpus 1 agg iters: 1 graph: 0\n";
    static const char *const names[] = {"", "# Collective test starting: all_reduce_perf\n"};
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(text, sizeof text, "$ all_reduce_perf\n%s%s%s%s%s%s%s%s%s", names[i], begin,
                       names[i], begin, COLUMNS_NEW, ROW_1 IN_PLACE ROW_2 IN_PLACE ROW_3 IN_PLACE,
                       names[i], begin,
                       COLUMNS_NEW ROW_1 IN_PLACE ROW_2 IN_PLACE ROW_3 IN_PLACE FOOT);
        assert_read(*state, NCCL, text);
    }
}

/* Takes rank 0 behind a table for the beginning of another run, where no other line begins one. */
TEST_IN_FOLDER(ranks_behind_a_table_begin_a_run) {
    static const char ranks[] = "# Rank 0 Group 0 Pid 11 on left device 0 [0x07] Some GPU\n"
                                "# Rank 1 Group 0 Pid 12 on right device 0 [0x07] Some GPU\n";
    static const char rows[] = COLUMNS_NEW ROW_1 IN_PLACE ROW_2 IN_PLACE ROW_3 IN_PLACE;
    char text[8192];
    (void)snprintf(text, sizeof text, "# Collective test starting: all_reduce_perf\n%s%s%s%s",
                   ranks, rows, ranks, rows);
    struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", text, 0);
    assert_points(&cluster, "allreduce", 2, points, 3);
    const struct gw_collective_cost *cost = gw_cluster_find_collective(&cluster, "allreduce", 2);
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(cost->kept, "raw"), 0);
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(first, "rows")) == 2);
    assert_null(gw_import_passed_over(&cluster, 0));
    gw_cluster_free(&cluster);
}

/* ---- ranks that are not listed --------------------------------------------------------------- */

TEST_IN_FOLDER(ranks_may_be_said) {
    char text[8192];
    (void)snprintf(text, sizeof text, "$ mpirun -np 2 ./all_reduce_perf -b 1K -e 4K\n%s%s",
                   COLUMNS_NEW, ROW_1 IN_PLACE ROW_2 IN_PLACE ROW_3 IN_PLACE FOOT);
    assert_read(*state, NCCL, text);
    struct gw_cluster cluster = new_cluster();
    assert_ok(import(NCCL, write_text(*state, "x.txt", text), 0, &cluster));
    assert_int_equal(gw_import_finish(&cluster, &error), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "x.txt:2: expected a line '#  Rank ...' above for each "
                                          "rank, or --workers, got none"));
    gw_cluster_free(&cluster);
}
