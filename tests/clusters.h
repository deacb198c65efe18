/* Clusters and models as documents: their members are written with single quotes for double ones,
 * like a format of printf. */
#ifndef GW_TESTS_CLUSTERS_H
#define GW_TESTS_CLUSTERS_H

#include "tests/support.h"
#include "traces/traces.h"

enum { MOST_QUOTED = 4096 };

/* The text with double quotes for single ones, in one of two buffers used in turn. */
static inline char *quoted(const char *text) {
    static char buffers[2][MOST_QUOTED];
    static size_t turn;
    char *out = buffers[turn++ % 2];
    assert_true(strlen(text) < MOST_QUOTED);
    for (size_t i = 0; i <= strlen(text); i++) {
        out[i] = (char)(text[i] == '\'' ? '"' : text[i]);
    }
    return out;
}

static inline const char *document_of(const char *schema, const char *format, va_list values) {
    char members[MOST_QUOTED];
    char text[MOST_QUOTED + 100];
    assert_true(vsnprintf(members, sizeof members, format, values) < (int)sizeof members);
    (void)snprintf(text, sizeof text, "{'schema': 'gradweave/%s@1', 'name': '%c', %s}", schema,
                   schema[0], members);
    return quoted(text);
}

/* Both take what follows the name of a cluster or a model. */
__attribute__((format(printf, 2, 3))) static inline enum gw_status
read_cluster(struct gw_cluster *out, const char *format, ...) {
    va_list values;
    va_start(values, format);
    const char *text = document_of("cluster", format, values);
    va_end(values);
    return gw_cluster_parse(text, strlen(text), "c.json", out, NULL);
}

__attribute__((format(printf, 2, 3))) static inline enum gw_status
read_model(struct gw_model *out, const char *format, ...) {
    va_list values;
    va_start(values, format);
    const char *text = document_of("model", format, values);
    va_end(values);
    return gw_model_parse(text, strlen(text), "m.json", out, NULL);
}

#define parse_cluster(out, ...) assert_ok(read_cluster(out, __VA_ARGS__))
#define parse_model(out, ...) assert_ok(read_model(out, __VA_ARGS__))

#endif
