/*
 * From measurements to cost curves, with what a reader needs
 * to judge them; private to this room.
 */
#ifndef GW_CALIBRATE_CURVES_H
#define GW_CALIBRATE_CURVES_H

#include "calibrate/measure.h"

/*
 * Of the subject's shapes and the points themselves, what predicts sizes that are held out best: in
 * the mean of its relative errors. `details` gets the medians with their spread ("raw") and the
 * quality of the candidates ("fit"). Both become the caller's.
 */
enum gw_status gw_choose_curve(const struct gw_subject *subject,
                               const struct gw_measurement *measurements, size_t count,
                               struct gw_curve *curve, cJSON **details, struct gw_error *error);

/* Appends a measurement to the "raw" of what it is of. `entry` stays the array's. */
enum gw_status gw_put_measurement(const struct gw_measurement *measurement, const char *size_key,
                                  cJSON *raw, cJSON **entry, struct gw_error *error);

/* Told before each point how much of a subject is done. */
struct gw_report {
    void (*tell)(void *context, double share, const char *what);
    void *context;
    double offset, scale; /* a subject's share of the whole: from offset to offset + scale */
};

/* Measures the subject at all its sizes and chooses its curve. */
enum gw_status gw_measure_curve(struct gw_communicator *communicator,
                                const struct gw_calibration *calibration,
                                const struct gw_subject *subject, const struct gw_report *report,
                                struct gw_curve *curve, cJSON **details, struct gw_error *error);

#endif
