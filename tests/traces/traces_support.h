/* What tests of documents need. */
#ifndef GW_TESTS_TRACES_SUPPORT_H
#define GW_TESTS_TRACES_SUPPORT_H

#include "tests/support.h"
#include "traces/traces.h"

static struct gw_error error;

/* The document with double quotes for single ones, in one of two buffers used in turn. */
static inline char *quoted(const char *text) {
    static char buffers[2][4096];
    static size_t turn;
    char *out = buffers[turn++ % 2];
    assert_true(strlen(text) < sizeof buffers[0]);
    for (size_t i = 0; i <= strlen(text); i++) {
        out[i] = text[i];
        if (text[i] == '\'') {
            out[i] = '"';
        }
    }
    return out;
}

static inline void parse_cluster(const char *text, struct gw_cluster *out) {
    const char *document = quoted(text);
    assert_ok(gw_cluster_parse(document, strlen(document), "f", out, &error));
}

/* The file holds the same JSON as the text, in whatever order and spacing. */
static inline void assert_same_document(const char *path, const char *text) {
    cJSON *written = NULL;
    cJSON *expected = NULL;
    const char *document = quoted(text);
    assert_ok(gw_json_read(path, &written, &error));
    assert_ok(gw_json_parse(document, strlen(document), "f", &expected, &error));
    char *printed = NULL;
    assert_ok(gw_json_print(written, &printed, &error));
    if (!cJSON_Compare(written, expected, 1)) {
        print_error("%s", printed);
        fail();
    }
    free(printed);
    cJSON_Delete(written);
    cJSON_Delete(expected);
}

#endif
