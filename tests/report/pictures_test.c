/*
 * Pictures, with a gnuplot that the tests write: what stays as it was when it fails, and where its
 * words go.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "report/charts.h"
#include "report/pictures.h"
#include "report/sweep.h"
#include "tests/test.h"

static struct gw_error error;

static const struct gw_bar bars[] = {
    {.label = "dense", .breakdown = {1, 2, 0, 4, 0.5}},
    {.label = "dense", .measured = true, .breakdown = {1, 2, 0, 5, 0.5}},
    {.label = "omgs", .breakdown = {1, 2, 0.25, 0, -1e-18}},
    {.label = "omgs", .measured = true, .breakdown = {1, 2, 0.25, 1, 0}},
};
enum { BARS = sizeof bars / sizeof *bars };

static const char table[] =
    "#position,label,kind,forward_s,backward_s,compress_s,exposed_comm_s,other_s\n"
    "-0.20,dense,p,1,2,0,4,0.5\n"
    "0.20,dense,m,1,2,0,5,0.5\n"
    "0.80,omgs,p,1,2,0.25,0,0\n"
    "1.20,omgs,m,1,2,0.25,1,0\n";

/*
 * Draws a picture around its data, twice, as the real one reads them more than once; not as the
 * user has set it up.
 */
static const char drawing[] =
    "#!/bin/sh\n"
    "[ \"$1\" = -d ] && [ -z \"$GNUTERM\" ] || exit 1\n"
    "echo words\n"
    "data=$(expr \"$3\" : \"data='\\([^']*\\)'\")\n"
    "output=$(expr \"$3\" : \".*output='\\([^']*\\)'\")\n"
    "{ echo '<svg>'; cat \"$data\" \"$data\"; echo '</svg>'; } > \"$output\"\n";

/* Draws a picture around what it was called with, without folders, and its data. */
static const char showing[] = "#!/bin/sh\n"
                              "data=$(expr \"$3\" : \"data='\\([^']*\\)'\")\n"
                              "output=$(expr \"$3\" : \".*output='\\([^']*\\)'\")\n"
                              "{ echo '<svg>'\n"
                              "expr \"$3\" : \".*\\(heading=.*\\)\"\n"
                              "basename \"$4\"\n"
                              "cat \"$data\"; echo '</svg>'; } > \"$output\"\n";

static const char failing[] = "#!/bin/sh\n"
                              "output=$(expr \"$3\" : \".*output='\\([^']*\\)'\")\n"
                              "echo half > \"$output\"\n"
                              "exit 1\n";

static void install_gnuplot(const char *folder, const char *script) {
    char search[600];
    const char *program = path_in(folder, "gnuplot");
    assert_ok(gw_file_write(program, script, strlen(script), &error));
    assert_int_equal(chmod(program, 0755), 0);
    (void)snprintf(search, sizeof search, "%s:/usr/bin:/bin", folder);
    assert_int_equal(setenv("PATH", search, 1), 0);
}

static void assert_holds(const char *path, const char *expected) {
    char *text = NULL;
    size_t length = 0;
    assert_ok(gw_file_read(path, &text, &length, &error));
    assert_string_equal(text, expected);
    free(text);
}

/* A picture that was drawn around the text. */
static void assert_drawn(const char *path, const char *text) {
    char expected[4096];
    (void)snprintf(expected, sizeof expected, "<svg>\n%s</svg>\n", text);
    assert_holds(path, expected);
}

static void put(const char *path, const char *text) {
    assert_ok(gw_file_write(path, text, strlen(text), &error));
}

/* Draws with stdout going to the file "stdout" of the folder. */
static enum gw_status draw(const char *folder, const char *picture, const char *data) {
    (void)fflush(stdout);
    int before = dup(STDOUT_FILENO);
    int captured = open(path_in(folder, "stdout"), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(before >= 0 && captured >= 0);
    assert_true(dup2(captured, STDOUT_FILENO) >= 0);
    enum gw_status status = gw_chart_bars(bars, BARS, "it's a title", picture, data, &error);
    assert_true(dup2(before, STDOUT_FILENO) >= 0);
    (void)close(captured);
    (void)close(before);
    return status;
}

TEST_IN_FOLDER(a_picture_and_its_data_are_written) {
    const char *folder = *state;
    char twice[2 * sizeof table];
    (void)snprintf(twice, sizeof twice, "%s%s", table, table);
    install_gnuplot(folder, drawing);
    assert_int_equal(setenv("GNUTERM", "x11", 1), 0);
    assert_ok(draw(folder, path_in(folder, "p.svg"), path_in(folder, "p.csv")));
    assert_int_equal(unsetenv("GNUTERM"), 0);
    assert_drawn(path_in(folder, "p.svg"), twice);
    assert_holds(path_in(folder, "p.csv"), table);
    assert_holds(path_in(folder, "stdout"), "");
    assert_int_equal(count_entries(folder), 4);
}

/* A plan of two groups, and the update. */
TEST_IN_FOLDER(streams_become_a_table) {
    const char *folder = *state;
    static const char expected[] = "heading='it''s a title'; end_s=6.500000000e+00; "
                                   "computed_s=3.000000000e+00; bound_s=4.500000000e+00\n"
                                   "streams.gp\n"
                                   "#stream,activity,group,start_s,end_s,ready_s\n"
                                   "compute,forward,-1,0,1,0\n"
                                   "compute,backward,0,1,2,2.5\n"
                                   "compute,compress,0,2,2.5,2.5\n"
                                   "communication,exchange,0,2.5,5,2.5\n"
                                   "compute,backward,1,2.5,3,3\n"
                                   "compute,compress,1,3,3,3\n"
                                   "communication,exchange,1,5,6,3\n"
                                   "compute,update,-1,6,6.5,6\n";
    struct gw_group_times groups[] = {{.backward_start_s = 1,
                                       .ready_s = 2,
                                       .compressed_s = 2.5,
                                       .exchange_start_s = 2.5,
                                       .exchange_end_s = 5},
                                      {.backward_start_s = 2.5,
                                       .ready_s = 3,
                                       .compressed_s = 3,
                                       .exchange_start_s = 5,
                                       .exchange_end_s = 6}};
    const struct gw_model model = {.forward_s = 1};
    const struct gw_scenario scenario = {.model = &model};
    const struct gw_plan plan = {.group_count = 2};
    const struct gw_explanation explanation = {
        .scenario = &scenario, .plan = &plan, .groups = groups, .update_s = 0.5};
    install_gnuplot(folder, showing);
    assert_ok(gw_chart_streams(&explanation, 4.5, "it's a title", path_in(folder, "p.svg"), NULL,
                               &error));
    assert_drawn(path_in(folder, "p.svg"), expected);
    assert_int_equal(count_entries(folder), 2);
}

/* Operations of both sides, and a numbered one; the update has no group. */
TEST_IN_FOLDER(differences_become_a_table) {
    const char *folder = *state;
    static const char document[] =
        "{\"schema\":\"gradweave/validation@1\",\"model\":\"it's\",\"results\":[{\"algorithm\":"
        "\"omgs\",\"explanation\":{\"shown\":{\"predicted_s\":3.5,\"measured_s\":4.5},"
        "\"operations\":[{\"stream\":\"compute\",\"activity\":\"backward\",\"group\":0,"
        "\"shown_predicted_s\":[0,1],\"shown_measured_s\":[0,1],\"on_predicted_path\":true,"
        "\"on_measured_path\":true},{\"stream\":\"communication\",\"activity\":\"exchange\","
        "\"group\":0,\"shown_predicted_s\":[1,3],\"shown_measured_s\":[1,4],"
        "\"on_predicted_path\":false,\"on_measured_path\":true},{\"stream\":\"compute\","
        "\"activity\":\"update\",\"shown_predicted_s\":[3,3.5],\"shown_measured_s\":[4,4.5],"
        "\"on_predicted_path\":true,\"on_measured_path\":false}],\"largest\":[1]}}]}";
    static const char expected[] =
        "heading='it''s, omgs: an iteration as predicted and as measured'; "
        "predicted_s=3.500000000e+00; measured_s=4.500000000e+00\n"
        "difference.gp\n"
        "#stream,activity,group,rank,predicted_start_s,predicted_end_s,on_predicted_path,"
        "measured_start_s,measured_end_s,on_measured_path\n"
        "compute,backward,0,0,0,1,1,0,1,1\n"
        "communication,exchange,0,1,1,3,0,1,4,1\n"
        "compute,update,-1,0,3,3.5,1,4,4.5,0\n";
    put(path_in(folder, "v.json"), document);
    install_gnuplot(folder, showing);
    const struct gw_picture picture = {.subject = path_in(folder, "v.json"),
                                       .out = path_in(folder, "p.svg")};
    assert_ok(gw_draw_difference(&picture, &error));
    assert_drawn(path_in(folder, "p.svg"), expected);
}

TEST_IN_FOLDER(a_link_to_a_picture_stays_a_link) {
    const char *folder = *state;
    struct stat status;
    install_gnuplot(folder, drawing);
    put(path_in(folder, "target.svg"), "old");
    assert_int_equal(symlink("target.svg", path_in(folder, "link.svg")), 0);
    assert_ok(draw(folder, path_in(folder, "link.svg"), NULL));
    assert_int_equal(lstat(path_in(folder, "link.svg"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat(path_in(folder, "target.svg"), &status), 0);
    assert_int_equal(status.st_size, strlen("<svg>\n</svg>\n") + 2 * (sizeof table - 1));
    assert_int_equal(count_entries(folder), 4);
}

TEST_IN_FOLDER(a_failed_picture_changes_nothing) {
    const char *folder = *state;
    install_gnuplot(folder, failing);
    put(path_in(folder, "p.pdf"), "old picture");
    put(path_in(folder, "p.csv"), "old data");
    assert_int_equal(draw(folder, path_in(folder, "p.pdf"), path_in(folder, "p.csv")), GW_FAILED);
    assert_non_null(strstr(error.message, "gnuplot: failed on "));
    assert_holds(path_in(folder, "p.pdf"), "old picture");
    assert_holds(path_in(folder, "p.csv"), "old data");
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    assert_int_equal(draw(folder, path_in(folder, "p.pdf"), path_in(folder, "p.csv")), GW_FAILED);
    assert_string_equal(
        error.message,
        "gnuplot: cannot be started: expected it in PATH (plot --data FILE.csv without "
        "--out needs none)");
    assert_holds(path_in(folder, "p.csv"), "old data");
    assert_int_equal(count_entries(folder), 4);
}

/* gnuplot ends with 0 whatever becomes of its writes. */
TEST_IN_FOLDER(half_a_picture_changes_nothing) {
    const char *folder = *state;
    static const char *const starts[][2] = {{"png", "\\211PNG\\r\\n\\032\\n and no end"},
                                            {"svg", "<svg>\\n</sv"},
                                            {"pdf", "%%PDF-1.5\\n%%EO"},
                                            {"svg", ""}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        char script[512];
        char name[16];
        (void)snprintf(script, sizeof script,
                       "#!/bin/sh\noutput=$(expr \"$3\" : \".*output='\\([^']*\\)'\")\n"
                       "printf '%s' > \"$output\"\nexit 0\n",
                       starts[i][1]);
        (void)snprintf(name, sizeof name, "p.%s", starts[i][0]);
        install_gnuplot(folder, script);
        put(path_in(folder, name), "old picture");
        assert_int_equal(draw(folder, path_in(folder, name), NULL), GW_FAILED);
        assert_non_null(strstr(error.message, ": cannot be drawn: gnuplot left "));
        assert_holds(path_in(folder, name), "old picture");
    }
    assert_int_equal(count_entries(folder), 5);
}

/* A full disk leaves the old picture. */
TEST_IN_FOLDER(a_picture_that_finds_no_room_changes_nothing) {
    const char *folder = *state;
    struct rlimit before;
    install_gnuplot(folder, drawing);
    put(path_in(folder, "p.svg"), "old picture");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = {.rlim_cur = sizeof table + 10, .rlim_max = before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum gw_status status = draw(folder, path_in(folder, "p.svg"), NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(status, GW_FAILED);
    assert_holds(path_in(folder, "p.svg"), "old picture");
}

/* gnuplot would run what follows a '|' or a '<', and take quotes for its own: it sees no path. */
TEST_IN_FOLDER(pictures_take_any_path) {
    static const char *const names[] = {
        "|touch PWNED;#.svg",      "<touch PWNED;#.svg", "'q'.svg", "\"d\".svg",
        "a line\nand another.svg", "$(touch X)`y`.svg",  "-.svg",   " .svg"};
    int before = open(".", O_RDONLY | O_DIRECTORY);
    const char *folder = *state;
    char twice[2 * sizeof table];
    (void)snprintf(twice, sizeof twice, "%s%s", table, table);
    install_gnuplot(folder, drawing);
    assert_int_equal(chdir(folder), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_ok(draw(".", names[i], NULL));
        assert_drawn(names[i], twice);
    }
    assert_int_equal(count_entries("."), 2 + sizeof names / sizeof *names);
    assert_int_equal(fchdir(before), 0);
    (void)close(before);
}

/* ---- lines --------------------------------------------------------------------------------- */

static void check_lines(const char *folder, const double *values, const double *sparse,
                        const double *dense, const char *expected) {
    const struct gw_line lines[] = {
        {.label = "omgs (topk)", .colour = 1, .heights = sparse},
        {.label = "omgs (dense), it's \"slow\"", .colour = 1, .dashed = true, .heights = dense}};
    const struct gw_line_chart chart = {.title = "it's a title",
                                        .axis = "density",
                                        .height_axis = "height",
                                        .unit = 0.5,
                                        .value_count = 3,
                                        .values = values,
                                        .line_count = 2,
                                        .lines = lines};
    assert_ok(gw_chart_lines(&chart, path_in(folder, "p.svg"), path_in(folder, "p.csv"), &error));
    assert_drawn(path_in(folder, "p.svg"), expected);
    const char *rows = strstr(expected, "lines.gp\n") + strlen("lines.gp\n");
    assert_holds(path_in(folder, "p.csv"), rows);
}

TEST_IN_FOLDER(axes_are_logarithmic_where_that_is_better) {
    const char *folder = *state;
    install_gnuplot(folder, showing);
    check_lines(folder, (const double[]){0.001, 0.01, 0.1}, (const double[]){0.25, 0.5, 2.5},
                (const double[]){0.5, 0.5, 0.5},
                "heading='it''s a title'; tics='\"0.001\" 0.001, \"0.01\" 0.01, \"0.1\" 0.1'; "
                "axis='density'; heights='height'; unit=0.5; lines=2; logx=1; logy=1; array "
                "labels[2] = ['omgs (topk)', 'omgs "
                "(dense), it''s \"slow\"']; colours='1 1 '; dashes='0 1 '\n"
                "lines.gp\n"
                "#density,omgs (topk),\"omgs (dense), it's \"\"slow\"\"\"\n"
                "0.001,0.25,0.5\n0.01,0.5,0.5\n0.1,2.5,0.5\n");
    check_lines(folder, (const double[]){1, 2, 3}, (const double[]){0, 0.5, 2.5},
                (const double[]){0.5, 0.5, 0.5},
                "heading='it''s a title'; tics='\"1\" 1, \"2\" 2, \"3\" 3'; "
                "axis='density'; heights='height'; unit=0.5; lines=2; logx=0; logy=0; array "
                "labels[2] = ['omgs (topk)', 'omgs "
                "(dense), it''s \"slow\"']; colours='1 1 '; dashes='0 1 '\n"
                "lines.gp\n"
                "#density,omgs (topk),\"omgs (dense), it's \"\"slow\"\"\"\n"
                "1,0,0.5\n2,0.5,0.5\n3,2.5,0.5\n");
}

/* ---- crossovers ---------------------------------------------------------------------------- */

/* One of three pipelines is never predicted, and one not at the first value; at the second it takes
 * more than is shown. */
TEST_IN_FOLDER(crossovers_become_lines_and_marks) {
    const char *folder = *state;
    static const char settings[] =
        "heading='it''s on c, 4 workers, density 0.5: predicted'; tics=''; axis='bandwidth "
        "(Gb/s)'; "
        "unit=1e+09; logx=1; logy=1; "
        "bottom=4.82198; top=1312.5; lines=2; array labels[2] = ['dense', 'topk']; columns='2 0 '; "
        "broad='1 1 '; marks=2; "
        "places='1 2.5 '; holders='0 2 '; texts='topk dense '\n"
        "crossovers.gp\n";
    static const char rows[] = "#bandwidth_bit_per_s,fastest,topk,ps,dense\n"
                               "1e+09,topk,0.25,NaN,NaN\n"
                               "2e+09,topk,0.25,NaN,2.5\n"
                               "1e+10,dense,0.03125,NaN,0.25\n";
    char expected[sizeof settings + sizeof rows];
    static const struct gw_algorithm pipelines[] = {
        {.name = "topk"}, {.name = "ps"}, {.name = "dense"}};
    const struct gw_model model = {.name = (char *)"it's"};
    const struct gw_cluster cluster = {.name = (char *)"c"};
    const struct gw_scenario scenario = {
        .model = &model, .cluster = &cluster, .workers = 4, .density = 0.5};
    const struct gw_comparison comparison = {
        .scenario = &scenario,
        .algorithms = (const struct gw_algorithm *const[]){pipelines, pipelines + 1, pipelines + 2},
        .count = 3};
    const struct gw_axis_values values = {.kind = &gw_axis_kinds[GW_AXIS_BANDWIDTH],
                                          .count = 3,
                                          .values = (double[]){1e9, 2e9, 1e10},
                                          .own_bit_per_s = 1e9};
    const struct gw_crossovers crossovers = {
        .comparison = &comparison,
        .values = &values,
        .times_s = (double[]){0.25, NAN, NAN, 0.25, NAN, 2.5, 0.03125, NAN, 0.25},
        .fastest = (size_t[]){0, 0, 2},
        .crossing_count = 1,
        .crossings = &(struct gw_crossing){.from = 2.4e9, .to = 2.5e9, .before = 0, .after = 2}};
    install_gnuplot(folder, showing);
    assert_ok(gw_crossovers_draw(&crossovers, path_in(folder, "p.svg"), path_in(folder, "p.csv"),
                                 &error));
    (void)snprintf(expected, sizeof expected, "%s%s", settings, rows);
    assert_holds(path_in(folder, "p.csv"), rows);
    assert_drawn(path_in(folder, "p.svg"), expected);
    assert_ok(gw_crossovers_draw(&crossovers, NULL, path_in(folder, "alone.csv"), &error));
    assert_holds(path_in(folder, "alone.csv"), rows);
    assert_int_equal(count_entries(folder), 4);
}

/* ---- calibrations -------------------------------------------------------------------------- */

/* Two numbers of workers, one of them without points, and points that cannot be drawn. */
static const char calibrated[] =
    "{\"schema\":\"gradweave/cluster@1\",\"name\":\"it's\",\"workers\":4,\"collectives\":{"
    "\"allgather\":[{\"workers\":4,\"alpha_s\":1e-4,\"beta_s_per_byte\":2e-9,"
    "\"fit\":{\"chosen\":\"straight\",\"held_out_error\":0.0125},\"raw\":["
    "{\"bytes\":1024,\"median_s\":1e-4,\"p5_s\":9e-5,\"p95_s\":3e-4},{\"bytes\":65536,"
    "\"median_s\":2e-4},{\"bytes\":0,\"median_s\":1},{\"bytes\":4096,\"median_s\":-1},"
    "{\"bytes\":\"x\"},7,null]},{\"workers\":2,\"alpha_s\":1e-5,\"beta_s_per_byte\":1e-9}]},"
    "\"compressors\":{\"topk\":{\"fixed_s\":0,\"raw\":3,\"fit\":[]}}}";

static const char calibrated_settings[] =
    "heading='it''s'; columns=1; array sections[2] = [1, 1]; array ranges[8] = [1.024000e+03, "
    "1.677722e+07, 1.102400e-05, 1.678722e-02, 1.000000e+00, 2.000000e+00, "
    "1.000000e+00, 2.000000e+00]; array "
    "names[2] = ['allgather', 'topk']; array choices[2] = ['straight, 1.2%', '']; workers='2 4'\n"
    "calibration.gp\n";

/* Draws the cluster's curves from the file c.json. */
static enum gw_status draw_cluster(const char *folder, const char *text) {
    put(path_in(folder, "c.json"), text);
    install_gnuplot(folder, showing);
    const struct gw_picture picture = {.subject = path_in(folder, "c.json"),
                                       .out = path_in(folder, "p.svg"),
                                       .data = path_in(folder, "p.csv")};
    return gw_draw_calibration(&picture, &error);
}

/* Each curve's samples lie on it, from its first to its last point; points are as they were. */
TEST_IN_FOLDER(calibrations_become_curves_and_points) {
    const char *folder = *state;
    char *text = NULL;
    size_t length = 0;
    size_t samples[2] = {0};
    size_t points = 0;
    assert_ok(draw_cluster(folder, calibrated));
    assert_ok(gw_file_read(path_in(folder, "p.svg"), &text, &length, &error));
    assert_memory_equal(text + strlen("<svg>\n"), calibrated_settings,
                        sizeof calibrated_settings - 1);
    free(text);
    assert_ok(gw_file_read(path_in(folder, "p.csv"), &text, &length, &error));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        size_t workers = 0;
        double size = 0;
        double time_s = 0;
        char rest[64];
        if (sscanf(line, "0,%*d,allgather,%zu,curve,%lf,%lf", &workers, &size, &time_s) == 3) {
            double expected_s = workers == 4 ? 1e-4 + 2e-9 * size : 1e-5 + 1e-9 * size;
            assert_true(near(time_s, expected_s, 1e-6));
            assert_true(size >= 1024 && size <= (workers == 4 ? 65536 : 16777216));
            samples[workers == 4]++;
        } else if (sscanf(line, "0,1,allgather,4,point,%63s", rest) == 1) {
            assert_string_equal(rest, points == 0 ? "1024,0.0001,9e-05,0.0003"
                                                  : "65536,0.0002,0.0002,0.0002");
            points++;
        } else {
            assert_string_equal(line, "#panel,colour,name,workers,what,size,time_s,p5_s,p95_s");
        }
    }
    assert_true(samples[0] > 50 && samples[1] > 50);
    assert_int_equal(points, 2);
    free(text);
}

TEST_IN_FOLDER(a_cluster_without_curves_is_refused) {
    const char *folder = *state;
    assert_int_equal(draw_cluster(folder, "{\"schema\":\"gradweave/cluster@1\",\"name\":\"c\","
                                          "\"workers\":4,\"collectives\":{},\"compressors\":{}}"),
                     GW_BAD_INPUT);
    assert_non_null(
        strstr(error.message, "c.json: expected a collective or a compressor, got none"));
    assert_int_equal(count_entries(folder), 2);
}

TEST(other_endings_than_those_of_pictures_are_refused) {
    const char *names[] = {"p.jpg", "png", "p.svg.gz"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(gw_plot_check(names[i], &error), GW_BAD_INPUT);
    }
    assert_ok(gw_plot_check("a/p.png", &error));
}
