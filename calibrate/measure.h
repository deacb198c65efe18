/* Timing one action on all ranks until its median is known well enough; private to this room. */
#ifndef GW_CALIBRATE_MEASURE_H
#define GW_CALIBRATE_MEASURE_H

#include "calibrate/calibrate.h"

typedef enum gw_status gw_action(void *context, struct gw_error *error);

struct gw_measurement {
    double size; /* bytes or elements */
    struct gw_summary summary;
    bool precise; /* false: stopped by the time limit */
};

/*
 * Warms up, then repeats the action: a barrier before each repeat, and the longest time of any rank
 * as the repeat's time. Every rank comes to the same measurement.
 */
enum gw_status gw_measure(struct gw_communicator *communicator,
                          const struct gw_calibration *calibration, gw_action *action,
                          void *context, struct gw_measurement *out, struct gw_error *error);

#endif
