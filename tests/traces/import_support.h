/* Shares clusters, texts and assertions among the tests of imports. */
#ifndef GW_TESTS_TRACES_IMPORT_SUPPORT_H
#define GW_TESTS_TRACES_IMPORT_SUPPORT_H

#include "tests/test.h"
#include "tests/traces/traces_support.h"
#include "traces/imports.h"

#define COLUMNS_NEW                                                                                \
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong"        \
    "     time   algbw   busbw  #wrong\n"                                                          \
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)        "        \
    "     (us)  (GB/s)  (GB/s)        \n"

enum tool { NCCL, OSU };

static inline const char *write_text(const char *folder, const char *name, const char *text) {
    const char *path = path_in(folder, name);
    assert_ok(gw_file_write(path, text, strlen(text), &error));
    return path;
}

static inline enum gw_status import(enum tool tool, const char *path, size_t workers,
                                    struct gw_cluster *cluster) {
    return tool == NCCL ? gw_import_nccl_tests(path, workers, cluster, &error)
                        : gw_import_osu(path, workers, cluster, &error);
}

static inline struct gw_cluster new_cluster(void) {
    struct gw_cluster cluster;
    assert_ok(gw_cluster_create(&cluster, "imported", 0, 0, &error));
    return cluster;
}

/* Asserts that readers take what writing the cluster gives. */
static inline void assert_readable(const struct gw_cluster *cluster) {
    struct gw_cluster again = {0};
    cJSON *document = NULL;
    char *text = NULL;
    assert_ok(gw_cluster_document(cluster, &document, &error));
    assert_ok(gw_json_print(document, &text, &error));
    assert_ok(gw_cluster_parse(text, strlen(text), "c.json", &again, &error));
    gw_cluster_free(&again);
    cJSON_Delete(document);
    free(text);
}

/* Imports a cluster from one file. */
static inline struct gw_cluster import_text(const char *folder, enum tool tool, const char *name,
                                            const char *text, size_t workers) {
    struct gw_cluster cluster = new_cluster();
    if (import(tool, write_text(folder, name, text), workers, &cluster) != GW_OK ||
        gw_import_finish(&cluster, &error) != GW_OK) {
        fail_msg("%s", error.message);
    }
    assert_readable(&cluster);
    return cluster;
}

/* Asserts that a collective has these points alone: bytes and microseconds. */
static inline void assert_points(const struct gw_cluster *cluster, const char *name, size_t workers,
                                 const double (*points)[2], size_t count) {
    const struct gw_collective_cost *cost = gw_cluster_find_collective(cluster, name, workers);
    assert_non_null(cost);
    assert_int_equal(cost->curve.point_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(near(cost->curve.points[i].size, points[i][0], 1e-12));
        assert_true(near(cost->curve.points[i].time_s, points[i][1] * 1e-6, 1e-12));
    }
}

/* Exchanges the first `old` in a text; the next call but one reuses the memory. */
static inline const char *with(const char *text, const char *old, const char *new) {
    static char *kept[2];
    static size_t turn;
    const char *at = strstr(text, old);
    assert_non_null(at);
    size_t size = strlen(text) + strlen(new) + 1;
    char *made = malloc(size);
    assert_non_null(made);
    (void)snprintf(made, size, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    free(kept[turn]);
    kept[turn] = made;
    turn = 1 - turn;
    return made;
}

/* Asserts that a text is refused with the message, in which the folder is left out. */
static inline void assert_refused(const char *folder, enum tool tool, const char *text,
                                  size_t workers, const char *message) {
    struct gw_cluster cluster = new_cluster();
    enum gw_status status = import(tool, write_text(folder, "x.txt", text), workers, &cluster);
    status = status == GW_OK ? gw_import_finish(&cluster, &error) : status;
    if (status != GW_BAD_INPUT) {
        fail_msg("taken: %s", message);
    }
    const char *in_folder = strstr(error.message, folder);
    assert_string_equal(in_folder == NULL ? error.message : in_folder + strlen(folder) + 1,
                        message);
    gw_cluster_free(&cluster);
}

#endif
