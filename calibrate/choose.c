/* The choice of a part of a calibration, by names. */
#include <stdio.h>
#include <string.h>

#include "calibrate/calibrate.h"

static const char aggregation[] = "aggregation";
static const char network[] = "network";
static const char overlap[] = "overlap";

void gw_calibrated_names(const char *out[GW_MAX_CALIBRATED]) {
    size_t count = 0;
    for (size_t i = 0; gw_calibrated_collectives[i] != NULL; i++) {
        out[count++] = gw_calibrated_collectives[i];
    }
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        out[count++] = gw_compressors[i]->name;
    }
    out[count++] = aggregation;
    out[count++] = network;
    out[count++] = overlap;
    out[count] = NULL;
}

static const char *find_collective(const char *name) {
    for (size_t i = 0; gw_calibrated_collectives[i] != NULL; i++) {
        if (strcmp(gw_calibrated_collectives[i], name) == 0) {
            return gw_calibrated_collectives[i];
        }
    }
    return NULL;
}

/* The numbers chosen so far. */
struct chosen_counts {
    size_t collectives, compressors;
};

/* Adds the part of that name; false if it is unknown or already chosen. */
static bool add_named(const char *name, struct gw_calibration_choice *choice,
                      struct gw_calibration *out, struct chosen_counts *counts) {
    const char *collective = find_collective(name);
    const struct gw_compressor *compressor = gw_compressor_find(name);
    for (size_t i = 0; i < counts->collectives; i++) {
        if (choice->collectives[i] == collective) {
            return false;
        }
    }
    for (size_t i = 0; i < counts->compressors; i++) {
        if (choice->compressors[i] == compressor) {
            return false;
        }
    }
    if (collective != NULL) {
        choice->collectives[counts->collectives++] = collective;
    } else if (compressor != NULL) {
        choice->compressors[counts->compressors++] = compressor;
    } else if (strcmp(name, aggregation) == 0 && !out->aggregation) {
        out->aggregation = true;
    } else if (strcmp(name, network) == 0 && !out->network) {
        out->network = true;
    } else if (strcmp(name, overlap) == 0 && !out->overlap) {
        out->overlap = true;
    } else {
        return false;
    }
    return true;
}

static enum gw_status refuse_name(const char *name, struct gw_error *error) {
    const char *names[GW_MAX_CALIBRATED];
    char all[400] = "";
    size_t used = 0;
    gw_calibrated_names(names);
    for (size_t i = 0; names[i] != NULL && used < sizeof all; i++) {
        used += (size_t)snprintf(all + used, sizeof all - used, "%s, ", names[i]);
    }
    return gw_fail(error, GW_BAD_INPUT, "only: expected some of %seach once, got \"%s\"", all,
                   name);
}

enum gw_status gw_calibration_choose(const char *text, struct gw_calibration_choice *choice,
                                     struct gw_calibration *out, struct gw_error *error) {
    struct chosen_counts counts = {0};
    *choice = (struct gw_calibration_choice){0};
    out->aggregation = false;
    out->network = false;
    out->overlap = false;
    while (text != NULL) {
        char name[64];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), text);
        if (!add_named(name, choice, out, &counts)) {
            return refuse_name(name, error);
        }
        text = text[length] == ',' ? text + length + 1 : NULL;
    }
    out->collectives = choice->collectives;
    out->compressors = choice->compressors;
    return GW_OK;
}
