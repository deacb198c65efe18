/* What times itself, such as messages between two ranks, repeated; private to this room. */
#ifndef GW_CALIBRATE_SELF_TIMED_H
#define GW_CALIBRATE_SELF_TIMED_H

#include "calibrate/measure/measurement.h"

/* Times itself, from call to call on one rank; the others say 0. Nobody waits before it. */
struct gw_self_timed {
    enum gw_status (*time)(void *context, double *seconds, struct gw_error *error);
    void *context;
    double around_s; /* what a repeat takes beyond the time that it says */
};

/*
 * Warms up, then repeats it until its median is known well enough, or for
 * calibration->max_s_per_point: at least 15 times, or 5 times what takes long. Every rank comes to
 * the same measurement.
 */
enum gw_status gw_measure_self_timed(struct gw_communicator *communicator,
                                     const struct gw_calibration *calibration,
                                     const struct gw_self_timed *timed, struct gw_measurement *out,
                                     struct gw_error *error);

#endif
