/*
 * Finds changes of the fastest pipeline along an axis: predicts all pipelines at many values, and
 * bisects between neighbours with different fastest ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/axes.h"
#include "study/crossovers.h"
#include "study/points.h"
#include "study/rank.h"
#include "study/scenario.h"

/* ---- one value ------------------------------------------------------------------------------ */

/* A search in progress, and room for predictions at one value. */
struct search {
    struct gw_crossovers *found;
    struct gw_prediction *predictions; /* [algorithm] */
    double *times_s;                   /* [algorithm] */
};

/* Predicts these pipelines at a value; `intervals`: also how far off they may be. */
static enum gw_status predict_at(const struct search *search,
                                 const struct gw_algorithm *const *algorithms, size_t count,
                                 double value, bool intervals, struct gw_error *error) {
    const struct gw_comparison *comparison = search->found->comparison;
    const struct gw_scenario scenario =
        gw_axis_ask(search->found->values, value, comparison->scenario);
    struct gw_comparison changed = *comparison;
    changed.algorithms = algorithms;
    changed.count = count;
    changed.intervals = intervals;
    return gw_answer_points(&changed, &scenario, 1, search->predictions, error);
}

static double time_of(const struct gw_prediction *answer) {
    return answer->status == GW_OK ? answer->result.iteration_s : NAN;
}

/* Whether the prediction has uncertainties: without intervals, only those of derived curves. */
static bool is_uncertain(const struct gw_prediction *answer) {
    return answer->status == GW_OK && answer->result.uncertainty_count > 0;
}

/* Whether a time is no longer than another, but for rounding; NAN is longer than all. */
static bool is_as_fast(double time_s, double other_s) {
    return !isnan(time_s) && (isnan(other_s) || time_s <= other_s * (1 + GW_COMPARE_SAME));
}

/* Chooses the fastest pipeline; of equals the one of the value before, or else the first. */
static size_t choose_fastest(const double *times_s, size_t count, size_t before) {
    size_t fastest = GW_NO_ALGORITHM;
    for (size_t i = 0; i < count; i++) {
        bool first = fastest == GW_NO_ALGORITHM && !isnan(times_s[i]);
        if (first || (fastest != GW_NO_ALGORITHM && times_s[i] < times_s[fastest])) {
            fastest = i;
        }
    }
    if (fastest == GW_NO_ALGORITHM) {
        return fastest;
    }
    if (before != GW_NO_ALGORITHM && is_as_fast(times_s[before], times_s[fastest])) {
        return before;
    }
    size_t first = 0;
    while (!is_as_fast(times_s[first], times_s[fastest])) {
        first++;
    }
    return first;
}

/* ---- between two values --------------------------------------------------------------------- */

/* Finds the value in the middle; false: there is none between them. */
static bool halve_interval(const struct gw_axis_values *values, double from, double to,
                           double *middle) {
    const double closest = 1e-9; /* relative */
    if (values->kind->rule->whole) {
        *middle = from + floor((to - from) / 2);
        return to - from > 1;
    }
    *middle = sqrt(from) * sqrt(to);
    return to - from > closest * to && *middle > from && *middle < to;
}

/* Narrows a crossing to neighbours: `before` is as fast as `after` at the first one only. */
static enum gw_status bisect_crossing(const struct search *search, struct gw_crossing *crossing,
                                      struct gw_error *error) {
    const struct gw_algorithm *const *algorithms = search->found->comparison->algorithms;
    const struct gw_algorithm *const pair[] = {algorithms[crossing->before],
                                               algorithms[crossing->after]};
    const struct gw_prediction *predictions = search->predictions;
    double middle = 0;
    while (halve_interval(search->found->values, crossing->from, crossing->to, &middle)) {
        GW_TRY(predict_at(search, pair, 2, middle, false, error));
        bool still = is_as_fast(time_of(&predictions[0]), time_of(&predictions[1]));
        *(still ? &crossing->from : &crossing->to) = middle;
    }
    return GW_OK;
}

static enum gw_status add_crossing(struct gw_crossovers *crossovers,
                                   const struct gw_crossing *crossing, struct gw_error *error) {
    struct gw_crossing *grown =
        gw_grow(crossovers->crossings, crossovers->crossing_count + 1,
                &crossovers->crossing_capacity, sizeof *crossovers->crossings);
    if (grown == NULL) {
        return gw_fail_memory(error, "comparing");
    }
    crossovers->crossings = grown;
    grown[crossovers->crossing_count++] = *crossing;
    return GW_OK;
}

/* Finds the fastest of all pipelines at crossing->to, and the crossing's time and doubt there. */
static enum gw_status find_fastest(const struct search *search, struct gw_crossing *crossing,
                                   size_t *fastest, struct gw_error *error) {
    const struct gw_comparison *comparison = search->found->comparison;
    const struct gw_prediction *predictions = search->predictions;
    GW_TRY(
        predict_at(search, comparison->algorithms, comparison->count, crossing->to, false, error));
    for (size_t i = 0; i < comparison->count; i++) {
        search->times_s[i] = time_of(&predictions[i]);
    }
    *fastest = choose_fastest(search->times_s, comparison->count, crossing->after);
    crossing->iteration_s = search->times_s[crossing->after];
    crossing->doubted =
        is_uncertain(&predictions[crossing->before]) || is_uncertain(&predictions[crossing->after]);
    return GW_OK;
}

/*
 * Finds the crossings between two values with different fastest pipelines. If a third one is faster
 * than both where these two cross, the first crosses the third before that, and the third the
 * second after it.
 */
static enum gw_status find_crossings(const struct search *search, struct gw_crossing between,
                                     struct gw_error *error) {
    struct gw_crossing found = between;
    size_t third = found.after;
    GW_TRY(bisect_crossing(search, &found, error));
    GW_TRY(find_fastest(search, &found, &third, error));
    if (third == found.after) {
        return add_crossing(search->found, &found, error);
    }
    struct gw_crossing first = {
        .from = between.from, .to = found.to, .before = between.before, .after = third};
    struct gw_crossing second = {
        .from = found.to, .to = between.to, .before = third, .after = between.after};
    GW_TRY(find_crossings(search, first, error));
    return find_crossings(search, second, error);
}

/* ---- all values ----------------------------------------------------------------------------- */

static enum gw_status keep_notes(struct gw_crossovers *found, const struct gw_result *result,
                                 size_t value, struct gw_error *error) {
    struct gw_result derived = *result;
    for (size_t n = 0; n < result->note_count; n++) {
        struct gw_axis_notes *notes =
            n < result->derived_count ? &found->derivations : &found->notes;
        GW_TRY(gw_axis_note_add(notes, result->notes[n], value, error));
    }
    derived.note_count = derived.warning_count = derived.derived_count;
    gw_result_collect(&found->derived, &derived);
    return GW_OK;
}

static enum gw_status keep_predictions(const struct search *search, size_t value,
                                       struct gw_error *error) {
    struct gw_crossovers *found = search->found;
    size_t count = found->comparison->count;
    double *times_s = &found->times_s[value * count];
    for (size_t i = 0; i < count; i++) {
        const struct gw_prediction *prediction = &search->predictions[i];
        struct gw_gap *gap = &found->gaps[i];
        bool ranged = is_uncertain(prediction) && !gw_result_is_unknown(&prediction->result);
        times_s[i] = time_of(prediction);
        found->lows_s[value * count + i] = ranged ? prediction->result.iteration_low_s : NAN;
        found->highs_s[value * count + i] = ranged ? prediction->result.iteration_high_s : NAN;
        GW_TRY(prediction->status == GW_OK ? keep_notes(found, &prediction->result, value, error)
                                           : GW_OK);
        if (prediction->status != GW_OK && gap->values++ == 0) {
            gap->first = found->values->values[value];
            gap->why = prediction->why;
        }
    }
    size_t before = value == 0 ? GW_NO_ALGORITHM : found->fastest[value - 1];
    size_t fastest = choose_fastest(times_s, count, before);
    found->fastest[value] = fastest;
    for (size_t i = 0; i < count && fastest != GW_NO_ALGORITHM; i++) {
        found->meets[value * count + i] =
            !isnan(times_s[i]) && !is_as_fast(times_s[i], times_s[fastest]) &&
            gw_results_meet(&search->predictions[fastest].result, &search->predictions[i].result);
    }
    return GW_OK;
}

static enum gw_status predict_all(const struct search *search, struct gw_progress *progress,
                                  struct gw_error *error) {
    const struct gw_comparison *comparison = search->found->comparison;
    const struct gw_axis_values *values = search->found->values;
    for (size_t v = 0; v < values->count; v++) {
        char text[GW_UNITS_SIZE];
        gw_progress_update(progress, (double)v / (double)values->count,
                           gw_axis_text(values, values->values[v], text));
        GW_TRY(predict_at(search, comparison->algorithms, comparison->count, values->values[v],
                          true, error));
        GW_TRY(keep_predictions(search, v, error));
    }
    return GW_OK;
}

static enum gw_status find_all_crossings(const struct search *search, struct gw_error *error) {
    const double *values = search->found->values->values;
    const size_t *fastest = search->found->fastest;
    for (size_t v = 1; v < search->found->values->count; v++) {
        bool both = fastest[v - 1] != GW_NO_ALGORITHM && fastest[v] != GW_NO_ALGORITHM;
        if (both && fastest[v - 1] != fastest[v]) {
            struct gw_crossing between = {.from = values[v - 1],
                                          .to = values[v],
                                          .before = fastest[v - 1],
                                          .after = fastest[v]};
            GW_TRY(find_crossings(search, between, error));
        }
    }
    return GW_OK;
}

static enum gw_status check_any(const struct gw_crossovers *crossovers, struct gw_error *error) {
    for (size_t v = 0; v < crossovers->values->count; v++) {
        if (crossovers->fastest[v] != GW_NO_ALGORITHM) {
            return GW_OK;
        }
    }
    const struct gw_comparison *comparison = crossovers->comparison;
    return gw_fail(error, GW_BAD_INPUT,
                   "expected a pipeline that can be predicted, got none of %zu; %s: %.400s",
                   comparison->count, comparison->algorithms[0]->name,
                   crossovers->gaps[0].why.message);
}

enum gw_status gw_crossovers_open(const struct gw_comparison *comparison,
                                  const struct gw_axis_values *values, struct gw_crossovers *out,
                                  struct gw_error *error) {
    size_t count = comparison->count;
    size_t pair = 2;
    *out = (struct gw_crossovers){.comparison = comparison, .values = values};
    out->times_s = gw_arena_zeros(&out->arena, values->count * count, sizeof *out->times_s);
    out->lows_s = gw_arena_zeros(&out->arena, values->count * count, sizeof *out->lows_s);
    out->highs_s = gw_arena_zeros(&out->arena, values->count * count, sizeof *out->highs_s);
    out->fastest = gw_arena_zeros(&out->arena, values->count, sizeof *out->fastest);
    out->meets = gw_arena_zeros(&out->arena, values->count * count, sizeof *out->meets);
    out->gaps = gw_arena_zeros(&out->arena, count, sizeof *out->gaps);
    struct search search = {.found = out};
    search.predictions = gw_arena_zeros(&out->arena, count + pair, sizeof *search.predictions);
    search.times_s = gw_arena_zeros(&out->arena, count, sizeof *search.times_s);
    GW_TRY(gw_arena_check(&out->arena, "comparing", error));
    struct gw_progress progress = gw_progress_begin("compare", 1);
    enum gw_status status = predict_all(&search, &progress, error);
    status = status == GW_OK ? check_any(search.found, error) : status;
    status = status == GW_OK ? find_all_crossings(&search, error) : status;
    gw_progress_end(&progress);
    return status;
}

void gw_crossovers_close(struct gw_crossovers *crossovers) {
    free(crossovers->crossings);
    gw_axis_notes_free(&crossovers->derivations);
    gw_axis_notes_free(&crossovers->notes);
    gw_arena_free(&crossovers->arena);
}

/* ---- found crossovers ---------------------------------------------------------------------- */

const double *gw_crossovers_times(const struct gw_crossovers *crossovers, size_t value) {
    return &crossovers->times_s[value * crossovers->comparison->count];
}

bool gw_crossovers_doubted(const struct gw_crossovers *crossovers, size_t value) {
    size_t count = crossovers->comparison->count;
    return memchr(&crossovers->meets[value * count], 1, count) != NULL;
}

size_t gw_crossovers_next(const struct gw_crossovers *crossovers, size_t value) {
    const double *times_s = gw_crossovers_times(crossovers, value);
    size_t next = GW_NO_ALGORITHM;
    for (size_t i = 0; i < crossovers->comparison->count; i++) {
        bool other = i != crossovers->fastest[value] && !isnan(times_s[i]);
        if (other && (next == GW_NO_ALGORITHM || times_s[i] < times_s[next])) {
            next = i;
        }
    }
    return next;
}
