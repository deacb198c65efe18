/* Promises of every communicator, for memory of the host or of GPUs. */
#ifndef GW_TESTS_PROMISES_H
#define GW_TESTS_PROMISES_H

#include "tests/device/device_support.h"
#include "tests/test.h"
#include "tests/transport/transport_support.h"
#include "transport/gpu_base.h"
#include "transport/staged/staged.h"

/* Rank 0's seed for all processes of an MPI job. */
check seeds_are_agreed_on;

/* ---- communicators for GPUs ---------------------------------------------------------------- */

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

/* Runs checks on a communicator for GPUs beside the parent, of a kind or, NULL, of the one that is
 * chosen.
 */
static inline const char *check_beside(struct gw_communicator *parent,
                                       const struct gw_gpu_kind *kind,
                                       enum gw_gpu_transport transport, double timeout_s,
                                       check *const *checks) {
    struct gw_gpu_settings settings = {transport, open_rank_stream(parent->rank), timeout_s};
    struct gw_communicator own = {0};
    struct gw_communicator made = {0};
    struct gw_error error = {0};
    enum gw_status status = GW_OK;
    if (kind == NULL) {
        status = gw_communicator_open_gpu(&made, parent, &settings, &error);
    } else {
        status = parent->transport->open_first(parent, parent->size, &own, &error);
        status = status == GW_OK ? gw_gpu_open(&made, kind, own, &settings, &error) : status;
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

/* The stream of a communicator for GPUs; NULL: it is for memory of the host. */
static inline struct gw_device_stream *stream_of(const struct gw_communicator *communicator) {
    const char *name = communicator->transport->name;
    return strcmp(name, "local") == 0 || strcmp(name, "mpi") == 0 || strcmp(name, "group") == 0
               ? NULL
               : gw_gpu_base(communicator)->settings.stream;
}

/* The communicator of the same ranks, for memory of the host. */
static inline struct gw_communicator *host_of(struct gw_communicator *communicator) {
    return stream_of(communicator) == NULL ? communicator : &gw_gpu_base(communicator)->host;
}

/* A copy in memory of the communicator's kind, and memory of so many bytes with a guard behind. */
static inline void *place_copy(const struct gw_communicator *communicator, const void *data,
                               size_t bytes) {
    struct gw_device_stream *stream = stream_of(communicator);
    if (stream != NULL) {
        return copy_to_device(stream, data, bytes);
    }
    void *copy = malloc(bytes + 1);
    memcpy(copy, data, bytes);
    return copy;
}

enum { GUARDED = 64, GUARD = 0xA5 };

static inline unsigned char *make_room(const struct gw_communicator *communicator, size_t bytes) {
    unsigned char *guarded = malloc(bytes + GUARDED);
    memset(guarded, GUARD, bytes + GUARDED);
    unsigned char *room = place_copy(communicator, guarded, bytes + GUARDED);
    free(guarded);
    return room;
}

static inline void drop(const struct gw_communicator *communicator, void *memory) {
    struct gw_device_stream *stream = stream_of(communicator);
    if (stream == NULL) {
        free(memory);
    } else {
        gw_device_free(gw_device_stream_device(stream), memory);
    }
}

static inline void read_back(const struct gw_communicator *communicator, void *to,
                             const void *memory, size_t bytes) {
    struct gw_device_stream *stream = stream_of(communicator);
    if (stream == NULL) {
        memcpy(to, memory, bytes);
    } else {
        copy_from_device(stream, to, memory, bytes);
    }
}

/* Copies there and back; both are done on return. */
static inline void fill(const struct gw_communicator *communicator, void *to, const void *data,
                        size_t bytes) {
    read_back(communicator, to, data, bytes); /* a stream copies either way */
}

/* Frees what make_room gave; whether it held just these bytes. */
static inline bool held(const struct gw_communicator *communicator, unsigned char *room,
                        const unsigned char *expected, size_t bytes) {
    unsigned char *got = malloc(bytes + GUARDED);
    read_back(communicator, got, room, bytes + GUARDED);
    bool right = bytes == 0 || memcmp(got, expected, bytes) == 0;
    for (size_t i = 0; i < GUARDED; i++) {
        right = right && got[bytes + i] == GUARD;
    }
    free(got);
    drop(communicator, room);
    return right;
}

/* ---- checks -------------------------------------------------------------------------------- */

/* Collectives and messages. */
extern check *const promises[];

/* Checks of collectives with a root, and of sums that are rounded. */
check roots_are_served;
check sums_have_the_same_bits;

/* The same of short parts and messages, which takes little time. */
extern check *const short_promises[];

/* And what communicators for GPUs promise beside: ended by NULL, like the others. */
extern check *const gpu_promises[];

/* Runs checks on a communicator of the first ranks. */
const char *check_first(struct gw_communicator *parent, int size, check *const *checks);

#endif
