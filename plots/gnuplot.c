#include "plots/gnuplot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plots/plots.h"

/* ---- names of pictures --------------------------------------------------------------------- */

static const char *ending(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot == NULL ? "" : dot + 1;
}

bool gw_plot_is_picture(const char *path) {
    const char *kind = ending(path);
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

struct table {
    char *text;
    size_t length;
};

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

/* `name='value'; ` for gnuplot's -e. */
static void put_text(FILE *stream, const char *name, const char *value) {
    (void)fprintf(stream, "%s=", name);
    gw_draw_quoted(stream, value);
    (void)fputs("; ", stream);
}

/* Our stdout belongs to results: what gnuplot has to say goes to stderr. */
static enum gw_status run_gnuplot(char *settings, char *script, struct gw_error *error) {
    char *const command[] = {(char *)"gnuplot", (char *)"-e", settings, script, NULL};
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        execvp(command[0], command);
        _exit(127);
    }
    int wait_status = 0;
    while (child > 0 && waitpid(child, &wait_status, 0) < 0 && errno == EINTR) {
    }
    if (child < 0 || (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 127)) {
        return gw_fail(error, GW_FAILED, "gnuplot: cannot be started: expected it in PATH");
    }
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0) {
        return gw_fail(error, GW_FAILED, "gnuplot: failed on %s", script);
    }
    return GW_OK;
}

static enum gw_status draw_data(const struct gw_drawing *drawing, char *script, const char *data,
                                const char *kind, const char *picture, struct gw_error *error) {
    char *settings = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&settings, &length);
    if (stream == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    put_text(stream, "data", data);
    put_text(stream, "output", picture);
    put_text(stream, "kind", kind);
    put_text(stream, "heading", drawing->title);
    drawing->print_settings(drawing->subject, stream);
    bool complete = fclose(stream) == 0;
    enum gw_status status =
        complete ? run_gnuplot(settings, script, error) : gw_fail_memory(error, "plotting");
    free(settings);
    return status;
}

/* The table goes through a file that has no name: nothing of it can be left behind. */
static enum gw_status draw_table(const struct gw_drawing *drawing, const struct table *table,
                                 char *script, const char *kind, const char *picture,
                                 struct gw_error *error) {
    FILE *stream = tmpfile();
    if (stream == NULL || fwrite(table->text, 1, table->length, stream) != table->length ||
        fflush(stream) != 0) {
        enum gw_status status =
            gw_fail(error, GW_FAILED, "a temporary file: cannot be written: %s", strerror(errno));
        if (stream != NULL) {
            (void)fclose(stream);
        }
        return status;
    }
    char data[32];
    snprintf(data, sizeof data, "/dev/fd/%d", fileno(stream));
    enum gw_status status = draw_data(drawing, script, data, kind, picture, error);
    (void)fclose(stream);
    return status;
}

static enum gw_status draw_picture(const struct gw_drawing *drawing, const struct table *table,
                                   const char *path, struct gw_error *error) {
    char *folder = NULL;
    GW_TRY(gw_data_folder(GW_DATA_PLOTS, &folder, error));
    char script[4096];
    snprintf(script, sizeof script, "%s/%s", folder, drawing->script);
    free(folder);
    char *picture = NULL;
    GW_TRY(gw_file_temporary(path, &picture, error));
    enum gw_status status = draw_table(drawing, table, script, ending(path), picture, error);
    if (status == GW_OK) {
        status = gw_file_replace(picture, path, error);
    } else {
        gw_file_discard(picture);
    }
    free(picture);
    return status;
}

/* The table's text is the caller's to free. */
static enum gw_status print_table(const struct gw_drawing *drawing, struct table *out,
                                  struct gw_error *error) {
    FILE *stream = open_memstream(&out->text, &out->length);
    if (stream == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    drawing->print_table(drawing->subject, stream);
    if (fclose(stream) != 0) {
        free(out->text);
        return gw_fail_memory(error, "plotting");
    }
    return GW_OK;
}

enum gw_status gw_draw(const struct gw_drawing *drawing, const char *path, const char *data_path,
                       struct gw_error *error) {
    struct table table = {0};
    if (path != NULL) {
        GW_TRY(gw_plot_check(path, error));
    }
    GW_TRY(print_table(drawing, &table, error));
    enum gw_status status = path == NULL ? GW_OK : draw_picture(drawing, &table, path, error);
    if (status == GW_OK && data_path != NULL) {
        status = gw_file_write(data_path, table.text, table.length, error);
    }
    free(table.text);
    return status;
}
