/* What is measured, and what came of it; private to this room. */
#ifndef GW_CALIBRATE_MEASUREMENT_H
#define GW_CALIBRATE_MEASUREMENT_H

#include "calibrate/calibrate.h"

typedef enum gw_status gw_action(void *context, struct gw_error *error);

/* What is measured at many sizes, from the smallest to the largest. */
struct gw_subject {
    const char *name;     /* of the collective or compressor */
    const char *size_key; /* what sizes are in the cluster file: "bytes", "elements" */
    size_t smallest, largest;
    /* Told the size before its repeats; or NULL. */
    enum gw_status (*prepare)(void *context, size_t size, struct gw_error *error);
    gw_action *run;
    void (*restore)(void *context); /* after each repeat, and not timed; or NULL */
    /* Of one that is `separate` and times itself: what the last run took. NULL: the clock says. */
    double (*took_s)(void *context);
    void *context;
    bool separate; /* ranks run it without each other: the slowest one's time counts */
    double idle_s; /* slept before each repeat, by a thread that in execution comes from waiting */
    const enum gw_curve_shape *shapes; /* that the curve may have */
    size_t shape_count;
};

/* From so many on a repeat counts as an outlier. */
enum { GW_FAR_DEVIATIONS = 3 };

struct gw_measurement {
    double size; /* bytes or elements */
    struct gw_summary summary;
    bool precise;           /* false: stopped by ... */
    const char *stopped_by; /* ... "max-time", "time" or "repeats" (points.h); NULL if precise */
    size_t outliers;        /* repeats that far from the median; they count */
    size_t late;            /* repeats to which the ranks did not come together; they count */
};

/*
 * Sorts the values and summarises them, the median with its interval by the bootstrap
 * (core/median.h): the same on all ranks that have the same values, seed and stream.
 */
enum gw_status gw_summarise_repeats(double *values, size_t count, uint64_t seed, uint64_t stream,
                                    struct gw_summary *out, struct gw_error *error);

#endif
