/* Compressors that are measured; private to this room. */
#ifndef GW_CALIBRATE_COMPRESSORS_H
#define GW_CALIBRATE_COMPRESSORS_H

#include "kernels/gpu.h"
#include "kernels/memory.h"

/* The memory that compressors select in, on processors or on a GPU; all zero at first. */
struct gw_selecting {
    struct gw_memory memory;
    struct gw_gpu_selection on_gpu;
    struct gw_buffer codes; /* of a compressor that codes all elements */
};

/* Opens it on a GPU, with room for `capacity` elements, or on processors (stream NULL). */
enum gw_status gw_selecting_open(struct gw_selecting *out, struct gw_device_stream *stream,
                                 size_t capacity, struct gw_error *error);
void gw_selecting_close(struct gw_selecting *selecting);

/* Starts selecting, or coding all elements; `takes`: with error feedback. */
enum gw_status gw_selecting_compress(struct gw_selecting *selecting,
                                     const struct gw_compressor *compressor,
                                     const struct gw_task *task, bool takes,
                                     struct gw_error *error);

/* Lets a compressor with a state select from task->u repeatedly, until it has warmed up
 * (core/warm_up.h), or for `longest_s`. Advances task->iteration. */
enum gw_status gw_warm_up_compressor(const struct gw_compressor *compressor, struct gw_task *task,
                                     struct gw_selecting *selecting, const struct gw_clock *clock,
                                     double longest_s, struct gw_error *error);

#endif
