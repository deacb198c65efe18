/*
 * Passes over u on a processor, and the compressors that find a threshold by them. Results are the
 * same to the last bit on every processor, with any number of threads and on a GPU, as sums are
 * made in a fixed order. A pass returns GW_BAD_INPUT if u holds a NaN.
 */
#include "kernels/threshold.h"

#include <gsl/gsl_cdf.h>
#include <stdlib.h>

#include "core/system.h"
#include "kernels/compressors.h"
#include "kernels/cpu/collect.h"
#include "kernels/cpu/scan.h"

/* ---- segments ------------------------------------------------------------------------------ */

struct counting {
    const int32_t *magnitudes;
    size_t count;
};

/* The input of a pass over all segments, and the result of each segment. */
struct segments {
    const struct gw_task *task;
    const struct counting *counting;
    int32_t magnitude;
    bool adding;
    struct gw_moments *moments;          /* [segment] */
    struct gw_tail *tails;               /* [segment] */
    size_t (*counts)[GW_MAX_THRESHOLDS]; /* [segment] */
};

static size_t segment_count(const struct gw_task *task) {
    return (task->n + GW_SCAN_SEGMENT - 1) / GW_SCAN_SEGMENT;
}

static size_t segment_size(const struct gw_task *task, size_t segment) {
    size_t left = task->n - segment * GW_SCAN_SEGMENT;
    return left < GW_SCAN_SEGMENT ? left : GW_SCAN_SEGMENT;
}

/* Runs `work` on all segments, each with `size` zeroed bytes of results in the workspace. */
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

static void find_segment_moments(size_t segment, void *context) {
    const struct segments *segments = context;
    const struct gw_task *task = segments->task;
    size_t begin = segment * GW_SCAN_SEGMENT;
    gw_scan()->moments(task->u + begin, task->gradient == NULL ? NULL : task->gradient + begin,
                       segment_size(task, segment), &segments->moments[segment]);
}

/* Adds the gradient to u first. */
static enum gw_status find_moments(const struct gw_task *task, struct gw_moments_of_u *out,
                                   struct gw_error *error) {
    struct segments segments = {0};
    GW_TRY(
        run_over_segments(task, sizeof *segments.moments, find_segment_moments, &segments, error));
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

/* ---- elements above a threshold ------------------------------------------------------------ */

static void sum_segment_tail(size_t segment, void *context) {
    const struct segments *segments = context;
    const struct gw_task *task = segments->task;
    size_t begin = segment * GW_SCAN_SEGMENT;
    const float *gradient = segments->adding ? task->gradient : NULL;
    gw_scan()->tail(task->u + begin, gradient == NULL ? NULL : gradient + begin,
                    segment_size(task, segment), segments->magnitude, &segments->tails[segment]);
}

/* Adds the gradient to u first if `adding`. */
static enum gw_status find_exceedances(const struct gw_task *task, double threshold, bool adding,
                                       struct gw_exceedances *out, struct gw_error *error) {
    struct segments segments = {.magnitude = gw_magnitude_from(threshold), .adding = adding};
    GW_TRY(run_over_segments(task, sizeof *segments.tails, sum_segment_tail, &segments, error));
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

/* ---- counting ------------------------------------------------------------------------------ */

static void count_segment(size_t segment, void *context) {
    const struct segments *segments = context;
    gw_scan()->count(segments->task->u + segment * GW_SCAN_SEGMENT,
                     segment_size(segments->task, segment), segments->counting->magnitudes,
                     segments->counting->count, segments->counts[segment]);
}

/* Sets counts[j] to the number of elements with |u| >= thresholds[j], j < `count`; does not change
 * u. */
static enum gw_status count_exceeding(const struct gw_task *task, const double *thresholds,
                                      size_t count, size_t *counts, struct gw_error *error) {
    int32_t magnitudes[GW_MAX_THRESHOLDS];
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

/* Selects |u| >= threshold in one pass; adds the gradient first if `adding`. GW_BAD_INPUT if u
 * holds a NaN. */
static enum gw_status select_from_threshold(const struct gw_task *task, double threshold,
                                            bool adding, struct gw_selection *out,
                                            struct gw_error *error) {
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

/* ---- a fixed threshold --------------------------------------------------------------------- */

/* Selects |u| >= a threshold that the caller sets for the whole run. */

static enum gw_status select_hard(const struct gw_task *task, struct gw_selection *out,
                                  struct gw_error *error) {
    return select_from_threshold(task, task->threshold, true, out, error);
}

const struct gw_kernel gw_kernel_hard_threshold = {.select = select_hard};

/* ---- RedSync ------------------------------------------------------------------------------- */

/*
 * RedSync's trimmed selection: a threshold between the mean and the maximum of |u|, found by
 * bisection. The interval is halved at most three times, so one pass counts its seven possible
 * thresholds.
 */

static enum gw_status select_redsync(const struct gw_task *task, struct gw_selection *out,
                                     struct gw_error *error) {
    struct gw_exceedances all;
    double thresholds[GW_REDSYNC_STEPS];
    size_t counts[GW_REDSYNC_STEPS];
    GW_TRY(find_exceedances(task, 0, true, &all, error));
    for (int step = 1; step < GW_REDSYNC_STEPS; step++) {
        thresholds[step] = gw_redsync_threshold(all.sum, all.largest, task->n, step);
    }
    GW_TRY(count_exceeding(task, thresholds + 1, GW_REDSYNC_STEPS - 1, counts + 1, error));
    int step = gw_redsync_last_step(counts, task->k);
    return select_from_threshold(task, thresholds[step], false, out, error);
}

const struct gw_kernel gw_kernel_redsync = {.select = select_redsync};

/* ---- Gaussian_k ---------------------------------------------------------------------------- */

/*
 * Gaussian_k (GaussianK-SGD paper, Algorithm 1): the threshold is the normal quantile of u's mean
 * and deviation, halved or raised by half up to four times until it is near enough. One pass counts
 * all thresholds that this can lead to.
 */

static enum gw_status select_gaussiank(const struct gw_task *task, struct gw_selection *out,
                                       struct gw_error *error) {
    struct gw_moments_of_u moments = {0};
    double thresholds[GW_GAUSSIANK_THRESHOLDS];
    size_t counts[GW_GAUSSIANK_THRESHOLDS];
    GW_TRY(find_moments(task, &moments, error));
    double quantile = gsl_cdf_ugaussian_Qinv((double)task->k / (2 * (double)task->n));
    double first = gw_gaussiank_first(moments, quantile);
    gw_gaussiank_thresholds(first, thresholds);
    GW_TRY(count_exceeding(task, thresholds, GW_GAUSSIANK_THRESHOLDS, counts, error));
    double threshold = gw_gaussiank_adjust(first, counts, task->k);
    return select_from_threshold(task, threshold, false, out, error);
}

const struct gw_kernel gw_kernel_gaussiank = {.select = select_gaussiank};

/* ---- SIDCo --------------------------------------------------------------------------------- */

/* SIDCo (kernels/threshold.h): fits an exponential to |u|, and again to the elements above the
 * threshold, in a number of stages that follows from the selections of earlier iterations. */

enum { ADAPT_EVERY = 5 }; /* iterations */

static const double first_ratio = 0.25;
static const double tolerance = 0.2; /* of k' / k */

size_t gw_sidco_ratios(double rho, size_t stages, double *ratios) {
    if (stages == 1 || rho >= first_ratio) {
        ratios[0] = rho;
        return 1;
    }
    ratios[0] = first_ratio;
    for (size_t m = 1; m < stages; m++) {
        ratios[m] = pow(rho / first_ratio, 1 / ((double)stages - 1));
    }
    return stages;
}

void gw_sidco_stages_adapt(struct gw_sidco *state, size_t selected, size_t wanted, double rho) {
    state->sum += (double)selected / (double)wanted;
    state->seen++;
    if (state->seen < ADAPT_EVERY) {
        return;
    }
    double mean = state->sum / ADAPT_EVERY;
    double most = fmin(ceil(log2(1 / rho)), GW_SIDCO_STAGES);
    if (mean > 1 + tolerance && state->stages > 1) {
        state->stages--;
    } else if (mean < 1 - tolerance && (double)state->stages < most) {
        state->stages++;
    }
    state->seen = 0;
    state->sum = 0;
}

static enum gw_status open_sidco(const struct gw_task *task, void **out, struct gw_error *error) {
    (void)task;
    struct gw_sidco *state = malloc(sizeof *state);
    if (state == NULL) {
        return gw_fail_memory(error, "opening SIDCo");
    }
    *state = (struct gw_sidco){.stages = 1};
    *out = state;
    return GW_OK;
}

static struct gw_kept kept_sidco(void *opened) {
    return (struct gw_kept){.bytes = sizeof(struct gw_sidco), .at = opened};
}

static enum gw_status select_sidco(const struct gw_task *task, struct gw_selection *out,
                                   struct gw_error *error) {
    struct gw_sidco *state = task->state;
    double rho = (double)task->k / (double)task->n;
    double ratios[GW_SIDCO_STAGES];
    size_t stages = gw_sidco_ratios(rho, state->stages, ratios);
    double threshold = 0;
    for (size_t m = 0; m < stages; m++) {
        struct gw_exceedances above;
        GW_TRY(find_exceedances(task, threshold, m == 0, &above, error));
        threshold = gw_sidco_exceed_threshold(threshold, above.count, above.sum, log(ratios[m]));
    }
    GW_TRY(select_from_threshold(task, threshold, false, out, error));
    gw_sidco_stages_adapt(state, out->count, task->k, rho);
    return GW_OK;
}

const struct gw_kernel gw_kernel_sidco = {
    .select = select_sidco,
    .open = open_sidco,
    .close = free,
    .kept = kept_sidco,
};
