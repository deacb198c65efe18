#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plots/gnuplot.h"
#include "plots/plots.h"

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

enum gw_status gw_plot_breakdown(const struct gw_bar *bars, size_t count, const char *title,
                                 const char *path, const char *data_path, struct gw_error *error) {
    char settings[64];
    snprintf(settings, sizeof settings, "labels=%zu; pairs=%d", count_labels(bars, count),
             has_pairs(bars, count));
    char *text = NULL;
    size_t length = 0;
    GW_TRY(print_table(bars, count, &text, &length, error));
    struct gw_drawing drawing = {.script = "breakdown.gp",
                                 .title = title,
                                 .settings = settings,
                                 .table = text,
                                 .length = length};
    enum gw_status status = gw_draw(&drawing, path, error);
    if (status == GW_OK && data_path != NULL) {
        status = gw_file_write(data_path, text, length, error);
    }
    free(text);
    return status;
}
