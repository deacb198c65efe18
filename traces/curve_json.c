#include "traces/curve_json.h"

#include <stdlib.h>

static enum gw_status read_point(const struct gw_json *place, double previous_size,
                                 struct gw_curve_point *out, struct gw_error *error) {
    if (!cJSON_IsArray(place->node) || cJSON_GetArraySize(place->node) != 2) {
        return gw_json_expected(place, "a pair [size, seconds]", error);
    }
    struct gw_json size = gw_json_item(place, cJSON_GetArrayItem(place->node, 0), 0);
    struct gw_json time = gw_json_item(place, cJSON_GetArrayItem(place->node, 1), 1);
    GW_TRY(gw_json_positive(&size, &out->size, error));
    if (!(out->size > previous_size)) {
        return gw_json_expected(&size, "sizes in ascending order", error);
    }
    return gw_json_not_negative(&time, &out->time_s, error);
}

static enum gw_status read_points(const struct gw_json *place, struct gw_curve *out,
                                  struct gw_error *error) {
    GW_TRY(gw_json_array(place, error));
    size_t count = (size_t)cJSON_GetArraySize(place->node);
    if (count < 2) {
        return gw_json_expected(place, "at least two points", error);
    }
    struct gw_curve_point *points = calloc(count, sizeof *points);
    if (points == NULL) {
        return gw_fail_memory(error, "reading a cost curve");
    }
    double previous_size = 0;
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, place->node) {
        struct gw_json at = gw_json_item(place, node, index);
        enum gw_status status = read_point(&at, previous_size, &points[index], error);
        if (status != GW_OK) {
            free(points);
            return status;
        }
        previous_size = points[index++].size;
    }
    *out = (struct gw_curve){.point_count = count, .points = points};
    return GW_OK;
}

static enum gw_status read_optional(const struct gw_json *object, const char *key, double *out,
                                    struct gw_error *error) {
    struct gw_json place = gw_json_member(object, key);
    return place.node == NULL ? GW_OK : gw_json_not_negative(&place, out, error);
}

enum gw_status gw_curve_read(const struct gw_json *place, enum gw_curve_names names,
                             struct gw_curve *out, struct gw_error *error) {
    *out = (struct gw_curve){0};
    struct gw_json points = gw_json_member(place, "points");
    if (points.node != NULL) {
        return read_points(&points, out, error);
    }
    if (names == GW_COMPRESSOR_CURVE) {
        GW_TRY(read_optional(place, "fixed_s", &out->fixed_s, error));
        GW_TRY(read_optional(place, "per_element_s", &out->per_unit_s, error));
        return read_optional(place, "per_nlog2n_s", &out->per_nlog2n_s, error);
    }
    struct gw_json alpha = gw_json_member(place, "alpha_s");
    struct gw_json beta = gw_json_member(place, "beta_s_per_byte");
    GW_TRY(gw_json_not_negative(&alpha, &out->fixed_s, error));
    return gw_json_not_negative(&beta, &out->per_unit_s, error);
}

static enum gw_status put_points(const struct gw_curve *curve, cJSON *object,
                                 struct gw_error *error) {
    cJSON *points = cJSON_CreateArray();
    GW_TRY(gw_json_put(object, "points", points, error));
    for (size_t i = 0; i < curve->point_count; i++) {
        double pair[2] = {curve->points[i].size, curve->points[i].time_s};
        GW_TRY(gw_json_append(points, cJSON_CreateDoubleArray(pair, 2), error));
    }
    return GW_OK;
}

enum gw_status gw_curve_put(const struct gw_curve *curve, enum gw_curve_names names, cJSON *object,
                            struct gw_error *error) {
    static const char *const keys[] = {"points",  "alpha_s",       "beta_s_per_byte",
                                       "fixed_s", "per_element_s", "per_nlog2n_s"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        cJSON_DeleteItemFromObjectCaseSensitive(object, keys[i]);
    }
    if (curve->point_count > 0) {
        return put_points(curve, object, error);
    }
    if (names == GW_COLLECTIVE_CURVE) {
        GW_TRY(gw_json_put_number(object, "alpha_s", curve->fixed_s, error));
        return gw_json_put_number(object, "beta_s_per_byte", curve->per_unit_s, error);
    }
    GW_TRY(gw_json_put_number(object, "fixed_s", curve->fixed_s, error));
    if (curve->per_unit_s > 0) {
        GW_TRY(gw_json_put_number(object, "per_element_s", curve->per_unit_s, error));
    }
    if (curve->per_nlog2n_s > 0) {
        GW_TRY(gw_json_put_number(object, "per_nlog2n_s", curve->per_nlog2n_s, error));
    }
    return GW_OK;
}
