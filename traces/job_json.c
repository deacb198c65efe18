#include "traces/job_json.h"

#include <string.h>

enum gw_status gw_job_read_text(const struct gw_json *root, const char *key, char **out,
                                struct gw_error *error) {
    struct gw_json place = gw_json_member(root, key);
    const char *text = NULL;
    *out = NULL;
    GW_TRY(gw_json_text(&place, &text, error));
    *out = strdup(text);
    return *out == NULL ? gw_fail_memory(error, "reading a document") : GW_OK;
}

enum gw_status gw_job_read_size(const struct gw_json *root, double *density, size_t *workers,
                                struct gw_error *error) {
    struct gw_json density_place = gw_json_member(root, "density");
    struct gw_json workers_place = gw_json_member(root, "workers");
    uint64_t count = 0;
    GW_TRY(gw_json_positive(&density_place, density, error));
    if (*density > 1) {
        return gw_json_expected(&density_place, "a density in (0, 1]", error);
    }
    GW_TRY(gw_json_integer(&workers_place, 1, &count, error));
    *workers = (size_t)count;
    return GW_OK;
}
