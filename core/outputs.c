/* The files that a program reads and writes: all outputs are put in place, or none. */
#include "core/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/arena.h"

/* ---- the program ---------------------------------------------------------------------------- */

/* A file to be renamed to `target`, or (temporary: NULL) a target to be removed. */
struct output {
    char *temporary, *target;
    char *old;       /* a second name of the file that was there; NULL: none */
    bool is_created; /* it is in place, where no file was */
};

static struct {
    bool holds;
    size_t output_count, output_capacity;
    struct output *outputs;
} program;

bool gw_outputs_forced;

bool gw_outputs_are_held(void) {
    return program.holds;
}

/* ---- folders -------------------------------------------------------------------------------- */

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

/* ---- one file ------------------------------------------------------------------------------- */

/* Renames the file to its target; the old file keeps a second name, if the file system has any. */
static enum gw_status put_in_place(struct output *one, struct gw_error *error) {
    struct stat old = {0};
    if (lstat(one->target, &old) != 0 && errno != ENOENT) {
        return gw_file_unwritable(one->target, errno, error);
    }
    if (S_ISREG(old.st_mode)) {
        char *name = NULL;
        if (asprintf(&name, "%s.old", one->temporary) >= 0 && link(one->target, name) == 0) {
            one->old = name;
        } else {
            free(name);
        }
    }
    if (rename(one->temporary, one->target) != 0) {
        return gw_file_unwritable(one->target, errno, error);
    }
    one->is_created = old.st_mode == 0;
    return gw_file_sync_folder(one->target, error);
}

static void take_back(struct output *one) {
    if (one->old != NULL) { /* does nothing, and leaves both names, if they are one file's */
        (void)rename(one->old, one->target);
    } else if (one->is_created) {
        (void)unlink(one->target);
    }
    one->is_created = false;
}

/* Frees an output, and removes its temporary file, which is no device. */
static void free_output(struct output *one) {
    if (one->temporary != NULL) {
        (void)unlink(one->temporary);
    }
    if (one->old != NULL) {
        (void)unlink(one->old);
    }
    free(one->temporary);
    free(one->old);
    free(one->target);
}

/* ---- all files ------------------------------------------------------------------------------ */

static void forget_outputs(void) {
    for (size_t i = 0; i < program.output_count; i++) {
        free_output(&program.outputs[i]);
    }
    free(program.outputs);
    program.outputs = NULL;
    program.output_count = program.output_capacity = 0;
}

const char *gw_outputs_unfinished(void) {
    for (size_t i = 0; i < program.output_count; i++) {
        if (program.outputs[i].temporary == NULL) {
            return program.outputs[i].target;
        }
    }
    return NULL;
}

void gw_outputs_hold(void) {
    program.holds = true;
}

void gw_outputs_discard(void) {
    for (size_t i = 0; i < program.output_count; i++) {
        take_back(&program.outputs[i]);
    }
    forget_outputs();
}

enum gw_status gw_outputs_place(struct gw_error *error) {
    enum gw_status status = GW_OK;
    for (size_t i = 0; i < program.output_count && status == GW_OK; i++) {
        if (program.outputs[i].temporary != NULL) {
            status = put_in_place(&program.outputs[i], error);
        }
    }
    if (status != GW_OK) {
        gw_outputs_discard();
    }
    return status;
}

void gw_outputs_keep(void) {
    for (size_t i = 0; i < program.output_count; i++) {
        if (program.outputs[i].temporary == NULL) {
            (void)unlink(program.outputs[i].target);
        }
    }
    forget_outputs();
}

/* Takes `one` over, also on failure. */
static enum gw_status add_output(struct output *one, struct gw_error *error) {
    for (size_t i = 0; i < program.output_count && one->temporary != NULL; i++) {
        if (program.outputs[i].temporary != NULL &&
            strcmp(program.outputs[i].target, one->target) == 0) {
            enum gw_status status = gw_fail(
                error, GW_BAD_INPUT, "%s: expected a file of its own for each output", one->target);
            free_output(one);
            return status;
        }
    }
    struct output *larger = gw_grow(program.outputs, program.output_count + 1,
                                    &program.output_capacity, sizeof *larger);
    if (larger == NULL) {
        free_output(one);
        return gw_fail_memory(error, "writing a file");
    }
    program.outputs = larger;
    larger[program.output_count++] = *one;
    return GW_OK;
}

enum gw_status gw_outputs_take(char *temporary, char *target, struct gw_error *error) {
    struct output one = {.temporary = temporary, .target = target};
    if (program.holds) {
        return add_output(&one, error);
    }
    enum gw_status status = put_in_place(&one, error);
    if (status != GW_OK) {
        take_back(&one);
    }
    free_output(&one);
    return status;
}

void gw_outputs_remove(const char *path) {
    struct output one = {.target = program.holds ? strdup(path) : NULL};
    if (one.target == NULL) {
        (void)unlink(path);
    } else {
        (void)add_output(&one, NULL);
    }
}
