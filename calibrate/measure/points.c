/* The points of a calibration: their sizes, their precision, and the choice of the next ones. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/measure/points.h"
#include "calibrate/measure/timing.h"
#include "methods/kernel_cost.h"

/* ---- sizes --------------------------------------------------------------------------------- */

/* Size number `i` of a series, 0 beyond the largest. */
static size_t size_at(const struct gw_subject *subject, size_t per_factor_four, size_t i) {
    double size = (double)subject->smallest * pow(4, (double)i / (double)per_factor_four);
    size_t rounded = (size_t)(size / 8 + 0.5) * 8;
    return rounded <= subject->largest ? rounded : 0;
}

enum { LONGEST_ROW = 8 };

/* ---- series and points --------------------------------------------------------------------- */

size_t gw_size_before_step(double density, size_t smaller, size_t larger) {
    static const size_t felt_columns = 1 << 15; /* tables of 640 KiB become ones of 1.25 MiB */
    size_t last = gw_sketch_last_alike(smaller, larger, density);
    bool felt = gw_sketch_columns(smaller, gw_elements_kept(smaller, density)) >= felt_columns;
    return felt ? last : 0;
}

const char *const gw_second_rank = "powersgd:16";

bool gw_series_make_ranked(struct gw_series *series, struct gw_arena *arena) {
    series->denser_of = series->subject.name;
    series->densities[0] = gw_compressor_powersgd.rank;
    series->densities[1] = gw_compressor_find(gw_second_rank)->rank;
    series->subject.name =
        gw_arena_format(arena, "%s at rank %g", series->denser_of, series->densities[1]);
    return series->subject.name != NULL;
}

bool gw_series_make_denser(struct gw_series *series, double density, double times,
                           struct gw_arena *arena) {
    const double most = 0.25;
    double denser = fmin(times * density, most);
    if (denser < 2 * density) {
        return false;
    }
    series->denser_of = series->subject.name;
    series->densities[0] = density;
    series->densities[1] = denser;
    series->subject.name =
        gw_arena_format(arena, "%s at density %g", series->denser_of, series->densities[1]);
    return series->subject.name != NULL;
}

enum gw_status gw_series_list_add(struct gw_series_list *list, struct gw_series series,
                                  struct gw_error *error) {
    GW_GROW(list->items, list->count + 1, list->capacity, "choosing points to measure", error);
    list->items[list->count++] = series;
    return GW_OK;
}

enum gw_status gw_points_add(struct gw_points *points, size_t series, size_t size,
                             struct gw_error *error) {
    size_t fitting = points->series[series].subject.row_size / size;
    GW_GROW(points->items, points->count + 1, points->capacity, "choosing points to measure",
            error);
    points->items[points->count++] =
        (struct gw_measured_point){.series = series,
                                   .size = size,
                                   .row = fitting < 1 ? 1 : gw_lesser(fitting, LONGEST_ROW),
                                   .error = INFINITY};
    return GW_OK;
}

enum gw_status gw_points_open(struct gw_series *series, size_t series_count, size_t per_factor_four,
                              struct gw_points *out, struct gw_error *error) {
    *out = (struct gw_points){.series = series, .series_count = series_count};
    for (size_t s = 0; s < series_count; s++) {
        const struct gw_subject *subject = &series[s].subject;
        /* Fewer sizes for concurrent ranks, and for series that differ little from another one; at
         * least so many that they make a curve. */
        size_t density = series[s].together ? gw_lesser(per_factor_four, 2) : per_factor_four;
        density = series[s].denser_of != NULL && density > 1 ? density / 2 : density;
        while (density < 8 && size_at(subject, density, GW_MIN_SIZES - 1) == 0) {
            density *= 2;
        }
        size_t first = out->count;
        for (size_t i = 0, before = 0, size; (size = size_at(subject, density, i)) > 0; i++) {
            if (before > 0 && subject->before_step != NULL) {
                size_t last = subject->before_step(subject->context, before, size) / 8 * 8;
                GW_TRY(last > before ? gw_points_add(out, s, last, error) : GW_OK);
            }
            GW_TRY(gw_points_add(out, s, size, error));
            before = size;
        }
        /* The rest must do for five sizes beside the two smallest of those. */
        for (size_t i = 0; i < GW_MIN_SIZES && out->count >= first + 2 * GW_MIN_SIZES - 2; i++) {
            size_t steps = GW_MIN_SIZES - 1, last = out->count - 1 - first;
            out->items[first + (i * last + steps / 2) / steps].spread = true;
        }
        for (size_t i = 0; i < GW_MAX_ASKED && subject->asked[i] > 0; i++) {
            GW_TRY(gw_points_add(out, s, subject->asked[i], error));
            out->items[out->count - 1].asked = true;
        }
    }
    return GW_OK;
}

void gw_points_free(struct gw_points *points) {
    for (size_t i = 0; i < points->count; i++) {
        free(points->items[i].seconds);
    }
    free(points->items);
    *points = (struct gw_points){0};
}

struct gw_measured_point *gw_points_find(const struct gw_points *points, const char *name,
                                         size_t workers, size_t size) {
    for (size_t i = 0; i < points->count; i++) {
        struct gw_measured_point *point = &points->items[i];
        const struct gw_series *series = &points->series[point->series];
        if (point->size == size && (size_t)series->workers == workers &&
            strcmp(series->subject.name, name) == 0) {
            return point;
        }
    }
    return NULL;
}

/* ---- precision of medians ------------------------------------------------------------------ */

/* The minimum number of repeats for an interval of the median. */
static size_t fewest_repeats(const struct gw_measured_point *point) {
    const double long_s = 5e-3;
    return point->spent_s > long_s * (double)point->count ? GW_MIN_LONG_REPEATS : GW_MIN_REPEATS;
}

enum gw_status gw_summarise_repeats(double *values, size_t count, uint64_t seed, uint64_t stream,
                                    struct gw_summary *out, struct gw_error *error) {
    struct gw_random *random = NULL;
    GW_TRY(gw_random_open(&random, seed, stream, error));
    enum gw_status status =
        gw_summarise_bootstrap(values, count, GW_MIN_LONG_REPEATS, random, out, error);
    gw_random_close(random);
    return status;
}

static enum gw_status summarise_point(const struct gw_measured_point *point,
                                      const struct gw_stop_rule *rule, struct gw_summary *summary,
                                      size_t *outliers, struct gw_error *error) {
    double *sorted = malloc(point->count * sizeof *sorted);
    if (sorted == NULL) {
        return gw_fail_memory(error, "summarising repeats");
    }
    memcpy(sorted, point->seconds, point->count * sizeof *sorted);
    enum gw_status status =
        gw_summarise_repeats(sorted, point->count, rule->seed,
                             gw_random_mix(point->series) ^ point->size, summary, error);
    if (status == GW_OK) {
        *outliers = gw_count_outliers(sorted, point->count, GW_FAR_DEVIATIONS);
    }
    free(sorted);
    return status;
}

enum gw_status gw_point_add(struct gw_measured_point *point, const struct gw_block *block,
                            const struct gw_stop_rule *rule, struct gw_error *error) {
    struct gw_summary summary;
    size_t outliers = 0;
    GW_GROW(point->seconds, point->count + block->count, point->capacity, "keeping repeats", error);
    memcpy(point->seconds + point->count, block->seconds, block->count * sizeof *point->seconds);
    for (size_t i = 0; i < block->count; i++) {
        point->spent_s += gw_runs(point->row) * block->seconds[i];
    }
    point->count += block->count;
    point->late += block->late;
    point->skew_s += block->skew_s;
    point->visits++;
    GW_TRY(summarise_point(point, rule, &summary, &outliers, error));
    point->error = point->count > 1 ? gw_summary_relative_error(&summary) : INFINITY;
    bool enough = point->count >= fewest_repeats(point) && point->visits >= rule->fewest_visits;
    if (enough && point->error <= rule->precision) {
        point->state = GW_POINT_PRECISE;
    } else if (enough && point->spent_s >= rule->max_s_per_point) {
        point->state = GW_POINT_CAPPED;
    } else if (point->count >= GW_MAX_REPEATS) {
        point->state = GW_POINT_OUT_OF_REPEATS;
    } else if (point->asked && point->count >= GW_ASKED_REPEATS) {
        point->state = GW_POINT_OUT_OF_TIME;
    }
    return GW_OK;
}

static const char *stopped_by(enum gw_point_state state) {
    return state == GW_POINT_PRECISE          ? NULL
           : state == GW_POINT_CAPPED         ? "max-time"
           : state == GW_POINT_OUT_OF_REPEATS ? "repeats"
                                              : "time";
}

enum gw_status gw_point_measurement(const struct gw_measured_point *point,
                                    const struct gw_stop_rule *rule, struct gw_measurement *out,
                                    struct gw_error *error) {
    *out = (struct gw_measurement){.size = (double)point->size,
                                   .precise = point->state == GW_POINT_PRECISE,
                                   .stopped_by = stopped_by(point->state),
                                   .late = point->late,
                                   .skew_s = point->skew_s / (double)point->count};
    return summarise_point(point, rule, &out->summary, &out->outliers, error);
}

/* ---- a round ------------------------------------------------------------------------------- */

enum { FIRST_VISITS = GW_MIN_LONG_REPEATS, VISITS_OF_FEWER = 2 };
static const double around_visit_s = 1e-3; /* agreement before and after it */

static size_t at_most(size_t count, size_t most) {
    return count < most ? count : most;
}

/* Predicts the missing repeats: an interval narrows with the root of their number. At least half a
 * visit, since the prediction is a guess. */
static size_t count_repeats(const struct gw_measured_point *point, double visit_s,
                            double precision) {
    double fitting = point->cost_s > 0 ? visit_s / point->cost_s : 1;
    size_t repeats = (size_t)fmin(fmax(fitting, 1), GW_LARGEST_BLOCK);
    if (point->count >= fewest_repeats(point) && isfinite(point->error)) {
        double needed = (double)point->count * (pow(point->error / precision, 2) - 1);
        repeats = at_most(repeats, (size_t)fmax(needed, (double)(repeats + 1) / 2));
    }
    return at_most(repeats, GW_MAX_REPEATS - point->count);
}

/* Visits so far, up to FIRST_VISITS; then the error of the median. */
struct visit_candidate {
    struct gw_visit visit;
    size_t turns;
    double error, cost_s;
};

static int compare_urgency(const void *a, const void *b) {
    const struct visit_candidate *left = a;
    const struct visit_candidate *right = b;
    if (left->turns != right->turns) {
        return left->turns < right->turns ? -1 : 1;
    }
    return (left->error < right->error) - (left->error > right->error);
}

static void take_fitting(struct visit_candidate *candidates, size_t candidate_count, double left_s,
                         const struct gw_points *points, struct gw_visit *out, size_t *count) {
    for (size_t i = 0; i < candidate_count; i++) {
        struct visit_candidate *candidate = &candidates[i];
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
    struct visit_candidate *candidates = calloc(points->count + 1, sizeof *candidates);
    *count = 0;
    if (candidates == NULL) {
        return gw_fail_memory(error, "choosing points to measure");
    }
    bool lacks_visits = false; /* collectives of fewer ranks wait for those of all ranks */
    for (size_t i = 0; i < points->count; i++) {
        const struct gw_measured_point *point = &points->items[i];
        lacks_visits =
            lacks_visits || (point->state == GW_POINT_OPEN && point->visits < FIRST_VISITS &&
                             !points->series[point->series].of_fewer);
    }
    for (size_t i = 0; i < points->count; i++) {
        const struct gw_measured_point *point = &points->items[i];
        bool waits = lacks_visits && points->series[point->series].of_fewer &&
                     point->visits >= VISITS_OF_FEWER;
        if (point->state == GW_POINT_OPEN && !waits) {
            size_t repeats = count_repeats(point, visit_s, precision);
            candidates[candidate_count++] = (struct visit_candidate){
                .visit = {.point = i, .repeats = repeats},
                .turns = at_most(point->visits, FIRST_VISITS),
                .error = point->error,
                .cost_s = (double)repeats * point->cost_s + around_visit_s};
        }
    }
    qsort(candidates, candidate_count, sizeof *candidates, compare_urgency);
    take_fitting(candidates, candidate_count, left_s, points, out, count);
    free(candidates);
    gw_random_shuffle(random, out, *count, sizeof *out);
    return GW_OK;
}

/* ---- sizes that are too large -------------------------------------------------------------- */

/*
 * Costs at most double from size to size, so all sizes of a series take at most twice the time of
 * its largest; each is repeated some times and run once to warm up. The rest of the time is for
 * points that need more repeats.
 */
double gw_largest_share_s(size_t series_count, double time_s) {
    const double share_of_time = 0.6;
    return share_of_time * time_s / (2 * (FIRST_VISITS + 1) * (double)series_count);
}

const struct gw_measured_point *gw_tried_below(const struct gw_points *points, size_t which) {
    const struct gw_measured_point *smaller = &points->items[which];
    while (smaller-- > points->items && smaller->series == points->items[which].series) {
        if (smaller->cost_s > 0) {
            return smaller;
        }
    }
    return NULL;
}

/* Estimates the cost of a repeat from one or two sizes tried below: a run's time in proportion to
 * each, of which one may have been disturbed, and by the line through both, as small sizes mostly
 * take a start; the least counts, and what was around the runs of the larger one. */
static double estimate_cost_s(const struct gw_measured_point *point,
                              const struct gw_measured_point *low,
                              const struct gw_measured_point *high) {
    double size = (double)point->size, high_size = (double)high->size;
    double run_s = high->usual_s * size / high_size;
    if (low != NULL) {
        double low_size = (double)low->size;
        double slope = fmax(0, high->usual_s - low->usual_s) / (high_size - low_size);
        run_s = fmin(run_s, low->usual_s * size / low_size);
        run_s = fmin(run_s, high->usual_s + slope * (size - high_size));
    }
    return high->cost_s - gw_runs(high->row) * high->usual_s + gw_runs(point->row) * run_s;
}

bool gw_is_too_large(const struct gw_points *points, size_t which, double share_s) {
    const struct gw_measured_point *point = &points->items[which];
    size_t tried = 0; /* of the series */
    for (size_t i = 0; i < points->count; i++) {
        tried += points->items[i].series == point->series && points->items[i].cost_s > 0;
    }
    const struct gw_measured_point *high = gw_tried_below(points, which);
    const struct gw_measured_point *low =
        high == NULL ? NULL : gw_tried_below(points, (size_t)(high - points->items));
    bool is_small = point->spread && (low == NULL || point->row > 1);
    if (high == NULL || is_small || (!point->spread && tried < GW_MIN_SIZES)) {
        return false;
    }
    return point[-1].state == GW_POINT_LEFT_OUT || estimate_cost_s(point, low, high) > share_s;
}

bool gw_is_asked_too_large(const struct gw_points *points, size_t which, double time_s) {
    static const double share_of_time = 1.0 / 7; /* chosen */
    const struct gw_measured_point *tried = gw_tried_below(points, which);
    if (tried == NULL) {
        return true;
    }
    double growth = (double)points->items[which].size / ((double)tried->size * gw_runs(tried->row));
    return (GW_ASKED_REPEATS + 1) * tried->cost_s * growth > share_of_time * time_s;
}

/* ---- a point ------------------------------------------------------------------------------- */

static enum gw_status time_repeats(struct gw_timer *timer, const struct gw_subject *subject,
                                   size_t count, struct gw_block *block, struct gw_error *error) {
    *block = (struct gw_block){.count = count};
    return gw_time_block(timer, subject, block, error);
}

/* Ranks agree before and after each block, which disturbs subjects without a barrier of their own:
 * as seldom as possible. */
enum gw_status gw_time_point(struct gw_timer *timer, const struct gw_subject *subject,
                             double around_s, const struct gw_stop_rule *rule,
                             struct gw_measured_point *point, struct gw_error *error) {
    enum { WARM_UPS = 3 };
    const double block_s = 0.01;
    struct gw_block block;
    GW_TRY(time_repeats(timer, subject, WARM_UPS, &block, error));
    double cost_s = block.seconds[WARM_UPS - 1] + around_s;
    size_t count = (size_t)fmin(GW_LARGEST_BLOCK, fmax(GW_MIN_LONG_REPEATS, block_s / cost_s));
    while (point->state == GW_POINT_OPEN) {
        GW_TRY(time_repeats(timer, subject, count, &block, error));
        point->spent_s += (double)count * around_s;
        GW_TRY(gw_point_add(point, &block, rule, error));
        size_t left = GW_MAX_REPEATS - point->count;
        count = 2 * count < GW_LARGEST_BLOCK ? 2 * count : GW_LARGEST_BLOCK;
        count = count < left ? count : left;
    }
    return GW_OK;
}
