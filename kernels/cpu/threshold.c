#include "kernels/threshold.h"

#include <math.h>

#include "core/parallel.h"
#include "kernels/cpu/collect.h"
#include "kernels/cpu/scan.h"
#include "kernels/cpu/workspace.h"

/* ---- segments ------------------------------------------------------------------------------ */

struct counting {
    const int32_t *magnitudes;
    size_t count;
};

/* What a pass over all segments works on; each has a result of its own. */
struct segments {
    const struct gw_task *task;
    const struct counting *counting;
    int32_t magnitude;
    bool adding;
    struct gw_moments *moments;           /* [segment] */
    struct gw_tail *tails;                /* [segment] */
    size_t (*counts)[GW_MOST_THRESHOLDS]; /* [segment] */
};

static size_t segment_count(const struct gw_task *task) {
    return (task->n + GW_SCAN_SEGMENT - 1) / GW_SCAN_SEGMENT;
}

static size_t segment_size(const struct gw_task *task, size_t segment) {
    size_t left = task->n - segment * GW_SCAN_SEGMENT;
    return left < GW_SCAN_SEGMENT ? left : GW_SCAN_SEGMENT;
}

/* Runs over all segments, each with `size` zeroed bytes of results, which are in the workspace. */
static enum gw_status run_over_segments(const struct gw_task *task, size_t size,
                                        void (*work)(size_t segment, void *context),
                                        struct segments *segments, struct gw_error *error) {
    size_t count = segment_count(task);
    GW_TRY(gw_workspace_reserve(task->workspace, count * size, error));
    void *results = task->workspace->memory;
    memset(results, 0, count * size);
    segments->task = task;
    segments->moments = results;
    segments->tails = results;
    segments->counts = results;
    gw_parallel(count, task->threads, work, segments);
    return GW_OK;
}

static double sum_lanes(const double *lanes) {
    double sum = 0;
    for (size_t lane = 0; lane < GW_SCAN_LANES; lane++) {
        sum += lanes[lane];
    }
    return sum;
}

static double sum_parts(const double *parts) {
    double sum = 0;
    for (size_t part = 0; part < GW_SCAN_PARTS; part++) {
        sum += parts[part];
    }
    return sum;
}

/* ---- moments ------------------------------------------------------------------------------- */

static void moments_of_segment(size_t segment, void *context) {
    const struct segments *segments = context;
    const struct gw_task *task = segments->task;
    size_t begin = segment * GW_SCAN_SEGMENT;
    gw_scan()->moments(task->u + begin, task->gradient == NULL ? NULL : task->gradient + begin,
                       segment_size(task, segment), &segments->moments[segment]);
}

enum gw_status gw_threshold_moments(const struct gw_task *task, struct gw_moments_of_u *out,
                                    struct gw_error *error) {
    struct segments segments = {0};
    GW_TRY(run_over_segments(task, sizeof *segments.moments, moments_of_segment, &segments, error));
    double sums[GW_SCAN_PARTS] = {0};
    double squares[GW_SCAN_PARTS] = {0};
    int32_t largest = 0;
    for (size_t i = 0; i < segment_count(task); i++) {
        const struct gw_moments *moments = &segments.moments[i];
        sums[i % GW_SCAN_PARTS] += sum_lanes(moments->sum);
        squares[i % GW_SCAN_PARTS] += sum_lanes(moments->squares);
        largest = moments->largest > largest ? moments->largest : largest;
    }
    if (largest > GW_INFINITE) {
        return gw_fail_first_nan(task, error);
    }
    *out = gw_moments_from(sum_parts(sums), sum_parts(squares), (double)task->n);
    return GW_OK;
}

enum gw_status gw_threshold_accumulate_reference(const struct gw_task *task,
                                                 struct gw_error *error) {
    for (size_t i = 0; i < task->n && task->gradient != NULL; i++) {
        task->u[i] += task->gradient[i];
        if (isnan(task->u[i])) {
            return gw_fail_nan(i, task->n, error);
        }
    }
    return GW_OK;
}

static enum gw_status refuse_nan_reference(const struct gw_task *task, struct gw_error *error) {
    for (size_t i = 0; i < task->n; i++) {
        if (isnan(task->u[i])) {
            return gw_fail_nan(i, task->n, error);
        }
    }
    return GW_OK;
}

enum gw_status gw_threshold_moments_reference(const struct gw_task *task,
                                              struct gw_moments_of_u *out, struct gw_error *error) {
    GW_TRY(gw_threshold_accumulate_reference(task, error));
    GW_TRY(refuse_nan_reference(task, error));
    long double sum = 0;
    long double squares = 0;
    for (size_t i = 0; i < task->n; i++) {
        sum += task->u[i];
    }
    long double mean = sum / (long double)task->n;
    for (size_t i = 0; i < task->n; i++) {
        squares += (task->u[i] - mean) * (task->u[i] - mean);
    }
    *out = (struct gw_moments_of_u){.mean = (double)mean,
                                    .deviation = (double)sqrtl(squares / (long double)task->n)};
    return GW_OK;
}

/* ---- what exceeds a threshold -------------------------------------------------------------- */

static void exceed_segment(size_t segment, void *context) {
    const struct segments *segments = context;
    const struct gw_task *task = segments->task;
    size_t begin = segment * GW_SCAN_SEGMENT;
    const float *gradient = segments->adding ? task->gradient : NULL;
    gw_scan()->tail(task->u + begin, gradient == NULL ? NULL : gradient + begin,
                    segment_size(task, segment), segments->magnitude, &segments->tails[segment]);
}

enum gw_status gw_threshold_exceed(const struct gw_task *task, double threshold, bool adding,
                                   struct gw_exceedances *out, struct gw_error *error) {
    struct segments segments = {.magnitude = gw_magnitude_from(threshold), .adding = adding};
    GW_TRY(run_over_segments(task, sizeof *segments.tails, exceed_segment, &segments, error));
    double sums[GW_SCAN_PARTS] = {0};
    int32_t largest = 0;
    *out = (struct gw_exceedances){0};
    for (size_t i = 0; i < segment_count(task); i++) {
        const struct gw_tail *tail = &segments.tails[i];
        out->count += tail->count;
        sums[i % GW_SCAN_PARTS] += sum_lanes(tail->magnitudes);
        largest = tail->largest > largest ? tail->largest : largest;
    }
    if (largest > GW_INFINITE) {
        return gw_fail_first_nan(task, error);
    }
    out->sum = sum_parts(sums);
    out->largest = gw_magnitude_value(largest);
    return GW_OK;
}

enum gw_status gw_threshold_exceed_reference(const struct gw_task *task, double threshold,
                                             bool adding, struct gw_exceedances *out,
                                             struct gw_error *error) {
    if (adding) {
        GW_TRY(gw_threshold_accumulate_reference(task, error));
    }
    GW_TRY(refuse_nan_reference(task, error));
    long double sum = 0;
    *out = (struct gw_exceedances){0};
    for (size_t i = 0; i < task->n; i++) {
        double size = fabs(task->u[i]);
        if (size >= threshold) {
            sum += size;
            out->count++;
            out->largest = fmax(out->largest, size);
        }
    }
    out->sum = (double)sum;
    return GW_OK;
}

/* ---- counting ------------------------------------------------------------------------------ */

static void count_segment(size_t segment, void *context) {
    const struct segments *segments = context;
    gw_scan()->count(segments->task->u + segment * GW_SCAN_SEGMENT,
                     segment_size(segments->task, segment), segments->counting->magnitudes,
                     segments->counting->count, segments->counts[segment]);
}

enum gw_status gw_threshold_count(const struct gw_task *task, const double *thresholds,
                                  size_t count, size_t *counts, struct gw_error *error) {
    int32_t magnitudes[GW_MOST_THRESHOLDS];
    for (size_t j = 0; j < count; j++) {
        magnitudes[j] = gw_magnitude_from(thresholds[j]);
        counts[j] = 0;
    }
    struct counting counting = {.magnitudes = magnitudes, .count = count};
    struct segments segments = {.counting = &counting};
    GW_TRY(run_over_segments(task, sizeof *segments.counts, count_segment, &segments, error));
    for (size_t i = 0; i < segment_count(task); i++) {
        for (size_t j = 0; j < count; j++) {
            counts[j] += segments.counts[i][j];
        }
    }
    return GW_OK;
}

/* ---- selecting ----------------------------------------------------------------------------- */

enum gw_status gw_threshold_select(const struct gw_task *task, double threshold, bool adding,
                                   struct gw_selection *out, struct gw_error *error) {
    struct gw_collection everything = {.end = task->n,
                                       .adding = adding,
                                       .magnitude = gw_magnitude_from(threshold),
                                       .best = SIZE_MAX};
    return gw_collect(task, &everything, out, error);
}

enum gw_status gw_threshold_select_range(const struct gw_task *task, size_t begin, size_t end,
                                         double threshold, struct gw_selection *out,
                                         struct gw_error *error) {
    struct gw_collection range = {.begin = begin,
                                  .end = end,
                                  .adding = true,
                                  .magnitude = gw_magnitude_from(threshold),
                                  .best = SIZE_MAX};
    return gw_collect(task, &range, out, error);
}

enum gw_status gw_threshold_select_reference(const struct gw_task *task, double threshold,
                                             bool adding, struct gw_selection *out,
                                             struct gw_error *error) {
    if (adding) {
        GW_TRY(gw_threshold_accumulate_reference(task, error));
    }
    GW_TRY(refuse_nan_reference(task, error));
    GW_TRY(gw_selection_reserve(out, task->n, error));
    out->count = 0;
    for (size_t i = 0; i < task->n; i++) {
        if (fabs(task->u[i]) >= threshold) {
            out->entries[out->count++] =
                (struct gw_entry){.value = task->u[i], .index = (uint32_t)i};
        }
    }
    return GW_OK;
}
