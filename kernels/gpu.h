/*
 * Compressors on a GPU, and what exchanges do there with what was selected. What comes out is what
 * kernels.h and sketch.h give: the same indices, the same bits.
 *
 * Work is put on a stream, where it is done in order. Nothing here waits for it but what says so.
 * Pointers marked GPU are memory of the stream's GPU. In a build without CUDA gw_gpu_kernel_of()
 * finds nothing and there is no stream: selections fail with GW_BAD_INPUT, and what works on
 * vectors, lists and sketches is not there, so that files that call it are left out.
 */
#ifndef GW_KERNELS_GPU_H
#define GW_KERNELS_GPU_H

#include "device/device.h"
#include "kernels/kernels.h"
#include "kernels/sketch.h"

/* ---- selections ---------------------------------------------------------------------------- */

/* What the GPU tells the host about a selection. */
struct gw_gpu_outcome {
    uint64_t count;     /* entries */
    uint64_t first_nan; /* its index in u; UINT64_MAX: there is none */
};

/* Entries in ascending index order on the GPU; zero-initialise, then free. */
struct gw_gpu_selection {
    struct gw_device *device;
    size_t capacity;
    struct gw_entry *entries;       /* GPU [capacity] */
    struct gw_gpu_outcome *on_gpu;  /* GPU: for kernels that go on with what was selected */
    struct gw_gpu_outcome *on_host; /* page-locked: once the stream's work is done */
};

/*
 * Room for `capacity` entries in all; what there was is lost if it grows, for which the device's
 * work is waited for. The memory is there before time is taken.
 */
enum gw_status gw_gpu_selection_reserve(struct gw_gpu_selection *selection,
                                        struct gw_device *device, size_t capacity,
                                        struct gw_error *error);
void gw_gpu_selection_free(struct gw_gpu_selection *selection);

/* Waits for the stream; then how many were selected, or GW_BAD_INPUT with the NaN's place. */
enum gw_status gw_gpu_selection_finish(const struct gw_gpu_selection *selection,
                                       struct gw_device_stream *stream, size_t *count,
                                       struct gw_error *error);

/* ---- compressors --------------------------------------------------------------------------- */

/* Scratch memory of selections on one stream, on the GPU and page-locked; grows on demand. */
struct gw_gpu_workspace;
enum gw_status gw_gpu_workspace_open(struct gw_device *device, struct gw_gpu_workspace **out,
                                     struct gw_error *error);
void gw_gpu_workspace_close(struct gw_gpu_workspace *workspace);

/*
 * As gw_select, with task->u and task->gradient on the GPU and task->layers and state of the host,
 * where the state is the CPU compressor's (gw_state_open), to be closed before the
 * GPU is. task->workspace and threads are not looked at. A compressor that selects just k needs
 * room for k entries in `out`, any other for n. NaNs come out with gw_gpu_selection_finish.
 */
typedef enum gw_status gw_gpu_select(const struct gw_task *task, struct gw_device_stream *stream,
                                     struct gw_gpu_workspace *workspace,
                                     struct gw_gpu_selection *out, struct gw_error *error);

struct gw_gpu_kernel {
    gw_gpu_select *select;
    bool waits; /* for a count that decides what it does next: the stream is then idle meanwhile */
};

/* Of a compressor; NULL if it has none for GPUs, or this build has no CUDA. */
const struct gw_gpu_kernel *gw_gpu_kernel_of(const struct gw_compressor *compressor);

/*
 * Leaves of a list that NULL ends those compressors that there are for GPUs. GW_BAD_INPUT for one
 * that there is not, if they were `named`.
 */
enum gw_status gw_keep_compressors_for_gpus(const struct gw_compressor **list, bool named,
                                            struct gw_error *error);

/* Room that `out` needs for a task: k or n entries. */
size_t gw_gpu_selection_capacity(const struct gw_compressor *compressor, size_t n, size_t k);

/* As gw_compress: error feedback. What was selected is cleared in u, unless there is a NaN. */
enum gw_status gw_gpu_compress(const struct gw_gpu_kernel *compressor, const struct gw_task *task,
                               struct gw_device_stream *stream, struct gw_gpu_workspace *workspace,
                               struct gw_gpu_selection *out, struct gw_error *error);

/* The sum of |u| in no particular order, to *sum (GPU): one pass, which others are compared with.
 */
enum gw_status gw_gpu_read_pass(const float *u, size_t n, struct gw_device_stream *stream,
                                float *sum, struct gw_error *error);

/* ---- vectors and lists; all pointers are GPU ------------------------------------------------- */

/* sums[i] += values[i], i < n. */
enum gw_status gw_gpu_add(float *sums, const float *values, size_t n,
                          struct gw_device_stream *stream, struct gw_error *error);

/*
 * sums[i] += vectors[v * n + i], i < n, for v = 0, 1, ... `count` - 1 in that order; `sums` may lie
 * before the vectors, as the first of a server's blocks does.
 */
enum gw_status gw_gpu_add_all(float *sums, const float *vectors, size_t count, size_t n,
                              struct gw_device_stream *stream, struct gw_error *error);

/*
 * dense[entry.index] += entry.value for the entries of each of `lists` lists, one list after the
 * other; `counts` (host) of them each, next to each other, no index twice in a list.
 */
enum gw_status gw_gpu_scatter_add(const struct gw_entry *entries, const size_t *counts,
                                  size_t lists, float *dense, struct gw_device_stream *stream,
                                  struct gw_error *error);

/*
 * dense[entry.index] += entry.value for those of the entries, no index twice, whose index is among
 * those of `list` (ascending, [list_count]) if `listed`, or is not if not.
 */
enum gw_status gw_gpu_scatter_add_where(const struct gw_entry *entries, size_t count,
                                        const struct gw_entry *list, size_t list_count, bool listed,
                                        float *dense, struct gw_device_stream *stream,
                                        struct gw_error *error);

/*
 * Two lists of k entries, each ascending without repeated indices: of their sums, those of one
 * index added up (`list` + `came`), the k of the largest magnitude, of equals those of lower index,
 * are left in `list`, ascending. The others go to `pruned`, [k], ascending, and behind them 0 with
 * GW_NO_INDEX. gw_gpu_merge_reserve() makes room for it in the workspace, before time is taken; it
 * refuses (GW_BAD_INPUT) lists of more than 2^31 - 1 entries.
 */
enum gw_status gw_gpu_merge_reserve(size_t k, struct gw_gpu_workspace *workspace,
                                    struct gw_error *error);
enum gw_status gw_gpu_merge(struct gw_entry *list, const struct gw_entry *came, size_t k,
                            struct gw_entry *pruned, struct gw_device_stream *stream,
                            struct gw_gpu_workspace *workspace, struct gw_error *error);

/* dense[entry.index] = 0. */
enum gw_status gw_gpu_clear_entries(const struct gw_entry *entries, size_t count, float *dense,
                                    struct gw_device_stream *stream, struct gw_error *error);

/* indices[i] = entries[i].index. */
enum gw_status gw_gpu_list_indices(const struct gw_entry *entries, size_t count, uint32_t *indices,
                                   struct gw_device_stream *stream, struct gw_error *error);

/* values[i] = entries[i].value. */
enum gw_status gw_gpu_list_values(const struct gw_entry *entries, size_t count, float *values,
                                  struct gw_device_stream *stream, struct gw_error *error);

/* flags[i] = 1 if an entry of `entries` (ascending) has the index indices[i], or 0; i < n. */
enum gw_status gw_gpu_flag_indices(const struct gw_entry *entries, size_t count,
                                   const uint32_t *indices, size_t n, float *flags,
                                   struct gw_device_stream *stream, struct gw_error *error);

/* values[i] = dense[indices[i]]. */
enum gw_status gw_gpu_take(const float *dense, const uint32_t *indices, size_t count, float *values,
                           struct gw_device_stream *stream, struct gw_error *error);

/* dense[indices[i]] = values[i]; NULL for values: 0. No index twice. */
enum gw_status gw_gpu_put(float *dense, const uint32_t *indices, size_t count, const float *values,
                          struct gw_device_stream *stream, struct gw_error *error);

/* ---- count sketches ------------------------------------------------------------------------ */

/* A sketch (kernels/sketch.h) whose table is on the GPU; zero-initialise, then free. */
struct gw_gpu_sketch {
    struct gw_device *device;
    struct gw_sketch shape;            /* rows, columns, seed; no table */
    float *table;                      /* GPU [rows * columns] */
    struct gw_gpu_sketch_order *order; /* of what is encoded, for one n; made by the first encode */
};

enum gw_status gw_gpu_sketch_open(struct gw_gpu_sketch *out, struct gw_device *device, size_t rows,
                                  size_t columns, uint64_t seed, struct gw_error *error);
void gw_gpu_sketch_free(struct gw_gpu_sketch *sketch);

enum gw_status gw_gpu_sketch_clear(struct gw_gpu_sketch *sketch, struct gw_device_stream *stream,
                                   struct gw_error *error);

/*
 * Puts the blocks of n coordinates in order, which the first encode of that n does otherwise: on
 * the host, some 50 ms for 10^7 coordinates. The order takes about a third of their memory.
 */
enum gw_status gw_gpu_sketch_prepare(struct gw_gpu_sketch *sketch, size_t n,
                                     struct gw_device_stream *stream, struct gw_error *error);

/* As gw_sketch_encode of all u, with `gradient`, if not NULL, added to u first. Waits, for NaNs. */
enum gw_status gw_gpu_sketch_encode(struct gw_gpu_sketch *sketch, float *u, const float *gradient,
                                    size_t n, struct gw_device_stream *stream,
                                    struct gw_gpu_workspace *workspace, struct gw_error *error);

enum gw_status gw_gpu_sketch_merge(struct gw_gpu_sketch *sketch, const struct gw_gpu_sketch *other,
                                   struct gw_device_stream *stream, struct gw_error *error);

/* As gw_sketch_estimate of the coordinates 0 .. n-1; `estimates` is GPU [n]. */
enum gw_status gw_gpu_sketch_estimate(const struct gw_gpu_sketch *sketch, size_t n,
                                      float *estimates, struct gw_device_stream *stream,
                                      struct gw_error *error);

/*
 * As gw_sketch_heavymix; `indices` is GPU [k]. Waits, for how many are heavy.
 */
enum gw_status gw_gpu_sketch_heavymix(const struct gw_gpu_sketch *sketch, size_t n, size_t k,
                                      uint64_t iteration, struct gw_device_stream *stream,
                                      struct gw_gpu_workspace *workspace, uint32_t *indices,
                                      size_t *heavy, struct gw_error *error);

#endif
