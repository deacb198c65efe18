/* The folder of a file: its name, and its entries on the disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/file_parts.h"

enum gw_status gw_file_unwritable(const char *path, int cause, struct gw_error *error) {
    return gw_fail(error, GW_FAILED, "%s: cannot be written: %s", path, strerror(cause));
}

int gw_folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (int)(slash - path + 1);
}

void gw_folder_name(const char *path, char folder[GW_FOLDER_SIZE]) {
    int length = gw_folder_length(path);
    (void)snprintf(folder, GW_FOLDER_SIZE, "%.*s", length == 0 ? 1 : length,
                   length == 0 ? "." : path);
}

enum gw_status gw_file_sync_folder(const char *path, struct gw_error *error) {
    char folder[GW_FOLDER_SIZE];
    gw_folder_name(path, folder);
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) { /* a folder may be writable and not readable */
        return GW_OK;
    }
    int cause = fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
    (void)close(descriptor);
    return cause == 0 ? GW_OK : gw_file_unwritable(path, cause, error);
}
