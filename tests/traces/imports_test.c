/* Imports of other projects' programs: the cases of imports.txt, and what a line cannot say. */
#include "tests/traces/import_support.h"

/* ---- imports.txt ----------------------------------------------------------------------------- */

/* A group of cases: "@@ behind BEFORE TOOL TEXT WORKERS FILE". */
struct group {
    char before[32], tool[16], text[32], file[64];
    size_t workers;
};

struct imported {
    struct gw_cluster cluster;
    double bytes_per_s;
    cJSON *model;
};

static enum gw_status import_case(const char *folder, const struct group *group, const char *text,
                                  struct imported *out) {
    const char *path = NULL;
    *out = (struct imported){.cluster = new_cluster()};
    if (group->before[0] != '\0') {
        enum tool tool = strncmp(group->before, "osu", 3) == 0 ? OSU : NCCL;
        path = write_text(folder, "before", text_of(group->before));
        assert_ok(import(tool, path, group->workers, &out->cluster));
    }
    path = write_text(folder, group->file, text);
    if (strcmp(group->tool, "perftest") == 0) {
        return gw_import_perftest(path, &out->bytes_per_s, &error);
    }
    if (strcmp(group->tool, "sizes") == 0) {
        const struct gw_sizes_request request = {.name = "own", .backward_s = 0.45};
        return gw_import_sizes(path, &request, &out->model, &error);
    }
    GW_TRY(
        import(strcmp(group->tool, "osu") == 0 ? OSU : NCCL, path, group->workers, &out->cluster));
    return gw_import_finish(&out->cluster, &error);
}

/* Whether the cluster has a curve of these points: "allgather 4/2: 1024 10.5, 2048 20". */
static bool has_curve(const struct gw_cluster *cluster, char *expected) {
    char name[32];
    size_t workers = 0, nodes = 0, count = 0;
    char *points = strchr(expected, ':');
    assert_non_null(points);
    if (sscanf(expected, " %31s %zu/%zu", name, &workers, &nodes) == 3 &&
        cluster->workers_per_node != nodes) {
        return false;
    }
    const struct gw_collective_cost *cost = gw_cluster_find_collective(cluster, name, workers);
    points++;
    for (char *point = strsep(&points, ","); cost != NULL && point != NULL;
         point = strsep(&points, ",")) {
        char *rest = NULL;
        double bytes = strtod(point, &rest);
        double time_s = 1e-6 * strtod(rest, NULL);
        if (count == cost->curve.point_count ||
            !near(cost->curve.points[count].size, bytes, 1e-12) ||
            !near(cost->curve.points[count].time_s, time_s, 1e-9)) {
            return false;
        }
        count++;
    }
    return cost != NULL && count == cost->curve.point_count;
}

static bool is_model(const cJSON *model, char *expected, const char *notes) {
    const cJSON *tensor = cJSON_GetObjectItem(model, "tensors")->child;
    const cJSON *found = cJSON_GetObjectItem(cJSON_GetObjectItem(model, "source"), "notes");
    for (char *one = strsep(&expected, ","); one != NULL; one = strsep(&expected, ",")) {
        char name[64];
        double elements = 0;
        if (tensor == NULL || sscanf(one, "%63s %lf", name, &elements) != 2 ||
            strcmp(cJSON_GetObjectItem(tensor, "name")->valuestring, name) != 0 ||
            cJSON_GetObjectItem(tensor, "elements")->valuedouble != elements) {
            return false;
        }
        tensor = tensor->next;
    }
    cJSON *wanted = cJSON_Parse(notes == NULL ? "[]" : notes);
    bool is_same = cJSON_Compare(found, wanted, true);
    cJSON_Delete(wanted);
    return tensor == NULL && is_same;
}

/* Whether what was imported is as expected: "CURVE; CURVE ~> REASON", a number, or a model. */
static bool is_as_expected(const struct group *group, const struct imported *imported,
                           char *expected) {
    char *said = strstr(expected, " ~> ");
    if (said != NULL) {
        *said = '\0';
        said += strlen(" ~> ");
    }
    if (imported->model != NULL) {
        return is_model(imported->model, expected, said);
    }
    if (strcmp(group->tool, "perftest") == 0) {
        return near(imported->bytes_per_s, strtod(expected, NULL), 1e-12);
    }
    const char *reason = gw_import_passed_over(&imported->cluster, 0);
    bool is_right = (reason == NULL) == (said == NULL) &&
                    (said == NULL || (strstr(reason, said) != NULL &&
                                      gw_import_passed_over(&imported->cluster, 1) == NULL));
    for (char *curve = strsep(&expected, ";"); curve != NULL; curve = strsep(&expected, ";")) {
        is_right = is_right && has_curve(&imported->cluster, curve);
    }
    assert_readable(&imported->cluster);
    return is_right;
}

/* Tries "EDITS => MESSAGE" or "EDITS == EXPECTED"; says what is wrong. */
static bool try_case(const char *folder, const struct group *group, const char *line) {
    char edits[4096];
    (void)snprintf(edits, sizeof edits, " %s", line);
    char *outcome = strstr(edits, " == ");
    bool is_good = outcome != NULL;
    outcome = is_good ? outcome : strstr(edits, " => ");
    assert_non_null(outcome);
    *outcome = '\0';
    outcome += strlen(" == ");
    char *text = edited_text(group->text, edits + (edits[0] != '\0'));
    struct imported imported;
    enum gw_status status = import_case(folder, group, text, &imported);
    bool is_right = status == (is_good ? GW_OK : GW_BAD_INPUT) &&
                    (is_good ? is_as_expected(group, &imported, outcome)
                             : strstr(error.message, outcome) != NULL);
    if (!is_right) {
        print_error("%s %s: %s\n  gave %d: %s\n", group->tool, group->text, line, (int)status,
                    status == GW_OK ? "" : error.message);
    }
    gw_cluster_free(&imported.cluster);
    cJSON_Delete(imported.model);
    free(text);
    return is_right;
}

TEST_IN_FOLDER(texts_of_programs_are_imported_or_refused) {
    struct group group = {0};
    bool is_text = false;
    size_t wrong = 0, tried = 0;
    char *all = read_corpus();
    char *rest = all;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        if (strncmp(line, "@@ ", 3) == 0) {
            group = (struct group){0};
            is_text = strncmp(line, "@@ text ", 8) == 0;
            int behind = 0;
            (void)sscanf(line, "@@ behind %31s %n", group.before, &behind);
            assert_true(is_text || sscanf(line + (behind > 0 ? behind : 3), "%15s %31s %zu %63s",
                                          group.tool, group.text, &group.workers, group.file) == 4);
        } else if (!is_text && line[0] != '\0' && line[0] != '%') {
            wrong += !try_case(*state, &group, line);
            tried++;
        }
    }
    free(all);
    assert_int_equal(wrong, 0);
    assert_true(tried > 200);
}

/* ---- sources --------------------------------------------------------------------------------- */

static const cJSON *source_of(const struct gw_cluster *cluster, const char *name, size_t workers) {
    const struct gw_collective_cost *cost = gw_cluster_find_collective(cluster, name, workers);
    assert_non_null(cost);
    return cJSON_GetObjectItem(cost->kept, "source");
}

/* Keeps in a curve's source the program that measured it, or the curve that stands for it. */
TEST_IN_FOLDER(sources_are_kept) {
    static const struct {
        const char *text, *edits;
        enum tool tool;
        const char *collective;
        size_t workers;
        const char *source;
    } cases[] = {
        {"nccl", "", NCCL, "allreduce", 4,
         "{'kind': 'imported', 'tool': 'nccl-tests', 'version': '2.17.6', 'settings': {'layout': "
         "'2 ranks on each of 2 nodes', 'processes': 'nThread 1 nGpus 2', 'device': 'Some GPU "
         "40GB', 'type': 'float', 'operation': 'sum', 'repeats': 'agg_iters=1 graph=0 unalign=0', "
         "'blocking': 'no', 'build': 'nccl-headers=22807 nccl-library=22807 version=2.17.6'}, "
         "'place': 'all_gather:11', 'workers_per_node': 2, 'files': ['all_gather']}"},
        {"nccl", "", NCCL, "allgather", 4, "{'kind': 'assumed', 'measured': 'allreduce'}"},
        {"nccl-json", "", NCCL, "scatter", 4,
         "{'kind': 'imported', 'tool': 'nccl-tests', 'date': '2026-03-04 05:06:07', 'settings': "
         "{'layout': '4 ranks on 1 node', 'processes': 'nThread 1 nGpus 2', 'device': 'G', 'type': "
         "'float', 'operation': 'none', 'build': 'nccl-library=22807', 'variables': 'none'}, "
         "'place': 'all_gather', 'workers_per_node': 4, 'files': ['all_gather']}"},
        {"osu", "", OSU, "allgather", 8,
         "{'kind': 'imported', 'tool': 'OSU micro-benchmarks', 'version': '7.4', 'settings': "
         "{'type': 'MPI_CHAR', 'build': 'version=7.4'}, 'place': 'all_gather:4', 'files': "
         "['all_gather']}"},
        {"osu-full", "MPI-CUDA -> RCCL-ROCM", OSU, "broadcast", 8,
         "{'kind': 'imported', 'tool': 'OSU micro-benchmarks of RCCL on ROCM', 'version': '5.6.2', "
         "'settings': {'build': 'version=5.6.2'}, 'place': 'all_gather:2', 'files': "
         "['all_gather']}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = edited_text(cases[i].text, cases[i].edits);
        size_t workers = cases[i].tool == OSU ? 8 : 0;
        struct gw_cluster cluster = import_text(*state, cases[i].tool, "all_gather", text, workers);
        assert_same_json(
            cJSON_Duplicate(source_of(&cluster, cases[i].collective, cases[i].workers), 1),
            cases[i].source);
        assert_null(cJSON_GetObjectItem(cluster.kept, "growth"));
        gw_cluster_free(&cluster);
        free(text);
    }
}

/* ---- several runs and files ------------------------------------------------------------------ */

/* Gives each run its own test and ranks, whether or not the run before it came to its end. */
TEST_IN_FOLDER(runs_follow_one_another) {
    static const double points[][2] = {{4, 5}, {8, 6}};
    static const double first_points[][2] = {{1024, 20.5}, {4096, 31.25}, {16384, 120}};
    char *second = edited_text("nccl-two", "all_reduce -> reduce");
    const char *first = text_of("nccl");
    for (int cut = 0; cut < 2; cut++) {
        char text[8192];
        int length = (int)(cut ? (size_t)(strstr(first, "# Out of") - first) : strlen(first));
        (void)snprintf(text, sizeof text, "%.*s%s", length, first, second);
        struct gw_cluster cluster = import_text(*state, NCCL, "x.txt", text, 0);
        assert_points(&cluster, "allreduce", 4, first_points, 3);
        assert_points(&cluster, "reduce", 2, points, 2);
        assert_int_equal(cluster.workers, 4);
        gw_cluster_free(&cluster);
    }
    free(second);
}

TEST_IN_FOLDER(sizes_of_several_files_are_merged) {
    static const char start[] =
        "# OSU MPI Reduce Latency Test v7.4\n# Size       Avg Latency(us)\n";
    static const char *const rows[] = {"64 4\n16 2\n", "4096 90\n64 7\n256 5\n", "64 10\n"};
    /* The mean of 4, 7 and 10 lies above that of 256 bytes. */
    static const double points[][2] = {{16, 2}, {64, 5}, {256, 5}, {4096, 90}};
    struct gw_cluster cluster = new_cluster();
    assert_int_equal(gw_import_finish(&cluster, &error), GW_BAD_INPUT); /* nothing was imported */
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
    assert_same_json(
        cJSON_Duplicate(cJSON_GetObjectItem(cost->kept, "raw"), 1),
        "[{'bytes': 16, 'median_s': 2e-6, 'rows': 1}, {'bytes': 64, 'median_s': 7e-6, 'rows': 3, "
        "'median_low_s': 4e-6, 'median_high_s': 10e-6}, {'bytes': 256, 'median_s': 5e-6, 'rows': "
        "1}, {'bytes': 4096, 'median_s': 90e-6, 'rows': 1}]");
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
    const cJSON *law = cJSON_GetObjectItem(
        cJSON_GetObjectItem(cJSON_GetObjectItem(growth, "allgather"), "bandwidth"), "law");
    assert_string_equal(cJSON_GetStringValue(law), "P-1");
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

/* Refuses an imported time for a curve that was measured. */
TEST_IN_FOLDER(imported_times_do_not_join_measured_ones) {
    struct gw_cluster cluster = new_cluster();
    const char *path = write_text(*state, "all_gather.txt", text_of("nccl-old"));
    assert_ok(gw_cluster_add_collective(
        &cluster, "allgather", 4, (struct gw_curve){.fixed_s = 1, .per_unit_s = 1}, NULL, &error));
    assert_int_equal(gw_import_nccl_tests(path, 0, &cluster, &error), GW_BAD_INPUT);
    gw_cluster_free(&cluster);
}
