/* What several documents say of the job they are about; private to this room. */
#ifndef GW_TRACES_JOB_JSON_H
#define GW_TRACES_JOB_JSON_H

#include "core/core.h"

/* A copy of the member's text, the caller's; NULL on failure. */
enum gw_status gw_job_read_text(const struct gw_json *root, const char *key, char **out,
                                struct gw_error *error);

/* "density", in (0, 1], and "workers", at least 1. */
enum gw_status gw_job_read_size(const struct gw_json *root, double *density, size_t *workers,
                                struct gw_error *error);

#endif
