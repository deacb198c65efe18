/* Iterations that trainings of each pipeline needed, over those of dense exchange. */
#ifndef GW_STUDY_ITERATIONS_H
#define GW_STUDY_ITERATIONS_H

#include "core/core.h"

/*
 * Iterations until a network has learnt as much as 90% of what dense exchange makes of it, over
 * those of dense exchange, in this project's trainings of small networks
 * (docs/results/convergence.md).
 */
struct gw_iterations_factor {
    /* Least, median and largest of the networks of which a run came there; NAN: of none. */
    double low, median, high;
    size_t runs, failed; /* how many there were, and how many did not come there in their time */
    double sent;         /* bytes that they sent, over those that compressors were asked to keep */
    double density;      /* at which they were trained: the nearest one to that asked for */
    bool is_beyond;      /* no training kept as little as is asked for: factors are unknown */
};

/*
 * `algorithm` is the preset's name, "dense" for all that compress nothing, or "fp16" for a hook
 * that halves the bytes. False: none was trained so. Trainings stand for densities down to a third
 * of the least at which they were.
 */
bool gw_iterations_find(const char *algorithm, double density, struct gw_iterations_factor *out);

#endif
