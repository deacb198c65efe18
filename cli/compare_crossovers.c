/* Predicts all pipelines at many points, and finds where another one becomes the fastest. */
#include <math.h>
#include <stdlib.h>

#include "cli/compare.h"

/* ---- one point ----------------------------------------------------------------------------- */

/* What all pipelines of the comparison answer at a value. */
static enum gw_status predict_at(const struct gw_comparison *comparison,
                                 const struct gw_variation *variation, double value,
                                 struct gw_prediction *predictions, struct gw_error *error) {
    struct gw_question question;
    struct gw_comparison changed = *comparison;
    changed.question = &question;
    GW_TRY(gw_variation_apply(variation, value, comparison->question, &question, error));
    enum gw_status status = gw_comparison_predict(&changed, predictions, error);
    gw_question_end_bandwidth(&question, comparison->question);
    return status;
}

static double time_of(const struct gw_prediction *answer) {
    return answer->status == GW_OK ? answer->result.iteration_s : NAN;
}

/* No slower, as far as numbers tell; what cannot be predicted is slower than all. */
static bool is_as_fast(double time_s, double other_s) {
    return !isnan(time_s) && (isnan(other_s) || time_s <= other_s * (1 + GW_COMPARE_SAME));
}

/* The one of the value before, if it is as fast as any; otherwise the first of the fastest. */
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

/* ---- between two points -------------------------------------------------------------------- */

/* Whether one pipeline is still as fast as another. */
static enum gw_status is_still_as_fast(const struct gw_crossovers *crossovers, size_t before,
                                       size_t after, double value, bool *out,
                                       struct gw_error *error) {
    const struct gw_comparison *comparison = crossovers->comparison;
    const struct gw_algorithm *const two[] = {comparison->algorithms[before],
                                              comparison->algorithms[after]};
    struct gw_comparison pair = *comparison;
    struct gw_prediction predictions[2];
    pair.algorithms = two;
    pair.count = 2;
    GW_TRY(predict_at(&pair, crossovers->variation, value, predictions, error));
    *out = is_as_fast(time_of(&predictions[0]), time_of(&predictions[1]));
    return GW_OK;
}

/* The value in the middle, unless there is none that differs. */
static bool halve(const struct gw_variation *variation, double from, double to, double *middle) {
    const double closest = 1e-9; /* relative */
    if (variation->whole) {
        *middle = from + floor((to - from) / 2);
        return to - from > 1;
    }
    *middle = sqrt(from) * sqrt(to);
    return to - from > closest * to && *middle > from && *middle < to;
}

/* Narrows to neighbours, at the first of which `before` is as fast as `after`, then no more. */
static enum gw_status bisect(const struct gw_crossovers *crossovers, struct gw_crossing *crossing,
                             struct gw_error *error) {
    double middle = 0;
    while (halve(crossovers->variation, crossing->from, crossing->to, &middle)) {
        bool still = false;
        GW_TRY(
            is_still_as_fast(crossovers, crossing->before, crossing->after, middle, &still, error));
        *(still ? &crossing->from : &crossing->to) = middle;
    }
    return GW_OK;
}

static enum gw_status add(struct gw_crossovers *crossovers, const struct gw_crossing *crossing,
                          struct gw_error *error) {
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

/* The fastest of all at a value where `after` is thought to be, and what `after` takes there. */
static enum gw_status find_fastest(const struct gw_crossovers *crossovers, double value,
                                   size_t after, size_t *fastest, double *after_s,
                                   struct gw_error *error) {
    size_t count = crossovers->comparison->count;
    struct gw_prediction *predictions = calloc(count, sizeof *predictions);
    double *times_s = calloc(count, sizeof *times_s);
    enum gw_status status =
        predictions == NULL || times_s == NULL
            ? gw_fail_memory(error, "comparing")
            : predict_at(crossovers->comparison, crossovers->variation, value, predictions, error);
    for (size_t i = 0; i < count && status == GW_OK; i++) {
        times_s[i] = time_of(&predictions[i]);
    }
    if (status == GW_OK) {
        *fastest = choose_fastest(times_s, count, after);
        *after_s = times_s[after];
    }
    free(predictions);
    free(times_s);
    return status;
}

/*
 * The crossings between two points with different winners. Where these two cross, a third may be
 * faster than both: then it is so up to there from somewhere before, and from there on up to
 * somewhere behind.
 */
static enum gw_status find_crossings(struct gw_crossovers *crossovers, struct gw_crossing between,
                                     struct gw_error *error) {
    struct gw_crossing found = between;
    size_t third = found.after;
    GW_TRY(bisect(crossovers, &found, error));
    GW_TRY(find_fastest(crossovers, found.to, found.after, &third, &found.iteration_s, error));
    if (third == found.after) {
        return add(crossovers, &found, error);
    }
    struct gw_crossing first = {
        .from = between.from, .to = found.to, .before = between.before, .after = third};
    struct gw_crossing second = {
        .from = found.to, .to = between.to, .before = third, .after = between.after};
    GW_TRY(find_crossings(crossovers, first, error));
    return find_crossings(crossovers, second, error);
}

/* ---- all points ---------------------------------------------------------------------------- */

/* Notes that say of each value the same with other numbers are one: the first. */
static void collect_notes(struct gw_crossovers *crossovers, double value,
                          const struct gw_result *result) {
    struct gw_result *all = &crossovers->notes;
    for (size_t i = 0; i < result->note_count; i++) {
        size_t known = 0;
        while (known < all->note_count &&
               !gw_notes_are_alike(all->notes[known], result->notes[i])) {
            known++;
        }
        if (known == all->note_count && known < GW_RESULT_MOST_NOTES) {
            crossovers->noted_at[known] = value;
            gw_result_note(all, result->notes[i]);
        }
    }
}

static void keep(struct gw_crossovers *crossovers, size_t value,
                 const struct gw_prediction *predictions) {
    size_t count = crossovers->comparison->count;
    double *times_s = &crossovers->times_s[value * count];
    for (size_t i = 0; i < count; i++) {
        struct gw_gap *gap = &crossovers->gaps[i];
        times_s[i] = time_of(&predictions[i]);
        if (predictions[i].status == GW_OK) {
            collect_notes(crossovers, crossovers->variation->values[value], &predictions[i].result);
        } else if (gap->values++ == 0) {
            gap->first = crossovers->variation->values[value];
            gap->why = predictions[i].why;
        }
    }
    size_t before = value == 0 ? GW_NO_ALGORITHM : crossovers->fastest[value - 1];
    crossovers->fastest[value] = choose_fastest(times_s, count, before);
}

static enum gw_status predict_all(struct gw_crossovers *crossovers,
                                  struct gw_prediction *predictions, struct gw_progress *progress,
                                  struct gw_error *error) {
    const struct gw_variation *variation = crossovers->variation;
    for (size_t v = 0; v < variation->count; v++) {
        char text[GW_UNITS_SIZE];
        gw_progress_update(progress, (double)v / (double)variation->count,
                           gw_variation_text(variation, variation->values[v], text));
        GW_TRY(predict_at(crossovers->comparison, variation, variation->values[v], predictions,
                          error));
        keep(crossovers, v, predictions);
    }
    return GW_OK;
}

static enum gw_status find_all_crossings(struct gw_crossovers *crossovers, struct gw_error *error) {
    const double *values = crossovers->variation->values;
    const size_t *fastest = crossovers->fastest;
    for (size_t v = 1; v < crossovers->variation->count; v++) {
        bool both = fastest[v - 1] != GW_NO_ALGORITHM && fastest[v] != GW_NO_ALGORITHM;
        if (both && fastest[v - 1] != fastest[v]) {
            struct gw_crossing between = {.from = values[v - 1],
                                          .to = values[v],
                                          .before = fastest[v - 1],
                                          .after = fastest[v]};
            GW_TRY(find_crossings(crossovers, between, error));
        }
    }
    return GW_OK;
}

static enum gw_status check_any(const struct gw_crossovers *crossovers, struct gw_error *error) {
    for (size_t v = 0; v < crossovers->variation->count; v++) {
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

static enum gw_status fill(struct gw_crossovers *crossovers, struct gw_error *error) {
    struct gw_prediction *predictions = calloc(crossovers->comparison->count, sizeof *predictions);
    if (predictions == NULL || crossovers->times_s == NULL || crossovers->fastest == NULL ||
        crossovers->gaps == NULL) {
        free(predictions);
        return gw_fail_memory(error, "comparing");
    }
    struct gw_progress progress = gw_progress_begin("compare", 1);
    enum gw_status status = predict_all(crossovers, predictions, &progress, error);
    status = status == GW_OK ? check_any(crossovers, error) : status;
    status = status == GW_OK ? find_all_crossings(crossovers, error) : status;
    gw_progress_end(&progress);
    free(predictions);
    return status;
}

enum gw_status gw_crossovers_open(const struct gw_comparison *comparison,
                                  const struct gw_variation *variation, struct gw_crossovers *out,
                                  struct gw_error *error) {
    *out = (struct gw_crossovers){
        .comparison = comparison,
        .variation = variation,
        .times_s = calloc(variation->count * comparison->count, sizeof *out->times_s),
        .fastest = calloc(variation->count, sizeof *out->fastest),
        .gaps = calloc(comparison->count, sizeof *out->gaps)};
    enum gw_status status = fill(out, error);
    if (status != GW_OK) {
        gw_crossovers_close(out);
    }
    return status;
}

void gw_crossovers_close(struct gw_crossovers *crossovers) {
    free(crossovers->times_s);
    free(crossovers->fastest);
    free(crossovers->gaps);
    free(crossovers->crossings);
    *crossovers = (struct gw_crossovers){0};
}

/* ---- what was found ------------------------------------------------------------------------ */

const double *gw_crossovers_times(const struct gw_crossovers *crossovers, size_t value) {
    return &crossovers->times_s[value * crossovers->comparison->count];
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
