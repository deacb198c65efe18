#include "traces/margins.h"

#include <math.h>
#include <stdlib.h>

#include "core/regression.h"

/* Largest margin; one above it means as much as unknown. */
static const double largest = 1000;

/* ---- at a size ------------------------------------------------------------------------------- */

enum gw_status gw_raw_read(const cJSON *entry, struct gw_raw *out, struct gw_error *error) {
    static const char *const keys[] = {"bytes",         "median_s", "median_low_s",
                                       "median_high_s", "p5_s",     "p95_s"};
    const cJSON *item = NULL;
    const cJSON *fit = cJSON_GetObjectItemCaseSensitive(entry, "fit");
    out->held_out_error =
        cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(fit, "held_out_error"));
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(entry, "raw")) {
        double numbers[sizeof keys / sizeof *keys];
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            const cJSON *number = cJSON_GetObjectItemCaseSensitive(item, keys[i]);
            number = number != NULL || i > 0 ? number
                                             : cJSON_GetObjectItemCaseSensitive(item, "elements");
            numbers[i] = cJSON_GetNumberValue(number);
        }
        GW_GROW(out->sizes, out->count + 1, out->capacity, "reading measured sizes", error);
        out->sizes[out->count++] = (struct gw_raw_size){
            numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], 0};
    }
    return GW_OK;
}

/* Lists medians, each within its interval or alone; skips numbers that make no sense, and sizes
 * that do not ascend. */
static size_t list_medians(const struct gw_raw *raw, struct gw_raw_size *out) {
    size_t count = 0;
    for (size_t i = 0; i < raw->count; i++) {
        struct gw_raw_size one = raw->sizes[i];
        one.low_s = isnan(one.low_s) ? one.median_s : one.low_s;
        one.high_s = isnan(one.high_s) ? one.median_s : one.high_s;
        if (one.size > (count == 0 ? 0 : out[count - 1].size) && one.median_s > 0 &&
            one.low_s <= one.high_s) {
            out[count++] = one;
        }
    }
    return count;
}

/* Returns the curve's distance, relative, from the line between its neighbours; 0 at the ends. */
static double bend_at(const struct gw_raw_size *all, size_t count, size_t i,
                      const struct gw_curve *curve) {
    if (i == 0 || i + 1 >= count) {
        return 0;
    }
    double before = all[i - 1].size;
    double after = all[i + 1].size;
    double before_s = gw_curve_time(curve, before);
    double share = (all[i].size - before) / (after - before);
    double line_s = before_s + share * (gw_curve_time(curve, after) - before_s);
    return fabs(line_s / gw_curve_time(curve, all[i].size) - 1);
}

/* ---- beyond the last size -------------------------------------------------------------------- */

/* Computes the weights of the points' times in a least-squares line's value at `size`. */
static void weigh_line(const struct gw_margins *margins, double size,
                       double weights[GW_MAX_LAST_POINTS]) {
    double count = (double)margins->line_count;
    double mean = 0;
    double squares = 0;
    for (size_t i = 0; i < margins->line_count; i++) {
        mean += margins->line[i].size / count;
    }
    for (size_t i = 0; i < margins->line_count; i++) {
        squares += pow(margins->line[i].size - mean, 2);
    }
    for (size_t i = 0; i < margins->line_count; i++) {
        weights[i] = 1 / count + (size - mean) * (margins->line[i].size - mean) / squares;
    }
}

static double line_s(const struct gw_margins *margins, const double weights[GW_MAX_LAST_POINTS]) {
    double seconds = 0;
    for (size_t i = 0; i < margins->line_count; i++) {
        seconds += weights[i] * margins->line[i].time_s;
    }
    return seconds;
}

/* Returns the line's value; a falling line is taken to be level. */
static double continued_s(const struct gw_margins *margins,
                          const double weights[GW_MAX_LAST_POINTS]) {
    return fmax(line_s(margins, weights), margins->line[margins->line_count - 1].time_s);
}

/* Chooses the last medians; their distances from their line add to their errors. */
static void choose_line(const struct gw_curve *curve, double *off_s, struct gw_margins *margins) {
    const struct gw_curve_point *medians = margins->medians;
    size_t count = margins->count;
    bool ends = curve->point_count > 0 && count > 0 &&
                curve->points[curve->point_count - 1].size <= medians[count - 1].size;
    size_t last = ends ? 0 : gw_last_points(medians, count);
    margins->line_count = last > 0 ? last : count < 2 ? 0 : 2;
    margins->line = medians + count - margins->line_count;
    margins->line_off_s = off_s + count - margins->line_count;
    for (size_t i = 0; i < margins->line_count; i++) {
        const struct gw_curve_point *point = &margins->line[i];
        double weights[GW_MAX_LAST_POINTS];
        weigh_line(margins, point->size, weights);
        margins->line_off_s[i] =
            hypot(margins->line_off_s[i], point->time_s - line_s(margins, weights));
    }
}

/* ---- distance from measured sizes ------------------------------------------------------------ */

/* Returns the factor by which a curve may be off at r times the largest size. */
static double factor_above(const struct gw_margins *margins, double r) {
    static const double exponent = 0.02;
    double largest_size = margins->medians[margins->count - 1].size;
    double weights[GW_MAX_LAST_POINTS];
    if (gw_margins_largest_short(margins) > 0 || margins->line_count == 0) {
        return sqrt(r);
    }
    weigh_line(margins, r * largest_size, weights);
    double proportional_s = r * margins->line[margins->line_count - 1].time_s;
    double ratio = proportional_s / continued_s(margins, weights);
    return fmax(pow(r, exponent), fmin(sqrt(r), fmax(ratio, 1 / ratio)));
}

double gw_margins_largest_short(const struct gw_margins *margins) {
    if (margins->count == 0 || margins->first_s == 0) {
        return 0;
    }
    double largest_size = margins->medians[margins->count - 1].size;
    return largest_size < GW_MARGINS_FEWEST_LONG ? largest_size : 0;
}

double gw_margins_distance(const struct gw_margins *margins, double size) {
    if (margins->count == 0 || margins->first_s == 0 || !(size > 0)) {
        return 0;
    }
    double smallest = margins->medians[0].size;
    double largest_size = margins->medians[margins->count - 1].size;
    double factor = size > largest_size ? factor_above(margins, size / largest_size) : 1;
    if (size < smallest) {
        double r = smallest / size;
        double curve_s = margins->startup_s + (margins->first_s - margins->startup_s) / r;
        factor = curve_s > 0 ? fmax(fmin(sqrt(r), margins->first_s / curve_s), 1) : sqrt(r);
    }
    return fmin(factor - 1, largest);
}

/* ---- margins --------------------------------------------------------------------------------- */

static void find_measured_margins(const struct gw_curve *curve, const struct gw_raw_size *all,
                                  double *off_s, struct gw_margins *out) {
    out->startup_s = gw_curve_startup(curve);
    out->first_s = out->count > 0 ? gw_curve_time(curve, all[0].size) : 0;
    for (size_t i = 0; i < out->count; i++) {
        const struct gw_raw_size *one = &all[i];
        double half = (one->high_s - one->low_s) / (2 * one->median_s);
        double off = fabs(gw_curve_time(curve, one->size) / one->median_s - 1);
        double bend = bend_at(all, out->count, i, curve);
        double margin = fmin(hypot(half, 2 * fmax(off, bend / 4)), largest);
        out->relative[i] = hypot(out->elsewhere, margin);
        out->medians[i] = (struct gw_curve_point){.size = one->size, .time_s = one->median_s};
        off_s[i] = margin * one->median_s;
    }
    choose_line(curve, off_s, out);
}

enum gw_status gw_margins_read(const cJSON *entry, const struct gw_raw *raw,
                               const struct gw_curve *curve, double elsewhere,
                               struct gw_margins *out, struct gw_error *error) {
    const cJSON *stated = cJSON_GetObjectItemCaseSensitive(entry, "uncertainty");
    size_t most = raw->count + (size_t)cJSON_GetArraySize(stated);
    *out = (struct gw_margins){0};
    if (most == 0) {
        return GW_OK;
    }
    struct gw_raw_size *all = calloc(most, sizeof *all);
    out->medians = calloc(most, sizeof *out->medians + 2 * sizeof(double));
    if (all == NULL || out->medians == NULL) {
        free(all);
        gw_margins_free(out);
        return gw_fail_memory(error, "reading the margins of a curve");
    }
    out->relative = (double *)(out->medians + most);
    if (raw->count == 0) {
        const cJSON *pair = NULL;
        cJSON_ArrayForEach(pair, stated) {
            double size = cJSON_GetNumberValue(cJSON_GetArrayItem(pair, 0));
            double relative = cJSON_GetNumberValue(cJSON_GetArrayItem(pair, 1));
            if (size > 0 && relative >= 0) {
                out->medians[out->count].size = size;
                out->relative[out->count++] = fmin(relative, largest);
            }
        }
    } else {
        out->count = list_medians(raw, all);
        out->elsewhere = elsewhere;
        find_measured_margins(curve, all, out->relative + most, out);
    }
    free(all);
    return GW_OK;
}

void gw_margins_free(struct gw_margins *margins) {
    free(margins->medians);
    *margins = (struct gw_margins){0};
}

/* Returns the margin without gw_margins_distance. */
static double margin_around(const struct gw_margins *margins, double size) {
    size_t above = 0;
    while (above < margins->count && margins->medians[above].size < size) {
        above++;
    }
    if (above == margins->count && margins->line_count > 0) {
        double weights[GW_MAX_LAST_POINTS];
        double off_s = 0;
        weigh_line(margins, size, weights);
        for (size_t i = 0; i < margins->line_count; i++) {
            off_s += fabs(weights[i]) * margins->line_off_s[i];
        }
        return hypot(margins->elsewhere, off_s / continued_s(margins, weights));
    }
    if (above == margins->count) {
        return margins->relative[above - 1];
    }
    bool exact = above == 0 || margins->medians[above].size == size;
    return exact ? margins->relative[above]
                 : fmax(margins->relative[above - 1], margins->relative[above]);
}

double gw_margins_at(const struct gw_margins *margins, double size) {
    return margins->count == 0
               ? 0
               : fmin(hypot(margin_around(margins, size), gw_margins_distance(margins, size)),
                      largest);
}
