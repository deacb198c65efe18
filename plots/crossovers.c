/* Draws pipelines' iteration times over a swept value, and marks where the fastest changes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plots/gnuplot.h"
#include "plots/plots.h"

/* Largest number of values that fit below the axis as tics. */
enum { MOST_TICS = 12 };

struct chart {
    const struct gw_crossover_chart *given;
    size_t *order; /* [line_count]: the pipelines with a line, the one that ends highest first */
    size_t line_count;
};

/* ---- table --------------------------------------------------------------------------------- */

/* Prints the value, the fastest pipeline there, and a column for each pipeline. */
static void print_crossovers_table(const void *subject, FILE *stream) {
    const struct gw_crossover_chart *chart = ((const struct chart *)subject)->given;
    (void)fprintf(stream, "#%s,fastest", chart->value_name);
    for (size_t i = 0; i < chart->name_count; i++) {
        (void)fprintf(stream, ",%s", chart->names[i]);
    }
    (void)fputc('\n', stream);
    for (size_t v = 0; v < chart->value_count; v++) {
        size_t fastest = chart->fastest[v];
        (void)fprintf(stream, "%.9g,%s", chart->values[v],
                      fastest < chart->name_count ? chart->names[fastest] : "");
        for (size_t i = 0; i < chart->name_count; i++) {
            double time_s = chart->times_s[v * chart->name_count + i];
            (void)(isnan(time_s) ? fprintf(stream, ",NaN") : fprintf(stream, ",%.9g", time_s));
        }
        (void)fputc('\n', stream);
    }
}

/* ---- settings ------------------------------------------------------------------------------ */

static bool is_ever_fastest(const struct gw_crossover_chart *chart, size_t name) {
    bool fastest = false;
    for (size_t v = 0; v < chart->value_count; v++) {
        fastest = fastest || chart->fastest[v] == name;
    }
    for (size_t i = 0; i < chart->crossover_count; i++) {
        fastest = fastest || chart->crossovers[i].after == name;
    }
    return fastest;
}

static bool is_ever_predicted(const struct gw_crossover_chart *chart, size_t name) {
    for (size_t v = 0; v < chart->value_count; v++) {
        if (!isnan(chart->times_s[v * chart->name_count + name])) {
            return true;
        }
    }
    return false;
}

/* Returns the pipeline's time at the last value that has one; lines are ordered by it. */
static double last_time(const struct gw_crossover_chart *chart, size_t name) {
    double last_s = 0;
    for (size_t v = 0; v < chart->value_count; v++) {
        double time_s = chart->times_s[v * chart->name_count + name];
        last_s = isnan(time_s) ? last_s : time_s;
    }
    return last_s;
}

/* Lists the pipelines that have a line, the one that ends highest first. Returns their count. */
static size_t order_lines(const struct gw_crossover_chart *chart, size_t *order) {
    size_t count = 0;
    for (size_t i = 0; i < chart->name_count; i++) {
        if (is_ever_predicted(chart, i)) {
            size_t place = count++;
            for (; place > 0 && last_time(chart, i) > last_time(chart, order[place - 1]); place--) {
                order[place] = order[place - 1];
            }
            order[place] = i;
        }
    }
    return count;
}

/* Whether most neighbours are multiples of each other rather than sums. */
static bool has_logarithmic_values(const struct gw_crossover_chart *chart) {
    const double *values = chart->values;
    size_t last = chart->value_count - 1;
    double middle = values[chart->value_count / 2];
    return last > 1 && middle - values[0] < (values[last] - values[0]) / 3;
}

/*
 * Prints the range of times shown, in milliseconds. The top is cut at a multiple of the fastest
 * pipelines' largest time, so that their lines stay apart; the bottom leaves room for names at the
 * marks.
 */
static void print_heights(const struct gw_crossover_chart *chart, FILE *stream) {
    const double most_times_fastest = 5;
    const double widest_linear_range = 3;
    const double room_below = 0.5; /* in heights of the lines' range */
    double least_s = INFINITY;
    double most_s = 0;
    double fastest_s = 0;
    for (size_t i = 0; i < chart->value_count * chart->name_count; i++) {
        double time_s = chart->times_s[i];
        least_s = fmin(least_s, time_s);
        most_s = fmax(most_s, time_s);
        if (chart->fastest[i / chart->name_count] == i % chart->name_count) {
            fastest_s = fmax(fastest_s, time_s);
        }
    }
    double top_s = 1.05 * fmin(most_s, most_times_fastest * fastest_s);
    bool logarithmic = least_s > 0 && top_s > widest_linear_range * least_s;
    double bottom_s = logarithmic ? least_s * pow(least_s / top_s, room_below) : 0;
    (void)fprintf(stream, "logy=%d; bottom=%.6g; top=%.6g; ", logarithmic, 1000 * bottom_s,
                  top_s > 0 ? 1000 * top_s : 1);
}

static bool are_whole(const struct gw_crossover_chart *chart) {
    size_t v = 0;
    while (v < chart->value_count && floor(chart->values[v]) == chart->values[v]) {
        v++;
    }
    return chart->unit == 1 && v == chart->value_count;
}

/* Prints a tic for each value if they are few integers; otherwise gnuplot chooses tics. */
static void print_tics(const struct gw_crossover_chart *chart, FILE *stream) {
    bool each = chart->value_count <= MOST_TICS && are_whole(chart);
    (void)fputs("tics='", stream);
    for (size_t v = 0; each && v < chart->value_count; v++) {
        double value = chart->values[v] / chart->unit;
        (void)fprintf(stream, "%s\"%.4g\" %.9g", v == 0 ? "" : ", ", value, value);
    }
    (void)fputs("'; ", stream);
}

/* Prints lists with a word per line: its column, and whether it is the fastest anywhere. */
static void print_lines(const struct gw_crossover_chart *chart, const size_t *order, size_t count,
                        FILE *stream) {
    (void)fprintf(stream, "lines=%zu; array labels[%zu] = [", count, count);
    for (size_t l = 0; l < count; l++) {
        (void)fputs(l == 0 ? "" : ", ", stream);
        gw_draw_quoted(stream, chart->names[order[l]]);
    }
    (void)fputs("]; columns='", stream);
    for (size_t l = 0; l < count; l++) {
        (void)fprintf(stream, "%zu ", order[l]);
    }
    (void)fputs("'; broad='", stream);
    for (size_t l = 0; l < count; l++) {
        (void)fprintf(stream, "%d ", is_ever_fastest(chart, order[l]));
    }
    (void)fputs("'; ", stream);
}

/* Prints marks: the fastest at the first value, then at each crossover the next one. */
static void print_marks(const struct gw_crossover_chart *chart, FILE *stream) {
    size_t first = 0;
    while (first + 1 < chart->value_count && chart->fastest[first] >= chart->name_count) {
        first++;
    }
    size_t begins = chart->fastest[first];
    size_t count = begins < chart->name_count ? chart->crossover_count + 1 : 0;
    (void)fprintf(stream, "marks=%zu; places='", count);
    for (size_t i = 0; i < count; i++) {
        double at = i == 0 ? chart->values[first] : chart->crossovers[i - 1].at;
        (void)fprintf(stream, "%.9g ", at / chart->unit);
    }
    (void)fputs("'; holders='", stream);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(stream, "%zu ", i == 0 ? begins : chart->crossovers[i - 1].after);
    }
    (void)fputs("'; texts='", stream);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(stream, "%s ",
                      chart->names[i == 0 ? begins : chart->crossovers[i - 1].after]);
    }
    (void)fputc('\'', stream);
}

static void print_settings(const void *subject, FILE *stream) {
    const struct chart *chart = subject;
    const struct gw_crossover_chart *given = chart->given;
    print_tics(given, stream);
    (void)fputs("axis=", stream);
    gw_draw_quoted(stream, given->axis);
    (void)fprintf(stream, "; unit=%g; logx=%d; ", given->unit, has_logarithmic_values(given));
    print_heights(given, stream);
    print_lines(given, chart->order, chart->line_count, stream);
    print_marks(given, stream);
}

/* ---- picture ------------------------------------------------------------------------------- */

enum gw_status gw_plot_crossovers(const struct gw_crossover_chart *chart, const char *path,
                                  const char *data_path, struct gw_error *error) {
    struct chart ordered = {.given = chart,
                            .order = calloc(chart->name_count, sizeof *ordered.order)};
    if (ordered.order == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    ordered.line_count = order_lines(chart, ordered.order);
    const struct gw_drawing drawing = {.script = "crossovers.gp",
                                       .title = chart->title,
                                       .subject = &ordered,
                                       .print_table = print_crossovers_table,
                                       .print_settings = print_settings};
    enum gw_status status = gw_draw(&drawing, path, data_path, error);
    free(ordered.order);
    return status;
}
