/* The end of warm-up of a compressor whose counts follow its gradients: one rule for calibrating it
 * and for running it. */
#ifndef GW_CORE_WARM_UP_H
#define GW_CORE_WARM_UP_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum { GW_WARM_UP_ROW = 6 }; /* more than SIDCo's five iterations between two adaptations */

/* The selections so far; zero except for the tolerance at first. */
struct gw_warm_up {
    double tolerance; /* of selected elements from the wanted number, relative */
    double ratio;     /* selected elements over the wanted number, in the last selection */
    size_t close;     /* selections in a row within the tolerance */
    size_t unchanged; /* selections in a row with the ratio of the one before */
    double nearness;  /* to the wanted number, 1 / (1 + |ln ratio|), recent mean */
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

/* True if the wanted number was selected, or the number did not change, often enough in a row. */
static inline bool gw_warm_up_reached(const struct gw_warm_up *warm_up) {
    return warm_up->close >= GW_WARM_UP_ROW;
}
static inline bool gw_warm_up_unchanged(const struct gw_warm_up *warm_up) {
    return warm_up->unchanged >= GW_WARM_UP_ROW;
}

/*
 * True while it still comes nearer to the wanted number; false soon if it varies about another one.
 */
static inline bool gw_warm_up_nears(const struct gw_warm_up *warm_up) {
    return warm_up->no_nearer < GW_WARM_UP_ROW / 2;
}

/* The warm-up of a pipeline's compressors before it was measured. */
struct gw_warmed_up {
    size_t iterations;
    double seconds;
    double ratio; /* in the last iteration, selected elements over the wanted number */
    bool reached; /* the ratio was about 1 to the end */
};

#endif
