#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum gw_status gw_file_read(const char *path, char **text, size_t *length, struct gw_error *error) {
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        return gw_fail(error, GW_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
    }
    size_t capacity = 1 << 16;
    size_t used = 0;
    char *buffer = malloc(capacity);
    while (buffer != NULL) {
        used += fread(buffer + used, 1, capacity - used - 1, stream);
        if (used < capacity - 1) {
            break;
        }
        capacity *= 2;
        char *larger = realloc(buffer, capacity);
        if (larger == NULL) {
            free(buffer);
        }
        buffer = larger;
    }
    int read_error = ferror(stream) != 0 ? errno : 0;
    (void)fclose(stream);
    if (buffer == NULL) {
        return gw_fail(error, GW_FAILED, "%s: out of memory while reading", path);
    }
    if (read_error != 0) {
        free(buffer);
        return gw_fail(error, GW_BAD_INPUT, "%s: cannot be read: %s", path, strerror(read_error));
    }
    buffer[used] = '\0';
    *text = buffer;
    *length = used;
    return GW_OK;
}

/* `name` is what messages call the file. */
static enum gw_status write_all(const char *path, const char *name, const char *text, size_t length,
                                struct gw_error *error) {
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        return gw_fail(error, GW_FAILED, "%s: cannot be written: %s", name, strerror(errno));
    }
    size_t written = 0;
    int failure = 0;
    while (written < length && failure == 0) {
        ssize_t step = write(descriptor, text + written, length - written);
        if (step >= 0) {
            written += (size_t)step;
        } else if (errno != EINTR) {
            failure = errno;
        }
    }
    if (failure == 0 && fsync(descriptor) != 0 && errno != EINVAL) {
        failure = errno;
    }
    if (close(descriptor) != 0 && failure == 0) {
        failure = errno;
    }
    if (failure != 0) {
        return gw_fail(error, GW_FAILED, "%s: cannot be written: %s", name, strerror(failure));
    }
    return GW_OK;
}

/* A link, a device or a pipe must stay what it is: it is written through, never replaced. */
static int is_replaceable(const char *path) {
    struct stat status;
    return lstat(path, &status) != 0 || S_ISREG(status.st_mode);
}

enum gw_status gw_file_write(const char *path, const char *text, size_t length,
                             struct gw_error *error) {
    if (!is_replaceable(path)) {
        return write_all(path, path, text, length, error);
    }
    char *temporary = NULL;
    GW_TRY(gw_file_temporary(path, &temporary, error));
    enum gw_status status = write_all(temporary, path, text, length, error);
    if (status == GW_OK) {
        status = gw_file_replace(temporary, path, error);
    } else {
        gw_file_discard(temporary);
    }
    free(temporary);
    return status;
}

enum gw_status gw_file_temporary(const char *path, char **temporary, struct gw_error *error) {
    const char *slash = strrchr(path, '/');
    int folder = slash == NULL ? 0 : (int)(slash - path + 1);
    size_t capacity = strlen(path) + 40;
    *temporary = malloc(capacity);
    if (*temporary == NULL) {
        return gw_fail_memory(error, "naming a temporary file");
    }
    snprintf(*temporary, capacity, "%.*s.gradweave-%ld-%s", folder, path, (long)getpid(),
             path + folder);
    return GW_OK;
}

enum gw_status gw_file_replace(const char *temporary, const char *path, struct gw_error *error) {
    if (rename(temporary, path) != 0) {
        enum gw_status status =
            gw_fail(error, GW_FAILED, "%s: cannot be written: %s", path, strerror(errno));
        gw_file_discard(temporary);
        return status;
    }
    return GW_OK;
}

void gw_file_discard(const char *temporary) {
    (void)unlink(temporary);
}

enum gw_status gw_file_check_target(const char *path, struct gw_error *error) {
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        return gw_fail(error, GW_FAILED, "%s: cannot be written: %s", path, strerror(EISDIR));
    }
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path + 1));
    if (folder == NULL) {
        return gw_fail_memory(error, "checking a file name");
    }
    enum gw_status result = GW_OK;
    if (is_replaceable(path) && access(folder, W_OK) != 0) {
        result = gw_fail(error, GW_FAILED, "%s: cannot be written: %s", path, strerror(errno));
    }
    free(folder);
    return result;
}

int gw_file_exists(const char *path) {
    return access(path, R_OK) == 0;
}
