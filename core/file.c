#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ------------------------------------------------------------------------------- */

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
        if (used < capacity - 1 || used > GW_FILE_MOST_BYTES) {
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
    if (used > GW_FILE_MOST_BYTES) {
        free(buffer);
        return gw_fail(error, GW_BAD_INPUT, "%s: expected at most %d MiB, got more", path,
                       GW_FILE_MOST_BYTES >> 20);
    }
    buffer[used] = '\0';
    *text = buffer;
    *length = used;
    return GW_OK;
}

/* ---- what is written ----------------------------------------------------------------------- */

static enum gw_status fail_to_write(const char *path, int cause, struct gw_error *error) {
    return gw_fail(error, GW_FAILED, "%s: cannot be written: %s", path, strerror(cause));
}

/* A device or a pipe must stay what it is; so must a folder, which cannot be written. */
static bool is_replaceable(const char *path) {
    struct stat status;
    return stat(path, &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
}

/* How much of `path` names its folder, with the slash. */
static int folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (int)(slash - path + 1);
}

/* The next name on the way along links, the caller's to free; NULL if `path` is no link. */
static enum gw_status follow_link(const char *path, char **next, struct gw_error *error) {
    char link[4096];
    ssize_t length = readlink(path, link, sizeof link);
    *next = NULL;
    if (length < 0) {
        return GW_OK;
    }
    if (length == (ssize_t)sizeof link) {
        return fail_to_write(path, ENAMETOOLONG, error);
    }
    int folder = link[0] == '/' ? 0 : folder_length(path);
    if (asprintf(next, "%.*s%.*s", folder, path, (int)length, link) < 0) {
        *next = NULL;
        return gw_fail_memory(error, "naming a file");
    }
    return GW_OK;
}

/* The name of what is to be replaced (the caller's to free), which may not be there yet. */
static enum gw_status resolve(const char *path, char **out, struct gw_error *error) {
    enum { most_links = 40 }; /* as many as the kernel follows */
    char *name = strdup(path);
    if (name == NULL) {
        return gw_fail_memory(error, "naming a file");
    }
    for (int links = 0; links <= most_links; links++) {
        char *next = NULL;
        enum gw_status status = follow_link(name, &next, error);
        if (status == GW_OK && next == NULL) {
            *out = name;
            return GW_OK;
        }
        free(name);
        GW_TRY(status);
        name = next;
    }
    free(name);
    return fail_to_write(path, ELOOP, error);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Creates an empty file beside the target of `path`, which is replaceable. */
static enum gw_status create_temporary(const char *path, char **temporary, int *descriptor,
                                       struct gw_error *error) {
    enum { most_tries = 1000, longest_ending = 16 };
    char *target = NULL;
    GW_TRY(resolve(path, &target, error));
    int folder = folder_length(target);
    const char *ending = strrchr(target + folder, '.');
    if (ending == NULL || strlen(ending) > longest_ending) {
        ending = "";
    }
    size_t capacity = (size_t)folder + 80;
    *temporary = malloc(capacity);
    *descriptor = -1;
    int cause = EEXIST;
    for (int i = 0; *temporary != NULL && cause == EEXIST && i < most_tries; i++) {
        snprintf(*temporary, capacity, "%.*s.gradweave-%ld-%d%s", folder, target, (long)getpid(), i,
                 ending);
        *descriptor = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        cause = *descriptor < 0 ? errno : 0;
    }
    free(target);
    if (*temporary == NULL) {
        return gw_fail_memory(error, "naming a temporary file");
    }
    if (cause != 0) {
        free(*temporary);
        *temporary = NULL;
        return fail_to_write(path, cause, error);
    }
    return GW_OK;
}

/* Closes the file; `path` is what messages call it. */
static enum gw_status write_all(int descriptor, const char *path, const char *text, size_t length,
                                struct gw_error *error) {
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
    return failure == 0 ? GW_OK : fail_to_write(path, failure, error);
}

static enum gw_status write_through(const char *path, const char *text, size_t length,
                                    struct gw_error *error) {
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    return descriptor < 0 ? fail_to_write(path, errno, error)
                          : write_all(descriptor, path, text, length, error);
}

enum gw_status gw_file_write(const char *path, const char *text, size_t length,
                             struct gw_error *error) {
    if (!is_replaceable(path)) {
        return write_through(path, text, length, error);
    }
    char *temporary = NULL;
    int descriptor = -1;
    GW_TRY(create_temporary(path, &temporary, &descriptor, error));
    enum gw_status status = write_all(descriptor, path, text, length, error);
    if (status == GW_OK) {
        status = gw_file_replace(temporary, path, error);
    } else {
        gw_file_discard(temporary);
    }
    free(temporary);
    return status;
}

enum gw_status gw_file_temporary(const char *path, char **temporary, struct gw_error *error) {
    if (!is_replaceable(path)) {
        *temporary = strdup(path);
        return *temporary == NULL ? gw_fail_memory(error, "naming a temporary file") : GW_OK;
    }
    int descriptor = -1;
    GW_TRY(create_temporary(path, temporary, &descriptor, error));
    (void)close(descriptor);
    return GW_OK;
}

enum gw_status gw_file_replace(const char *temporary, const char *path, struct gw_error *error) {
    if (strcmp(temporary, path) == 0) {
        return GW_OK;
    }
    char *target = NULL;
    enum gw_status status = resolve(path, &target, error);
    if (status == GW_OK && rename(temporary, target) != 0) {
        status = fail_to_write(path, errno, error);
    }
    if (status != GW_OK) {
        gw_file_discard(temporary);
    }
    free(target);
    return status;
}

void gw_file_discard(const char *temporary) {
    struct stat status;
    if (lstat(temporary, &status) == 0 && S_ISREG(status.st_mode)) {
        (void)unlink(temporary);
    }
}

/* Whether a file of that name can be made and put in place of what is there. */
static enum gw_status check_folder(const char *path, struct gw_error *error) {
    char *target = NULL;
    GW_TRY(resolve(path, &target, error));
    target[folder_length(target)] = '\0';
    bool good = access(target[0] == '\0' ? "." : target, W_OK) == 0;
    int cause = errno;
    free(target);
    return good ? GW_OK : fail_to_write(path, cause, error);
}

enum gw_status gw_file_check_target(const char *path, struct gw_error *error) {
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        return fail_to_write(path, EISDIR, error);
    }
    if (is_replaceable(path)) {
        return check_folder(path, error);
    }
    return access(path, W_OK) == 0 ? GW_OK : fail_to_write(path, errno, error);
}

int gw_file_exists(const char *path) {
    return access(path, R_OK) == 0;
}

/* ---- fingerprints ---------------------------------------------------------------------------- */

const uint64_t gw_fingerprint_start = 0xcbf29ce484222325u;

uint64_t gw_fingerprint_add(uint64_t so_far, const void *bytes, size_t length) {
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++) {
        so_far = (so_far ^ byte[i]) * 0x100000001b3u;
    }
    return so_far;
}

uint64_t gw_fingerprint_add_text(uint64_t so_far, const char *text) {
    return gw_fingerprint_add(so_far, text, strlen(text) + 1);
}
