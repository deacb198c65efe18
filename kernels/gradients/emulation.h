/*
 * Gradient emulation: the numbers of elements that a pipeline's compressor selects, where they
 * depend on the gradients. The compressor works for many iterations with error feedback on
 * generated gradients of a reduced size, or on samples of a training's gradients, and its counts
 * are scaled up.
 *
 * Generated gradients are normal, with a scale of its own for each tensor (lognormal, of deviation
 * 0.5 in the logarithm); those of a worker in an iteration are larger or smaller by 10%, as batches
 * differ. Workers draw independently. The gradient of all tensors of a group has norm 1, which
 * suits ExDyna's first threshold; hard-threshold gets the threshold that selects exactly k elements
 * of the first gradient. On recorded gradients ExDyna begins with that threshold too, as in a
 * training.
 */
#ifndef GW_KERNELS_GRADIENTS_EMULATION_H
#define GW_KERNELS_GRADIENTS_EMULATION_H

#include "core/arena.h"
#include "core/core.h"
#include "methods/schedule.h"
#include "traces/traces.h"

struct gw_gradient_emulation {
    const char *model, *algorithm; /* as in counts */
    double density;
    size_t warmup;     /* iterations before the first one that is counted */
    size_t iterations; /* number of iterations that are counted, at least 1 */
    /* Gradients are a tenth as large from this counted iteration on, as after a decay of the
     * learning rate. SIZE_MAX: never. */
    size_t decay;
    size_t elements; /* the approximate size of all groups together; 0: as many as a few seconds
                      * allow */
    uint64_t seed;
    size_t threads; /* without an effect on counts */
    /* Replaces generated gradients; warmup and iterations together are at most
     * gw_recorded_iterations(). */
    const struct gw_recorded_gradients *recorded;
    const size_t *recorded_tensors; /* the recorded tensor of each tensor of the schedule */
};

/*
 * Counts selections of the schedule's groups and workers, all elements of groups that travel whole.
 * Counts have a source: "trained at 1/S size over N iterations", or "trained on gradients of FILE
 * ...". `elements` of 0 takes a few seconds, unless the minimum of kept elements needs more; the
 * time of a joint compressor grows as the square of the workers. GW_BAD_INPUT if no group selects,
 * for more than 4 GiB, and if the samples of a group are so few that fewer than 4 elements of it
 * are kept.
 */
enum gw_status gw_emulate_gradients(const struct gw_schedule *schedule,
                                    const struct gw_gradient_emulation *settings,
                                    struct gw_counts *out, struct gw_error *error);

/* True if the number of selected elements depends on the gradients: false for compressors that
 * select exactly k, whatever the gradients are, and for dense exchange. */
bool gw_counts_depend_on_data(const struct gw_compressor *compressor);

/* Creates counts of the schedule's groups, all 0. Ignores groups and workers of `about`. */
enum gw_status gw_counts_for(const struct gw_schedule *schedule,
                             const struct gw_counts_about *about, bool has_distinct,
                             struct gw_counts *out, struct gw_error *error);

/* Fails unless counts are of this model, compressor and density, and of the schedule's groups and
 * workers. Messages call them `path`. */
enum gw_status gw_counts_check(const struct gw_counts *counts, const struct gw_schedule *schedule,
                               const struct gw_counts_about *expected, const char *path,
                               struct gw_error *error);

/*
 * Counts of the schedule's groups as a simulation needs them: [iteration_count * group_count],
 * which the caller frees; where they do not depend on the gradients, as the schedule has them. The
 * number of values that are sent, if workers send the values of all, is the distinct count; if it
 * is unknown, the sum for a joint compressor, and otherwise the largest count of a worker.
 */
enum gw_status gw_counts_selected(const struct gw_counts *counts,
                                  const struct gw_schedule *schedule, struct gw_selected **out,
                                  struct gw_error *error);

/* ---- for tests: groups of a reduced size --------------------------------------------------- */

struct gw_shrunk {
    size_t elements, kept; /* of the reduced group */
    size_t *layers;        /* of each of the group's tensors: at least one element */
};

/* Reduces a group to about 1 / `reduction` of its size, but to at least `least_kept` kept elements
 * or its own size. The share that is kept changes by less than one element in all. */
enum gw_status gw_shrink(const struct gw_slice *slice, const size_t *layers, double reduction,
                         size_t least_kept, struct gw_arena *arena, struct gw_shrunk *out,
                         struct gw_error *error);

/* Scales a count of the reduced group up to the group: 0 to 0, `kept` to `kept`, all to all; linear
 * in between. */
uint64_t gw_grown_count(const struct gw_slice *slice, const struct gw_shrunk *shrunk, size_t count);

#endif
