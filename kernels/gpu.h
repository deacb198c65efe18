/*
 * Compressors on a GPU, with the results of kernels.h and sketch.h: the same indices, the same
 * bits.
 *
 * Work is done on a stream, in order. No function waits for it unless its comment says so. Pointers
 * marked GPU are memory of the stream's GPU. In a build without CUDA gw_gpu_kernel_of() returns
 * NULL, there is no stream, and the other functions fail with GW_BAD_INPUT.
 */
#ifndef GW_KERNELS_GPU_H
#define GW_KERNELS_GPU_H

#include "device/device.h"
#include "kernels/kernels.h"
#include "kernels/memory.h"
#include "kernels/sketch.h"

/* ---- selections ---------------------------------------------------------------------------- */

/* The result of a selection, written by the GPU for the host. */
struct gw_gpu_outcome {
    uint64_t count;     /* entries */
    uint64_t first_nan; /* its index in u; UINT64_MAX: no NaN */
};

/* Entries in ascending index order on the GPU; zero-initialise, then free. */
struct gw_gpu_selection {
    struct gw_device *device;
    size_t capacity;
    struct gw_entry *entries;       /* GPU [capacity] */
    struct gw_gpu_outcome *on_gpu;  /* GPU: for kernels that use the selection */
    struct gw_gpu_outcome *on_host; /* page-locked: valid when the stream's work is done */
};

/* Reserves `capacity` entries in all. Loses the contents, and waits for the device's work, if the
 * memory grows. Touches the memory, so that timed code does not. */
enum gw_status gw_gpu_selection_reserve(struct gw_gpu_selection *selection,
                                        struct gw_device *device, size_t capacity,
                                        struct gw_error *error);
void gw_gpu_selection_free(struct gw_gpu_selection *selection);

/* Waits for the stream. Sets *count, or fails with GW_BAD_INPUT and the index of the first NaN. */
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
 * The selection of gw_select, with task->u and task->gradient on the GPU, and task->layers and the
 * state on the host. The state is the CPU compressor's (gw_state_open), to be closed before the GPU
 * is. Ignores task->workspace and threads. `out` needs a capacity of k entries for a compressor
 * that selects exactly k, and n for any other. gw_gpu_selection_finish reports NaNs.
 */
typedef enum gw_status gw_gpu_select(const struct gw_task *task, struct gw_device_stream *stream,
                                     struct gw_gpu_workspace *workspace,
                                     struct gw_gpu_selection *out, struct gw_error *error);

struct gw_gpu_kernel {
    gw_gpu_select *select;
    bool waits; /* for a count that the next step needs; the stream is idle meanwhile */
};

/* The functions of a compressor; NULL if it has none for GPUs, or this build has no CUDA. */
const struct gw_gpu_kernel *gw_gpu_kernel_of(const struct gw_compressor *compressor);

/* Whether the compressor selects or codes on a GPU in this build. */
bool gw_is_on_gpus(const struct gw_compressor *compressor);

/* Keeps the compressors of a list, ended by NULL, that exist for GPUs. GW_BAD_INPUT for one that
 * does not, if they were `named`. */
enum gw_status gw_keep_compressors_for_gpus(const struct gw_compressor **list, bool named,
                                            struct gw_error *error);

/* The capacity that `out` needs for a task: k or n entries. */
size_t gw_gpu_selection_capacity(const struct gw_compressor *compressor, size_t n, size_t k);

/* Error feedback, like gw_compress. Clears the selected elements in u, unless there is a NaN. */
enum gw_status gw_gpu_compress(const struct gw_gpu_kernel *compressor, const struct gw_task *task,
                               struct gw_device_stream *stream, struct gw_gpu_workspace *workspace,
                               struct gw_gpu_selection *out, struct gw_error *error);

/*
 * Starts selecting in a memory (kernels/memory.h): into its own selection on the host, or into
 * `on_gpu`. `takes`: with error feedback, as gw_compress. gw_memory_finish_select waits for the
 * count.
 */
enum gw_status gw_memory_select(struct gw_memory *memory, const struct gw_compressor *compressor,
                                const struct gw_task *task, bool takes,
                                struct gw_gpu_selection *on_gpu, struct gw_error *error);
enum gw_status gw_memory_finish_select(const struct gw_memory *memory,
                                       const struct gw_gpu_selection *on_gpu, size_t *count,
                                       struct gw_error *error);

/* The sum of |u| in no particular order, to *sum (GPU): one pass, to compare other passes with. */
enum gw_status gw_gpu_read_pass(const float *u, size_t n, struct gw_device_stream *stream,
                                float *sum, struct gw_error *error);

/* ---- count sketches ------------------------------------------------------------------------ */

/* A sketch (kernels/sketch.h) whose table is on the GPU; zero-initialise, then free. */
struct gw_gpu_sketch {
    struct gw_device *device;
    struct gw_sketch shape;            /* rows, columns, seed; no table */
    float *table;                      /* GPU [rows * columns] */
    struct gw_gpu_sketch_order *order; /* of the blocks to encode, for one n; made by the first
                                        * encode */
};

enum gw_status gw_gpu_sketch_open(struct gw_gpu_sketch *out, struct gw_device *device, size_t rows,
                                  size_t columns, uint64_t seed, struct gw_error *error);
void gw_gpu_sketch_free(struct gw_gpu_sketch *sketch);

enum gw_status gw_gpu_sketch_clear(struct gw_gpu_sketch *sketch, struct gw_device_stream *stream,
                                   struct gw_error *error);

/* Makes the order of the blocks of n coordinates, which the first encode of that n makes otherwise:
 * on the host, some 50 ms for 10^7 coordinates. The order takes about a third of their memory. */
enum gw_status gw_gpu_sketch_prepare(struct gw_gpu_sketch *sketch, size_t n,
                                     struct gw_device_stream *stream, struct gw_error *error);

/*
 * Encodes all u, like gw_sketch_encode, after adding `gradient`, if not NULL. Waits, to find NaNs.
 */
enum gw_status gw_gpu_sketch_encode(struct gw_gpu_sketch *sketch, float *u, const float *gradient,
                                    size_t n, struct gw_device_stream *stream,
                                    struct gw_gpu_workspace *workspace, struct gw_error *error);

/*
 * HEAVYMIX, like gw_sketch_heavymix; `indices` is GPU [k]. Waits for the number of heavy hitters.
 */
enum gw_status gw_gpu_sketch_heavymix(const struct gw_gpu_sketch *sketch, size_t n, size_t k,
                                      uint64_t iteration, struct gw_device_stream *stream,
                                      struct gw_gpu_workspace *workspace, uint32_t *indices,
                                      size_t *heavy, struct gw_error *error);

#endif
