/*
 * When a compressor whose counts follow its gradients has warmed up: the one rule for calibrating
 * and for running it.
 */
#ifndef GW_CORE_WARM_UP_H
#define GW_CORE_WARM_UP_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum { GW_WARM_UP_ROW = 6 }; /* more than SIDCo's five iterations between two adaptations */

/* What the selections so far came to; zero but for the tolerance at first. */
struct gw_warm_up {
    double tolerance; /* how far selected elements may be off those asked for, relative */
    double ratio;     /* selected elements to those asked for, in the last selection */
    size_t close;     /* selections in a row within the tolerance */
    size_t unchanged; /* selections in a row with the ratio of the one before them */
    double nearness;  /* to what was asked, 1 / (1 + |ln ratio|), in the mean of late */
    size_t no_nearer; /* selections in a row that were not nearer than that by 0.1% */
};

static inline void gw_warm_up_add(struct gw_warm_up *warm_up, double selected, double asked) {
    double ratio = selected / asked;
    warm_up->close = fabs(ratio - 1) <= warm_up->tolerance ? warm_up->close + 1 : 0;
    warm_up->unchanged = ratio == warm_up->ratio ? warm_up->unchanged + 1 : 0;
    warm_up->ratio = ratio;
    double nearness = ratio > 0 ? 1 / (1 + fabs(log(ratio))) : 0;
    bool is_nearer = nearness > 1.001 * warm_up->nearness;
    warm_up->no_nearer = is_nearer ? 0 : warm_up->no_nearer + 1;
    warm_up->nearness += (nearness - warm_up->nearness) / GW_WARM_UP_ROW;
}

/* Whether as many as asked were selected, or whether nothing changed, often enough in a row. */
static inline bool gw_warm_up_reached(const struct gw_warm_up *warm_up) {
    return warm_up->close >= GW_WARM_UP_ROW;
}
static inline bool gw_warm_up_unchanged(const struct gw_warm_up *warm_up) {
    return warm_up->unchanged >= GW_WARM_UP_ROW;
}

/* Whether it still comes nearer to that; where it varies about something else, not for long. */
static inline bool gw_warm_up_nears(const struct gw_warm_up *warm_up) {
    return warm_up->no_nearer < GW_WARM_UP_ROW / 2;
}

/* How a pipeline's compressors warmed up before it was measured. */
struct gw_warmed_up {
    size_t iterations;
    double seconds;
    double ratio; /* in the last iteration, selected elements to those asked for */
    bool reached; /* whether that was about 1 to the end */
};

#endif
