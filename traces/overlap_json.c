#include "traces/overlap_json.h"

#include <stdlib.h>

/* ---- reading ------------------------------------------------------------------------------- */

/* Whoever writes a factor by hand may leave out its interval. */
static enum gw_status read_factor(const struct gw_json *place, struct gw_overlap_factor *out,
                                  struct gw_error *error) {
    GW_TRY(gw_json_object(place, error));
    struct gw_json factor = gw_json_member(place, "factor");
    struct gw_json low = gw_json_member(place, "low");
    struct gw_json high = gw_json_member(place, "high");
    GW_TRY(gw_json_positive(&factor, &out->factor, error));
    out->low = out->high = out->factor;
    if (low.node != NULL) {
        GW_TRY(gw_json_positive(&low, &out->low, error));
    }
    if (high.node != NULL) {
        GW_TRY(gw_json_positive(&high, &out->high, error));
    }
    if (out->low > out->factor) {
        return gw_json_expected(&low, "at most the factor", error);
    }
    return out->high < out->factor ? gw_json_expected(&high, "at least the factor", error) : GW_OK;
}

static enum gw_status read_point(const struct gw_json *place, double previous_bytes,
                                 struct gw_overlap_point *out, struct gw_error *error) {
    GW_TRY(gw_json_object(place, error));
    struct gw_json bytes = gw_json_member(place, "bytes");
    struct gw_json compute = gw_json_member(place, "compute");
    struct gw_json communication = gw_json_member(place, "communication");
    GW_TRY(gw_json_positive(&bytes, &out->bytes, error));
    if (out->bytes <= previous_bytes) {
        return gw_json_expected(&bytes, "sizes in ascending order", error);
    }
    GW_TRY(read_factor(&compute, &out->compute, error));
    return read_factor(&communication, &out->communication, error);
}

static enum gw_status read_pair(const struct gw_json *place, const char *collective,
                                const char *compute, struct gw_overlap *overlap,
                                struct gw_error *error) {
    GW_TRY(gw_json_array(place, error));
    if (cJSON_GetArraySize(place->node) == 0) {
        return gw_json_expected(place, "at least one size", error);
    }
    double previous_bytes = 0;
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, place->node) {
        struct gw_json item = gw_json_item(place, node, index++);
        struct gw_overlap_point point = {0};
        GW_TRY(read_point(&item, previous_bytes, &point, error));
        GW_TRY(gw_overlap_add(overlap, collective, compute, point, error));
        previous_bytes = point.bytes;
    }
    return GW_OK;
}

static enum gw_status read_overlap(const struct gw_json *place, struct gw_overlap *out,
                                   struct gw_error *error) {
    GW_TRY(gw_json_object(place, error));
    struct gw_json workers_place = gw_json_member(place, "workers");
    struct gw_json factors = gw_json_member(place, "factors");
    uint64_t workers = 0;
    GW_TRY(gw_json_integer(&workers_place, 1, &workers, error));
    out->workers = (size_t)workers;
    GW_TRY(gw_json_object(&factors, error));
    const cJSON *of_collective = NULL;
    cJSON_ArrayForEach(of_collective, factors.node) {
        struct gw_json collective = gw_json_member(&factors, of_collective->string);
        GW_TRY(gw_json_object(&collective, error));
        const cJSON *pair = NULL;
        cJSON_ArrayForEach(pair, collective.node) {
            struct gw_json points = gw_json_member(&collective, pair->string);
            if (gw_overlap_find(out, of_collective->string, pair->string) != NULL) {
                return gw_json_expected(&points, "one list for each compressor", error);
            }
            GW_TRY(read_pair(&points, of_collective->string, pair->string, out, error));
        }
    }
    out->kept = cJSON_Duplicate(place->node, 1);
    return out->kept == NULL ? gw_fail_memory(error, "reading overlap factors") : GW_OK;
}

enum gw_status gw_overlap_read(const struct gw_json *root, struct gw_cluster *cluster,
                               struct gw_error *error) {
    struct gw_json place = gw_json_member(root, "overlap");
    if (place.node == NULL) {
        return GW_OK;
    }
    struct gw_overlap *overlap = calloc(1, sizeof *overlap);
    if (overlap == NULL) {
        return gw_fail_memory(error, "reading overlap factors");
    }
    enum gw_status status = read_overlap(&place, overlap, error);
    if (status != GW_OK) {
        gw_overlap_free(overlap);
        return status;
    }
    gw_cluster_set_overlap(cluster, overlap);
    return GW_OK;
}

/* ---- writing ------------------------------------------------------------------------------- */

/* The member, with what gradweave ignores in it, or a new one. */
static enum gw_status object_in(cJSON *parent, const char *key, cJSON **out,
                                struct gw_error *error) {
    *out = cJSON_GetObjectItemCaseSensitive(parent, key);
    if (*out != NULL) {
        return GW_OK;
    }
    *out = cJSON_CreateObject();
    return gw_json_put(parent, key, *out, error);
}

static enum gw_status put_factor(const struct gw_overlap_factor *factor, const char *key,
                                 cJSON *point, struct gw_error *error) {
    cJSON *object = NULL;
    GW_TRY(object_in(point, key, &object, error));
    GW_TRY(gw_json_put_number(object, "factor", factor->factor, error));
    if (factor->low == factor->factor && factor->high == factor->factor) {
        return GW_OK;
    }
    GW_TRY(gw_json_put_number(object, "low", factor->low, error));
    return gw_json_put_number(object, "high", factor->high, error);
}

static enum gw_status put_pair(const struct gw_overlap_pair *pair, cJSON *factors,
                               struct gw_error *error) {
    cJSON *collective = NULL;
    GW_TRY(object_in(factors, pair->collective, &collective, error));
    cJSON *list = cJSON_GetObjectItemCaseSensitive(collective, pair->compute);
    if (list == NULL) {
        list = cJSON_CreateArray();
        GW_TRY(gw_json_put(collective, pair->compute, list, error));
    }
    for (size_t i = 0; i < pair->point_count; i++) {
        const struct gw_overlap_point *point = &pair->points[i];
        cJSON *object = cJSON_GetArrayItem(list, (int)i);
        if (object == NULL) {
            object = cJSON_CreateObject();
            GW_TRY(gw_json_append(list, object, error));
        }
        GW_TRY(gw_json_put_number(object, "bytes", point->bytes, error));
        GW_TRY(put_factor(&point->compute, "compute", object, error));
        GW_TRY(put_factor(&point->communication, "communication", object, error));
    }
    return GW_OK;
}

enum gw_status gw_overlap_put(const struct gw_cluster *cluster, cJSON *document,
                              struct gw_error *error) {
    const struct gw_overlap *overlap = cluster->overlap;
    if (overlap == NULL) {
        return GW_OK;
    }
    cJSON *object =
        overlap->kept != NULL ? cJSON_Duplicate(overlap->kept, 1) : cJSON_CreateObject();
    GW_TRY(gw_json_put(document, "overlap", object, error));
    GW_TRY(gw_json_put_number(object, "workers", (double)overlap->workers, error));
    cJSON *factors = NULL;
    GW_TRY(object_in(object, "factors", &factors, error));
    for (size_t i = 0; i < overlap->pair_count; i++) {
        GW_TRY(put_pair(&overlap->pairs[i], factors, error));
    }
    return GW_OK;
}
