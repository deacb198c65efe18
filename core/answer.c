#include "core/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/file.h"
#include "core/outputs.h"
#include "core/terminal.h"
#include "core/text.h"

static struct gw_text held;
static FILE *real_stdout;

bool gw_answer_begin(void) {
    /* Make writes to a closed stdout fail as before. */
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) {
            (void)open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
    gw_outputs_hold();
    FILE *stream = gw_text_open(&held);
    if (stream == NULL) {
        (void)fprintf(stderr, "gradweave: out of memory\n");
        return false;
    }
    real_stdout = stdout;
    stdout = stream;
    return true;
}

static bool stands;

void gw_answer_stand(void) {
    stands = true;
}

bool gw_answer_is_held(void) {
    return held.stream != NULL;
}

static enum gw_status take_text(struct gw_error *error) {
    const char *lost = gw_print_failure();
    enum gw_status status = gw_text_close(&held, "printing an answer", error);
    stdout = real_stdout;
    return lost == NULL ? status : gw_fail(error, GW_FAILED, "%s", lost);
}

static enum gw_status put_text(struct gw_error *error) {
    return gw_write_all(STDOUT_FILENO, held.text, held.length) == 0
               ? GW_OK
               : gw_fail(error, GW_FAILED, "stdout: cannot be written");
}

static struct {
    size_t count;
    const char *paths[4];
} kept;

void gw_answer_keep(const char *path) {
    if (path != NULL && kept.count < sizeof kept.paths / sizeof *kept.paths) {
        kept.paths[kept.count++] = path;
    }
}

/* Adds the names of files that stay to the message of a failure at the very end. */
static void add_kept_files(const char *unfinished, struct gw_error *error) {
    for (size_t i = 0; i < kept.count; i++) {
        struct gw_error failure = *error;
        (void)gw_fail(error, failure.status, "%.400s; %.400s is written completely",
                      failure.message, kept.paths[i]);
    }
    struct gw_error failure = *error;
    if (unfinished != NULL) {
        (void)gw_fail(error, failure.status,
                      "%.400s; %.400s is kept, and --resume continues from it", failure.message,
                      unfinished);
    }
}

enum gw_status gw_answer_end(bool answered, struct gw_error *error) {
    answered = answered || stands;
    char *unfinished = gw_outputs_unfinished() == NULL ? NULL : strdup(gw_outputs_unfinished());
    enum gw_status status = take_text(error);
    if (answered && status == GW_OK) {
        status = gw_outputs_place(error);
    }
    if (answered && status == GW_OK) {
        status = put_text(error);
    }
    if (answered && status == GW_OK) {
        gw_outputs_keep();
    } else {
        gw_outputs_discard();
        add_kept_files(status == GW_OK ? NULL : unfinished, error);
    }
    free(unfinished);
    free(held.text);
    return answered ? status : GW_OK;
}

enum gw_status gw_answer_open(int *descriptor, struct gw_error *error) {
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
        return gw_fail(error, GW_FAILED, "stdout: cannot be written");
    }
    *descriptor = memfd_create("answer", MFD_CLOEXEC);
    return *descriptor >= 0
               ? GW_OK
               : gw_fail(error, GW_FAILED, "a file in memory: cannot be made: %s", strerror(errno));
}

enum gw_status gw_answer_print(int descriptor, struct gw_error *error) {
    char name[32];
    char *text = NULL;
    size_t length = 0;
    (void)snprintf(name, sizeof name, "/dev/fd/%d", descriptor);
    GW_TRY(gw_file_read(name, &text, &length, error));
    (void)fwrite(text, 1, length, stdout);
    free(text);
    return GW_OK;
}
