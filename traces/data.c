#include "traces/data.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/cluster.h"
#include "traces/model.h"
#include "traces/paper_table.h"

static const struct {
    const char *what, *installed, *source;
} kinds[] = {
    [GW_DATA_MODELS] = {"model", "models", "traces/models"},
    [GW_DATA_CLUSTERS] = {"cluster", "clusters", "traces/clusters"},
    [GW_DATA_TABLES] = {"table", "tables", "traces/tables"},
    [GW_DATA_PLOTS] = {"plot", "plots", "report/plots"},
    [GW_DATA_ACCURACY] = {"training", "accuracy", "traces/accuracy"},
};

static enum gw_status join_path(char **out, struct gw_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum gw_status join_path(char **out, struct gw_error *error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(out, format, arguments);
    va_end(arguments);
    return length < 0 ? gw_fail_memory(error, "naming a file") : GW_OK;
}

/*
 * Finds the folder of installed data, share/gradweave below the nearest folder above the program or
 * library that has one, as <prefix>/bin/gradweave, <prefix>/lib/libgradweave.so and
 * <prefix>/lib/python3/site-packages/gradweave/libgradweave.so have <prefix>. NULL: not installed.
 * Programs built in the source tree do not search above it.
 */
static enum gw_status installed_folder(const char *name, char **folder, struct gw_error *error) {
    Dl_info info;
    struct link_map *map = NULL; /* of this code; without a name for the program itself */
    bool found = dladdr1(kinds, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL;
    char *above = realpath(found && map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe", NULL);
    char *slash = above == NULL ? NULL : strrchr(above, '/');
    enum gw_status status = GW_OK;
    *folder = NULL;
    while (status == GW_OK && *folder == NULL && slash != NULL) {
        *slash = '\0';
        if (strcmp(above, GW_SOURCE_FOLDER) == 0) {
            break;
        }
        status = join_path(folder, error, "%s/" GW_DATA_FOLDER "/%s", above, name);
        if (status == GW_OK && !gw_file_exists(*folder)) {
            free(*folder);
            *folder = NULL;
        }
        slash = strrchr(above, '/');
    }
    free(above);
    return status;
}

enum gw_status gw_data_folder(enum gw_data_kind kind, char **folder, struct gw_error *error) {
    const char *chosen = getenv("GRADWEAVE_DATA");
    if (chosen != NULL && chosen[0] != '\0') {
        return join_path(folder, error, "%s/%s", chosen, kinds[kind].installed);
    }
    GW_TRY(installed_folder(kinds[kind].installed, folder, error));
    return *folder != NULL
               ? GW_OK
               : join_path(folder, error, "%s/%s", GW_SOURCE_FOLDER, kinds[kind].source);
}

enum gw_status gw_data_resolve(enum gw_data_kind kind, const char *name, char **path,
                               struct gw_error *error) {
    size_t length = strlen(name);
    if (strchr(name, '/') != NULL || (length > 5 && strcmp(name + length - 5, ".json") == 0)) {
        return join_path(path, error, "%s", name);
    }
    char *folder = NULL;
    GW_TRY(gw_data_folder(kind, &folder, error));
    enum gw_status status = join_path(path, error, "%s/%s.json", folder, name);
    free(folder);
    if (status != GW_OK || gw_file_exists(*path)) {
        return status;
    }
    free(*path);
    *path = NULL;
    if (gw_file_exists(name)) {
        return join_path(path, error, "%s", name);
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: expected a file, or a %s that ships (gradweave list %ss), found neither",
                   name, kinds[kind].what, kinds[kind].what);
}

enum gw_status gw_data_open(enum gw_data_kind kind, const char *name, void *out,
                            struct gw_error *error) {
    char *path = NULL;
    GW_TRY(gw_data_resolve(kind, name, &path, error));
    gw_log(GW_LOG_VERBOSE, "reading %s %s", kinds[kind].what, path);
    enum gw_status status = kind == GW_DATA_MODELS     ? gw_model_read(path, out, error)
                            : kind == GW_DATA_CLUSTERS ? gw_cluster_read(path, out, error)
                                                       : gw_paper_table_read(path, out, error);
    free(path);
    return status;
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
    enum gw_status status = gw_data_list_folder(folder, names, count, error);
    free(folder);
    return status;
}

enum gw_status gw_data_list_folder(const char *folder, char ***names, size_t *count,
                                   struct gw_error *error) {
    struct dirent **entries = NULL;
    int found = scandir(folder, &entries, is_document, NULL);
    if (found < 0) {
        return gw_fail(error, GW_FAILED, "%s: cannot be listed: %s", folder, strerror(errno));
    }
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
