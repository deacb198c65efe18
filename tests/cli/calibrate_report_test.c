/* The final report of calibrate, for a cluster that has everything. */
#include "report/measurements.h"
#include "tests/test.h"

static struct gw_error error;

/* A line with intervals, two segments as points, n log2 n, and entries without a fit. */
static const char calibrated[] =
    "{\"schema\":\"gradweave/cluster@1\",\"name\":\"c\",\"workers\":16,\"workers_per_node\":2,"
    "\"collectives\":{\"allgather\":[{\"workers\":2,\"alpha_s\":1e-4,\"beta_s_per_byte\":2e-9,"
    "\"fit\":{\"chosen\":\"straight\",\"held_out_error\":0.0125,\"straight\":{\"startup_s\":1e-4,"
    "\"startup_low_s\":9.7e-5,\"startup_high_s\":1.03e-4,\"per_unit_s\":2e-9,"
    "\"per_unit_low_s\":1.98e-9,\"per_unit_high_s\":2.02e-9}},"
    "\"raw\":[{\"bytes\":1024,\"precise\":true},{\"bytes\":65536,\"precise\":false}]},"
    "{\"workers\":16,\"alpha_s\":0,\"beta_s_per_byte\":0}],"
    "\"allreduce\":[{\"workers\":2,\"points\":[[1000,0.001],[2000,0.0011],[3000,0.002],"
    "[80000,0.156]],\"fit\":{\"chosen\":\"two-segment\",\"two-segment\":{\"segments\":["
    "{\"startup_s\":0.0009,\"startup_low_s\":0.0008,\"startup_high_s\":0.001},"
    "{\"per_unit_s\":2e-6,\"per_unit_low_s\":1.9e-6,\"per_unit_high_s\":2.1e-6}]}},"
    "\"raw\":[{\"bytes\":80000,\"precise\":true}]}]},"
    "\"compressors\":{\"topk\":{\"fixed_s\":1e-6,\"per_element_s\":2e-10,\"fit\":3,\"raw\":{}}},"
    "\"growth\":{\"allgather\":{\"workers\":[2,3,16],\"startup\":{\"law\":\"log2 P\"},"
    "\"bandwidth\":{\"law\":\"P-1\"},\"left_out_error\":0.041,\"largest_left_out_error\":0.052},"
    "\"broken\":7},"
    "\"overlap\":{\"workers\":2,\"factors\":{\"allgather\":{\"topk\":[{\"bytes\":65536,"
    "\"compute\":{\"factor\":1.25,\"low\":1.2,\"high\":1.3},\"communication\":{\"factor\":1.5}}]}}}"
    ","
    "\"source\":{\"warnings\":[\"vm: a warning that is so long that it does not fit into a line of "
    "one hundred columns and goes on in the next\",7,\"short\"]}}";

/* Returns the text printed on stdout meanwhile, which the caller frees. */
static char *print_for(const char *folder, const char *text,
                       const struct gw_calibration *calibration) {
    struct gw_cluster cluster;
    char *printed = NULL;
    size_t length = 0;
    cJSON *document = cJSON_Parse(text);
    assert_non_null(document);
    assert_ok(gw_cluster_parse(text, strlen(text), "c.json", &cluster, &error));
    (void)fflush(stdout);
    int before = dup(STDOUT_FILENO);
    int captured = open(path_in(folder, "stdout"), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(before >= 0 && captured >= 0);
    assert_true(dup2(captured, STDOUT_FILENO) >= 0);
    gw_calibration_print(&cluster, document, calibration, "c.json");
    (void)fflush(stdout);
    assert_true(dup2(before, STDOUT_FILENO) >= 0);
    (void)close(captured);
    (void)close(before);
    assert_ok(gw_file_read(path_in(folder, "stdout"), &printed, &length, &error));
    gw_cluster_free(&cluster);
    cJSON_Delete(document);
    return join_notes(printed);
}

static char *print(const char *folder, const char *text) {
    const struct gw_calibration calibration = gw_calibration_defaults();
    return print_for(folder, text, &calibration);
}

static void assert_prints(const char *printed, const char *part) {
    if (strstr(printed, part) == NULL) {
        fail_msg("expected\n%sin\n%s", part, printed);
    }
}

TEST_IN_FOLDER(everything_is_printed) {
    char *printed = print(*state, calibrated);
    assert_prints(printed, "\nallgather    2  straight     100.0 us   3.0%  2.000 ns  1.0%   "
                           "500 MB/s   1.2%   1 of 2\n");
    assert_prints(printed, "\nallreduce    2  two-segment  900.0 us  11.1%  2.000 us  5.0%   "
                           "0.5 MB/s      -   1 of 1\n");
    assert_prints(printed, "\ntopk               1.000 us   -     0.200 ns   -     5 G/s");
    assert_prints(printed, "allgather      log2 P   P-1            2, 3, 16");
    assert_prints(printed, "4.1%              5.2%\n");
    assert_prints(printed, "1.25 (1.20 to 1.30)            1.50\n");
    assert_prints(printed, "medians of rounds (95% intervals; of 5 or fewer, ranges)");
    assert_prints(printed, "\nnote: 1 of 3 medians not known to 2% in the 55 s there were "
                           "(--time, --thorough give more)\n");
    assert_prints(printed, "\nwarning: vm: a warning that is so long");
    assert_prints(printed, "\n         goes on in the next\nwarning: short\n");
    for (const char *line = printed; *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_true(strcspn(line, "\n") <= 100);
    }
    free(printed);
}

TEST_IN_FOLDER(missing_parts_are_not_printed) {
    char *printed =
        print(*state,
              "{\"schema\":\"gradweave/cluster@1\",\"name\":\"c\",\"workers\":2,\"collectives\":{},"
              "\"compressors\":{},\"growth\":[],\"source\":7}");
    assert_null(strstr(printed, "growth"));
    assert_null(strstr(printed, "at once"));
    assert_null(strstr(printed, "warning"));
    assert_null(strstr(printed, "compressor  "));
    assert_null(strstr(printed, "collective  "));
    free(printed);
}

/* One median for each reason, of a collective, a compressor and messages. */
static const char imprecise[] =
    "{\"schema\":\"gradweave/cluster@1\",\"name\":\"c\",\"workers\":2,"
    "\"collectives\":{\"allgather\":[{\"workers\":2,\"alpha_s\":1e-4,\"beta_s_per_byte\":2e-9,"
    "\"raw\":[{\"bytes\":1024,\"precise\":true},"
    "{\"bytes\":4096,\"precise\":false,\"stopped_by\":\"time\"}]}]},"
    "\"compressors\":{\"topk\":{\"fixed_s\":1e-6,\"per_element_s\":2e-10,"
    "\"raw\":[{\"elements\":1024,\"precise\":false,\"stopped_by\":\"max-time\"},"
    "{\"elements\":2048,\"precise\":false,\"stopped_by\":\"repeats\"}]}}}";

/* Whatever an earlier calibration left imprecise is not this one's. */
TEST_IN_FOLDER(the_report_says_why_this_calibration_stopped_measuring) {
    static const char *const no_collectives[] = {NULL};
    static const struct gw_compressor *const no_compressors[] = {NULL};
    struct gw_calibration calibration = gw_calibration_defaults();
    calibration.time_s = 300;
    calibration.precision = 0.01;
    char *printed = print_for(*state, imprecise, &calibration);
    assert_prints(printed, "\nnote: 1 of 4 medians not known to 1% in the 300 s there were (");
    assert_prints(printed, "\nnote: 1 of 4 medians not known to 1% in 10 s of repeats each (");
    assert_prints(printed, "\nnote: 1 of 4 medians not known to 1% in the largest number of");
    free(printed);
    calibration.compressors = no_compressors;
    printed = print_for(*state, imprecise, &calibration);
    assert_prints(printed, "\nnote: 1 of 2 medians not known to 1% in the 300 s there were (");
    assert_null(strstr(printed, "of repeats each"));
    assert_prints(printed, "  0 of 2\n");
    free(printed);
    calibration.collectives = no_collectives;
    printed = print_for(*state, imprecise, &calibration);
    assert_null(strstr(printed, "note: "));
    free(printed);
}
