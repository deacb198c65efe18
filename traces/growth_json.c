#include <string.h>

#include "traces/growth.h"

static enum gw_status put_law(const struct gw_growth_law *law, const char *key, const char *unit,
                              cJSON *object, struct gw_error *error) {
    char name[GW_GROWTH_NAME_SIZE];
    cJSON *entry = cJSON_CreateObject();
    GW_TRY(gw_json_put(object, key, entry, error));
    GW_TRY(gw_json_put_text(entry, "law", gw_growth_law_name(law, name), error));
    cJSON *coefficients = cJSON_CreateArray();
    GW_TRY(gw_json_put(entry, unit, coefficients, error));
    for (int i = 0; i < 2; i++) {
        if (law->coefficients[i] > 0) {
            GW_TRY(gw_json_append(coefficients, cJSON_CreateNumber(law->coefficients[i]), error));
        }
    }
    return GW_OK;
}

static enum gw_status put_growth(const struct gw_growth *growth, cJSON *object,
                                 struct gw_error *error) {
    cJSON *entry = cJSON_CreateObject();
    GW_TRY(gw_json_put(object, growth->collective, entry, error));
    cJSON *workers = cJSON_CreateArray();
    GW_TRY(gw_json_put(entry, "workers", workers, error));
    for (size_t i = 0; i < growth->count; i++) {
        GW_TRY(
            gw_json_append(workers, cJSON_CreateNumber((double)growth->samples[i].workers), error));
    }
    GW_TRY(put_law(&growth->startup, "startup", "coefficients_s", entry, error));
    GW_TRY(put_law(&growth->slope, "bandwidth", "coefficients_s_per_byte", entry, error));
    GW_TRY(gw_json_put_number(entry, "left_out_error", growth->left_out_error, error));
    return gw_json_put_number(entry, "largest_left_out_error", growth->largest_left_out_error,
                              error);
}

enum gw_status gw_cluster_put_growth(struct gw_cluster *cluster, struct gw_error *error) {
    cJSON *object = cJSON_CreateObject();
    GW_TRY(gw_json_put(cluster->kept, "growth", object, error));
    for (size_t i = 0; i < cluster->collective_count; i++) {
        const char *name = cluster->collectives[i].name;
        struct gw_growth growth;
        if (cJSON_GetObjectItemCaseSensitive(object, name) != NULL) {
            continue;
        }
        GW_TRY(gw_growth_find(cluster, name, &growth, error));
        if (growth.count >= 2) {
            GW_TRY(put_growth(&growth, object, error));
        }
    }
    if (cJSON_GetArraySize(object) == 0) {
        cJSON_DeleteItemFromObjectCaseSensitive(cluster->kept, "growth");
    }
    return GW_OK;
}
