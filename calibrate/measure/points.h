/*
 * The points of a calibration - a subject at one size, on so many ranks - and what is known of
 * each; private to this room.
 */
#ifndef GW_CALIBRATE_POINTS_H
#define GW_CALIBRATE_POINTS_H

#include "calibrate/measure/measurement.h"

/* What becomes one curve. */
struct gw_series {
    struct gw_subject subject;
    int workers; /* the ranks 0 .. workers - 1 measure it */
};

/* What is to be measured, as it comes together. The caller frees the items. */
struct gw_series_list {
    struct gw_series *items;
    size_t count, capacity;
};
enum gw_status gw_series_list_add(struct gw_series_list *list, struct gw_series series,
                                  struct gw_error *error);

enum gw_point_state {
    GW_POINT_OPEN,
    GW_POINT_PRECISE,
    GW_POINT_CAPPED,      /* measured for as long as a point may be */
    GW_POINT_OUT_OF_TIME, /* the time for all of them is over */
    GW_POINT_OUT_OF_REPEATS,
    GW_POINT_LEFT_OUT, /* too large for the time there is */
};

struct gw_point {
    size_t series, size;
    enum gw_point_state state;
    double *seconds; /* [count], in the order in which they were measured */
    size_t count, capacity, late;
    size_t visits;  /* in which they were measured, each at another moment */
    double cost_s;  /* of a repeat, with everything around it; 0: not known */
    double usual_s; /* what a repeat takes, as far as is known */
    double spent_s; /* in its repeats */
    double error;   /* half the interval of the median over the median; INFINITY at first */
    bool warm;      /* this process has run it */
};

struct gw_points {
    struct gw_series *series; /* the caller's */
    size_t series_count;
    size_t count, capacity;
    struct gw_point *items; /* those of a series next to each other, sizes ascending */
};

/* When a point is known well enough, or given up. */
struct gw_stop_rule {
    double precision;
    double max_s_per_point;
    uint64_t seed; /* of the bootstrap */
};

enum {
    GW_FEWEST_REPEATS = 15,
    GW_FEWEST_LONG_REPEATS = 5, /* which take more than 5 ms each */
    GW_MOST_REPEATS = 2000,
    GW_FEWEST_VISITS = 5, /* what is measured at one moment knows nothing of drift */
    GW_FEWEST_SIZES = 5
};

/*
 * Each series at `per_factor_four` sizes to a factor of four, from its smallest to its largest:
 * multiples of 8, the smallest and a largest within the subject's among them.
 */
enum gw_status gw_points_open(struct gw_series *series, size_t series_count, size_t per_factor_four,
                              struct gw_points *out, struct gw_error *error);
/* Or one by one, series after series and size after size. */
enum gw_status gw_points_add(struct gw_points *points, size_t series, size_t size,
                             struct gw_error *error);
/* Also after a failure. */
void gw_points_free(struct gw_points *points);

/* The point of a series at a size, or NULL. */
struct gw_point *gw_points_find(const struct gw_points *points, const char *name, size_t workers,
                                size_t size);

/* Keeps the repeats and says whether there have to be more. */
enum gw_status gw_point_add(struct gw_point *point, const double *seconds, size_t count,
                            size_t late, const struct gw_stop_rule *rule, struct gw_error *error);

/* So many it takes to trust an interval of the median. */
size_t gw_point_fewest(const struct gw_point *point);

/*
 * What is known of a point that has repeats. What stopped it short of the precision: "max-time" of
 * its own, "time" for everything, or "repeats".
 */
enum gw_status gw_point_measurement(const struct gw_point *point, const struct gw_stop_rule *rule,
                                    struct gw_measurement *out, struct gw_error *error);

#endif
