/* What communicators for memory of GPUs promise, held against what ranks are known to have sent. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "tests/transport_gpu_checks.h"
#include "transport/staged.h"

enum { ROUNDS = 7 };

uint64_t gpu_seed;

/* ---- what ranks send ----------------------------------------------------------------------- */

/* What rank `rank` contributes in a round: bytes, or small integers whose sums are exact. */
static unsigned char *bytes_of(uint64_t round, int rank, size_t bytes) {
    unsigned char *data = malloc(bytes + 1);
    uint64_t key = gw_random_mix(gpu_seed + 64 * round + (uint64_t)rank);
    for (size_t i = 0; i < bytes; i++) {
        key = i % 64 == 0 ? gw_random_mix(key + i) : key;
        data[i] = (unsigned char)((key >> i % 57) + i);
    }
    return data;
}

static float *numbers_of(uint64_t round, int rank, size_t count) {
    unsigned char *bytes = bytes_of(round, rank, count);
    float *numbers = malloc((count + 1) * sizeof *numbers);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = (float)bytes[i] - 100;
    }
    free(bytes);
    return numbers;
}

/* Nothing, one byte, a stage that is just filled, two and a bit, and random sizes. */
static size_t size_of(size_t stage, uint64_t round, size_t unit) {
    const size_t sizes[] = {0, unit, stage / unit * unit, (2 * stage / unit + 7) * unit};
    uint64_t random = gw_random_mix(gpu_seed + 31 * round);
    return round < sizeof sizes / sizeof *sizes
               ? sizes[round]
               : random % ((size_t)1 << random / 1024 % 18) / unit * unit;
}

/* Of a stage, with a part for each rank. */
static size_t part_size(const struct gw_communicator *communicator, uint64_t round) {
    return size_of(GW_STAGE_BYTES / (size_t)communicator->size / 4 * 4, round, 1);
}

/* ---- collectives --------------------------------------------------------------------------- */

/* Of all ranks' contributions, one after the other. */
static unsigned char *concatenated(int ranks, uint64_t round, const size_t *bytes, size_t *total) {
    *total = 0;
    for (int rank = 0; rank < ranks; rank++) {
        *total += bytes[rank];
    }
    unsigned char *all = malloc(*total + 1);
    size_t offset = 0;
    for (int rank = 0; rank < ranks; rank++) {
        unsigned char *part = bytes_of(round, rank, bytes[rank]);
        memcpy(all + offset, part, bytes[rank]);
        offset += bytes[rank];
        free(part);
    }
    return all;
}

enum gathering { EQUAL, UNEQUAL, TO_ROOT };

static enum gw_status start_gathering(struct gw_communicator *communicator, enum gathering how,
                                      int root, const void *send, const size_t *bytes,
                                      void *receive) {
    const struct gw_transport *transport = communicator->transport;
    return how == EQUAL     ? transport->allgather(communicator, send, bytes[0], receive, NULL)
           : how == UNEQUAL ? transport->allgather_unequal(communicator, send, bytes, receive, NULL)
                            : transport->gather(communicator, root, send, bytes[0], receive, NULL);
}

static bool gathers(struct gw_communicator *communicator, enum gathering how, uint64_t round,
                    int root) {
    size_t bytes[MOST_RANKS];
    size_t total = 0;
    int me = communicator->rank;
    for (int rank = 0; rank < communicator->size; rank++) {
        uint64_t chosen =
            how == UNEQUAL ? gw_random_mix(gpu_seed + 8 * round + (uint64_t)rank) : round;
        bytes[rank] = part_size(communicator, chosen % ROUNDS);
    }
    unsigned char *send = bytes_of(round, me, bytes[me]);
    unsigned char *expected = concatenated(communicator->size, round, bytes, &total);
    unsigned char *sent = gpu_room(communicator, bytes[me]);
    assert_int_equal(gw_device_copy(stream_of(communicator), sent, send, bytes[me], NULL), GW_OK);
    bool receives = how != TO_ROOT || me == root;
    unsigned char *received = receives ? gpu_room(communicator, total) : NULL;
    bool right = start_gathering(communicator, how, root, sent, bytes, received) == GW_OK;
    right = (!receives || held(communicator, received, expected, total)) && right;
    right = held(communicator, sent, send, bytes[me]) && right;
    free(send);
    free(expected);
    return right;
}

static const char *parts_are_concatenated(struct gw_communicator *communicator) {
    for (uint64_t round = 0; round < ROUNDS; round++) {
        if (!gathers(communicator, EQUAL, round, 0)) {
            return "allgather: not the concatenation of what the ranks sent";
        }
        if (!gathers(communicator, UNEQUAL, round, 0)) {
            return "allgather_unequal: not the concatenation of what the ranks sent";
        }
        if (!gathers(communicator, TO_ROOT, round, (int)(round % (uint64_t)communicator->size))) {
            return "gather: not the concatenation of what the ranks sent";
        }
    }
    return NULL;
}

static bool scatters(struct gw_communicator *communicator, uint64_t round, int root) {
    size_t bytes = part_size(communicator, round);
    size_t total = (size_t)communicator->size * bytes;
    unsigned char *all = bytes_of(round, root, total);
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
    size_t bytes = size_of(GW_STAGE_BYTES, round, 1);
    unsigned char *expected = bytes_of(round, root, bytes);
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
    for (uint64_t round = 0; round < ROUNDS; round++) {
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

/* To all, or to a root; a negative one is none. */
static bool sums(struct gw_communicator *communicator, uint64_t round, int root) {
    size_t count = size_of(GW_STAGE_BYTES, round, sizeof(float)) / sizeof(float);
    float *expected = calloc(count + 1, sizeof *expected);
    float *send = numbers_of(round, communicator->rank, count);
    for (int rank = 0; rank < communicator->size; rank++) {
        float *numbers = numbers_of(round, rank, count);
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
    for (uint64_t round = 0; round < ROUNDS; round++) {
        if (!sums(communicator, round, -1)) {
            return "allreduce: not the sum of what the ranks sent";
        }
        if (!sums(communicator, round, (int)(round % (uint64_t)communicator->size))) {
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

/* ---- messages ------------------------------------------------------------------------------ */

static const size_t lengths[] = {0, 1, 4096, 4097, 300007};
enum { LENGTHS = sizeof lengths / sizeof *lengths, FLOOD = 2 * LENGTHS };

/* Messages from one rank to another. */
struct flood {
    unsigned char *rooms[FLOOD];
    struct gw_request requests[FLOOD];
};

static uint64_t letter(int from, int to, size_t number) {
    return 1000 + 100 * (uint64_t)from + 10 * (uint64_t)to + 1000 * number;
}

static bool start_flood(struct gw_communicator *communicator, int other, bool sends,
                        struct flood *flood) {
    const struct gw_transport *transport = communicator->transport;
    bool right = true;
    for (size_t i = 0; i < FLOOD; i++) {
        size_t bytes = lengths[i % LENGTHS];
        flood->rooms[i] = gpu_room(communicator, bytes);
        if (sends) {
            unsigned char *data = bytes_of(letter(communicator->rank, other, i), 0, bytes);
            (void)gw_device_copy(stream_of(communicator), flood->rooms[i], data, bytes, NULL);
            (void)gw_device_stream_finish(stream_of(communicator), NULL);
            free(data);
        }
        enum gw_status status = sends
                                    ? transport->start_send(communicator, other, flood->rooms[i],
                                                            bytes, &flood->requests[i], NULL)
                                    : transport->start_receive(communicator, other, flood->rooms[i],
                                                               bytes, &flood->requests[i], NULL);
        right = right && status == GW_OK;
    }
    return right;
}

static bool finish_flood(struct gw_communicator *communicator, int from, int to,
                         struct flood *flood) {
    bool right = communicator->transport->wait(communicator, flood->requests, FLOOD, NULL) == GW_OK;
    for (size_t i = 0; i < FLOOD; i++) {
        size_t bytes = lengths[i % LENGTHS];
        unsigned char *expected = bytes_of(letter(from, to, i), 0, bytes);
        right = held(communicator, flood->rooms[i], expected, bytes) && right;
        free(expected);
    }
    return right;
}

/* From all to all at once, and a sum between start and wait. Even ranks send first. */
static const char *floods_keep_their_order(struct gw_communicator *communicator) {
    struct flood *in = calloc(MOST_RANKS, sizeof *in);
    struct flood *out = calloc(MOST_RANKS, sizeof *out);
    int me = communicator->rank;
    bool right = true;
    for (int turn = 0; turn < 2; turn++) {
        for (int other = 0; other < communicator->size; other++) {
            bool sends = (turn == 0) == (me % 2 == 0);
            right = (other == me ||
                     start_flood(communicator, other, sends, sends ? &out[other] : &in[other])) &&
                    right;
        }
    }
    right = sums(communicator, ROUNDS, -1) && right;
    for (int other = 0; other < communicator->size; other++) {
        if (other != me) {
            right = finish_flood(communicator, other, me, &in[other]) && right;
            right = finish_flood(communicator, me, other, &out[other]) && right;
        }
    }
    free(in);
    free(out);
    return right ? NULL : "start_send, start_receive: not the messages in their order";
}

/* Around a ring, one at a time: each waits for the rank before it. */
static const char *messages_go_around(struct gw_communicator *communicator) {
    enum { BYTES = 5003 };
    int size = communicator->size;
    int me = communicator->rank;
    unsigned char *expected = bytes_of(99, 0, BYTES);
    unsigned char *data =
        me == 0 ? to_gpu(communicator, expected, BYTES) : gpu_room(communicator, BYTES);
    bool right = true;
    if (size > 1 && me > 0) {
        right = gw_receive(communicator, me - 1, data, BYTES, NULL) == GW_OK;
    }
    if (size > 1) {
        right = gw_send(communicator, (me + 1) % size, data, BYTES, NULL) == GW_OK && right;
    }
    forget_on_gpu(communicator, me == 0 ? data : NULL);
    if (me == 0) {
        data = gpu_room(communicator, BYTES);
        right = size == 1 || gw_receive(communicator, size - 1, data, BYTES, NULL) == GW_OK;
    }
    right = (size == 1 || held(communicator, data, expected, BYTES)) && right;
    forget_on_gpu(communicator, size == 1 ? data : NULL);
    free(expected);
    return right ? NULL : "send, receive: not the message that went around";
}

/* Rank 0 takes what comes, where that can be done. */
static const char *any_rank_is_received_from(struct gw_communicator *communicator) {
    bool can = strcmp(communicator->transport->name, "nccl") != 0;
    bool seen[MOST_RANKS] = {false};
    int me = communicator->rank;
    bool right = true;
    int *there = to_gpu(communicator, &me, sizeof me);
    if (me != 0 && can) {
        right = gw_send(communicator, 0, there, sizeof me, NULL) == GW_OK;
    }
    for (int count = 1; count < communicator->size && me == 0 && right; count++) {
        struct gw_error error = {0};
        enum gw_status status = gw_receive(communicator, GW_ANY_RANK, there, sizeof me, &error);
        if (can) {
            int who = 0;
            copy_from_device(stream_of(communicator), &who, there, sizeof who);
            right = status == GW_OK && who > 0 && who < communicator->size && !seen[who];
            seen[right ? who : 0] = true;
        } else {
            right = status == GW_BAD_INPUT && strstr(error.message, "expected the rank") != NULL;
        }
    }
    forget_on_gpu(communicator, there);
    return right ? NULL : "receive: not one message of each rank";
}

/* ---- posts, and communicators beside each other -------------------------------------------- */

/* Posts to the next rank, of the host's memory, on the communicator and on the one under it. */
static const char *posts_are_apart(struct gw_communicator *communicator) {
    struct gw_communicator *both[] = {communicator, &gw_gpu_base(communicator)->host};
    int next = (communicator->rank + 1) % communicator->size;
    int previous = (communicator->rank + communicator->size - 1) % communicator->size;
    bool right = true;
    for (int i = 0; i < 3; i++) {
        right =
            communicator->transport->post(communicator, next, &i, sizeof i, NULL) == GW_OK && right;
    }
    for (int i = 0; i < 3 && right; i++) {
        int got = -1;
        int from = -1;
        size_t bytes = 0;
        while (from < 0 && right) {
            right = communicator->transport->poll(communicator, &got, sizeof got, &bytes, &from,
                                                  NULL) == GW_OK;
        }
        right = right && from == previous && bytes == sizeof got && got == i;
    }
    for (int i = 0; i < 2; i++) {
        right = both[i]->transport->barrier(both[i], NULL) == GW_OK && right;
    }
    return right ? NULL : "post, poll: not what was posted";
}

static const char *first_ranks_work_alone(struct gw_communicator *communicator) {
    int half = (communicator->size + 1) / 2;
    struct gw_communicator first;
    struct gw_error error = {0};
    if (communicator->transport->open_first(communicator, communicator->size + 1, &first, &error) !=
            GW_BAD_INPUT ||
        first.transport != NULL) {
        return "open_first: took more ranks than there are";
    }
    if (communicator->transport->open_first(communicator, half, &first, &error) != GW_OK) {
        print_error("%s\n", error.message);
        return "open_first: failed";
    }
    if (communicator->rank >= half) {
        return first.transport == NULL ? NULL : "open_first: open on a rank that is left out";
    }
    bool right = first.size == half && first.rank == communicator->rank &&
                 first.transport == communicator->transport;
    right = right && gathers(&first, EQUAL, 5, 0) && sums(&first, 6, -1);
    const char *complaint = right ? messages_go_around(&first) : "open_first: wrong";
    first.transport->close(&first);
    return complaint;
}

check *const gpu_promises[] = {parts_are_concatenated,
                               roots_are_served,
                               sums_are_exact,
                               sums_have_the_same_bits,
                               floods_keep_their_order,
                               messages_go_around,
                               any_rank_is_received_from,
                               posts_are_apart,
                               first_ranks_work_alone,
                               NULL};
