/* Common parts of the compressors on a GPU; private to kernels/. */
#ifndef GW_KERNELS_GPU_PARTS_H
#define GW_KERNELS_GPU_PARTS_H

#include "kernels/arithmetic.h"
#include "kernels/gpu.h"

/* ---- scratch memory ------------------------------------------------------------------------ */

enum {
    GW_GPU_CONTROL_BYTES = 1 << 19,
    GW_GPU_EPOCHS = 1 << 30, /* after this many, the words of tiles are cleared */
};

struct gw_gpu_workspace {
    struct gw_device *device;
    void *control;  /* GPU [GW_GPU_CONTROL_BYTES]: zero at first, then as its users leave it */
    uint64_t epoch; /* of the words of tiles */
    size_t tile_capacity;
    void *tiles; /* GPU [tile_capacity] pairs of words of 8 bytes (gpu/tiles.cuh) */
    size_t capacity;
    void *memory; /* GPU [capacity] bytes */
    size_t host_capacity;
    void *host;                  /* page-locked [host_capacity] bytes */
    struct gw_workspace scratch; /* the host's own */
};

/* Makes workspace->memory at least `bytes` long. If it grows, waits for the device's work, and the
 * memory is then zero. */
enum gw_status gw_gpu_workspace_reserve(struct gw_gpu_workspace *workspace, size_t bytes,
                                        struct gw_error *error);

/* The same for workspace->host. */
enum gw_status gw_gpu_workspace_reserve_host(struct gw_gpu_workspace *workspace, size_t bytes,
                                             struct gw_error *error);

/*
 * Reserve words for that many tiles. Beginning a chain invalidates their values of earlier epochs.
 */
enum gw_status gw_gpu_workspace_reserve_chain(struct gw_gpu_workspace *workspace, size_t tiles,
                                              struct gw_error *error);
enum gw_status gw_gpu_workspace_begin_chain(struct gw_gpu_workspace *workspace, size_t tiles,
                                            struct gw_device_stream *stream,
                                            struct gw_error *error);

/* ---- selections of a count that the host knows --------------------------------------------- */

/* The outcome on the GPU stays as it began until a kernel meets a NaN. */

/* Sets the outcome to no entries and no NaN. */
enum gw_status gw_gpu_outcome_begin(const struct gw_gpu_selection *out,
                                    struct gw_device_stream *stream, struct gw_error *error);

/* Adds the task's gradient, if there is one, to u. Records the first NaN among the sums. */
enum gw_status gw_gpu_outcome_accumulate(const struct gw_task *task,
                                         const struct gw_gpu_selection *out,
                                         struct gw_device_stream *stream, struct gw_error *error);

/* Selects the elements of `count` indices, ascending. Records the first NaN among them. */
enum gw_status gw_gpu_outcome_select(const float *u, const uint32_t *indices, size_t count,
                                     const struct gw_gpu_selection *out,
                                     struct gw_device_stream *stream, struct gw_error *error);

/* Sets the number of entries, and copies the outcome to the host. */
enum gw_status gw_gpu_outcome_end(size_t count, const struct gw_gpu_selection *out,
                                  struct gw_device_stream *stream, struct gw_error *error);

/* ---- the largest --------------------------------------------------------------------------- */

/* The largest of the collected entries, of a list, or of a gradient: found by counting magnitudes
 * in bins, by 16 bits and then by the remaining 15. */

/* The number of candidates in workspace->memory for a gradient of n. If more are found, the
 * gradient is read again. */
size_t gw_gpu_candidates_capacity(size_t n);

/*
 * Narrows the range of control->low and width down to the magnitude of rank control->rank, and sets
 * control->magnitude to it, with its ties. Does nothing unless control->narrowing. `above`: selects
 * the elements above that magnitude only.
 */
enum gw_status gw_gpu_narrow(const struct gw_task *task, bool above,
                             struct gw_device_stream *stream, struct gw_gpu_workspace *workspace,
                             struct gw_error *error);

/* Writes the selection that control describes to `out`, from the candidates or, if control->dense,
 * from u. */
enum gw_status gw_gpu_compact(const struct gw_task *task, struct gw_device_stream *stream,
                              struct gw_gpu_workspace *workspace, struct gw_gpu_selection *out,
                              struct gw_error *error);

/* Writes the k largest of *count entries, ascending, to `out`, like gw_keep_largest; 1 <= k <=
 * *count <= capacity. All memory is the GPU's. Does not use workspace->memory. */
enum gw_status gw_gpu_keep_largest(const struct gw_entry *entries, const uint64_t *count,
                                   size_t capacity, size_t k, struct gw_entry *out,
                                   struct gw_device_stream *stream,
                                   struct gw_gpu_workspace *workspace, struct gw_error *error);

/* ---- marks: a bit for each element, and the marked ones in order --------------------------- */

/* The number of 32-bit words of n marks: element i is bit i mod 32 of word i / 32; the bits after
 * the last are 0. */
size_t gw_gpu_marks_words(size_t n);

/* The number of counts that listing so many words needs. */
size_t gw_gpu_marks_counts(size_t words);

/*
 * Sets *count to the number of marks, and indices[i] to the i-th marked element, i < capacity. All
 * memory is the GPU's, words aligned to 16 bytes; `counts` is scratch memory,
 * [gw_gpu_marks_counts()].
 */
enum gw_status gw_gpu_marks_list(const uint32_t *marks, size_t words, uint32_t *counts,
                                 size_t capacity, uint32_t *indices, uint64_t *count,
                                 struct gw_device_stream *stream, struct gw_error *error);

/* Marks the first k numbers of a permutation; there must be no marks before. */
enum gw_status gw_gpu_marks_draw(const struct gw_permutation *permutation, size_t k,
                                 uint32_t *marks, struct gw_device_stream *stream,
                                 struct gw_error *error);

/* ---- sums of parts of a vector ------------------------------------------------------------- */

/* Adjacent parts of a vector, at least one. */
struct gw_gpu_parts {
    size_t count, segments;
    const uint64_t *firsts;         /* GPU [count + 1]: the first element of each part, and the end
                                     */
    const uint64_t *segment_firsts; /* GPU [count + 1]: the same in segments of the parts */
};

/* The number of segments of a part of that many elements. */
size_t gw_gpu_sum_segments(size_t size);

/* The number of 64-bit words of the table of parts. */
size_t gw_gpu_parts_words(size_t count);

/* Fills a table (host), which the caller copies to `on_gpu`, and describes its contents. */
struct gw_gpu_parts gw_gpu_parts_of(const size_t *sizes, size_t count, uint64_t *table,
                                    const uint64_t *on_gpu);

/* sums[part] = the sum of |values|; lowers *first_nan to the index of the first NaN. All memory is
 * the GPU's; `partial` is scratch memory, [parts->segments]. */
enum gw_status gw_gpu_sum_magnitudes(const float *values, const struct gw_gpu_parts *parts,
                                     double *partial, double *sums, uint64_t *first_nan,
                                     struct gw_device_stream *stream, struct gw_error *error);

/* The same for squares; NaNs make a part's sum NaN. */
enum gw_status gw_gpu_sum_squares(const float *values, const struct gw_gpu_parts *parts,
                                  double *partial, double *sums, struct gw_device_stream *stream,
                                  struct gw_error *error);

#endif
