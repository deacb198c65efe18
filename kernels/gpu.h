/*
 * Compressors on a GPU. What comes out is what kernels.h and sketch.h give: the same indices, the
 * same bits.
 *
 * Work is put on a stream, where it is done in order. Nothing here waits for it but what says so.
 * Pointers marked GPU are memory of the stream's GPU. In a build without CUDA gw_gpu_kernel_of()
 * finds nothing, there is no stream, and what is called all the same fails with GW_BAD_INPUT.
 */
#ifndef GW_KERNELS_GPU_H
#define GW_KERNELS_GPU_H

#include "device/device.h"
#include "kernels/kernels.h"
#include "kernels/memory.h"
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

/*
 * As gw_sketch_heavymix; `indices` is GPU [k]. Waits, for how many are heavy.
 */
enum gw_status gw_gpu_sketch_heavymix(const struct gw_gpu_sketch *sketch, size_t n, size_t k,
                                      uint64_t iteration, struct gw_device_stream *stream,
                                      struct gw_gpu_workspace *workspace, uint32_t *indices,
                                      size_t *heavy, struct gw_error *error);

#endif
