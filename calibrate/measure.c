#include "calibrate/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WARM_UPS = 3,
    SMALLEST_BATCH = 8,
    LARGEST_BATCH = 64,
    FEWEST_REPEATS = 15,
    FEWEST_LONG_REPEATS = 5,
    MOST_REPEATS = 2000
};
static const double batch_s = 0.01;

static enum gw_status time_run(struct gw_communicator *communicator,
                               const struct gw_subject *subject, double *seconds,
                               struct gw_error *error) {
    GW_TRY(communicator->transport->barrier(communicator, error));
    if (subject->idle_s > 0) {
        gw_clock_sleep_until_s(gw_clock_now_s() + subject->idle_s);
    }
    double started_s = gw_clock_now_s();
    GW_TRY(subject->run(subject->context, error));
    *seconds = gw_clock_now_s() - started_s;
    return GW_OK;
}

static enum gw_status time_batch(struct gw_communicator *communicator,
                                 const struct gw_subject *subject, double *seconds, size_t count,
                                 struct gw_error *error) {
    for (size_t i = 0; i < count; i++) {
        GW_TRY(subject->time != NULL ? subject->time(subject->context, &seconds[i], error)
                                     : time_run(communicator, subject, &seconds[i], error));
        if (subject->restore != NULL) {
            subject->restore(subject->context);
        }
    }
    return gw_agree_maximum(communicator, seconds, count, error);
}

/* Ranks agree after each batch, which disturbs what has no barrier of its own: as seldom as can be.
 */
static size_t first_batch(const struct gw_subject *subject, double warm_s) {
    if (subject->time == NULL) {
        return SMALLEST_BATCH;
    }
    return (size_t)fmin(LARGEST_BATCH,
                        fmax(FEWEST_LONG_REPEATS, batch_s / (warm_s + subject->idle_s)));
}

enum gw_status gw_measure(struct gw_communicator *communicator,
                          const struct gw_calibration *calibration,
                          const struct gw_subject *subject, struct gw_measurement *out,
                          struct gw_error *error) {
    double seconds[MOST_REPEATS];
    double sorted[MOST_REPEATS];
    GW_TRY(time_batch(communicator, subject, seconds, WARM_UPS, error));
    size_t count = 0;
    size_t batch = first_batch(subject, seconds[WARM_UPS - 1]);
    size_t fewest = subject->time != NULL && batch < FEWEST_REPEATS ? batch : FEWEST_REPEATS;
    double spent_s = 0;
    out->precise = false;
    while (count + batch <= MOST_REPEATS && !out->precise &&
           (count < fewest || spent_s < calibration->max_s_per_point)) {
        GW_TRY(time_batch(communicator, subject, seconds + count, batch, error));
        for (size_t i = 0; i < batch; i++) {
            spent_s += seconds[count + i] + subject->idle_s;
        }
        count += batch;
        batch = 2 * batch < LARGEST_BATCH ? 2 * batch : LARGEST_BATCH;
        memcpy(sorted, seconds, count * sizeof *sorted);
        gw_summarise(sorted, count, &out->summary);
        out->precise =
            count >= fewest && gw_summary_relative_error(&out->summary) <= calibration->precision;
    }
    return GW_OK;
}
