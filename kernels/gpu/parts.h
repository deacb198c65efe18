/* What compressors on a GPU are made of; private to kernels/. */
#ifndef GW_KERNELS_GPU_PARTS_H
#define GW_KERNELS_GPU_PARTS_H

#include "kernels/arithmetic.h"
#include "kernels/gpu.h"

/* ---- scratch memory ------------------------------------------------------------------------ */

enum {
    GW_GPU_CONTROL_BYTES = 1 << 19,
    GW_GPU_EPOCHS = 1 << 30, /* after that many the words for tiles are cleared */
};

struct gw_gpu_workspace {
    struct gw_device *device;
    void *control;  /* GPU [GW_GPU_CONTROL_BYTES]: zero at first, then as its users leave it */
    uint64_t epoch; /* of the words for tiles */
    size_t tile_capacity;
    void *tiles; /* GPU [tile_capacity] pairs of words of 8 bytes (gpu/tiles.cuh) */
    size_t capacity;
    void *memory; /* GPU [capacity] bytes */
    size_t host_capacity;
    void *host;                  /* page-locked [host_capacity] bytes */
    struct gw_workspace scratch; /* of the host, for what it does itself */
};

/*
 * Makes workspace->memory at least `bytes` long. If it grows, the device's work is waited for, and
 * what it held is lost: it is then zero.
 */
enum gw_status gw_gpu_workspace_reserve(struct gw_gpu_workspace *workspace, size_t bytes,
                                        struct gw_error *error);

/* The same of workspace->host. */
enum gw_status gw_gpu_workspace_reserve_host(struct gw_gpu_workspace *workspace, size_t bytes,
                                             struct gw_error *error);

/* Words for that many tiles; those of a chain that begins say nothing in the epoch that begins. */
enum gw_status gw_gpu_workspace_reserve_chain(struct gw_gpu_workspace *workspace, size_t tiles,
                                              struct gw_error *error);
enum gw_status gw_gpu_workspace_begin_chain(struct gw_gpu_workspace *workspace, size_t tiles,
                                            struct gw_device_stream *stream,
                                            struct gw_error *error);

/* ---- selections of which the host knows the count ------------------------------------------ */

/* The outcome on the GPU is as it began until a kernel meets a NaN. */

/* Of no entries, without a NaN. */
enum gw_status gw_gpu_outcome_begin(const struct gw_gpu_selection *out,
                                    struct gw_device_stream *stream, struct gw_error *error);

/* Adds the task's gradient, if there is one, to u. Tells of the first NaN that this gives. */
enum gw_status gw_gpu_outcome_accumulate(const struct gw_task *task,
                                         const struct gw_gpu_selection *out,
                                         struct gw_device_stream *stream, struct gw_error *error);

/* Selects the elements of `count` indices, ascending. Tells of the first NaN among them. */
enum gw_status gw_gpu_outcome_select(const float *u, const uint32_t *indices, size_t count,
                                     const struct gw_gpu_selection *out,
                                     struct gw_device_stream *stream, struct gw_error *error);

/* There are `count` entries; the outcome goes to the host. */
enum gw_status gw_gpu_outcome_end(size_t count, const struct gw_gpu_selection *out,
                                  struct gw_device_stream *stream, struct gw_error *error);

/* ---- the largest --------------------------------------------------------------------------- */

/*
 * The largest of what was collected, of a list, or of a gradient: which they are is found by
 * counting magnitudes in bins, of 16 bits and then of the 15 that are left.
 */

/* Entries that workspace->memory has room for, of a gradient of n: what does not fit is looked for
 * in the gradient again. */
size_t gw_gpu_candidates_capacity(size_t n);

/*
 * Narrows the range of control->low and width down to the magnitude of rank control->rank, which
 * becomes control->magnitude, with its ties. Does nothing unless control->narrowing. `above`: of
 * what lies above that magnitude.
 */
enum gw_status gw_gpu_narrow(const struct gw_task *task, bool above,
                             struct gw_device_stream *stream, struct gw_gpu_workspace *workspace,
                             struct gw_error *error);

/* From the candidates or from u, as control->dense says, what control says goes to `out`. */
enum gw_status gw_gpu_compact(const struct gw_task *task, struct gw_device_stream *stream,
                              struct gw_gpu_workspace *workspace, struct gw_gpu_selection *out,
                              struct gw_error *error);

/*
 * As gw_keep_largest: of *count entries, ascending, the k largest to `out`, 1 <= k <= *count <=
 * capacity. All memory is of the GPU; of the workspace, its memory is not touched.
 */
enum gw_status gw_gpu_keep_largest(const struct gw_entry *entries, const uint64_t *count,
                                   size_t capacity, size_t k, struct gw_entry *out,
                                   struct gw_device_stream *stream,
                                   struct gw_gpu_workspace *workspace, struct gw_error *error);

/* ---- marks: a bit for each element, and the marked ones in order --------------------------- */

/* 32-bit words of n marks: element i is bit i mod 32 of word i / 32, and what is behind them 0. */
size_t gw_gpu_marks_words(size_t n);

/* Numbers that putting so many words in order takes. */
size_t gw_gpu_marks_counts(size_t words);

/*
 * *count = how many are marked; indices[i] = the i-th of them, i < capacity. All memory is of the
 * GPU, words aligned to 16 bytes; `counts` is [gw_gpu_marks_counts()], for its use.
 */
enum gw_status gw_gpu_marks_list(const uint32_t *marks, size_t words, uint32_t *counts,
                                 size_t capacity, uint32_t *indices, uint64_t *count,
                                 struct gw_device_stream *stream, struct gw_error *error);

/* Marks, where none are, the first k numbers of a permutation. */
enum gw_status gw_gpu_marks_draw(const struct gw_permutation *permutation, size_t k,
                                 uint32_t *marks, struct gw_device_stream *stream,
                                 struct gw_error *error);

/* ---- sums of parts of a vector ------------------------------------------------------------- */

/* Parts of a vector, next to each other, at least one. */
struct gw_gpu_parts {
    size_t count, segments;
    const uint64_t *firsts;         /* GPU [count + 1]: each one's first element, and the end */
    const uint64_t *segment_firsts; /* GPU [count + 1]: the same in segments of the parts */
};

/* Segments of a part of so many elements. */
size_t gw_gpu_sum_segments(size_t size);

/* 64-bit words of the table that says where parts of given sizes lie. */
size_t gw_gpu_parts_words(size_t count);

/* Fills a table (host) that is to be copied to `on_gpu`, and says what there is in it. */
struct gw_gpu_parts gw_gpu_parts_of(const size_t *sizes, size_t count, uint64_t *table,
                                    const uint64_t *on_gpu);

/*
 * sums[part] = of |values|; *first_nan becomes the index of the first NaN if that is lower. All
 * memory is of the GPU; `partial` is [parts->segments], for its use.
 */
enum gw_status gw_gpu_sum_magnitudes(const float *values, const struct gw_gpu_parts *parts,
                                     double *partial, double *sums, uint64_t *first_nan,
                                     struct gw_device_stream *stream, struct gw_error *error);

/* The same of squares; NaNs make a part's sum NaN. */
enum gw_status gw_gpu_sum_squares(const float *values, const struct gw_gpu_parts *parts,
                                  double *partial, double *sums, struct gw_device_stream *stream,
                                  struct gw_error *error);

#endif
