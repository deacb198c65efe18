/*
 * The members of a validation, "schema": "gradweave/validation@1" (docs/files.md), that are read
 * again.
 */
#ifndef GW_TRACES_VALIDATION_H
#define GW_TRACES_VALIDATION_H

#include "core/core.h"
#include "traces/timeline.h"

/* An iteration of a pipeline, predicted or measured. */
struct gw_validated_iteration {
    double iteration_s;
    struct gw_breakdown breakdown; /* other_s: what the others leave of iteration_s */
};

struct gw_validated {
    char *algorithm;
    char *policy, *compressor, *exchange; /* NULL: the algorithm's own */
    struct gw_validated_iteration predicted, measured;
};

struct gw_validation_document {
    char *model, *cluster; /* cluster NULL: not said */
    uint64_t workers;
    double density; /* 0: not said */
    size_t count;
    struct gw_validated *results;
};

GW_DOCUMENT(gw_validation_document)

#endif
