/*
 * The parts of selections on a processor: scratch memory, the pass that selects elements above a
 * threshold, and samples for thresholds. Private to kernels/, and to tests and benchmarks of inputs
 * that mislead samples.
 */
#ifndef GW_KERNELS_CPU_COLLECT_H
#define GW_KERNELS_CPU_COLLECT_H

#include "kernels/kernels.h"

/* ---- scratch memory ------------------------------------------------------------------------ */

/* Makes workspace->memory at least `bytes` long. Loses its contents. */
enum gw_status gw_workspace_reserve(struct gw_workspace *workspace, size_t bytes,
                                    struct gw_error *error);

/* The same for workspace->sample, `count` floats. */
enum gw_status gw_workspace_reserve_sample(struct gw_workspace *workspace, size_t count,
                                           struct gw_error *error);

/* Makes workspace->parts at least `count` selections; the existing ones keep their contents. */
enum gw_status gw_workspace_reserve_parts(struct gw_workspace *workspace, size_t count,
                                          struct gw_error *error);

/* ---- NaNs ---------------------------------------------------------------------------------- */

/* Fail because of the first NaN of u, which has one, or because of the NaN at u[index]. */
enum gw_status gw_fail_first_nan(const struct gw_task *task, struct gw_error *error);
enum gw_status gw_fail_nan(size_t index, size_t n, struct gw_error *error);

/* ---- the pass ------------------------------------------------------------------------------ */

/* Adds the gradient, if there is one, to u[begin..end). GW_BAD_INPUT if a sum is NaN. */
enum gw_status gw_accumulate(const struct gw_task *task, size_t begin, size_t end,
                             struct gw_error *error);

/* The input of a pass over u. */
struct gw_collection {
    size_t begin, end; /* elements of u */
    bool adding;       /* adds the task's gradient first */
    int32_t magnitude; /* smallest magnitude that is collected (kernels/cpu/scan.h) */
    size_t best;       /* the number of largest entries that are needed; SIZE_MAX: all */
    bool guessing; /* raises the magnitude, if too many are found, by a sample of the elements that
                    * follow */
    uint64_t key;  /* of that sample; 0: an unpredictable one, so that no input can be made slow */
    /* Out: entries that reached the magnitude were dropped; a guess may have left out entries that
     * are among the best. */
    bool dropped, guessed_wrong;
};

/*
 * Collects entries into `out`, ascending. If many more than `best` are found, keeps only the best
 * of them and of those that follow, at least `best`; of equal ones, those of lower index.
 * GW_BAD_INPUT if the range has a NaN.
 */
enum gw_status gw_collect(const struct gw_task *task, struct gw_collection *collection,
                          struct gw_selection *out, struct gw_error *error);

/*
 * Runs gw_collect on the whole u, guessing, and again on all elements if it found fewer than
 * `least` or guessed wrong. Then `out` has the task->k largest of the entries that reach the
 * magnitude, if there are at least `least`, and perhaps more. In: collection->key and magnitude;
 * out: dropped.
 */
enum gw_status gw_collect_best(const struct gw_task *task, struct gw_collection *collection,
                               size_t least, struct gw_selection *out, struct gw_error *error);

/* ---- samples ------------------------------------------------------------------------------- */

/* The part of u that is sampled. */
struct gw_sample {
    size_t begin, end;
    bool adding;  /* adds the task's gradient to the samples */
    uint64_t key; /* of the positions */
};

/*
 * A magnitude that at least task->k elements reach, but for a probability of about 1e-5: the number
 * of samples among the k largest elements is nearly Poisson-distributed, so four standard
 * deviations are added to its mean. 0 if there are too few elements to estimate it.
 */
enum gw_status gw_sample_magnitude(const struct gw_task *task, const struct gw_sample *sample,
                                   int32_t *magnitude, struct gw_error *error);

/*
 * The distance of samples: of n elements, one in every `stride` is sampled, at a position without a
 * period. With key 0 the position is from multiples of the golden ratio, otherwise pseudo-random.
 */
size_t gw_sample_stride(size_t n);

/* The position with key 0. */
GW_ON_BOTH static inline uint64_t gw_sample_golden(uint32_t index, uint64_t stride) {
    uint32_t golden = index * 2654435769u; /* multiples of the golden ratio, modulo 1 */
    return index * stride + ((golden * stride) >> 32);
}

size_t gw_sample_position(size_t index, size_t stride, uint64_t key);

/* Sets *count to the number of samples of n elements. Returns the rank among them, from above, that
 * k elements should reach; 0 if there are too few elements to estimate it. */
size_t gw_sample_rank(size_t n, size_t k, size_t *count);

#endif
