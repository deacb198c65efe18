#include <stdio.h>
#include <string.h>

#include "plots/gnuplot.h"
#include "plots/plots.h"

struct bars {
    const struct gw_bar *items;
    size_t count;
};

static bool has_pairs(const struct bars *bars) {
    for (size_t i = 0; i < bars->count; i++) {
        if (bars->items[i].measured) {
            return true;
        }
    }
    return false;
}

/* Whether the bar begins a group of bars of the same label. */
static bool has_new_label(const struct bars *bars, size_t i) {
    return i == 0 || strcmp(bars->items[i].label, bars->items[i - 1].label) != 0;
}

static void print_breakdown_table(const void *subject, FILE *stream) {
    const struct bars *bars = subject;
    (void)fprintf(stream, "#position,label,kind,forward_s,backward_s,compress_s,exposed_comm_s,"
                          "other_s\n");
    bool pairs = has_pairs(bars);
    double label = -1;
    for (size_t i = 0; i < bars->count; i++) {
        const struct gw_bar *bar = &bars->items[i];
        const struct gw_breakdown *parts = &bar->breakdown;
        label += has_new_label(bars, i);
        double side = !pairs ? 0 : bar->measured ? 0.2 : -0.2;
        (void)fprintf(stream, "%.2f,%s,%s,%.9g,%.9g,%.9g,%.9g,%.9g\n", label + side, bar->label,
                      bar->measured ? "m"
                      : pairs       ? "p"
                                    : "",
                      parts->forward_s, parts->backward_s, parts->compress_s, parts->exposed_comm_s,
                      parts->other_s > 0 ? parts->other_s : 0);
    }
}

static void print_settings(const void *subject, FILE *stream) {
    const struct bars *bars = subject;
    size_t labels = 0;
    for (size_t i = 0; i < bars->count; i++) {
        labels += has_new_label(bars, i);
    }
    (void)fprintf(stream, "labels=%zu; pairs=%d", labels, has_pairs(bars));
}

enum gw_status gw_plot_breakdown(const struct gw_bar *bars, size_t count, const char *title,
                                 const char *path, const char *data_path, struct gw_error *error) {
    struct bars all = {.items = bars, .count = count};
    struct gw_drawing drawing = {.script = "breakdown.gp",
                                 .title = title,
                                 .subject = &all,
                                 .print_table = print_breakdown_table,
                                 .print_settings = print_settings};
    return gw_draw(&drawing, path, data_path, error);
}
