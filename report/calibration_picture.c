/* Draws a cluster's curves and measured points, one panel per collective or compressor. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/gnuplot.h"
#include "report/pictures.h"
#include "study/scenario.h"

enum { MOST_COLOURS = 8, SAMPLES = 80, MOST_COLUMNS = 6 };

/* One curve with the points that it was fitted to. */
struct plotted_series {
    size_t panel, colour;
    const char *name;
    size_t workers; /* 0: a compressor's */
    const struct gw_curve *curve;
    const struct gw_raw *raw;
    const cJSON *kept;
};

/* Panels of one kind share their axes. */
struct section {
    size_t panels;
    double size_low, size_high, time_low, time_high;
};

struct chart {
    const struct gw_cluster *cluster;
    size_t series_count, worker_count;
    struct plotted_series *series; /* by panel; collectives first */
    size_t workers[MOST_COLOURS];
    bool shared; /* whether several numbers of workers have the last colour */
    struct section collectives, compressors;
};

/* ---- points and ranges --------------------------------------------------------------------- */

static double number_at(const cJSON *object, const char *key) {
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static bool is_drawable(double value) {
    return isfinite(value) && value > 0;
}

struct plotted_point {
    double size, time_s, low_s, high_s;
};

/* Makes a measured point; false if its size or time is not above 0 (the axes are logarithmic). */
static bool make_point(const struct gw_raw_size *raw, struct plotted_point *out) {
    *out = (struct plotted_point){
        .size = raw->size,
        .time_s = raw->median_s,
        .low_s = is_drawable(raw->p5_s) ? fmin(raw->p5_s, raw->median_s) : raw->median_s,
        .high_s = is_drawable(raw->p95_s) ? fmax(raw->p95_s, raw->median_s) : raw->median_s};
    return is_drawable(out->size) && is_drawable(out->time_s);
}

/* Finds the range of measured sizes; without measurements, the range that calibrate measures. */
static void find_sizes(const struct plotted_series *series, double *low, double *high) {
    struct plotted_point point;
    *low = INFINITY;
    *high = 0;
    for (size_t i = 0; i < series->raw->count; i++) {
        if (make_point(&series->raw->sizes[i], &point)) {
            *low = fmin(*low, point.size);
            *high = fmax(*high, point.size);
        }
    }
    if (*low >= *high) {
        *low = 1024;
        *high = 16 << 20;
    }
}

/* Calls `draw` for each sample of the curve (what: "curve") and each measured point ("point"). */
static void plot_series_points(const struct plotted_series *series,
                               void (*draw)(void *context, const struct plotted_series *series,
                                            const char *what, const struct plotted_point *point),
                               void *context) {
    double low = 0;
    double high = 0;
    struct plotted_point point;
    find_sizes(series, &low, &high);
    for (int i = 0; i < SAMPLES; i++) {
        double size = low * pow(high / low, (double)i / (SAMPLES - 1));
        double time_s = gw_curve_time(series->curve, size);
        point = (struct plotted_point){size, time_s, time_s, time_s};
        if (is_drawable(time_s)) {
            draw(context, series, "curve", &point);
        }
    }
    for (size_t i = 0; i < series->raw->count; i++) {
        if (make_point(&series->raw->sizes[i], &point)) {
            draw(context, series, "point", &point);
        }
    }
}

static void measure_section(void *context, const struct plotted_series *series, const char *what,
                            const struct plotted_point *point) {
    struct chart *chart = context;
    (void)what;
    struct section *section = series->workers > 0 ? &chart->collectives : &chart->compressors;
    section->size_low = fmin(section->size_low, point->size);
    section->size_high = fmax(section->size_high, point->size);
    section->time_low = fmin(section->time_low, point->low_s);
    section->time_high = fmax(section->time_high, point->high_s);
}

/* ---- panels -------------------------------------------------------------------------------- */

/* Adds one panel per collective name, in the order in which names first appear in the file. */
static void add_collectives(struct chart *chart) {
    const struct gw_cluster *cluster = chart->cluster;
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const char *name = cluster->collectives[i].name;
        bool seen = false;
        for (size_t j = 0; j < i; j++) {
            seen = seen || strcmp(cluster->collectives[j].name, name) == 0;
        }
        for (size_t j = i; j < cluster->collective_count && !seen; j++) {
            const struct gw_collective_cost *cost = &cluster->collectives[j];
            if (strcmp(cost->name, name) == 0) {
                chart->series[chart->series_count++] =
                    (struct plotted_series){.panel = chart->collectives.panels,
                                            .name = name,
                                            .workers = cost->workers,
                                            .curve = &cost->curve,
                                            .raw = &cost->raw,
                                            .kept = cost->kept};
            }
        }
        chart->collectives.panels += !seen;
    }
}

/* Gives each number of workers, ascending, a colour; surplus numbers share the last colour. */
static void choose_colours(struct chart *chart) {
    size_t previous = 0;
    for (;;) {
        size_t next = SIZE_MAX;
        for (size_t i = 0; i < chart->series_count; i++) {
            size_t workers = chart->series[i].workers;
            next = workers > previous && workers < next ? workers : next;
        }
        if (next == SIZE_MAX) {
            return;
        }
        chart->shared = chart->worker_count == MOST_COLOURS;
        size_t colour = chart->shared ? MOST_COLOURS - 1 : chart->worker_count++;
        chart->workers[colour] = chart->shared ? chart->workers[colour] : next;
        for (size_t i = 0; i < chart->series_count; i++) {
            if (chart->series[i].workers == next) {
                chart->series[i].colour = colour;
            }
        }
        previous = next;
    }
}

static enum gw_status open_chart(const struct gw_cluster *cluster, struct chart *out,
                                 struct gw_error *error) {
    const struct section empty = {.size_low = INFINITY, .time_low = INFINITY};
    size_t count = cluster->collective_count + cluster->compressors.count;
    *out = (struct chart){.cluster = cluster,
                          .series = calloc(count + 1, sizeof *out->series),
                          .collectives = empty,
                          .compressors = empty};
    if (out->series == NULL) {
        return gw_fail_memory(error, "plotting");
    }
    add_collectives(out);
    for (size_t i = 0; i < cluster->compressors.count; i++) {
        const struct gw_kernel_cost *cost = &cluster->compressors.list[i];
        out->series[out->series_count++] =
            (struct plotted_series){.panel = out->collectives.panels + out->compressors.panels++,
                                    .name = cost->name,
                                    .curve = &cost->curve,
                                    .raw = &cost->raw,
                                    .kept = cost->kept};
    }
    choose_colours(out);
    for (size_t i = 0; i < out->series_count; i++) {
        plot_series_points(&out->series[i], measure_section, out);
    }
    return GW_OK;
}

/* ---- gnuplot's table and settings ---------------------------------------------------------- */

static void put_point(void *context, const struct plotted_series *series, const char *what,
                      const struct plotted_point *point) {
    FILE *stream = context;
    (void)fprintf(stream, "%zu,%zu,", series->panel, series->colour);
    gw_csv_text(stream, series->name);
    (void)fprintf(stream, ",%zu,%s,%.9g,%.9g,%.9g,%.9g\n", series->workers, what, point->size,
                  point->time_s, point->low_s, point->high_s);
}

/* Prints the kinds of curves chosen and the largest held-out error: "straight, 1.3%". */
static void put_choice(const struct chart *chart, size_t panel, FILE *stream) {
    char kinds[96] = "";
    char text[160];
    double worst = -1;
    for (size_t i = 0; i < chart->series_count; i++) {
        const cJSON *fit = cJSON_GetObjectItemCaseSensitive(chart->series[i].kept, "fit");
        const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(fit, "chosen"));
        double off = number_at(fit, "held_out_error");
        if (chart->series[i].panel != panel || kind == NULL) {
            continue;
        }
        size_t used = strlen(kinds);
        if (strstr(kinds, kind) == NULL) {
            (void)snprintf(kinds + used, sizeof kinds - used, "%s%s", used == 0 ? "" : " / ", kind);
        }
        worst = isfinite(off) ? fmax(worst, off) : worst;
    }
    if (worst >= 0) {
        (void)snprintf(text, sizeof text, "%s, %.1f%%", kinds, 100 * worst);
    }
    gw_draw_quoted(stream, worst >= 0 ? text : kinds);
}

/* Chooses a number of columns that makes the grid of panels slightly wider than high. */
static size_t choose_columns(const struct chart *chart) {
    size_t first = chart->collectives.panels;
    size_t second = chart->compressors.panels;
    size_t columns = (size_t)ceil(sqrt(1.2 * (double)(first + second)));
    size_t widest = first > second ? first : second;
    columns = columns < widest ? columns : widest;
    return columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
}

static void put_settings(const struct chart *chart, FILE *stream) {
    size_t panels = chart->collectives.panels + chart->compressors.panels;
    const struct section *sections[] = {&chart->collectives, &chart->compressors};
    (void)fprintf(stream, "columns=%zu; array sections[2] = [%zu, %zu]; ", choose_columns(chart),
                  chart->collectives.panels, chart->compressors.panels);
    (void)fprintf(stream, "array ranges[8] = [");
    for (int s = 0; s < 2; s++) {
        const struct section *section = sections[s];
        bool any = section->size_high > 0; /* otherwise nothing can be drawn */
        (void)fprintf(stream, "%s%.6e, %.6e, %.6e, %.6e", s == 0 ? "" : ", ",
                      any ? section->size_low : 1, any ? section->size_high : 2,
                      any ? section->time_low : 1, any ? section->time_high : 2);
    }
    (void)fprintf(stream, "]; array names[%zu] = [", panels);
    for (size_t p = 0; p < panels; p++) {
        (void)fputs(p == 0 ? "" : ", ", stream);
        size_t first = 0;
        while (chart->series[first].panel != p) {
            first++;
        }
        gw_draw_quoted(stream, chart->series[first].name);
    }
    (void)fprintf(stream, "]; array choices[%zu] = [", panels);
    for (size_t p = 0; p < panels; p++) {
        (void)fputs(p == 0 ? "" : ", ", stream);
        put_choice(chart, p, stream);
    }
    (void)fprintf(stream, "]; workers='");
    for (size_t w = 0; w < chart->worker_count; w++) {
        bool more = chart->shared && w + 1 == chart->worker_count;
        (void)fprintf(stream, "%s%zu%s", w == 0 ? "" : " ", chart->workers[w], more ? "+" : "");
    }
    (void)fputc('\'', stream);
}

static enum gw_status draw_curves(const struct gw_picture *picture,
                                  const struct gw_cluster *cluster, struct gw_error *error) {
    struct chart chart;
    struct gw_drawing drawing;
    if (cluster->collective_count + cluster->compressors.count == 0) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected a collective or a compressor, got none",
                       cluster->path == NULL ? cluster->name : cluster->path);
    }
    GW_TRY(open_chart(cluster, &chart, error));
    enum gw_status status = gw_drawing_open(&drawing, error);
    if (status == GW_OK) {
        (void)fputs("#panel,colour,name,workers,what,size,time_s,p5_s,p95_s\n", drawing.table);
        for (size_t i = 0; i < chart.series_count; i++) {
            (void)fputs(i == 0 ? "" : "\n", drawing.table); /* so that gnuplot joins no two */
            plot_series_points(&chart.series[i], put_point, drawing.table);
        }
        put_settings(&chart, drawing.settings);
        status = gw_drawing_finish(&drawing, "calibration.gp", cluster->name, picture->out,
                                   picture->data, error);
    }
    free(chart.series);
    return status;
}

enum gw_status gw_draw_calibration(const struct gw_picture *picture, struct gw_error *error) {
    struct gw_cluster cluster;
    GW_TRY(gw_cluster_open(picture->subject, &cluster, error));
    enum gw_status status = draw_curves(picture, &cluster, error);
    gw_cluster_free(&cluster);
    return status;
}
