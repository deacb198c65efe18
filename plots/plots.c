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

static enum gw_status write_table(const struct gw_bar *bars, size_t count, const char *path,
                                  struct gw_error *error) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
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
    bool written = fclose(stream) == 0;
    enum gw_status status = written ? gw_file_write(path, text, length, error)
                                    : gw_fail_memory(error, "writing a table");
    free(text);
    return status;
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

static enum gw_status run_gnuplot(char *settings, char *script, struct gw_error *error) {
    char *const command[] = {(char *)"gnuplot", (char *)"-e", settings, script, NULL};
    pid_t child = fork();
    if (child == 0) {
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

static enum gw_status draw(const char *data, const char *title, size_t labels, bool pairs,
                           const char *picture, char *script, struct gw_error *error) {
    char *settings = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&settings, &length);
    if (stream == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    put_text(stream, "data", data);
    put_text(stream, "output", picture);
    put_text(stream, "kind", ending(picture));
    put_text(stream, "heading", title);
    (void)fprintf(stream, "labels=%zu; pairs=%d", labels, pairs);
    bool complete = fclose(stream) == 0;
    enum gw_status status =
        complete ? run_gnuplot(settings, script, error) : gw_fail_memory(error, "plotting");
    free(settings);
    return status;
}

enum gw_status gw_plot_breakdown(const struct gw_bar *bars, size_t count, const char *title,
                                 const char *path, const char *data_path, struct gw_error *error) {
    GW_TRY(gw_plot_check(path, error));
    char *folder = NULL;
    char *picture = NULL;
    char *table = NULL;
    char script[4096];
    enum gw_status status = gw_data_folder(GW_DATA_PLOTS, &folder, error);
    if (status == GW_OK) {
        snprintf(script, sizeof script, "%s/breakdown.gp", folder);
        status = gw_file_temporary(path, &picture, error);
    }
    if (status == GW_OK && asprintf(&table, "%s.csv", picture) < 0) {
        table = NULL;
        status = gw_fail_memory(error, "plotting");
    }
    if (status == GW_OK) {
        status = write_table(bars, count, table, error);
    }
    if (status == GW_OK) {
        status = draw(table, title, count_labels(bars, count), has_pairs(bars, count), picture,
                      script, error);
    }
    if (status == GW_OK && data_path != NULL) {
        status = write_table(bars, count, data_path, error);
    }
    if (status == GW_OK) {
        status = gw_file_replace(picture, path, error);
    }
    if (status != GW_OK && picture != NULL) {
        gw_file_discard(picture);
    }
    if (table != NULL) {
        gw_file_discard(table);
    }
    free(folder);
    free(picture);
    free(table);
    return status;
}
