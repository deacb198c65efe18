/* From measurements to cost curves, with what a reader needs to judge them; private to this room.
 */
#ifndef GW_CALIBRATE_CURVES_H
#define GW_CALIBRATE_CURVES_H

#include "calibrate/measure.h"

/*
 * A fitted curve of one of the shapes if it meets every point within 5%, otherwise the points
 * themselves. `details` gets the medians with their spread ("raw") and the quality of the fits
 * ("fit"); `size_key` names the size there. Both become the caller's.
 */
enum gw_status gw_choose_curve(const struct gw_measurement *measurements, size_t count,
                               const enum gw_curve_shape *shapes, size_t shape_count,
                               const char *size_key, struct gw_curve *curve, cJSON **details,
                               struct gw_error *error);

#endif
