/* Timing one action on all ranks until its median is known well enough; private to this room. */
#ifndef GW_CALIBRATE_MEASURE_H
#define GW_CALIBRATE_MEASURE_H

#include "calibrate/calibrate.h"

typedef enum gw_status gw_action(void *context, struct gw_error *error);

/* What is measured, at sizes smallest, 2 smallest, 4 smallest, ... up to largest. */
struct gw_subject {
    const char *name;     /* of the collective or compressor */
    const char *size_key; /* what sizes are in the cluster file: "bytes", "elements" */
    size_t smallest, largest;
    /* Told the size before its repeats; or NULL. */
    enum gw_status (*prepare)(void *context, size_t size, struct gw_error *error);
    gw_action *run;
    /*
     * In place of run: times itself, from call to call on one rank, the others say 0. Nobody waits
     * for a barrier before it.
     */
    enum gw_status (*time)(void *context, double *seconds, struct gw_error *error);
    void (*restore)(void *context); /* after each repeat, and not timed; or NULL */
    void *context;
    /*
     * Slept before each repeat, by a thread that in execution comes from waiting; of what times
     * itself, what a repeat takes beyond the time that it says.
     */
    double idle_s;
    const enum gw_curve_shape *shapes; /* that the curve may have */
    size_t shape_count;
};

struct gw_measurement {
    double size; /* bytes or elements */
    struct gw_summary summary;
    bool precise; /* false: stopped by the time limit */
};

/*
 * Warms up, then repeats the subject's action at its present size: a barrier before each repeat,
 * and the longest time of any rank as the repeat's time. Every rank comes to the same measurement.
 * What times itself and takes long is repeated 5 times at least, all else 15 times.
 */
enum gw_status gw_measure(struct gw_communicator *communicator,
                          const struct gw_calibration *calibration,
                          const struct gw_subject *subject, struct gw_measurement *out,
                          struct gw_error *error);

#endif
