/* For tests that need a GPU, or one that is emulated: they are skipped where there is none. */
#ifndef GW_TESTS_DEVICE_SUPPORT_H
#define GW_TESTS_DEVICE_SUPPORT_H

#include "device/device.h"
#include "tests/test.h"

/* Opens GPU 0, or skips the test that asks. */
static inline struct gw_device *need_device(void) {
    struct gw_device *device = NULL;
    struct gw_error error = {0};
    if (gw_device_open(&device, 0, &error) != GW_OK) {
        print_message("skipped: %s\n", error.message);
        skip();
    }
    return device;
}

static inline struct gw_device_stream *open_stream(struct gw_device *device) {
    struct gw_device_stream *stream = NULL;
    assert_ok(gw_device_stream_open(device, false, &stream, NULL));
    return stream;
}

/* Memory of the GPU with a copy of `bytes` bytes in it. */
static inline void *copy_to_device(struct gw_device_stream *stream, const void *from,
                                   size_t bytes) {
    void *memory = NULL;
    struct gw_device *device = gw_device_stream_device(stream);
    assert_ok(gw_device_allocate(device, bytes, &memory, NULL));
    assert_ok(gw_device_copy(stream, memory, from, bytes, NULL));
    return memory;
}

/* Copies back what is there once all work on the stream is done. */
static inline void copy_from_device(struct gw_device_stream *stream, void *to, const void *memory,
                                    size_t bytes) {
    assert_ok(gw_device_copy(stream, to, memory, bytes, NULL));
    assert_ok(gw_device_stream_finish(stream, NULL));
}

#endif
