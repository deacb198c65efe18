#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plots/gnuplot.h"
#include "plots/plots.h"

/* Numbers the cell's name by the order in which names first appear. */
static size_t number_of(const struct gw_map_chart *chart, size_t cell) {
    size_t number = 0;
    for (size_t i = 0; i < cell; i++) {
        bool seen = chart->names[i] == NULL;
        for (size_t k = 0; k < i && !seen; k++) {
            seen = chart->names[k] != NULL && strcmp(chart->names[k], chart->names[i]) == 0;
        }
        if (chart->names[i] != NULL && strcmp(chart->names[i], chart->names[cell]) == 0) {
            return number;
        }
        number += !seen;
    }
    return number;
}

static size_t cells_of(const struct gw_map_chart *chart) {
    return chart->bandwidth_count * chart->density_count;
}

/* Finds the first cell whose name has the number; returns the count of cells if there is none. */
static size_t first_cell(const struct gw_map_chart *chart, size_t number) {
    size_t cell = 0;
    while (cell < cells_of(chart) &&
           (chart->names[cell] == NULL || number_of(chart, cell) != number)) {
        cell++;
    }
    return cell;
}

static void print_map_table(const void *subject, FILE *stream) {
    const struct gw_map_chart *chart = subject;
    (void)fprintf(stream, "#bandwidth,density,number,fastest,speedup\n");
    for (size_t i = 0; i < cells_of(chart); i++) {
        if (chart->names[i] != NULL) {
            (void)fprintf(stream, "%.9g,%.9g,%zu,%s,%.9g\n",
                          chart->bandwidths[i % chart->bandwidth_count],
                          chart->densities[i / chart->bandwidth_count], number_of(chart, i),
                          chart->names[i], chart->speedups[i]);
        }
    }
}

static void print_settings(const void *subject, FILE *stream) {
    const struct gw_map_chart *chart = subject;
    size_t count = 0;
    (void)fputs("names='", stream);
    for (size_t cell = first_cell(chart, 0); cell < cells_of(chart);
         cell = first_cell(chart, ++count)) {
        (void)fprintf(stream, "%s ", chart->names[cell]);
    }
    (void)fprintf(stream, "'; columns=%zu; rows=%zu", chart->bandwidth_count, chart->density_count);
}

enum gw_status gw_plot_map(const struct gw_map_chart *chart, const char *path,
                           const char *data_path, struct gw_error *error) {
    const struct gw_drawing drawing = {.script = "map.gp",
                                       .title = chart->title,
                                       .subject = chart,
                                       .print_table = print_map_table,
                                       .print_settings = print_settings};
    return gw_draw(&drawing, path, data_path, error);
}
