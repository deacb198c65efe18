/*
 * From measurements to cost curves, with what a reader needs to judge them; private to this room.
 */
#ifndef GW_CALIBRATE_CURVES_H
#define GW_CALIBRATE_CURVES_H

#include "calibrate/measure/measurement.h"

/*
 * Of the subject's shapes, two segments and the points themselves, the simplest that predicts sizes
 * that are held out as well as any (candidates.h). `details` gets the medians with their spread
 * ("raw") and the candidates with their held-out errors, if there are 3 sizes or more, and
 * 95% intervals ("fit"). Both become the
 * caller's. Medians are > 0. Of a summary only count, median and its interval are needed to fit it
 * again.
 */
enum gw_status gw_choose_curve(const struct gw_subject *subject,
                               const struct gw_measurement *measurements, size_t count,
                               struct gw_curve *curve, cJSON **details, struct gw_error *error);

/* Appends a measurement to the "raw" of what it is of. `entry` stays the array's. */
enum gw_status gw_put_measurement(const struct gw_measurement *measurement, const char *size_key,
                                  cJSON *raw, cJSON **entry, struct gw_error *error);

#endif
