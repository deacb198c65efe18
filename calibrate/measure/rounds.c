#include "calibrate/measure/rounds.h"

#include <math.h>
#include <stdlib.h>

#include "calibrate/measure/timing.h"

enum { FIRST_VISITS = GW_FEWEST_LONG_REPEATS };
static const double around_visit_s = 1e-3; /* agreeing before and after it */

/* ---- one visit ----------------------------------------------------------------------------- */

static size_t at_most(size_t count, size_t most) {
    return count < most ? count : most;
}

/*
 * An interval narrows with the root of the number of repeats, so that what is missing can be
 * foretold; no less than half a visit, as the foretelling is a guess.
 */
static size_t count_repeats(const struct gw_point *point, double visit_s, double precision) {
    double fitting = point->cost_s > 0 ? visit_s / point->cost_s : 1;
    size_t repeats = (size_t)fmin(fmax(fitting, 1), GW_LARGEST_BLOCK);
    if (point->count >= gw_point_fewest(point) && isfinite(point->error)) {
        double needed = (double)point->count * (pow(point->error / precision, 2) - 1);
        repeats = at_most(repeats, (size_t)fmax(needed, (double)(repeats + 1) / 2));
    }
    return at_most(repeats, GW_MOST_REPEATS - point->count);
}

/* ---- a round ------------------------------------------------------------------------------- */

/* Visits so far, up to FIRST_VISITS; then by how badly the median is known. */
struct candidate {
    struct gw_visit visit;
    size_t turns;
    double error, cost_s;
};

static int compare_urgency(const void *a, const void *b) {
    const struct candidate *left = a;
    const struct candidate *right = b;
    if (left->turns != right->turns) {
        return left->turns < right->turns ? -1 : 1;
    }
    return (left->error < right->error) - (left->error > right->error);
}

static struct candidate consider(const struct gw_points *points, size_t which, double visit_s,
                                 double precision) {
    const struct gw_point *point = &points->items[which];
    size_t repeats = count_repeats(point, visit_s, precision);
    return (struct candidate){.visit = {.point = which, .repeats = repeats},
                              .turns = at_most(point->visits, FIRST_VISITS),
                              .error = point->error,
                              .cost_s = (double)repeats * point->cost_s + around_visit_s};
}

static void take_fitting(struct candidate *candidates, size_t candidate_count, double left_s,
                         const struct gw_points *points, struct gw_visit *out, size_t *count) {
    for (size_t i = 0; i < candidate_count; i++) {
        struct candidate *candidate = &candidates[i];
        bool fits = candidate->cost_s <= left_s;
        if (!fits && points->items[candidate->visit.point].count == 0) {
            candidate->visit.repeats = 1;
            fits = true;
        }
        if (fits) {
            left_s -= candidate->cost_s;
            out[(*count)++] = candidate->visit;
        }
    }
}

enum gw_status gw_choose_round(const struct gw_points *points, double left_s, double visit_s,
                               double precision, struct gw_random *random, struct gw_visit *out,
                               size_t *count, struct gw_error *error) {
    size_t candidate_count = 0;
    struct candidate *candidates = calloc(points->count + 1, sizeof *candidates);
    *count = 0;
    if (candidates == NULL) {
        return gw_fail_memory(error, "choosing what to measure");
    }
    for (size_t i = 0; i < points->count; i++) {
        if (points->items[i].state == GW_POINT_OPEN) {
            candidates[candidate_count++] = consider(points, i, visit_s, precision);
        }
    }
    qsort(candidates, candidate_count, sizeof *candidates, compare_urgency);
    take_fitting(candidates, candidate_count, left_s, points, out, count);
    free(candidates);
    gw_random_shuffle(random, out, *count, sizeof *out);
    return GW_OK;
}

/* ---- sizes --------------------------------------------------------------------------------- */

/*
 * Costs double from size to size, so that all sizes of a series take twice what its largest takes;
 * each is repeated some times and run once to warm up. The rest of the time goes to what needs more
 * repeats.
 */
double gw_largest_share_s(size_t series_count, double time_s) {
    const double share_of_time = 0.6;
    return share_of_time * time_s / (2 * (FIRST_VISITS + 1) * (double)series_count);
}

bool gw_is_too_large(const struct gw_points *points, size_t which, double share_s) {
    const struct gw_point *point = &points->items[which];
    for (size_t back = 1; back <= GW_FEWEST_SIZES; back++) {
        if (back > which || points->items[which - back].series != point->series) {
            return false;
        }
    }
    const struct gw_point *previous = point - 1;
    double idle_s = points->series[point->series].subject.idle_s;
    double growth = (double)point->size / (double)previous->size;
    double cost_s = idle_s + fmax(0, previous->cost_s - idle_s) * growth;
    return previous->state == GW_POINT_LEFT_OUT || cost_s > share_s;
}
