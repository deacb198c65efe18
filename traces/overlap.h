/*
 * Overlap factors: how much longer compression takes while a collective runs beside it, and the
 * collective while compression does. In a cluster file they are "overlap".
 */
#ifndef GW_TRACES_OVERLAP_H
#define GW_TRACES_OVERLAP_H

#include <stddef.h>

#include "core/core.h"

/* Time while the other one runs throughout, over the time alone; with its 95% interval. */
struct gw_overlap_factor {
    double factor, low, high; /* all > 0 */
};

/* Both at once, with a collective to which each worker contributes `bytes`. */
struct gw_overlap_point {
    double bytes;
    struct gw_overlap_factor compute, communication;
};

/* What the compute stream did beside which collective. */
struct gw_overlap_pair {
    char *collective;
    char *compute; /* a compressor, or GW_OVERLAP_TIMED */
    size_t point_count;
    struct gw_overlap_point *points; /* by ascending bytes */
};

/*
 * In place of a compressor: what an accelerator does, which is forward, backward and update. Beside
 * an accelerator that is not named nothing slows down.
 */
#define GW_OVERLAP_TIMED "timed"

struct gw_overlap {
    size_t workers; /* of the collectives */
    size_t pair_count;
    struct gw_overlap_pair *pairs;
    cJSON *kept; /* as it was read or measured, with what gradweave ignores */
};

/* Appends to the pair of that collective, which is made if there is none: bytes must ascend. */
enum gw_status gw_overlap_add(struct gw_overlap *overlap, const char *collective,
                              const char *compute, struct gw_overlap_point point,
                              struct gw_error *error);
void gw_overlap_free(struct gw_overlap *overlap);

/* The pair, or NULL. */
const struct gw_overlap_pair *gw_overlap_find(const struct gw_overlap *overlap,
                                              const char *collective, const char *compute);

/* A factor on each of the two, and nothing else. */
struct gw_slowing {
    double compute, communication;
};

/*
 * At `bytes`: between measured sizes the logarithm of a factor is linear in that of the bytes;
 * beyond them it stays as at the last one.
 */
struct gw_slowing gw_overlap_at(const struct gw_overlap_pair *pair, double bytes);

#endif
