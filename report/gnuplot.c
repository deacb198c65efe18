#include "report/gnuplot.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/pictures.h"
#include "traces/traces.h"

/* ---- names of pictures --------------------------------------------------------------------- */

static const char *path_ending(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot == NULL ? "" : dot + 1;
}

bool gw_plot_is_picture(const char *path) {
    const char *kind = path_ending(path);
    return strcmp(kind, "png") == 0 || strcmp(kind, "svg") == 0 || strcmp(kind, "pdf") == 0;
}

enum gw_status gw_plot_check(const char *path, struct gw_error *error) {
    return gw_plot_is_picture(path)
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: expected the name of a picture that ends in .png, .svg or .pdf",
                         path);
}

/* ---- gnuplot ------------------------------------------------------------------------------- */

void gw_draw_quoted(FILE *stream, const char *text) {
    (void)fputc('\'', stream);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'') {
            (void)fputc('\'', stream);
        }
        (void)fputc(*c, stream);
    }
    (void)fputc('\'', stream);
}

void gw_draw_setting(FILE *stream, const char *name, const char *value) {
    (void)fprintf(stream, "%s=", name);
    gw_draw_quoted(stream, value);
    (void)fputs("; ", stream);
}

/*
 * Runs gnuplot on inherited descriptors instead of the user's file names, because gnuplot takes
 * names that begin with '|' or '<' for commands. gnuplot's stdout goes to stderr, because our
 * stdout holds results; the user's settings (-d, GNUTERM) are switched off.
 */
static enum gw_status run_gnuplot(char *settings, char *script, int data, int picture,
                                  struct gw_error *error) {
    char *const command[] = {(char *)"gnuplot", (char *)"-d", (char *)"-e", settings, script, NULL};
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        (void)fcntl(data, F_SETFD, 0);
        (void)fcntl(picture, F_SETFD, 0);
        (void)unsetenv("GNUTERM");
        execvp(command[0], command);
        _exit(127);
    }
    int wait_status = 0;
    while (child > 0 && waitpid(child, &wait_status, 0) < 0 && errno == EINTR) {
    }
    if (child < 0 || (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 127)) {
        return gw_fail(
            error, GW_FAILED,
            "gnuplot: cannot be started: expected it in PATH (plot --data FILE.csv without --out "
            "needs none)");
    }
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0) {
        return gw_fail(error, GW_FAILED, "gnuplot: failed on %s", script);
    }
    return GW_OK;
}

/* Runs the script on the data, with the variables that all scripts have and the picture's own. */
static enum gw_status draw_data(const struct gw_drawing *drawing, char *script, const char *title,
                                const char *kind, int data, int picture, struct gw_error *error) {
    char names[2][32];
    struct gw_text settings;
    FILE *stream = gw_text_open(&settings);
    (void)snprintf(names[0], sizeof names[0], "/dev/fd/%d", data);
    (void)snprintf(names[1], sizeof names[1], "/dev/fd/%d", picture);
    if (stream != NULL) {
        gw_draw_setting(stream, "data", names[0]);
        gw_draw_setting(stream, "output", names[1]);
        gw_draw_setting(stream, "kind", kind);
        gw_draw_setting(stream, "heading", title);
        (void)fputs(drawing->texts[1].text, stream);
    }
    GW_TRY(gw_text_close(&settings, "plotting", error));
    enum gw_status status = run_gnuplot(settings.text, script, data, picture, error);
    free(settings.text);
    return status;
}

/* ---- pictures ------------------------------------------------------------------------------ */

/* First and last bytes of a complete picture; white space at the end is ignored. */
static const struct format {
    const char *kind, *start, *end;
    size_t start_length, end_length;
} formats[] = {
    {"png", "\x89PNG\r\n\x1a\n", "\0\0\0\0IEND\xae\x42\x60\x82", 8, 12},
    {"svg", "<", "</svg>", 1, 6},
    {"pdf", "%PDF-", "%%EOF", 5, 5},
};

/* Checks the picture itself, because gnuplot exits with 0 even when its writes fail. */
static bool is_whole(const char *kind, const char *text, size_t length) {
    const struct format *format = formats;
    while (strcmp(format->kind, kind) != 0) {
        format++;
    }
    bool is_text = strcmp(kind, "png") != 0;
    while (is_text && length > 0 && isspace((unsigned char)text[length - 1])) {
        length--;
    }
    return length >= format->start_length + format->end_length &&
           memcmp(text, format->start, format->start_length) == 0 &&
           memcmp(text + length - format->end_length, format->end, format->end_length) == 0;
}

/* Writes the descriptor's picture to `path` if it is complete. */
static enum gw_status keep_picture(int descriptor, const char *path, struct gw_error *error) {
    char name[32];
    char *text = NULL;
    size_t length = 0;
    (void)snprintf(name, sizeof name, "/dev/fd/%d", descriptor);
    GW_TRY(gw_file_read(name, &text, &length, error));
    enum gw_status status =
        is_whole(path_ending(path), text, length)
            ? gw_file_write(path, text, length, error)
            : gw_fail(error, GW_FAILED,
                      "%s: cannot be drawn: gnuplot left %zu bytes, not a whole picture", path,
                      length);
    free(text);
    return status;
}

/* Draws through memory files, so that a failure leaves no temporary file behind. */
static enum gw_status draw_picture(const struct gw_drawing *drawing, char *script,
                                   const char *title, const char *path, struct gw_error *error) {
    const struct gw_text *table = &drawing->texts[0];
    int data = memfd_create("table", MFD_CLOEXEC);
    int picture = memfd_create("picture", MFD_CLOEXEC);
    enum gw_status status =
        data >= 0 && picture >= 0 && gw_write_all(data, table->text, table->length) == 0
            ? GW_OK
            : gw_fail(error, GW_FAILED, "a file in memory: cannot be written: %s", strerror(errno));
    if (status == GW_OK) {
        status = draw_data(drawing, script, title, path_ending(path), data, picture, error);
    }
    if (status == GW_OK) {
        status = keep_picture(picture, path, error);
    }
    if (data >= 0) {
        (void)close(data);
    }
    if (picture >= 0) {
        (void)close(picture);
    }
    return status;
}

/* Finds the script of that name; *out is the caller's. */
static enum gw_status find_script(const char *name, char **out, struct gw_error *error) {
    char *folder = NULL;
    GW_TRY(gw_data_folder(GW_DATA_PLOTS, &folder, error));
    char *whole = realpath(folder, NULL); /* which begins with a slash, not with '<' */
    enum gw_status status =
        whole == NULL ? gw_fail(error, GW_FAILED, "%s: cannot be read: %s", folder, strerror(errno))
        : asprintf(out, "%s/%s", whole, name) < 0 ? gw_fail_memory(error, "plotting")
                                                  : GW_OK;
    free(whole);
    free(folder);
    return status;
}

enum gw_status gw_drawing_open(struct gw_drawing *out, struct gw_error *error) {
    out->table = gw_text_open(&out->texts[0]);
    out->settings = gw_text_open(&out->texts[1]);
    if (out->table != NULL && out->settings != NULL) {
        return GW_OK;
    }
    gw_drawing_drop(out);
    return gw_fail_memory(error, "plotting");
}

void gw_drawing_drop(struct gw_drawing *drawing) {
    for (size_t i = 0; i < 2; i++) {
        (void)gw_text_close(&drawing->texts[i], "plotting", NULL);
        free(drawing->texts[i].text);
    }
}

enum gw_status gw_drawing_finish(struct gw_drawing *drawing, const char *script, const char *title,
                                 const char *path, const char *data_path, struct gw_error *error) {
    const struct gw_text *table = &drawing->texts[0];
    char *found = NULL;
    enum gw_status status = gw_text_close(&drawing->texts[0], "plotting", error);
    enum gw_status closed =
        gw_text_close(&drawing->texts[1], "plotting", status == GW_OK ? error : NULL);
    status = status == GW_OK ? closed : status;
    if (status == GW_OK && path != NULL) {
        status = gw_plot_check(path, error);
        /* before gnuplot is started */
        status = status == GW_OK ? gw_file_check_target(path, NULL, error) : status;
        status = status == GW_OK ? find_script(script, &found, error) : status;
        status = status == GW_OK ? draw_picture(drawing, found, title, path, error) : status;
    }
    if (status == GW_OK && data_path != NULL) {
        status = gw_file_write(data_path, table->text, table->length, error);
    }
    free(found);
    free(drawing->texts[0].text);
    free(drawing->texts[1].text);
    return status;
}
