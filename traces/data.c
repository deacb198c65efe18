#include "traces/data.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *what, *installed, *source;
} kinds[] = {
    [GW_DATA_MODELS] = {"model", "models", "traces/models"},
    [GW_DATA_CLUSTERS] = {"cluster", "clusters", "traces/clusters"},
    [GW_DATA_TABLES] = {"table", "tables", "traces/tables"},
    [GW_DATA_PLOTS] = {"plot", "plots", "plots"},
};

static enum gw_status join(char **out, struct gw_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum gw_status join(char **out, struct gw_error *error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(out, format, arguments);
    va_end(arguments);
    return length < 0 ? gw_fail_memory(error, "naming a file") : GW_OK;
}

/* <prefix>/share/gradweave for a program that lies in <prefix>/bin. */
static enum gw_status installed_root(char **out, struct gw_error *error) {
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    return join(out, error, "%s/../" GW_RELATIVE_DATA_FOLDER, program);
}

enum gw_status gw_data_folder(enum gw_data_kind kind, char **folder, struct gw_error *error) {
    const char *chosen = getenv("GRADWEAVE_DATA");
    if (chosen != NULL && chosen[0] != '\0') {
        return join(folder, error, "%s/%s", chosen, kinds[kind].installed);
    }
    char *root = NULL;
    GW_TRY(installed_root(&root, error));
    enum gw_status status = join(folder, error, "%s/%s", root, kinds[kind].installed);
    free(root);
    if (status == GW_OK && !gw_file_exists(*folder)) {
        free(*folder);
        status = join(folder, error, "%s/%s", GW_SOURCE_FOLDER, kinds[kind].source);
    }
    return status;
}

static bool is_path(const char *name) {
    size_t length = strlen(name);
    return strchr(name, '/') != NULL || (length > 5 && strcmp(name + length - 5, ".json") == 0);
}

enum gw_status gw_data_resolve(enum gw_data_kind kind, const char *name, char **path,
                               struct gw_error *error) {
    if (is_path(name)) {
        return join(path, error, "%s", name);
    }
    char *folder = NULL;
    GW_TRY(gw_data_folder(kind, &folder, error));
    enum gw_status status = join(path, error, "%s/%s.json", folder, name);
    free(folder);
    if (status != GW_OK || gw_file_exists(*path)) {
        return status;
    }
    free(*path);
    *path = NULL;
    if (gw_file_exists(name)) {
        return join(path, error, "%s", name);
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: expected a file, or a %s that ships (gradweave list %ss), found neither",
                   name, kinds[kind].what, kinds[kind].what);
}

static int is_document(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && dot != NULL && strcmp(dot, ".json") == 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum gw_status gw_data_list(enum gw_data_kind kind, char ***names, size_t *count,
                            struct gw_error *error) {
    char *folder = NULL;
    GW_TRY(gw_data_folder(kind, &folder, error));
    struct dirent **entries = NULL;
    int found = scandir(folder, &entries, is_document, NULL);
    if (found < 0) {
        enum gw_status status =
            gw_fail(error, GW_FAILED, "%s: cannot be listed: %s", folder, strerror(errno));
        free(folder);
        return status;
    }
    free(folder);
    *count = 0;
    *names = calloc((size_t)found + 1, sizeof **names);
    for (int i = 0; i < found; i++) {
        *strrchr(entries[i]->d_name, '.') = '\0';
        char *name = *names == NULL ? NULL : strdup(entries[i]->d_name);
        if (name != NULL) {
            (*names)[(*count)++] = name;
        }
        free(entries[i]);
    }
    free(entries);
    if (*names == NULL || *count < (size_t)found) {
        for (size_t i = 0; i < *count; i++) {
            free((*names)[i]);
        }
        free(*names);
        *names = NULL;
        *count = 0;
        return gw_fail_memory(error, "listing data");
    }
    qsort(*names, *count, sizeof **names, by_name);
    return GW_OK;
}
