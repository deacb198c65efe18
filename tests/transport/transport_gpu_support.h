/* Communicators for memory of GPUs on every rank of a test; after cmocka.h. */
#ifndef GW_TESTS_TRANSPORT_GPU_SUPPORT_H
#define GW_TESTS_TRANSPORT_GPU_SUPPORT_H

#include "tests/device/device_support.h"
#include "tests/transport/transport_support.h"
#include "transport/gpu_base.h"

/* Rank r has GPU r, or shares one of fewer. */
static inline struct gw_device_stream *open_rank_stream(int rank) {
    struct gw_device *device = NULL;
    struct gw_gpu gpus[16];
    size_t count = gw_cuda_devices(gpus, sizeof gpus / sizeof *gpus);
    assert_int_equal(gw_device_open(&device, (size_t)rank % count, NULL), GW_OK);
    return open_stream(device);
}

static inline void close_rank_stream(struct gw_device_stream *stream) {
    struct gw_device *device = gw_device_stream_device(stream);
    gw_device_stream_close(stream);
    gw_device_close(device);
}

/* Runs checks on a communicator for GPUs beside the parent, opened by `open` or, NULL, by choice.
 */
static inline const char *check_beside(struct gw_communicator *parent, gw_gpu_open *open,
                                       enum gw_gpu_transport transport, double timeout_s,
                                       check *const *checks) {
    struct gw_gpu_settings settings = {transport, open_rank_stream(parent->rank), timeout_s};
    struct gw_communicator own = {0};
    struct gw_communicator made = {0};
    struct gw_error error = {0};
    enum gw_status status = GW_OK;
    if (open == NULL) {
        status = gw_communicator_open_gpu(&made, parent, &settings, &error);
    } else {
        status = parent->transport->open_first(parent, parent->size, &own, &error);
        status = status == GW_OK ? open(&made, own, &settings, &error) : status;
    }
    if (status != GW_OK) {
        print_error("%s\n", error.message);
        return "a communicator for GPUs does not open";
    }
    const char *complaint = made.rank == parent->rank && made.size == parent->size
                                ? run_checks(checks, &made)
                                : "not the parent's ranks";
    made.transport->close(&made);
    close_rank_stream(settings.stream);
    return complaint;
}

/* ---- memory -------------------------------------------------------------------------------- */

static inline struct gw_device_stream *stream_of(const struct gw_communicator *communicator) {
    return gw_gpu_base(communicator)->settings.stream;
}

/* A copy on the GPU. */
static inline void *to_gpu(const struct gw_communicator *communicator, const void *data,
                           size_t bytes) {
    return copy_to_device(stream_of(communicator), data, bytes);
}

enum { GUARDED = 64, GUARD = 0xA5 };

/* Room for so many bytes on the GPU, with a guard behind it. */
static inline unsigned char *gpu_room(const struct gw_communicator *communicator, size_t bytes) {
    unsigned char *guarded = malloc(bytes + GUARDED);
    memset(guarded, GUARD, bytes + GUARDED);
    unsigned char *room = to_gpu(communicator, guarded, bytes + GUARDED);
    free(guarded);
    return room;
}

static inline void forget_on_gpu(const struct gw_communicator *communicator, void *memory) {
    gw_device_free(gw_device_stream_device(stream_of(communicator)), memory);
}

/* Frees room on the GPU; whether it held just these bytes. */
static inline bool held(const struct gw_communicator *communicator, unsigned char *room,
                        const unsigned char *expected, size_t bytes) {
    unsigned char *got = malloc(bytes + GUARDED);
    copy_from_device(stream_of(communicator), got, room, bytes + GUARDED);
    bool right = bytes == 0 || memcmp(got, expected, bytes) == 0;
    for (size_t i = 0; i < GUARDED; i++) {
        right = right && got[bytes + i] == GUARD;
    }
    free(got);
    forget_on_gpu(communicator, room);
    return right;
}

#endif
