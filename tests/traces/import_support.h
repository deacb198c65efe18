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

/* ---- imports.txt ----------------------------------------------------------------------------- */

static inline char *read_corpus(void) {
    char *text = NULL;
    size_t length = 0;
    assert_ok(gw_file_read(GW_TEST_IMPORTS, &text, &length, &error));
    return text;
}

/* Returns a text of imports.txt, "" for "-"; kept until the program ends. */
static inline const char *text_of(const char *name) {
    static char *corpus;
    static char *texts[32];
    static char names[32][32];
    char begin[64];
    size_t i = 0;
    for (; texts[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return texts[i];
        }
    }
    corpus = corpus == NULL ? read_corpus() : corpus;
    (void)snprintf(begin, sizeof begin, "@@ text %s\n", name);
    const char *at = strstr(corpus, begin);
    assert_true(at != NULL || strcmp(name, "-") == 0);
    at = at == NULL ? "" : at + strlen(begin);
    const char *end = strstr(at, "\n@@ ");
    const char *remark = strstr(at, "\n%");
    end = remark != NULL && remark < end ? remark : end;
    (void)snprintf(names[i], sizeof names[i], "%s", name);
    texts[i] = strndup(at, end == NULL ? 0 : (size_t)(end + 1 - at));
    assert_non_null(texts[i]);
    return texts[i];
}

/* Turns \n, \r and \e into what they stand for, in place. */
static inline char *unescape(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        char next = *from == '\\' ? from[1] : '\0';
        char meant = (char)(next == 'n' ? '\n' : next == 'r' ? '\r' : next == 'e' ? '\x1b' : '\0');
        *to++ = meant == '\0' ? *from : meant;
        from += meant != '\0';
    }
    *to = '\0';
    return text;
}

/* Replaces each `old` in a text by `new`, or the first one alone; the caller's. */
static inline char *replaced(const char *text, const char *old, const char *new, bool all) {
    struct gw_text out = {0};
    FILE *stream = gw_text_open(&out);
    const char *at = strstr(text, old);
    assert_non_null(stream);
    if (at == NULL) {
        fail_msg("not there: %s", old);
    }
    for (bool goes_on = true; at != NULL && goes_on; at = strstr(text, old)) {
        (void)fprintf(stream, "%.*s%s", (int)(at - text), text, new);
        text = at + strlen(old);
        goes_on = all;
    }
    (void)fputs(text, stream);
    assert_ok(gw_text_close(&out, "editing", &error));
    return out.text;
}

/* Edits a text as imports.txt says; the caller's. */
static inline char *edited_text(const char *name, const char *edits) {
    if (strncmp(edits, ": ", 2) == 0) {
        return unescape(strdup(edits + 2));
    }
    char *text = strdup(text_of(name));
    char *copy = strdup(edits);
    for (char *edit = copy, *next = NULL; edit != NULL && *edit != '\0'; edit = next) {
        next = strstr(edit, " & ");
        if (next != NULL) {
            *next = '\0';
            next += strlen(" & ");
        }
        char *arrow = strstr(edit, " ->");
        assert_non_null(arrow);
        bool all = arrow[3] == '>';
        *arrow = '\0';
        char *old = text;
        text = replaced(old, unescape(edit), unescape(arrow + (all ? 5 : 4)), all);
        free(old);
    }
    free(copy);
    return text;
}

#endif
