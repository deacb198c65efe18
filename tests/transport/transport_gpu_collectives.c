/* Collectives for memory of GPUs, held against what ranks are known to have sent. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "tests/transport/transport_gpu_checks.h"

/* Of all ranks' contributions, one after the other. */
static unsigned char *concatenated(int ranks, uint64_t round, const size_t *bytes, size_t *total) {
    *total = 0;
    for (int rank = 0; rank < ranks; rank++) {
        *total += bytes[rank];
    }
    unsigned char *all = malloc(*total + 1);
    size_t offset = 0;
    for (int rank = 0; rank < ranks; rank++) {
        unsigned char *part = gpu_bytes_of(round, rank, bytes[rank]);
        memcpy(all + offset, part, bytes[rank]);
        offset += bytes[rank];
        free(part);
    }
    return all;
}

static enum gw_status start_gathering(struct gw_communicator *communicator, enum gathering how,
                                      int root, const void *send, const size_t *bytes,
                                      void *receive) {
    const struct gw_transport *transport = communicator->transport;
    return how == GATHER_EQUAL ? transport->allgather(communicator, send, bytes[0], receive, NULL)
           : how == GATHER_UNEQUAL
               ? transport->allgather_unequal(communicator, send, bytes, receive, NULL)
               : transport->gather(communicator, root, send, bytes[0], receive, NULL);
}

bool gpu_gathers(struct gw_communicator *communicator, enum gathering how, uint64_t round,
                 int root) {
    size_t bytes[MOST_RANKS];
    size_t total = 0;
    int me = communicator->rank;
    for (int rank = 0; rank < communicator->size; rank++) {
        uint64_t chosen =
            how == GATHER_UNEQUAL ? gw_random_mix(gpu_seed + 8 * round + (uint64_t)rank) : round;
        bytes[rank] = gpu_part_size(communicator, chosen % GPU_ROUNDS);
    }
    unsigned char *send = gpu_bytes_of(round, me, bytes[me]);
    unsigned char *expected = concatenated(communicator->size, round, bytes, &total);
    unsigned char *sent = gpu_room(communicator, bytes[me]);
    assert_int_equal(gw_device_copy(stream_of(communicator), sent, send, bytes[me], NULL), GW_OK);
    bool receives = how != GATHER_TO_ROOT || me == root;
    unsigned char *received = receives ? gpu_room(communicator, total) : NULL;
    bool right = start_gathering(communicator, how, root, sent, bytes, received) == GW_OK;
    right = (!receives || held(communicator, received, expected, total)) && right;
    right = held(communicator, sent, send, bytes[me]) && right;
    free(send);
    free(expected);
    return right;
}

static const char *parts_are_concatenated(struct gw_communicator *communicator) {
    for (uint64_t round = 0; round < GPU_ROUNDS; round++) {
        if (!gpu_gathers(communicator, GATHER_EQUAL, round, 0)) {
            return "allgather: not the concatenation of what the ranks sent";
        }
        if (!gpu_gathers(communicator, GATHER_UNEQUAL, round, 0)) {
            return "allgather_unequal: not the concatenation of what the ranks sent";
        }
        if (!gpu_gathers(communicator, GATHER_TO_ROOT, round,
                         (int)(round % (uint64_t)communicator->size))) {
            return "gather: not the concatenation of what the ranks sent";
        }
    }
    return NULL;
}

static bool scatters(struct gw_communicator *communicator, uint64_t round, int root) {
    size_t bytes = gpu_part_size(communicator, round);
    size_t total = (size_t)communicator->size * bytes;
    unsigned char *all = gpu_bytes_of(round, root, total);
    bool sends = communicator->rank == root;
    unsigned char *sent = sends ? to_gpu(communicator, all, total) : NULL;
    unsigned char *received = gpu_room(communicator, bytes);
    bool right =
        communicator->transport->scatter(communicator, root, sent, bytes, received, NULL) == GW_OK;
    right = held(communicator, received, all + (size_t)communicator->rank * bytes, bytes) && right;
    forget_on_gpu(communicator, sent);
    free(all);
    return right;
}

static bool broadcasts(struct gw_communicator *communicator, uint64_t round, int root) {
    size_t bytes = gpu_size_of(GW_STAGE_BYTES, round, 1);
    unsigned char *expected = gpu_bytes_of(round, root, bytes);
    unsigned char *data = gpu_room(communicator, bytes);
    if (communicator->rank == root) {
        (void)gw_device_copy(stream_of(communicator), data, expected, bytes, NULL);
    }
    bool right = communicator->transport->broadcast(communicator, root, data, bytes, NULL) == GW_OK;
    right = held(communicator, data, expected, bytes) && right;
    free(expected);
    return right;
}

static const char *roots_are_served(struct gw_communicator *communicator) {
    for (uint64_t round = 0; round < GPU_ROUNDS; round++) {
        for (int root = 0; root < communicator->size; root++) {
            if (round > 1 && root != (int)(round % (uint64_t)communicator->size)) {
                continue;
            }
            if (!scatters(communicator, round, root)) {
                return "scatter: not this rank's part of what the root sent";
            }
            if (!broadcasts(communicator, round, root)) {
                return "broadcast: not what the root sent";
            }
        }
    }
    return NULL;
}

/* ---- sums ---------------------------------------------------------------------------------- */

bool gpu_sums(struct gw_communicator *communicator, uint64_t round, int root) {
    size_t count = gpu_size_of(GW_STAGE_BYTES, round, sizeof(float)) / sizeof(float);
    float *expected = calloc(count + 1, sizeof *expected);
    float *send = gpu_numbers_of(round, communicator->rank, count);
    for (int rank = 0; rank < communicator->size; rank++) {
        float *numbers = gpu_numbers_of(round, rank, count);
        for (size_t i = 0; i < count; i++) {
            expected[i] += numbers[i];
        }
        free(numbers);
    }
    size_t bytes = count * sizeof *send;
    bool receives = root < 0 || communicator->rank == root;
    float *sent = to_gpu(communicator, send, bytes);
    unsigned char *received = receives ? gpu_room(communicator, bytes) : NULL;
    enum gw_status status =
        root < 0
            ? communicator->transport->allreduce(communicator, sent, (float *)received, count, NULL)
            : communicator->transport->reduce(communicator, root, sent, (float *)received, count,
                                              NULL);
    bool right = !receives || held(communicator, received, (const unsigned char *)expected, bytes);
    forget_on_gpu(communicator, sent);
    free(expected);
    free(send);
    return right && status == GW_OK;
}

static const char *sums_are_exact(struct gw_communicator *communicator) {
    for (uint64_t round = 0; round < GPU_ROUNDS; round++) {
        if (!gpu_sums(communicator, round, -1)) {
            return "allreduce: not the sum of what the ranks sent";
        }
        if (!gpu_sums(communicator, round, (int)(round % (uint64_t)communicator->size))) {
            return "reduce: not the sum of what the ranks sent";
        }
    }
    return NULL;
}

/* Of numbers whose sums are rounded, over more than one stage. */
static const char *sums_have_the_same_bits(struct gw_communicator *communicator) {
    enum { COUNT = GW_STAGE_BYTES / 4 + 1001 };
    float *numbers = malloc(COUNT * sizeof *numbers);
    uint64_t *digests = calloc((size_t)communicator->size, sizeof *digests);
    for (size_t i = 0; i < COUNT; i++) {
        numbers[i] =
            (float)gw_random_mix(gpu_seed + 7 * i + (uint64_t)communicator->rank) * 0x1p-64F - 0.5F;
    }
    float *sent = to_gpu(communicator, numbers, COUNT * sizeof *numbers);
    float *received = to_gpu(communicator, numbers, COUNT * sizeof *numbers);
    bool right =
        communicator->transport->allreduce(communicator, sent, received, COUNT, NULL) == GW_OK;
    copy_from_device(stream_of(communicator), numbers, received, COUNT * sizeof *numbers);
    uint64_t digest = 0;
    for (size_t i = 0; i < COUNT; i++) {
        uint32_t bits = 0;
        memcpy(&bits, &numbers[i], sizeof bits);
        digest = gw_random_mix(digest + bits);
    }
    struct gw_communicator *host = &gw_gpu_base(communicator)->host;
    right =
        host->transport->allgather(host, &digest, sizeof digest, digests, NULL) == GW_OK && right;
    for (int rank = 0; rank < communicator->size; rank++) {
        right = right && digests[rank] == digest;
    }
    forget_on_gpu(communicator, sent);
    forget_on_gpu(communicator, received);
    free(numbers);
    free(digests);
    return right ? NULL : "allreduce: not the same bits on every rank";
}

const char *gpu_collectives_are_right(struct gw_communicator *communicator) {
    check *const checks[] = {parts_are_concatenated, roots_are_served, sums_are_exact,
                             sums_have_the_same_bits, NULL};
    return run_checks(checks, communicator);
}
