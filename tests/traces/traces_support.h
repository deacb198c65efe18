/* Common parts of the tests of documents. */
#ifndef GW_TESTS_TRACES_SUPPORT_H
#define GW_TESTS_TRACES_SUPPORT_H

#include "tests/clusters.h"
#include "tests/test.h"

static struct gw_error error;

static inline void parse_whole(const char *text, struct gw_cluster *out) {
    const char *document = quoted(text);
    assert_ok(gw_cluster_parse(document, strlen(document), "f", out, &error));
}

/* Takes the document, which is the same JSON as the text, in whatever order. */
static inline void assert_same_json(cJSON *document, const char *text) {
    cJSON *expected = NULL;
    const char *document_text = quoted(text);
    assert_ok(gw_json_parse(document_text, strlen(document_text), "f", &expected, &error));
    if (!cJSON_Compare(document, expected, 1)) {
        char *printed = cJSON_Print(document);
        fail_msg("%s", printed);
    }
    cJSON_Delete(document);
    cJSON_Delete(expected);
}

static inline void assert_same_document(const char *path, const char *text) {
    cJSON *written = NULL;
    assert_ok(gw_json_read(path, &written, &error));
    assert_same_json(written, text);
}

static inline void assert_cluster(const struct gw_cluster *cluster, const char *text) {
    cJSON *document = NULL;
    assert_ok(gw_cluster_document(cluster, &document, &error));
    assert_same_json(document, text);
}

#endif
