/* Times of products of matrices by their depth. */
#include <math.h>
#include <string.h>

#include "exec/accelerator.h"

enum { MIN_POINTS = 3 };

enum gw_status gw_depths_set(struct gw_depths *out, const struct gw_curve_point *measured,
                             size_t count, struct gw_error *error) {
    double deeper_s = INFINITY;
    size_t first = GW_MAX_DEPTHS;
    bool timed = count > 0 && count <= GW_MAX_DEPTHS;
    for (size_t i = count; i-- > 0 && timed;) {
        timed = measured[i].time_s > 0 && isfinite(measured[i].time_s);
        if (measured[i].time_s < deeper_s) {
            out->points[--first] = measured[i];
            deeper_s = measured[i].time_s;
        }
    }
    out->count = GW_MAX_DEPTHS - first;
    memmove(out->points, out->points + first, out->count * sizeof *out->points);
    if (!timed) {
        return gw_fail(error, GW_FAILED, "calibrating work on a GPU: expected times above 0");
    }
    if (out->count < MIN_POINTS || out->points[out->count - 1].time_s < 2 * out->points[0].time_s) {
        return gw_fail(error, GW_FAILED,
                       "calibrating work on a GPU: expected deeper products to take longer, got %g "
                       "s for a depth of %g and %g s for %g",
                       measured[0].time_s, measured[0].size, measured[count - 1].time_s,
                       measured[count - 1].size);
    }
    return GW_OK;
}

size_t gw_depths_take(const struct gw_depths *depths, double *owed_s) {
    const struct gw_curve_point *low = depths->points;
    const struct gw_curve_point *deepest = &depths->points[depths->count - 1];
    if (*owed_s < low->time_s) {
        return 0;
    }
    if (*owed_s >= deepest->time_s) {
        *owed_s -= deepest->time_s;
        return (size_t)deepest->size;
    }
    while (low[1].time_s <= *owed_s) {
        low++;
    }
    double s_per_depth = (low[1].time_s - low[0].time_s) / (low[1].size - low[0].size);
    double exact = low->size + (*owed_s - low->time_s) / s_per_depth;
    double depth = GW_DEPTH_STEP * floor(exact / GW_DEPTH_STEP + 0.5);
    *owed_s -= low->time_s + (depth - low->size) * s_per_depth;
    return (size_t)depth;
}
