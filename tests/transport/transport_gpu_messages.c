/* Messages between GPUs, held against what ranks are known to have sent. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "tests/transport/transport_gpu_checks.h"

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
            unsigned char *data = gpu_bytes_of(letter(communicator->rank, other, i), 0, bytes);
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
        unsigned char *expected = gpu_bytes_of(letter(from, to, i), 0, bytes);
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
    right = gpu_sums(communicator, GPU_ROUNDS, -1) && right;
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

const char *gpu_messages_go_around(struct gw_communicator *communicator) {
    enum { BYTES = 5003 };
    int size = communicator->size;
    int me = communicator->rank;
    unsigned char *expected = gpu_bytes_of(99, 0, BYTES);
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

/* ---- in pieces ----------------------------------------------------------------------------- */

/* A message on this rank, with what is expected to be there at the end. */
struct parcel {
    unsigned char *expected, *room;
    size_t bytes;
    struct gw_request request;
};

static bool start_parcel(struct gw_communicator *communicator, struct parcel *parcel, int other,
                         bool sends) {
    const struct gw_transport *transport = communicator->transport;
    parcel->room = gpu_room(communicator, parcel->bytes);
    if (sends) {
        (void)gw_device_copy(stream_of(communicator), parcel->room, parcel->expected, parcel->bytes,
                             NULL);
        (void)gw_device_stream_finish(stream_of(communicator), NULL);
    }
    return (sends ? transport->start_send(communicator, other, parcel->room, parcel->bytes,
                                          &parcel->request, NULL)
                  : transport->start_receive(communicator, other, parcel->room, parcel->bytes,
                                             &parcel->request, NULL)) == GW_OK;
}

static bool finish_parcel(struct gw_communicator *communicator, struct parcel *parcel) {
    bool right = communicator->transport->wait(communicator, &parcel->request, 1, NULL) == GW_OK;
    right = held(communicator, parcel->room, parcel->expected, parcel->bytes) && right;
    free(parcel->expected);
    return right;
}

/* To the next rank and from the one before at once; they are waited for in another order. */
static const char *long_ones_pass_each_other(struct gw_communicator *communicator) {
    const size_t bytes[] = {2 * GW_STAGE_BYTES + 13, 3, GW_STAGE_BYTES - 15, 0,
                            3 * GW_STAGE_BYTES - 48};
    enum { COUNT = sizeof bytes / sizeof *bytes };
    const int order[COUNT] = {1, 4, 0, 3, 2};
    struct parcel parcels[2][COUNT];
    int size = communicator->size;
    int me = communicator->rank;
    const int others[] = {(me + size - 1) % size, (me + 1) % size};
    bool right = true;
    for (int turn = 0; turn < 2 && size > 1; turn++) {
        int sends = (turn + me) % 2;
        for (size_t i = 0; i < COUNT; i++) {
            uint64_t key = letter(sends ? me : others[0], sends ? others[1] : me, i);
            parcels[sends][i] =
                (struct parcel){.expected = gpu_bytes_of(key, 0, bytes[i]), .bytes = bytes[i]};
            right = start_parcel(communicator, &parcels[sends][i], others[sends], sends) && right;
        }
    }
    for (size_t i = 0; i < 2 * COUNT && size > 1; i++) {
        right = finish_parcel(communicator, &parcels[i % 2][order[i / 2]]) && right;
    }
    return right ? NULL : "start_send, start_receive: not the long messages";
}

/* The first rank takes one of rank 1's, and then whoever's: rank 1 has two. */
static const char *any_long_ones_are_received(struct gw_communicator *communicator) {
    enum { BYTES = 2 * GW_STAGE_BYTES + 1000 };
    struct parcel parcels[MOST_RANKS];
    int size = communicator->size;
    int me = communicator->rank;
    int count = me == 0 ? size : me == 1 ? 2 : 1;
    int seen = 0;
    bool right = true;
    if (size == 1 || strcmp(communicator->transport->name, "nccl") == 0) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        parcels[i] = (struct parcel){.expected = gpu_bytes_of(77, 0, BYTES), .bytes = BYTES};
        parcels[i].expected[0] = parcels[i].expected[BYTES - 1] = (unsigned char)me;
        right = start_parcel(communicator, &parcels[i],
                             me > 0   ? 0
                             : i == 0 ? 1
                                      : GW_ANY_RANK,
                             me > 0) &&
                right;
    }
    for (int i = count - 1; i >= 0; i--) {
        unsigned char from = (unsigned char)me;
        right =
            communicator->transport->wait(communicator, &parcels[i].request, 1, NULL) == GW_OK &&
            right;
        if (me == 0) {
            copy_from_device(stream_of(communicator), &from, parcels[i].room, 1);
        }
        seen += from;
        parcels[i].expected[0] = parcels[i].expected[BYTES - 1] = from;
        right = held(communicator, parcels[i].room, parcels[i].expected, BYTES) && right;
        free(parcels[i].expected);
    }
    right = right && (me != 0 || seen == size * (size - 1) / 2 + 1);
    return right ? NULL : "receive: not the long messages of each rank";
}

const char *gpu_messages_arrive(struct gw_communicator *communicator) {
    check *const checks[] = {floods_keep_their_order,    gpu_messages_go_around,
                             any_rank_is_received_from,  long_ones_pass_each_other,
                             any_long_ones_are_received, NULL};
    return run_checks(checks, communicator);
}
