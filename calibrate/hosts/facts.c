#include "calibrate/hosts/facts.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *gw_fact_text(const char *root, const char *path) {
    char whole[512];
    char *text = NULL;
    size_t length = 0;
    int needed = snprintf(whole, sizeof whole, "%s%s", root, path);
    if (needed < 0 || (size_t)needed >= sizeof whole ||
        gw_file_read(whole, &text, &length, NULL) != GW_OK) {
        return NULL;
    }
    return text;
}

/* The line at `text`, without spaces at its ends. */
static void copy_line(const char *text, char out[GW_FACT_SIZE]) {
    size_t used = 0;
    text += strspn(text, " \t");
    for (; *text != '\0' && *text != '\n' && used + 1 < GW_FACT_SIZE; text++) {
        out[used++] = *text >= ' ' && *text <= '~' ? *text : *text == '\t' ? ' ' : '?';
    }
    while (used > 0 && out[used - 1] == ' ') {
        used--;
    }
    out[used] = '\0';
}

bool gw_fact_read(const char *root, const char *path, char out[GW_FACT_SIZE]) {
    char *text = gw_fact_text(root, path);
    out[0] = '\0';
    if (text != NULL) {
        copy_line(text, out);
    }
    free(text);
    return out[0] != '\0';
}

bool gw_fact_read_number(const char *root, const char *path, double *out) {
    char line[GW_FACT_SIZE];
    char *end = line;
    if (!gw_fact_read(root, path, line)) {
        return false;
    }
    double value = strtod(line, &end);
    if (end == line || *end != '\0' || !isfinite(value) || value < 0) {
        return false;
    }
    *out = value;
    return true;
}

bool gw_fact_find(const char *text, const char *key, char out[GW_FACT_SIZE]) {
    size_t length = strlen(key);
    out[0] = '\0';
    for (const char *line = text; line != NULL && *line != '\0' && out[0] == '\0';) {
        const char *rest = line + length;
        if (strncmp(line, key, length) == 0) {
            rest += strspn(rest, " \t");
            if (*rest == ':' || *rest == '=') {
                copy_line(rest + 1, out);
            }
        }
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return out[0] != '\0';
}
