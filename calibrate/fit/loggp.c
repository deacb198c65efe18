#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#include "calibrate/fit/fit.h"

const char *const gw_loggp_names[GW_LOGGP_KINDS] = {"ping-pong", "flood", "send call",
                                                    "receive call"};

/* T(n) of calibrate/fit/fit.h. */
static double message_s(const struct gw_loggp *loggp, double bytes) {
    return 2 * loggp->overhead_s + bytes * loggp->overhead_s_per_byte +
           fmax(loggp->gap_s, bytes * loggp->gap_s_per_byte) + loggp->latency_s;
}

/* F(n) of calibrate/fit/fit.h. */
static double flood_message_s(const struct gw_loggp *loggp, double bytes) {
    double busy_s = loggp->overhead_s + bytes * loggp->overhead_s_per_byte;
    return fmax(busy_s, fmax(loggp->gap_s, bytes * loggp->gap_s_per_byte));
}

/* ---- the points of a kind ------------------------------------------------------------------ */

/* In ascending order of size. */
struct sorted_points {
    struct gw_curve_point *points;
    size_t count;
};

static int compare_sizes(const void *a, const void *b) {
    double left = ((const struct gw_curve_point *)a)->size;
    double right = ((const struct gw_curve_point *)b)->size;
    return (left > right) - (left < right);
}

/* Sorts the points into one series for each kind; `room` holds all of them. */
static enum gw_status sort_points(const struct gw_loggp_point *points, size_t count,
                                  struct gw_curve_point *room,
                                  struct sorted_points out[GW_LOGGP_KINDS],
                                  struct gw_error *error) {
    for (int kind = 0; kind < GW_LOGGP_KINDS; kind++) {
        out[kind] = (struct sorted_points){.points = room};
        for (size_t i = 0; i < count; i++) {
            const struct gw_loggp_point *point = &points[i];
            if ((int)point->kind != kind) {
                continue;
            }
            if (!(point->bytes > 0 && point->time_s > 0) || isinf(point->bytes) ||
                isinf(point->time_s)) {
                return gw_fail(error, GW_BAD_INPUT,
                               "LogGP: %s: expected bytes and seconds above 0, got %g and %g",
                               gw_loggp_names[kind], point->bytes, point->time_s);
            }
            room[out[kind].count++] = (struct gw_curve_point){point->bytes, point->time_s};
        }
        struct sorted_points *series = &out[kind];
        qsort(series->points, series->count, sizeof *series->points, compare_sizes);
        if (series->count == 0 ||
            (kind != GW_FLOOD &&
             series->points[0].size == series->points[series->count - 1].size)) {
            return gw_fail(
                error, GW_BAD_INPUT, "LogGP: %s: expected %s, got %zu points", gw_loggp_names[kind],
                kind == GW_FLOOD ? "one size or more" : "two sizes or more", series->count);
        }
        room += series->count;
    }
    return GW_OK;
}

static double median(double *values, size_t count) {
    gsl_sort(values, 1, count);
    return gsl_stats_median_from_sorted_data(values, 1, count);
}

/* ---- the fit ------------------------------------------------------------------------------- */

struct slope {
    double s_per_byte, weight;
};

static int compare_slopes(const void *a, const void *b) {
    double left = ((const struct slope *)a)->s_per_byte;
    double right = ((const struct slope *)b)->s_per_byte;
    return (left > right) - (left < right);
}

static double weighted_median(struct slope *slopes, size_t count) {
    double half = 0;
    size_t i = 0;
    qsort(slopes, count, sizeof *slopes, compare_slopes);
    for (size_t k = 0; k < count; k++) {
        half += slopes[k].weight / 2;
    }
    for (double below = slopes[0].weight; below < half && i + 1 < count;) {
        below += slopes[++i].weight;
    }
    return slopes[i].s_per_byte;
}

/*
 * The weighted median of the slopes between any two points; the longest messages come last. A
 * weight is the inverse of the error of the slope for equal relative errors of all times, where a
 * startup takes as long as `startup` bytes.
 */
static double median_slope(const struct gw_curve_point *points, size_t count, double startup,
                           struct slope *room) {
    size_t slopes = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            double bytes = points[k].size - points[i].size;
            if (bytes > 0) {
                room[slopes++] = (struct slope){
                    .s_per_byte = (points[k].time_s - points[i].time_s) / bytes,
                    .weight = bytes / (points[k].size + points[i].size + 2 * startup)};
            }
        }
    }
    return slopes == 0 ? points[0].time_s / points[0].size : fmax(0, weighted_median(room, slopes));
}

/*
 * The time of one more byte in long messages, those of at least a 64th of the largest: the median
 * of the slopes between any two of them (Theil and Sen), which a single size cannot change. A line
 * through all sizes would not do: buffers of libraries and switches make middling messages fast or
 * slow, and must not affect a byte of a long one.
 */
static enum gw_status long_slope(const struct sorted_points *series, double *out,
                                 struct gw_error *error) {
    const struct gw_curve_point *points = series->points;
    size_t first = 0;
    while (points[first].size < points[series->count - 1].size / 64) {
        first++;
    }
    size_t count = series->count - first;
    struct slope *room = calloc(count * count, sizeof *room);
    if (room == NULL) {
        return gw_fail_memory(error, "fitting LogGP parameters");
    }
    *out = median_slope(points + first, count, 0, room);
    if (*out > 0) {
        *out = median_slope(points + first, count, points[0].time_s / *out, room);
    }
    free(room);
    return GW_OK;
}

/* The median of short ping-pongs, minus the time that the parameters account for. */
static double remaining_latency(const struct sorted_points *series, size_t count,
                                const struct gw_loggp *loggp, double *room) {
    for (size_t i = 0; i < count; i++) {
        const struct gw_curve_point *point = &series->points[i];
        room[i] = point->time_s - message_s(loggp, point->size);
    }
    return fmax(0, median(room, count));
}

/*
 * Overheads are the times of the calls, but at most those of a flood's messages: a receiver that
 * finds several of them polls once for all. A ping-pong of short messages has two overheads and a
 * gap; the rest is latency.
 *
 * A byte of a long message takes O + G in a ping-pong and max(O, G) in a flood. O is the
 * difference, even if the sender's calls take more: there copying and sending overlap, which the
 * model does not have, and the link's rate must be right. If noise makes long messages as fast as
 * middling ones, a byte takes its time in a flood: no link is infinitely fast.
 */
static enum gw_status fit_parameters(const struct sorted_points series[GW_LOGGP_KINDS],
                                     double *room, struct gw_loggp *out, struct gw_error *error) {
    const struct sorted_points *ping_pong = &series[GW_PING_PONG];
    const struct sorted_points *sends = &series[GW_SEND_CALL];
    const struct sorted_points *receives = &series[GW_RECEIVE_CALL];
    struct gw_fit send;
    struct gw_fit receive;
    double byte_s = 0;
    GW_TRY(gw_fit_curve(GW_STRAIGHT, sends->points, sends->count, &send, error));
    GW_TRY(gw_fit_curve(GW_STRAIGHT, receives->points, receives->count, &receive, error));
    GW_TRY(long_slope(ping_pong, &byte_s, error));
    *out = (struct gw_loggp){0};
    const struct sorted_points *flood = &series[GW_FLOOD];
    double flood_byte_s = INFINITY; /* of long messages, at least a 16th of the largest */
    for (size_t i = 0; i < flood->count; i++) {
        const struct gw_curve_point *point = &flood->points[i];
        if (point->size >= flood->points[flood->count - 1].size / 16) {
            flood_byte_s = fmin(flood_byte_s, point->time_s / point->size);
        }
    }
    byte_s = byte_s > 0 ? byte_s : flood_byte_s;
    double hidden_s = fmax(0, byte_s - flood_byte_s);
    out->overhead_s_per_byte = fmin(send.curve.per_unit_s, fmin(hidden_s, byte_s / 2));
    size_t count = 1; /* short ping-pongs, whose bytes take less than a quarter of the shortest */
    while (count < ping_pong->count &&
           ping_pong->points[count].size * byte_s < ping_pong->points[0].time_s / 4) {
        count++;
    }
    double short_s = remaining_latency(ping_pong, count, out, room);
    double flood_s = INFINITY; /* shortest of the smaller half of sizes, where bytes cost nothing */
    for (size_t i = 0; i < (flood->count + 1) / 2; i++) {
        flood_s = fmin(flood_s, flood->points[i].time_s);
    }
    double calls_s = (send.curve.fixed_s + receive.curve.fixed_s) / 2;
    out->overhead_s = fmin(calls_s, fmin(flood_s, short_s / 2));
    out->gap_s = fmin(flood_s, short_s - 2 * out->overhead_s);
    out->gap_s_per_byte = byte_s - out->overhead_s_per_byte;
    out->latency_s = remaining_latency(ping_pong, count, out, room);
    return GW_OK;
}

static struct gw_loggp_error
judge_loggp(const struct sorted_points *series, const struct gw_loggp *loggp,
            double (*predict)(const struct gw_loggp *loggp, double bytes), double *room) {
    for (size_t i = 0; i < series->count; i++) {
        const struct gw_curve_point *point = &series->points[i];
        room[i] = fabs(predict(loggp, point->size) - point->time_s) / point->time_s;
    }
    gsl_sort(room, 1, series->count);
    return (struct gw_loggp_error){.median =
                                       gsl_stats_median_from_sorted_data(room, 1, series->count),
                                   .max = room[series->count - 1]};
}

enum gw_status gw_loggp_fit(const struct gw_loggp_point *points, size_t count,
                            struct gw_loggp_fit *out, struct gw_error *error) {
    struct sorted_points series[GW_LOGGP_KINDS];
    struct gw_arena arena = {0};
    struct gw_curve_point *sorted = gw_arena_zeros(&arena, count, sizeof *sorted);
    double *room = gw_arena_zeros(&arena, count, sizeof *room);
    *out = (struct gw_loggp_fit){0};
    enum gw_status status = sorted == NULL || room == NULL
                                ? gw_fail_memory(error, "fitting LogGP parameters")
                                : sort_points(points, count, sorted, series, error);
    if (status == GW_OK) {
        status = fit_parameters(series, room, &out->loggp, error);
    }
    if (status == GW_OK) {
        out->ping_pong = judge_loggp(&series[GW_PING_PONG], &out->loggp, message_s, room);
        out->flood = judge_loggp(&series[GW_FLOOD], &out->loggp, flood_message_s, room);
    }
    gw_arena_free(&arena);
    return status;
}
