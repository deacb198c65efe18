/*
 * How many elements a pipeline's compressor would select, where that depends on the gradients: it
 * works for many iterations with error feedback on generated gradients, at a reduced size, or on
 * what was sampled of a training's, and its counts are scaled up.
 *
 * Generated gradients are normal, with a scale of its own for each tensor (lognormal, of deviation
 * 0.5 in the logarithm), and those of a worker in an iteration are larger or smaller by 10%, as
 * batches differ. Workers draw independently. Of each group the gradient of all tensors has norm 1,
 * for which ExDyna's first threshold is made; hard-threshold is given the threshold that selects
 * just as many as asked of the first gradient. Of recorded ones ExDyna begins with that threshold,
 * too, as it does in a training.
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
    size_t warmup;     /* iterations before the first that is counted */
    size_t iterations; /* that are counted, at least 1 */
    /*
     * Gradients are a tenth as large from this counted iteration on, as after a decay of the
     * learning rate. SIZE_MAX: never.
     */
    size_t decay;
    size_t elements; /* to which the groups' are reduced together, about; 0: as follows from time */
    uint64_t seed;
    size_t threads; /* no count depends on it */
    /* In place of generated ones, warm-up and all of no more than gw_recorded_iterations(). */
    const struct gw_recorded_gradients *recorded;
    const size_t *recorded_tensors; /* which of them is each tensor of the schedule */
};

/*
 * Of the schedule's groups and workers. Counts have a source: "trained at 1/S size over N
 * iterations", or "trained on gradients of FILE ...". `elements` of 0 takes a few seconds, unless
 * what must be kept at least asks for more: of a joint compressor time grows as the square of the
 * workers. GW_BAD_INPUT for dense exchange, for more than 4 GiB, and where so little was recorded
 * of a group that fewer than 4 elements of it are asked for.
 */
enum gw_status gw_emulate_gradients(const struct gw_schedule *schedule,
                                    const struct gw_gradient_emulation *settings,
                                    struct gw_counts *out, struct gw_error *error);

/*
 * Whether how much is selected depends on the gradients: not of compressors that select just as
 * many as they are asked for, whatever the gradients are, nor of dense exchange.
 */
bool gw_counts_depend_on_data(const struct gw_compressor *compressor);

/* Counts of the schedule's groups, all 0; `about` need not have groups and workers. */
enum gw_status gw_counts_for(const struct gw_schedule *schedule,
                             const struct gw_counts_about *about, bool has_distinct,
                             struct gw_counts *out, struct gw_error *error);

/*
 * Fails unless counts are of this model, compressor and density, and of the schedule's groups and
 * workers. In the message, `path` names them.
 */
enum gw_status gw_counts_check(const struct gw_counts *counts, const struct gw_schedule *schedule,
                               const struct gw_counts_about *expected, const char *path,
                               struct gw_error *error);

/*
 * As a simulation takes them: [iteration_count * group_count], the caller's to free. Whose values
 * travel, if those of all workers do, are the distinct ones; where these are not known, all that a
 * joint compressor selected and otherwise as many as the worker that selected the most.
 */
enum gw_status gw_counts_selected(const struct gw_counts *counts,
                                  const struct gw_compressor *compressor, struct gw_selected **out,
                                  struct gw_error *error);

/* ---- inside, for tests: groups at a reduced size ------------------------------------------- */

struct gw_shrunk {
    size_t elements, kept; /* of what is left of the group */
    size_t *layers;        /* of each of the group's tensors: at least one element */
};

/*
 * The group at about 1 / `reduction` of its size, but of at least `least_kept` kept elements or of
 * its own size. The share that is kept is the same but for less than one element in all.
 */
enum gw_status gw_shrink(const struct gw_slice *slice, const size_t *layers, double reduction,
                         size_t least_kept, struct gw_arena *arena, struct gw_shrunk *out,
                         struct gw_error *error);

/*
 * So many elements selected of what is left, as a number of the group's: none are none, as many as
 * asked are as many as asked, all are all; linear between these.
 */
uint64_t gw_grown_count(const struct gw_slice *slice, const struct gw_shrunk *shrunk, size_t count);

#endif
