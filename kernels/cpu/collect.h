/*
 * What selections on a processor are made of: scratch memory, the pass that selects what reaches a
 * threshold, and samples that thresholds come from. Private to kernels/, and to tests and
 * benchmarks that deceive samples.
 */
#ifndef GW_KERNELS_CPU_COLLECT_H
#define GW_KERNELS_CPU_COLLECT_H

#include "kernels/kernels.h"

/* ---- scratch memory ------------------------------------------------------------------------ */

/* Makes workspace->memory at least `bytes` long. What it held is lost. */
enum gw_status gw_workspace_reserve(struct gw_workspace *workspace, size_t bytes,
                                    struct gw_error *error);

/* The same of workspace->sample, `count` floats. */
enum gw_status gw_workspace_reserve_sample(struct gw_workspace *workspace, size_t count,
                                           struct gw_error *error);

/* Makes workspace->parts at least `count` selections, which may hold what they held before. */
enum gw_status gw_workspace_reserve_parts(struct gw_workspace *workspace, size_t count,
                                          struct gw_error *error);

/* ---- NaNs ---------------------------------------------------------------------------------- */

/* The message for the first NaN of u, which has one; for that at u[index]. */
enum gw_status gw_fail_first_nan(const struct gw_task *task, struct gw_error *error);
enum gw_status gw_fail_nan(size_t index, size_t n, struct gw_error *error);

/* ---- the pass ------------------------------------------------------------------------------ */

/* Adds the gradient, if there is one, to u[begin..end). GW_BAD_INPUT if that gives a NaN. */
enum gw_status gw_accumulate(const struct gw_task *task, size_t begin, size_t end,
                             struct gw_error *error);

/* What of u is looked at, and how. */
struct gw_collection {
    size_t begin, end; /* elements of u */
    bool adding;       /* the task's gradient is added first */
    int32_t magnitude; /* of elements that are collected, and of larger ones (kernels/cpu/scan.h) */
    size_t best;       /* no more than that many of the largest are of use; SIZE_MAX: all are */
    bool guessing; /* if too many are found, a sample of what follows may raise the magnitude; */
    uint64_t key;  /* that sample's; 0: one that nobody can foresee, so that no input is slow */
    /* Out: whether some that reached the magnitude were dropped, and whether a guess left out
     * some that may be among the best. */
    bool dropped, guessed_wrong;
};

/*
 * Collects into `out`, ascending. If many more than `best` were found, only the best of them and of
 * what follows are kept, at least `best`: of equals those of lower index. GW_BAD_INPUT if a NaN is
 * met, as it is if there is one in the range.
 */
enum gw_status gw_collect(const struct gw_task *task, struct gw_collection *collection,
                          struct gw_selection *out, struct gw_error *error);

/*
 * gw_collect of the whole u, guessing, and again with all elements if fewer than `least` were found
 * or the guess was wrong: `out` then has the task->k largest of what reaches the magnitude, if
 * `least` or more are to be found, and perhaps more. collection->key and magnitude are given,
 * dropped comes out.
 */
enum gw_status gw_collect_best(const struct gw_task *task, struct gw_collection *collection,
                               size_t least, struct gw_selection *out, struct gw_error *error);

/* ---- samples ------------------------------------------------------------------------------- */

/* What is sampled of u. */
struct gw_sample {
    size_t begin, end;
    bool adding;  /* the task's gradient is still to be added there */
    uint64_t key; /* of the positions */
};

/*
 * A magnitude that at least task->k elements reach, but for a chance of some 1e-5: the number of
 * samples among the k largest elements is nearly Poisson-distributed, so four standard deviations
 * are added to its mean. 0 if there are too few elements to tell.
 */
enum gw_status gw_sample_magnitude(const struct gw_task *task, const struct gw_sample *sample,
                                   int32_t *magnitude, struct gw_error *error);

/*
 * Of n elements one in every `stride` is sampled, at a position that follows no period: with key 0
 * from multiples of the golden ratio, otherwise by lot.
 */
size_t gw_sample_stride(size_t n);

/* With key 0. */
GW_ON_BOTH static inline uint64_t gw_sample_golden(uint32_t index, uint64_t stride) {
    uint32_t golden = index * 2654435769u; /* multiples of the golden ratio, modulo 1 */
    return index * stride + ((golden * stride) >> 32);
}

size_t gw_sample_position(size_t index, size_t stride, uint64_t key);

/*
 * Of n elements, *count are sampled; returns the rank among them, from above, that k elements
 * should reach; 0 if there are too few elements to tell.
 */
size_t gw_sample_rank(size_t n, size_t k, size_t *count);

#endif
