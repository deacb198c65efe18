/* Pictures through gnuplot, whose scripts read tables of comma-separated values. */
#ifndef GW_PLOTS_PLOTS_H
#define GW_PLOTS_PLOTS_H

#include "core/core.h"
#include "traces/traces.h"

/* One stacked bar. Bars of one label stand side by side: a prediction and its measurement. */
struct gw_bar {
    const char *label;
    bool measured;
    struct gw_breakdown breakdown;
};

/* Whether a path ends in .png, .svg or .pdf. */
bool gw_plot_is_picture(const char *path);

/* Refuses a path with any other ending. */
enum gw_status gw_plot_check(const char *path, struct gw_error *error);

/*
 * Iteration times, stacked as forward, backward, compression, exposed communication and the rest.
 * `data_path` (or NULL) keeps the table; it is written only once the picture is there.
 */
enum gw_status gw_plot_breakdown(const struct gw_bar *bars, size_t count, const char *title,
                                 const char *path, const char *data_path, struct gw_error *error);

/*
 * An iteration from time 0, as the first lane of the timeline has it: the spans of its compute and
 * its communication stream for each group, with the iteration's end and the bound of all plans.
 */
enum gw_status gw_plot_streams(const struct gw_timeline *timeline, double bound_s,
                               const char *title, const char *path, const char *data_path,
                               struct gw_error *error);

/* A map of the fastest pipeline over bandwidths and densities. */
struct gw_map_chart {
    const char *title;
    size_t bandwidth_count, density_count;
    const double *bandwidths, *densities; /* factors of a cluster's; both ascending */
    const char *const *names;             /* [density][bandwidth], of the fastest; NULL: none */
    const double *speedups; /* [density][bandwidth], over the fastest without compression */
};
enum gw_status gw_plot_map(const struct gw_map_chart *chart, const char *path,
                           const char *data_path, struct gw_error *error);

/* A network's tensors in the order in which they are ready, by the groups in which they travel. */
struct gw_tensors_chart {
    const char *title;
    const struct gw_model *model;
    const struct gw_plan *plan;
};
enum gw_status gw_plot_tensors(const struct gw_tensors_chart *chart, const char *path,
                               const char *data_path, struct gw_error *error);

/* A named value with its interval. */
struct gw_named_point {
    const char *name;
    double x, low, high; /* low and high: x's interval; NAN: unknown */
    bool marked;
};
struct gw_point_chart {
    const char *title, *axis;
    size_t count;
    const struct gw_named_point *points; /* a row for each, from the top */
};
enum gw_status gw_plot_points(const struct gw_point_chart *chart, const char *path,
                              const char *data_path, struct gw_error *error);

/* An operation as predicted [0] and as measured [1], within an iteration. */
struct gw_aligned {
    enum gw_stream stream;
    enum gw_activity activity;
    uint32_t group; /* GW_NO_GROUP: serves none */
    size_t rank;    /* place by contribution to the difference, from 1; 0: not numbered */
    double start_s[2], end_s[2];
    bool on_path[2]; /* each side's critical path */
};

struct gw_difference_chart {
    const char *title;
    double iteration_s[2];
    size_t count;
    const struct gw_aligned *operations;
};

/*
 * Draws the predicted and the measured timeline of an iteration one below the other, and connects
 * the numbered operations of both. `data_path` (or NULL) keeps the table; it is written only once
 * the picture is there.
 */
enum gw_status gw_plot_difference(const struct gw_difference_chart *chart, const char *path,
                                  const char *data_path, struct gw_error *error);

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

/*
 * Draws each line's heights over the swept values; axes are logarithmic where that spreads the
 * points better. `data_path` (or NULL) keeps the table; it is written only once the picture is
 * there.
 */
enum gw_status gw_plot_lines(const struct gw_line_chart *chart, const char *path,
                             const char *data_path, struct gw_error *error);

/* A value at which another pipeline becomes the fastest; `before` and `after` index names. */
struct gw_crossover {
    double at;
    size_t before, after;
};

struct gw_crossover_chart {
    const char *title;
    const char *axis;       /* meaning of the values, and their unit .. */
    double unit;            /* .. as a multiple of the values: 1e9 for Gb/s of bits per second */
    const char *value_name; /* heading of the values' column */
    size_t value_count;     /* at least 1 */
    const double *values;   /* above 0, ascending */
    size_t name_count;
    const char *const *names; /* of the pipelines */
    const double *times_s;    /* [value][name]; NAN: not predicted */
    const size_t *fastest;    /* [value]; name_count or more: none */
    size_t crossover_count;
    const struct gw_crossover *crossovers; /* ascending */
};

/*
 * Draws each pipeline's iteration time as a line, broad for those that are the fastest anywhere,
 * and marks the crossovers. `data_path` (or NULL) keeps the table; it is written only once the
 * picture is there. If `path` is NULL, no picture is drawn.
 */
enum gw_status gw_plot_crossovers(const struct gw_crossover_chart *chart, const char *path,
                                  const char *data_path, struct gw_error *error);

/*
 * Draws a cluster's curves, times over sizes on logarithmic axes: a panel for each collective, with
 * a colour per number of workers, and one for each compressor. If the file has measurements
 * ("raw"), their medians are marked, with bars from the 5th to the 95th percentile. Refuses a
 * cluster without curves. `data_path` (or NULL) keeps the table; it is written only once the
 * picture is there.
 */
enum gw_status gw_plot_calibration(const struct gw_cluster *cluster, const char *path,
                                   const char *data_path, struct gw_error *error);

#endif
