/* The choice of a part of a calibration, by names. */
#include <stdio.h>
#include <string.h>

#include "calibrate/measure/points.h"

void gw_calibrated_names(const char *out[GW_MAX_CALIBRATED]) {
    size_t count = 0;
    for (size_t i = 0; gw_calibrated_collectives[i] != NULL; i++) {
        out[count++] = gw_calibrated_collectives[i];
    }
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        out[count++] = gw_compressors[i]->name;
    }
    out[count++] = "aggregation";
    out[count++] = "network";
    out[count++] = "overlap";
    out[count] = NULL;
}

enum gw_status gw_calibration_choose(const char *text, struct gw_calibration_choice *choice,
                                     struct gw_calibration *out, struct gw_error *error) {
    const char *names[GW_MAX_CALIBRATED];
    bool chosen[GW_MAX_CALIBRATED] = {false};
    size_t i = 0;
    gw_calibrated_names(names);
    for (bool ends = false; !ends;) {
        size_t length = strcspn(text, ",");
        for (i = 0; names[i] != NULL &&
                    (strlen(names[i]) != length || strncmp(names[i], text, length) != 0);) {
            i++;
        }
        if (names[i] == NULL || chosen[i]) {
            char all[400] = "";
            for (size_t n = 0, used = 0; names[n] != NULL && used < sizeof all; n++) {
                used += (size_t)snprintf(all + used, sizeof all - used, "%s, ", names[n]);
            }
            return gw_fail(error, GW_BAD_INPUT, "only: expected some of %seach once, got \"%.*s\"",
                           all, (int)gw_lesser(length, 63), text);
        }
        chosen[i] = true;
        ends = text[length] == '\0';
        text += length + 1;
    }
    *choice = (struct gw_calibration_choice){0};
    i = 0; /* in the order of gw_calibrated_names */
    for (size_t c = 0, count = 0; gw_calibrated_collectives[c] != NULL; c++, i++) {
        if (chosen[i]) {
            choice->collectives[count++] = gw_calibrated_collectives[c];
        }
    }
    for (size_t c = 0, count = 0; gw_compressors[c] != NULL; c++, i++) {
        if (chosen[i]) {
            choice->compressors[count++] = gw_compressors[c];
        }
    }
    out->aggregation = chosen[i++];
    out->network = chosen[i++];
    out->overlap = chosen[i];
    out->collectives = choice->collectives;
    out->compressors = choice->compressors;
    return GW_OK;
}
