/* Cost curves as they stand in cluster files; private to this room. */
#ifndef GW_TRACES_CURVE_JSON_H
#define GW_TRACES_CURVE_JSON_H

#include "core/core.h"

/* Which names the coefficients have. */
enum gw_curve_names {
    GW_COLLECTIVE_CURVE, /* alpha_s, beta_s_per_byte; both needed unless there are points */
    GW_COMPRESSOR_CURVE, /* fixed_s, per_element_s, per_nlog2n_s; those that are absent are 0 */
};

enum gw_status gw_curve_read(const struct gw_json *place, enum gw_curve_names names,
                             struct gw_curve *out, struct gw_error *error);

/* Replaces whatever curve `object` holds. */
enum gw_status gw_curve_put(const struct gw_curve *curve, enum gw_curve_names names, cJSON *object,
                            struct gw_error *error);

#endif
