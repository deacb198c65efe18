#include "core/file_kind.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Names a document by its schema; or a timeline, or any JSON. */
static void name_document(const char *start, char kind[GW_FILE_KIND_SIZE]) {
    static const char sign[] = "\"gradweave/";
    const char *schema = strstr(start, "\"schema\"");
    const char *timeline = strstr(start, "\"traceEvents\"");
    const char *name = schema == NULL ? NULL : schema + strlen("\"schema\"");
    name = name == NULL ? NULL : name + strspn(name, " \t\r\n:");
    if (timeline != NULL || strstr(start, "\"displayTimeUnit\"") != NULL) {
        (void)snprintf(kind, GW_FILE_KIND_SIZE, "a timeline");
    } else if (name != NULL && strncmp(name, sign, strlen(sign)) == 0) {
        int length = (int)strcspn(name + 1, "@\"");
        bool is_row = strncmp(name + 1, "gradweave/infeasible", (size_t)length) == 0;
        (void)snprintf(kind, GW_FILE_KIND_SIZE, "\"%.*s\"",
                       is_row        ? 16
                       : length < 40 ? length
                                     : 40,
                       is_row ? "gradweave/result" : name + 1);
    } else {
        (void)snprintf(kind, GW_FILE_KIND_SIZE, "other JSON");
    }
}

const char *gw_file_name_kind(const char *start, size_t length, char kind[GW_FILE_KIND_SIZE]) {
    static const char png[] = "\x89PNG";
    size_t blank = strspn(start, " \t\r\n");
    bool is_table = memchr(start, ',', strcspn(start, "\n")) != NULL;
    const char *name = !is_table ? "other text" : start[0] == '#' ? "a picture's table" : "a table";
    if (start[blank] == '{' || start[blank] == '[') {
        name_document(start, kind);
        return kind;
    }
    if (length == 0) {
        name = "";
    } else if (strncmp(start, png, strlen(png)) == 0) {
        name = "a PNG picture";
    } else if (strncmp(start, "%PDF-", 5) == 0) {
        name = "a PDF picture";
    } else if (start[blank] == '<' && strstr(start, "<svg") != NULL) {
        name = "an SVG picture";
    } else if (strncmp(start, "num_ranks", 9) == 0) {
        name = "a GOAL schedule";
    }
    (void)snprintf(kind, GW_FILE_KIND_SIZE, "%s", name);
    return kind;
}
