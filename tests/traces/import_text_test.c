/* Output of benchmarks as launchers, containers, terminals and pages leave it. */
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

/* Text with something before and behind each line; a seconds' number where the first has one. */
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

/* Ranks say other things in between, under a label of their own; times go on. */
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

/* A page of Markdown makes headings of lines that begin with #, and one blank of several. */
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

/* Launchers that do not wait for the end of a line put a second tag into it. */
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

/* ---- runs that say nothing ------------------------------------------------------------------- */

static void assert_passed_over(const char *folder, const char *text, const char *message) {
    struct gw_cluster cluster = import_text(folder, NCCL, "x.txt", text, 2);
    const char *said = gw_import_passed_over(&cluster, 0);
    assert_points(&cluster, "allreduce", 2, points, 3);
    assert_non_null(said);
    if (strstr(said, message) == NULL) {
        fail_msg("%s", said);
    }
    assert_null(gw_import_passed_over(&cluster, 1));
    gw_cluster_free(&cluster);
}

/* Before or behind what is imported, a run that no exchange uses costs a note. */
TEST_IN_FOLDER(runs_that_say_nothing_are_passed_over) {
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
    };
    char text[8192];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)snprintf(text, sizeof text, "%s%s", cases[i].run, nccl);
        assert_passed_over(*state, text, cases[i].message);
        (void)snprintf(text, sizeof text, "%s%s", nccl, cases[i].run);
        assert_passed_over(*state, text, cases[i].message);
    }
}

/* A job that was killed may leave a row behind that is not whole. */
TEST_IN_FOLDER(a_last_row_that_is_cut_is_passed_over) {
    char text[8192];
    (void)snprintf(text, sizeof text, "%s%s", HEAD COLUMNS_NEW,
                   ROW_1 IN_PLACE ROW_2 IN_PLACE ROW_3 IN_PLACE "8192 2048 float sum -1");
    assert_passed_over(*state, text, "x.txt:13: expected 13 columns, got 5: other output cuts");
    (void)snprintf(text, sizeof text, "%s%s", HEAD COLUMNS_NEW,
                   ROW_1 IN_PLACE "512 128 float sum -1\n" ROW_2 IN_PLACE ROW_3 IN_PLACE FOOT);
    struct gw_cluster cluster = new_cluster();
    assert_int_equal(import(NCCL, write_text(*state, "x.txt", text), 0, &cluster), GW_BAD_INPUT);
    assert_non_null(strstr(error.message, "x.txt:11: expected 13 columns, got 5: other output cuts "
                                          "the row (send NCCL's log elsewhere, by "
                                          "NCCL_DEBUG_FILE)"));
    gw_cluster_free(&cluster);
}

/* The head of a run that was cut short is not the next one's. */
TEST_IN_FOLDER(a_run_that_was_cut_short_leaves_nothing) {
    char text[8192];
    (void)snprintf(text, sizeof text, "%s%s",
                   "# Collective test starting: all_gather_perf\n# nThread 4 nGpus 4\n"
                   "# Rank 0 Group 0 Pid 1 on a device 0 [0] G\n",
                   nccl);
    assert_read(*state, NCCL, text);
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
