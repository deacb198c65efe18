/* A GPU beside the host, for tests that do the same on both; the host alone where there is none. */
#ifndef GW_TESTS_KERNELS_SIDES_H
#define GW_TESTS_KERNELS_SIDES_H

#include "kernels/gpu.h"
#include "tests/device/device_support.h"
#include "tests/kernels/inputs.h"

/* The memory of GPU 0, open as long as the program runs; NULL: there is no GPU. */
static inline struct gw_memory *gpu_memory(void) {
    static struct gw_memory memory;
    static bool tried;
    struct gw_device *device = NULL;
    if (!tried && gw_device_open(&device, 0, NULL) == GW_OK) {
        assert_ok(gw_memory_open(&memory, open_stream(device), NULL));
    }
    tried = true;
    return memory.device == NULL ? NULL : &memory;
}

static inline int close_gpu(void **state) {
    struct gw_memory *memory = gpu_memory();
    (void)state;
    if (memory != NULL) {
        struct gw_device *device = memory->device;
        struct gw_device_stream *stream = memory->stream;
        gw_memory_close(memory);
        gw_device_stream_close(stream);
        gw_device_close(device);
    }
    return 0;
}
FIXTURES(NULL, close_gpu)

#endif
