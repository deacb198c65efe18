/*
 * Documents that readers, `check` and fuzzers must refuse: the lines of documents.txt, each an edit
 * of a good document.
 */
#ifndef GW_TESTS_DOCUMENTS_H
#define GW_TESTS_DOCUMENTS_H

#include <cjson/cJSON.h>

#include "tests/test.h"
#include "traces/traces.h"

/* A kind of document, and its good one. */
struct document_kind {
    const char *name;
    const struct gw_fields *fields;
    char *good;
};

struct bad_document {
    const struct document_kind *kind;
    const char *line;
    char *text;
    char message[sizeof((struct gw_error *)0)->message]; /* or its beginning; the file is "f" */
    bool is_warning; /* bad input only with gw_key_rules.strict */
};

struct bad_documents {
    size_t kind_count, count;
    struct document_kind kinds[8];
    struct bad_document list[256];
};

/* Turns single quotes into double ones, and \n into the end of a line, in place. */
static inline char *unquote(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        bool is_end = from[0] == '\\' && from[1] == 'n';
        *to++ = (char)(is_end ? '\n' : *from == '\'' ? '"' : *from);
        from += is_end;
    }
    *to = '\0';
    return text;
}

/*
 * Sets the value at a path such as "tensors[1].elements" to the text, or takes it out if that is
 * NULL; an index behind the last one appends.
 */
static inline void edit_document(cJSON *document, const char *path, const char *value) {
    cJSON *at = document;
    const char *whole = path;
    for (;;) {
        char key[64];
        path += *path == '.' || *path == '[';
        size_t length = strcspn(path, ".[]");
        (void)snprintf(key, sizeof key, "%.*s", (int)length, path);
        path += length + (path[length] == ']');
        int index = cJSON_IsArray(at) ? atoi(key) : 0;
        if (*path != '\0') {
            at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, index)
                                   : cJSON_GetObjectItemCaseSensitive(at, key);
            if (at == NULL) {
                fail_msg("%s: not in the good document", whole);
            }
        } else if (cJSON_IsArray(at)) {
            cJSON *item = cJSON_CreateRaw(value);
            assert_true(index < cJSON_GetArraySize(at) ? cJSON_ReplaceItemInArray(at, index, item)
                                                       : cJSON_AddItemToArray(at, item));
            return;
        } else {
            cJSON_DeleteItemFromObjectCaseSensitive(at, key);
            (void)(value != NULL && cJSON_AddItemToObject(at, key, cJSON_CreateRaw(value)));
            return;
        }
    }
}

/* Returns a good document with that edit; the caller's. */
static inline char *edited_document(const char *good, const char *path, const char *value) {
    cJSON *document = cJSON_Parse(good);
    assert_non_null(document);
    edit_document(document, path, value);
    char *text = cJSON_PrintUnformatted(document);
    cJSON_Delete(document);
    return text;
}

/* Reads "PATH = VALUE", "no PATH" or ": TEXT", and the message, behind the path if it is of it. */
static inline void read_bad_document(char *line, char *message, struct bad_document *out) {
    char *path = strncmp(line, "no ", 3) == 0 ? line + 3 : line;
    char *value = path == line ? strstr(line, " = ") : NULL;
    unquote(message);
    out->is_warning = strstr(message, "unknown key") != NULL;
    if (line[0] == ':') {
        out->text = strdup(unquote(line + strspn(line, ": ")));
        path = "";
    } else {
        if (value != NULL) {
            *value = '\0';
            value = unquote(value + strlen(" = "));
        }
        out->text = edited_document(out->kind->good, path, value);
    }
    bool is_of_path = *path != '\0' && strncmp(message, "expected ", strlen("expected ")) == 0;
    bool is_whole = strncmp(message, "f: ", strlen("f: ")) == 0;
    (void)snprintf(out->message, sizeof out->message, "%s%s%s%s",
                   is_whole ? "" : "f: ", is_of_path ? path : "", is_of_path ? ": " : "", message);
}

static inline struct bad_documents *bad_documents(void) {
    static const struct gw_fields *const kinds[] = {
        &gw_model_fields,      &gw_cluster_fields,  &gw_plan_fields,
        &gw_counts_fields,     &gw_accuracy_fields, &gw_recorded_gradients_fields,
        &gw_paper_table_fields};
    static struct bad_documents out;
    static char *text;
    size_t length = 0;
    if (text != NULL) {
        return &out;
    }
    assert_ok(gw_file_read(GW_TEST_DOCUMENTS, &text, &length, NULL));
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        struct document_kind *kind = &out.kinds[out.kind_count - (out.kind_count > 0)];
        char *message = strstr(line, " => ");
        if (line[0] == '[') { /* [KIND] GOOD */
            kind = &out.kinds[out.kind_count];
            kind->fields = kinds[out.kind_count++];
            kind->name = line + 1;
            kind->good = unquote(strchr(line, ']') + 2);
            kind->good[-2] = '\0';
        } else if (message != NULL && line[0] != '#') {
            struct bad_document *bad = &out.list[out.count++];
            assert_true(out.count <= sizeof out.list / sizeof *out.list);
            *message = '\0';
            *bad = (struct bad_document){.kind = kind, .line = strdup(line)};
            read_bad_document(line, message + strlen(" => "), bad);
        }
    }
    return &out;
}

#endif
