#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/outputs.h"

enum { KIND_SIZE = 64 };

/* ---- reading -------------------------------------------------------------------------------- */

/* True for failures of the system that tell nothing about the file. */
static bool is_system_failure(int reason) {
    return reason == ENOMEM || reason == EMFILE || reason == ENFILE || reason == EIO;
}

enum gw_status gw_file_unreadable(const char *path, int reason, struct gw_error *error) {
    return gw_fail(error, is_system_failure(reason) ? GW_FAILED : GW_BAD_INPUT,
                   "%s: cannot be read: %s", path, strerror(reason));
}

enum gw_status gw_file_read(const char *path, char **text, size_t *length, struct gw_error *error) {
    FILE *stream = fopen(path, "rbe");
    if (stream == NULL) {
        return gw_file_unreadable(path, errno, error);
    }
    size_t capacity = 1 << 16;
    size_t used = 0;
    char *buffer = malloc(capacity);
    while (buffer != NULL) {
        used += fread(buffer + used, 1, capacity - used - 1, stream);
        if (used < capacity - 1 || used > GW_FILE_MAX_BYTES) {
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
        return gw_file_unreadable(path, read_error, error);
    }
    if (used > GW_FILE_MAX_BYTES) {
        free(buffer);
        return gw_fail(error, GW_BAD_INPUT, "%s: expected at most %d MiB, got more", path,
                       GW_FILE_MAX_BYTES >> 20);
    }
    buffer[used] = '\0';
    *text = buffer;
    *length = used;
    return GW_OK;
}

/* ---- targets -------------------------------------------------------------------------------- */

/* Examines a file; all zeros if there is none. Fails if it cannot be examined, and so must not be
 * replaced. */
static enum gw_status examine_file(const char *path, struct stat *about, struct gw_error *error) {
    if (stat(path, about) == 0) {
        return GW_OK;
    }
    *about = (struct stat){0};
    return errno == ENOENT ? GW_OK : gw_file_unwritable(path, errno, error);
}

/* False for a device or a pipe, which is written through. */
static bool is_replaceable(const struct stat *about) {
    return about->st_mode == 0 || S_ISREG(about->st_mode) || S_ISDIR(about->st_mode);
}

/* Reads a link (the caller frees *next); NULL if `path` is no link. */
static enum gw_status follow_link(const char *path, char **next, struct gw_error *error) {
    char link[4096];
    ssize_t length = readlink(path, link, sizeof link);
    *next = NULL;
    if (length < 0 || length == (ssize_t)sizeof link) {
        int cause = length < 0 ? errno : ENAMETOOLONG;
        return cause == EINVAL || cause == ENOENT ? GW_OK : gw_file_unwritable(path, cause, error);
    }
    int folder = link[0] == '/' ? 0 : gw_folder_length(path);
    if (asprintf(next, "%.*s%.*s", folder, path, (int)length, link) < 0) {
        *next = NULL;
        return gw_fail_memory(error, "naming a file");
    }
    return GW_OK;
}

/* Follows links to the file to be replaced (the caller frees *out), which need not exist. */
static enum gw_status resolve_target(const char *path, char **out, struct gw_error *error) {
    enum { MAX_LINKS = 40 }; /* as many as the kernel follows */
    char *name = strdup(path);
    if (name == NULL) {
        return gw_fail_memory(error, "naming a file");
    }
    for (int links = 0; links <= MAX_LINKS; links++) {
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
    return gw_file_unwritable(path, ELOOP, error);
}

/* Finds the folder of a file, which need not exist, and the file's name in it. */
static bool find_folder(const char *path, struct stat *folder, char **target) {
    struct gw_error unused;
    if (resolve_target(path, target, &unused) != GW_OK) {
        return false;
    }
    char name[GW_FOLDER_SIZE];
    gw_folder_name(*target, name);
    return stat(name, folder) == 0;
}

bool gw_file_is_same(const char *a, const char *b) {
    struct stat folders[2];
    char *targets[2] = {NULL, NULL};
    bool same = find_folder(a, &folders[0], &targets[0]) &&
                find_folder(b, &folders[1], &targets[1]) &&
                folders[0].st_dev == folders[1].st_dev && folders[0].st_ino == folders[1].st_ino &&
                strcmp(targets[0] + gw_folder_length(targets[0]),
                       targets[1] + gw_folder_length(targets[1])) == 0;
    free(targets[0]);
    free(targets[1]);
    return same;
}

/* ---- partial files of interrupted runs ------------------------------------------------------ */

enum gw_status gw_file_open_partial(const char *path, const char *run, bool *created,
                                    int *descriptor, struct gw_error *error) {
    const int flags = O_RDWR | O_APPEND | O_CLOEXEC;
    *descriptor = open(path, flags | O_CREAT | O_EXCL, 0666);
    *created = *descriptor >= 0;
    if (!*created && errno == EEXIST) {
        *descriptor = open(path, flags);
    }
    if (*descriptor < 0) {
        return gw_file_unwritable(path, errno, error);
    }
    if (flock(*descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        (void)close(*descriptor);
        *descriptor = -1;
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected an interrupted %s, got one that is still running", path, run);
    }
    return GW_OK;
}

int gw_file_sync_often(int descriptor, double *synced_s) {
    const double often_s = 5;
    double now_s = gw_clock_now_s();
    if (now_s - *synced_s < often_s) {
        return 0;
    }
    *synced_s = now_s;
    return fdatasync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
}

void gw_file_unlock(int descriptor) {
    (void)flock(descriptor, LOCK_UN);
}

/* ---- kinds of files ------------------------------------------------------------------------- */

/* Names a document by its schema; or a timeline, or any JSON. */
static void name_document(const char *start, char kind[KIND_SIZE]) {
    static const char sign[] = "\"gradweave/";
    const char *schema = strstr(start, "\"schema\"");
    const char *timeline = strstr(start, "\"traceEvents\"");
    const char *name = schema == NULL ? NULL : schema + strlen("\"schema\"");
    name = name == NULL ? NULL : name + strspn(name, " \t\r\n:");
    if (timeline != NULL || strstr(start, "\"displayTimeUnit\"") != NULL) {
        (void)snprintf(kind, KIND_SIZE, "a timeline");
    } else if (name != NULL && strncmp(name, sign, strlen(sign)) == 0) {
        size_t length = strcspn(name + 1, "@\"");
        bool is_row = strncmp(name + 1, "gradweave/infeasible", length) == 0; /* as a first line */
        (void)snprintf(kind, KIND_SIZE, "\"%.*s\"", is_row ? 16 : (int)length,
                       is_row ? "gradweave/result" : name + 1);
    } else {
        (void)snprintf(kind, KIND_SIZE, "other JSON");
    }
}

/* Names the kind, and returns the name; "" for an empty file, which any file may replace. */
static const char *name_kind(const char *start, size_t length, char kind[KIND_SIZE]) {
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
    (void)snprintf(kind, KIND_SIZE, "%s", name);
    return kind;
}

/* ---- checks of targets ---------------------------------------------------------------------- */

/* "" for a file that cannot be read. A document's schema may follow much else. */
static const char *read_kind(const char *path, char kind[KIND_SIZE]) {
    const size_t most = 1 << 22;
    char *start = calloc(most + 1, 1);
    FILE *stream = start == NULL ? NULL : fopen(path, "rbe");
    kind[0] = '\0';
    if (stream != NULL) {
        name_kind(start, fread(start, 1, most, stream), kind);
        (void)fclose(stream);
    }
    free(start);
    return kind;
}

/* Checks that a regular file is of the kind, or (NULL) of any. */
static enum gw_status check_kind(const char *path, const char *kind, const char *by,
                                 struct gw_error *error) {
    char old[KIND_SIZE];
    read_kind(path, old);
    bool is_any = kind == NULL || kind[0] == '\0' || old[0] == '\0';
    return is_any || strcmp(old, kind) == 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: expected no file, or %s, to write to, got %s, which %s replaces",
                         path, kind, old, by);
}

enum gw_status gw_file_check_kind(const char *path, const char *like, const char *by,
                                  struct gw_error *error) {
    char kind[KIND_SIZE];
    struct stat about;
    GW_TRY(examine_file(path, &about, error));
    return S_ISREG(about.st_mode) ? check_kind(path, name_kind(like, strlen(like), kind), by, error)
                                  : GW_OK;
}

/* Checks that a file may be replaced by one of the kind, or (NULL) of an unknown one. */
static enum gw_status check_replaced_file(const char *path, const char *kind,
                                          struct gw_error *error) {
    struct stat about;
    GW_TRY(examine_file(path, &about, error));
    if (!S_ISREG(about.st_mode)) {
        return GW_OK;
    }
    if ((about.st_mode & 0222) == 0 || access(path, W_OK) != 0) {
        return gw_file_unwritable(path, (about.st_mode & 0222) == 0 ? EACCES : errno, error);
    }
    if (!gw_outputs_are_held() || gw_outputs_forced) {
        return GW_OK;
    }
    return check_kind(path, kind, "--force", error);
}

enum gw_status gw_file_check_target(const char *path, const char *like, struct gw_error *error) {
    char kind[KIND_SIZE];
    struct stat about;
    GW_TRY(examine_file(path, &about, error));
    if (S_ISDIR(about.st_mode)) {
        return gw_file_unwritable(path, EISDIR, error);
    }
    if (!is_replaceable(&about)) {
        return access(path, W_OK) == 0 ? GW_OK : gw_file_unwritable(path, errno, error);
    }
    /* Check that a file of that name can be created and renamed. */
    char *target = NULL;
    GW_TRY(resolve_target(path, &target, error));
    target[gw_folder_length(target)] = '\0';
    bool good = access(target[0] == '\0' ? "." : target, W_OK) == 0;
    int cause = errno;
    free(target);
    GW_TRY(good ? GW_OK : gw_file_unwritable(path, cause, error));
    return check_replaced_file(path, like == NULL ? NULL : name_kind(like, strlen(like), kind),
                               error);
}

/* Opening a file that cannot be examined gives the reason. */
int gw_file_exists(const char *path) {
    return access(path, R_OK) == 0 || is_system_failure(errno);
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Gives the new file the mode and owner of the old one, and writes it to the disk. */
static int finish_temporary(const char *temporary, const char *target) {
    struct stat old = {0};
    struct stat own = {0};
    int descriptor = open(temporary, O_RDONLY | O_CLOEXEC);
    bool good = descriptor >= 0 && fstat(descriptor, &own) == 0 &&
                (stat(target, &old) == 0 || errno == ENOENT);
    if (good && S_ISREG(old.st_mode)) {
        bool others = own.st_uid != old.st_uid || own.st_gid != old.st_gid;
        good = (!others || gw_outputs_forced || fchown(descriptor, old.st_uid, old.st_gid) == 0) &&
               fchmod(descriptor, old.st_mode & 07777) == 0;
    }
    good = good && (fsync(descriptor) == 0 || errno == EINVAL);
    int cause = good ? 0 : errno;
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    return cause;
}

/* *target, the caller's, is the file to be replaced. */
static enum gw_status prepare_output(const char *temporary, const char *path, char **target,
                                     struct gw_error *error) {
    char kind[KIND_SIZE];
    struct stat about;
    GW_TRY(check_replaced_file(path, read_kind(temporary, kind), error));
    GW_TRY(resolve_target(path, target, error));
    GW_TRY(examine_file(*target, &about, error));
    int cause = S_ISDIR(about.st_mode) ? EISDIR : finish_temporary(temporary, *target);
    return cause == 0 ? GW_OK : gw_file_unwritable(path, cause, error);
}

/* Creates an empty file beside the target of `path`, which is replaceable. */
static enum gw_status create_temporary(const char *path, char **temporary, int *descriptor,
                                       struct gw_error *error) {
    enum { most_tries = 1000, longest_ending = 16 };
    char *target = NULL;
    GW_TRY(check_replaced_file(path, NULL, error));
    GW_TRY(resolve_target(path, &target, error));
    int folder = gw_folder_length(target);
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
        return gw_file_unwritable(path, cause, error);
    }
    return GW_OK;
}

int gw_write_all(int descriptor, const char *text, size_t length) {
    size_t written = 0;
    while (written < length) {
        ssize_t step = write(descriptor, text + written, length - written);
        if (step < 0 && errno != EINTR) {
            return errno;
        }
        written += step < 0 ? 0 : (size_t)step;
    }
    return 0;
}

/* Writes and closes the file; messages call it `path`. */
static enum gw_status write_and_close(int descriptor, const char *path, const char *text,
                                      size_t length, struct gw_error *error) {
    int failure = gw_write_all(descriptor, text, length);
    if (close(descriptor) != 0 && failure == 0) {
        failure = errno;
    }
    return failure == 0 ? GW_OK : gw_file_unwritable(path, failure, error);
}

enum gw_status gw_file_write(const char *path, const char *text, size_t length,
                             struct gw_error *error) {
    struct stat about;
    GW_TRY(examine_file(path, &about, error));
    if (!is_replaceable(&about)) {
        int device = open(path, O_WRONLY | O_CLOEXEC);
        return device < 0 ? gw_file_unwritable(path, errno, error)
                          : write_and_close(device, path, text, length, error);
    }
    char *temporary = NULL;
    int descriptor = -1;
    GW_TRY(create_temporary(path, &temporary, &descriptor, error));
    enum gw_status status = write_and_close(descriptor, path, text, length, error);
    if (status == GW_OK) {
        status = gw_file_replace(temporary, path, error);
    } else {
        gw_file_discard(temporary);
    }
    free(temporary);
    return status;
}

enum gw_status gw_file_temporary(const char *path, char **temporary, struct gw_error *error) {
    struct stat about;
    GW_TRY(examine_file(path, &about, error));
    if (!is_replaceable(&about)) {
        *temporary = strdup(path);
        return *temporary == NULL ? gw_fail_memory(error, "naming a temporary file") : GW_OK;
    }
    int descriptor = -1;
    GW_TRY(create_temporary(path, temporary, &descriptor, error));
    (void)close(descriptor);
    return GW_OK;
}

enum gw_status gw_file_replace(const char *temporary, const char *path, struct gw_error *error) {
    char *target = NULL;
    if (strcmp(temporary, path) == 0) {
        return GW_OK;
    }
    enum gw_status status = prepare_output(temporary, path, &target, error);
    char *name = status == GW_OK ? strdup(temporary) : NULL;
    if (name != NULL) {
        status = gw_outputs_take(name, target, error);
    } else {
        status = status == GW_OK ? gw_fail_memory(error, "naming a file") : status;
        free(target);
    }
    if (status != GW_OK) {
        gw_file_discard(temporary);
    }
    return status;
}

void gw_file_discard(const char *temporary) {
    struct stat status;
    if (lstat(temporary, &status) == 0 && S_ISREG(status.st_mode)) {
        (void)unlink(temporary);
    }
}
