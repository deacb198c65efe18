/* Of a GPU's cache; private to this room. */
#ifndef GW_CALIBRATE_GPU_EVICT_H
#define GW_CALIBRATE_GPU_EVICT_H

#include "device/device.h"

/*
 * Reads all of this zeroed memory (GPU [elements], as ordinary loads do): what the cache held is
 * then written back and gone, if this is larger by far. `sum` is GPU memory for one number. Only in
 * builds with CUDA.
 */
enum gw_status gw_gpu_evict(const float *memory, size_t elements, struct gw_device_stream *stream,
                            float *sum, struct gw_error *error);

#endif
