/* What the checks of a file share; private to study/check*.c. */
#ifndef GW_STUDY_CHECK_PARTS_H
#define GW_STUDY_CHECK_PARTS_H

#include "study/check.h"
#include "traces/cluster.h"

/* A file that is being checked. */
struct gw_checking {
    struct gw_file_check *out;
    struct gw_arena *arena;
};

void gw_check_add(struct gw_checking *check, struct gw_findings *findings, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define ODD(check, ...) gw_check_add((check), &(check)->out->odd, __VA_ARGS__)
#define NOTE(check, ...) gw_check_add((check), &(check)->out->notes, __VA_ARGS__)

void gw_check_cluster(struct gw_checking *check, const struct gw_cluster *cluster);

#endif
