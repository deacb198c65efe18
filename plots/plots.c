#include "plots/plots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *ending(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot == NULL ? "" : dot + 1;
}

enum gw_status gw_plot_check(const char *path, struct gw_error *error) {
    const char *kind = ending(path);
    if (strcmp(kind, "png") == 0 || strcmp(kind, "svg") == 0 || strcmp(kind, "pdf") == 0) {
        return GW_OK;
    }
    return gw_fail(error, GW_BAD_INPUT,
                   "%s: expected the name of a picture that ends in .png, .svg or .pdf", path);
}

/* ---- the table ----------------------------------------------------------------------------- */

static bool has_pairs(const struct gw_bar *bars, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (bars[i].measured) {
            return true;
        }
    }
    return false;
}

/* The table as text, the caller's to free. */
static enum gw_status print_table(const struct gw_bar *bars, size_t count, char **text,
                                  size_t *length, struct gw_error *error) {
    FILE *stream = open_memstream(text, length);
    if (stream == NULL) {
        return gw_fail_memory(error, "writing a table");
    }
    (void)fprintf(stream, "#position,label,kind,forward_s,backward_s,compress_s,exposed_comm_s,"
                          "other_s\n");
    bool pairs = has_pairs(bars, count);
    double label = -1;
    for (size_t i = 0; i < count; i++) {
        const struct gw_breakdown *parts = &bars[i].breakdown;
        bool next = i == 0 || strcmp(bars[i].label, bars[i - 1].label) != 0;
        label += next;
        double side = !pairs ? 0 : bars[i].measured ? 0.2 : -0.2;
        (void)fprintf(stream, "%.2f,%s,%s,%.9g,%.9g,%.9g,%.9g,%.9g\n", label + side, bars[i].label,
                      bars[i].measured ? "m"
                      : pairs          ? "p"
                                       : "",
                      parts->forward_s, parts->backward_s, parts->compress_s, parts->exposed_comm_s,
                      parts->other_s > 0 ? parts->other_s : 0);
    }
    if (fclose(stream) != 0) {
        free(*text);
        *text = NULL;
        return gw_fail_memory(error, "writing a table");
    }
    return GW_OK;
}

static size_t count_labels(const struct gw_bar *bars, size_t count) {
    size_t labels = 0;
    for (size_t i = 0; i < count; i++) {
        labels += i == 0 || strcmp(bars[i].label, bars[i - 1].label) != 0;
    }
    return labels;
}

/* ---- gnuplot ------------------------------------------------------------------------------- */

/* `name='value'` for gnuplot's -e, with quotes in the value doubled. */
static void put_text(FILE *stream, const char *name, const char *value) {
    (void)fprintf(stream, "%s='", name);
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '\'') {
            (void)fputc('\'', stream);
        }
        (void)fputc(*c, stream);
    }
    (void)fprintf(stream, "'; ");
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

/* Whatever gnuplot is asked to draw. */
struct drawing {
    const char *title;
    size_t labels;
    bool pairs;
    char *script;
};

static enum gw_status draw(const struct drawing *drawing, const char *data, const char *kind,
                           const char *picture, struct gw_error *error) {
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
    (void)fprintf(stream, "labels=%zu; pairs=%d", drawing->labels, drawing->pairs);
    bool complete = fclose(stream) == 0;
    enum gw_status status = complete ? run_gnuplot(settings, drawing->script, error)
                                     : gw_fail_memory(error, "plotting");
    free(settings);
    return status;
}

/* The table goes through a file that has no name: nothing of it can be left behind. */
static enum gw_status draw_table(const struct drawing *drawing, const char *text, size_t length,
                                 const char *kind, const char *picture, struct gw_error *error) {
    FILE *table = tmpfile();
    if (table == NULL || fwrite(text, 1, length, table) != length || fflush(table) != 0) {
        enum gw_status status =
            gw_fail(error, GW_FAILED, "a temporary file: cannot be written: %s", strerror(errno));
        if (table != NULL) {
            (void)fclose(table);
        }
        return status;
    }
    char data[32];
    snprintf(data, sizeof data, "/dev/fd/%d", fileno(table));
    enum gw_status status = draw(drawing, data, kind, picture, error);
    (void)fclose(table);
    return status;
}

static enum gw_status draw_file(const struct drawing *drawing, const char *text, size_t length,
                                const char *path, struct gw_error *error) {
    char *picture = NULL;
    GW_TRY(gw_file_temporary(path, &picture, error));
    enum gw_status status = draw_table(drawing, text, length, ending(path), picture, error);
    if (status == GW_OK) {
        status = gw_file_replace(picture, path, error);
    } else {
        gw_file_discard(picture);
    }
    free(picture);
    return status;
}

enum gw_status gw_plot_breakdown(const struct gw_bar *bars, size_t count, const char *title,
                                 const char *path, const char *data_path, struct gw_error *error) {
    GW_TRY(gw_plot_check(path, error));
    char *folder = NULL;
    GW_TRY(gw_data_folder(GW_DATA_PLOTS, &folder, error));
    char script[4096];
    snprintf(script, sizeof script, "%s/breakdown.gp", folder);
    free(folder);
    struct drawing drawing = {.title = title,
                              .labels = count_labels(bars, count),
                              .pairs = has_pairs(bars, count),
                              .script = script};
    char *text = NULL;
    size_t length = 0;
    GW_TRY(print_table(bars, count, &text, &length, error));
    enum gw_status status = draw_file(&drawing, text, length, path, error);
    if (status == GW_OK && data_path != NULL) {
        status = gw_file_write(data_path, text, length, error);
    }
    free(text);
    return status;
}
