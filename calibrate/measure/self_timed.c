#include "calibrate/measure/self_timed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/measure/points.h"

enum { WARM_UPS = 3, LARGEST_BATCH = 64 };
static const double batch_s = 0.01;

static enum gw_status time_batch(struct gw_communicator *communicator,
                                 const struct gw_self_timed *timed, double *seconds, size_t count,
                                 struct gw_error *error) {
    for (size_t i = 0; i < count; i++) {
        GW_TRY(timed->time(timed->context, &seconds[i], error));
    }
    return gw_agree_maximum(communicator, seconds, count, error);
}

/* Ranks agree after each batch, which disturbs what has no barrier of its own: as seldom as can be.
 */
static size_t first_batch(const struct gw_self_timed *timed, double warm_s) {
    return (size_t)fmin(LARGEST_BATCH,
                        fmax(GW_FEWEST_LONG_REPEATS, batch_s / (warm_s + timed->around_s)));
}

enum gw_status gw_measure_self_timed(struct gw_communicator *communicator,
                                     const struct gw_calibration *calibration,
                                     const struct gw_self_timed *timed, struct gw_measurement *out,
                                     struct gw_error *error) {
    double seconds[GW_MOST_REPEATS];
    double sorted[GW_MOST_REPEATS];
    GW_TRY(time_batch(communicator, timed, seconds, WARM_UPS, error));
    size_t count = 0;
    size_t batch = first_batch(timed, seconds[WARM_UPS - 1]);
    size_t fewest = batch < GW_FEWEST_REPEATS ? batch : GW_FEWEST_REPEATS;
    double spent_s = 0;
    out->precise = false;
    out->late = 0;
    while (count + batch <= GW_MOST_REPEATS && !out->precise &&
           (count < fewest || spent_s < calibration->max_s_per_point)) {
        GW_TRY(time_batch(communicator, timed, seconds + count, batch, error));
        for (size_t i = 0; i < batch; i++) {
            spent_s += seconds[count + i] + timed->around_s;
        }
        count += batch;
        batch = 2 * batch < LARGEST_BATCH ? 2 * batch : LARGEST_BATCH;
        memcpy(sorted, seconds, count * sizeof *sorted);
        GW_TRY(gw_summarise_repeats(sorted, count, calibration->seed, count, &out->summary, error));
        out->precise =
            count >= fewest && gw_summary_relative_error(&out->summary) <= calibration->precision;
    }
    out->outliers = gw_count_outliers(sorted, count, GW_FAR_DEVIATIONS);
    out->stopped_by = out->precise                       ? NULL
                      : count + batch <= GW_MOST_REPEATS ? "max-time"
                                                         : "repeats";
    return GW_OK;
}
