/* Charts that several pictures share. Of each, `path` NULL draws none and `data_path` NULL keeps no
 * table; the table is written only once the picture is there. */
#ifndef GW_REPORT_CHARTS_H
#define GW_REPORT_CHARTS_H

#include "core/core.h"
#include "study/axes.h"
#include "study/plans.h"
#include "traces/traces.h"

/* Formats "resnet50 on box-4x1gbit, 4 workers, density 0.001: predicted", without the number that
 * is an axis with `values` (or NULL), and without a density of 0. Returns `out`. */
enum { GW_TITLE_SIZE = 384 };
const char *gw_picture_title(const struct gw_scenario *scenario,
                             const struct gw_axis_values *values, const char *what,
                             char out[GW_TITLE_SIZE]);

/* One stacked bar. Bars of one label stand side by side: a prediction and its measurement. */
struct gw_bar {
    const char *label;
    bool measured;
    struct gw_breakdown breakdown;
};

/* Draws iteration times, stacked as forward, backward, compression, exposed communication, rest. */
enum gw_status gw_chart_bars(const struct gw_bar *bars, size_t count, const char *title,
                             const char *path, const char *data_path, struct gw_error *error);

/* Draws both streams of an explained iteration, with its end and `bound_s`, that of all plans; 0:
 * unknown. */
enum gw_status gw_chart_streams(const struct gw_explanation *explanation, double bound_s,
                                const char *title, const char *path, const char *data_path,
                                struct gw_error *error);

/* A named value with its interval. */
struct gw_named_point {
    char name[96];
    double x, low, high; /* low and high: x's interval; NAN: unknown */
    bool marked;
};

/* Draws a row for each point, from the top. */
enum gw_status gw_chart_points(const struct gw_named_point *points, size_t count, const char *title,
                               const char *axis, const char *path, const char *data_path,
                               struct gw_error *error);

/* One line: a height at each value. Lines of one colour belong together, as those of one policy do.
 */
struct gw_line {
    const char *label;
    size_t colour; /* 0, 1, ...: the first is drawn broadly, below the others */
    bool dashed;
    const double *heights;
};

struct gw_line_chart {
    const char *title;
    const char *axis;        /* what the values are */
    const char *height_axis; /* meaning of the heights, and their unit .. */
    double unit;          /* .. as a multiple of the heights: 0.001 for milliseconds of seconds */
    size_t value_count;   /* at least 1 */
    const double *values; /* above 0, ascending */
    size_t line_count;
    const struct gw_line *lines;
};

/* Draws each line's heights over the values; axes are logarithmic where that spreads the points
 * better. */
enum gw_status gw_chart_lines(const struct gw_line_chart *chart, const char *path,
                              const char *data_path, struct gw_error *error);

#endif
