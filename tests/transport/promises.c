#include "tests/transport/promises.h"
#include <math.h>

#include "tests/test.h"

/* ---- what ranks send ----------------------------------------------------------------------- */

enum { ROUNDS = 7 }; /* of sizes; later ones are random */

/* Functions that fill a rank's own data are not worth watching by the sanitizer: watched, they took
 * longer than the tested code. */
#define UNWATCHED __attribute__((no_sanitize("thread")))

/* The contribution of rank `rank` in a round: bytes, or small integers whose sums are exact. */
UNWATCHED static unsigned char *bytes_of(uint64_t round, int rank, size_t bytes) {
    unsigned char *data = malloc(bytes + 1);
    uint64_t key = gw_random_mix(seed + 64 * round + (uint64_t)rank);
    for (size_t i = 0; i < bytes; i++) {
        key = i % 64 == 0 ? gw_random_mix(key + i) : key;
        data[i] = (unsigned char)((key >> i % 57) + i);
    }
    return data;
}

UNWATCHED static float *numbers_of(uint64_t round, int rank, size_t count) {
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
    uint64_t random = gw_random_mix(seed + 31 * round);
    return round < sizeof sizes / sizeof *sizes
               ? sizes[round]
               : random % ((size_t)1 << random / 1024 % 18) / unit * unit;
}

/* The size of a piece: sizes around it matter. Between GPUs without stages, sizes as long as with
 * them are only worth their time if all trials are run. */
static size_t stage_of(const struct gw_communicator *communicator) {
    bool staged = strcmp(communicator->transport->name, "staged") == 0;
    size_t least = (size_t)1 << 18;
    size_t tried = (size_t)gw_trials(GW_STAGE_BYTES) / 8 * 8;
    return staged                                             ? GW_STAGE_BYTES
           : stream_of(communicator) == NULL || tried < least ? least
                                                              : tried;
}

/* The size of a part, with a part for each rank in a stage. */
static size_t part_size(const struct gw_communicator *communicator, uint64_t round) {
    return size_of(stage_of(communicator) / (size_t)communicator->size / 4 * 4, round, 1);
}

const char *seeds_are_agreed_on(struct gw_communicator *communicator) {
    uint64_t chosen = seed;
    if (strcmp(communicator->transport->name, "mpi") != 0) {
        return NULL;
    }
    if (gw_broadcast(communicator, 0, &chosen, sizeof chosen, NULL) != GW_OK) {
        return "broadcast: failed";
    }
    seed = chosen;
    return NULL;
}

/* ---- collectives --------------------------------------------------------------------------- */

/* To all, or to a root; a negative one is none. */
static bool gathers(struct gw_communicator *communicator, uint64_t round, int root) {
    size_t bytes = part_size(communicator, round);
    size_t total = bytes * (size_t)communicator->size;
    int me = communicator->rank;
    unsigned char *expected = malloc(total + 1);
    for (int rank = 0; rank < communicator->size; rank++) {
        unsigned char *part = bytes_of(round, rank, bytes);
        memcpy(expected + (size_t)rank * bytes, part, bytes);
        free(part);
    }
    const unsigned char *send = expected + (size_t)me * bytes;
    unsigned char *sent = make_room(communicator, bytes);
    fill(communicator, sent, send, bytes);
    bool receives = root < 0 || me == root;
    unsigned char *received = receives ? make_room(communicator, total) : NULL;
    enum gw_status status = root < 0 ? gw_allgather(communicator, sent, bytes, received, NULL)
                                     : gw_gather(communicator, root, sent, bytes, received, NULL);
    bool right = !receives || held(communicator, received, expected, total);
    right = held(communicator, sent, send, bytes) && right;
    free(expected);
    return right && status == GW_OK;
}

static const char *parts_are_concatenated(struct gw_communicator *communicator) {
    for (uint64_t round = 0; round < ROUNDS; round++) {
        if (!gathers(communicator, round, -1)) {
            return "allgather: not the concatenation of what the ranks sent";
        }
    }
    return NULL;
}

/* Each rank sends a part to each, and receives its own part of what each sends. */
static bool exchanges_parts(struct gw_communicator *communicator, uint64_t round) {
    size_t bytes = part_size(communicator, round);
    size_t total = bytes * (size_t)communicator->size;
    size_t own = bytes * (size_t)communicator->rank;
    unsigned char *expected = malloc(total + 1);
    unsigned char *sent = NULL;
    for (int rank = 0; rank < communicator->size; rank++) {
        unsigned char *all = bytes_of(round, rank, total);
        memcpy(expected + (size_t)rank * bytes, all + own, bytes);
        sent = rank == communicator->rank ? place_copy(communicator, all, total) : sent;
        free(all);
    }
    unsigned char *received = make_room(communicator, total);
    bool right = gw_alltoall(communicator, sent, bytes, received, NULL) == GW_OK;
    right = held(communicator, received, expected, total) && right;
    drop(communicator, sent);
    free(expected);
    return right;
}

static const char *parts_are_exchanged(struct gw_communicator *communicator) {
    for (uint64_t round = 0; round < ROUNDS; round++) {
        if (!exchanges_parts(communicator, round)) {
            return "alltoall: not this rank's parts of what the ranks sent";
        }
    }
    return NULL;
}

static bool scatters(struct gw_communicator *communicator, uint64_t round, int root) {
    size_t bytes = part_size(communicator, round);
    size_t total = (size_t)communicator->size * bytes;
    unsigned char *all = bytes_of(round, root, total);
    bool sends = communicator->rank == root;
    unsigned char *sent = sends ? place_copy(communicator, all, total) : NULL;
    unsigned char *received = make_room(communicator, bytes);
    bool right = gw_scatter(communicator, root, sent, bytes, received, NULL) == GW_OK;
    right = held(communicator, received, all + (size_t)communicator->rank * bytes, bytes) && right;
    drop(communicator, sent);
    free(all);
    return right;
}

static bool broadcasts(struct gw_communicator *communicator, uint64_t round, int root) {
    size_t bytes = size_of(stage_of(communicator), round, 1);
    unsigned char *expected = bytes_of(round, root, bytes);
    unsigned char *data = make_room(communicator, bytes);
    if (communicator->rank == root) {
        fill(communicator, data, expected, bytes);
    }
    bool right = gw_broadcast(communicator, root, data, bytes, NULL) == GW_OK;
    right = held(communicator, data, expected, bytes) && right;
    free(expected);
    return right;
}

/* ---- sums ---------------------------------------------------------------------------------- */

UNWATCHED static void add_numbers(float *sums, const float *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        sums[i] += numbers[i];
    }
}

static bool sums_up(struct gw_communicator *communicator, uint64_t round) {
    size_t count = size_of(stage_of(communicator), round, sizeof(float)) / sizeof(float);
    float *expected = calloc(count + 1, sizeof *expected);
    float *send = numbers_of(round, communicator->rank, count);
    for (int rank = 0; rank < communicator->size; rank++) {
        float *numbers = numbers_of(round, rank, count);
        add_numbers(expected, numbers, count);
        free(numbers);
    }
    size_t bytes = count * sizeof *send;
    unsigned char *sent = make_room(communicator, bytes);
    fill(communicator, sent, send, bytes);
    unsigned char *received = make_room(communicator, bytes);
    enum gw_status status =
        gw_allreduce(communicator, GW_NUMBER_FLOAT, sent, received, count, NULL);
    bool right = held(communicator, received, (const unsigned char *)expected, bytes);
    right = held(communicator, sent, (const unsigned char *)send, bytes) && right;
    free(expected);
    free(send);
    return right && status == GW_OK;
}

static const char *sums_are_exact(struct gw_communicator *communicator) {
    for (uint64_t round = 0; round < ROUNDS; round++) {
        if (!sums_up(communicator, round)) {
            return "allreduce: not the sum of what the ranks sent";
        }
    }
    return NULL;
}

/* In each round from every root; of GPUs' memory, where that takes long, from one of them. */
const char *roots_are_served(struct gw_communicator *communicator) {
    bool on_host = stream_of(communicator) == NULL;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (int root = communicator->size - 1; root >= 0; root--) {
            bool turn = on_host || root == (int)(round % (uint64_t)communicator->size);
            if ((turn || round < 2) && !scatters(communicator, round, root)) {
                return "scatter: not this rank's part of what the root sent";
            }
            if ((turn || round < 2) && !broadcasts(communicator, round, root)) {
                return "broadcast: not what the root sent";
            }
            if (turn && !gathers(communicator, round, root)) {
                return "gather: not the concatenation of what the ranks sent";
            }
        }
    }
    return NULL;
}

/* Types whose sums are rounded: the relative error of a rounding, and the least number. */
static const struct {
    enum gw_number_type type;
    double roundoff, least;
} types[] = {
    {GW_NUMBER_FLOAT, 0x1p-24, 0}, {GW_NUMBER_BF16, 0x1p-8, 0}, {GW_NUMBER_FP16, 0x1p-11, 0x1p-24}};

/* Between -0.5 and 0.5. */
static float number_of(int rank, size_t i, enum gw_number_type type) {
    uint64_t key = gw_random_mix(seed + (uint64_t)rank) + i;
    float value = (float)gw_random_mix(key) * 0x1p-64F - 0.5F;
    return type == GW_NUMBER_FLOAT  ? value
           : type == GW_NUMBER_BF16 ? gw_bf16_value(gw_bf16_of(value))
                                    : gw_fp16_value(gw_fp16_of(value));
}

UNWATCHED static void write_numbers(void *out, int rank, size_t count, enum gw_number_type type) {
    for (size_t i = 0; i < count; i++) {
        float value = number_of(rank, i, type);
        if (type == GW_NUMBER_FLOAT) {
            ((float *)out)[i] = value;
        } else {
            ((uint16_t *)out)[i] = type == GW_NUMBER_BF16 ? gw_bf16_of(value) : gw_fp16_of(value);
        }
    }
}

/* Whether sums are as close to those in double precision as P - 1 roundings allow. */
UNWATCHED static bool are_close(const void *sums, int ranks, size_t count, size_t which) {
    enum gw_number_type type = types[which].type;
    double growth = pow(1 + types[which].roundoff, ranks - 1) - 1;
    bool close = true;
    for (size_t i = 0; i < count; i++) {
        double exact = 0;
        double magnitudes = 0;
        float got = type == GW_NUMBER_FLOAT  ? ((const float *)sums)[i]
                    : type == GW_NUMBER_BF16 ? gw_bf16_value(((const uint16_t *)sums)[i])
                                             : gw_fp16_value(((const uint16_t *)sums)[i]);
        for (int rank = 0; rank < ranks; rank++) {
            double value = (double)number_of(rank, i, type);
            exact += value;
            magnitudes += fabs(value);
        }
        double bound = growth * magnitudes + (ranks - 1) * types[which].least;
        close = close && fabs((double)got - exact) <= bound;
    }
    return close;
}

static uint64_t digest_of(const unsigned char *data, size_t bytes) {
    uint64_t digest = 0;
    for (size_t i = 0; i < bytes; i += sizeof(uint16_t)) {
        digest = gw_random_mix(digest + data[i] + 256 * (uint64_t)data[i + 1]);
    }
    return digest;
}

/* Numbers that are rounded, over more than one stage. */
static const char *check_rounded_sums(struct gw_communicator *communicator, size_t which) {
    const size_t count = stage_of(communicator) / 4 + 1001;
    enum gw_number_type type = types[which].type;
    size_t bytes = count * gw_number_bytes(type);
    void *numbers = malloc(bytes);
    uint64_t *digests = calloc((size_t)communicator->size, sizeof *digests);
    write_numbers(numbers, communicator->rank, count, type);
    void *sent = place_copy(communicator, numbers, bytes);
    void *received = place_copy(communicator, numbers, bytes);
    bool done = gw_allreduce(communicator, type, sent, received, count, NULL) == GW_OK;
    read_back(communicator, numbers, received, bytes);
    uint64_t digest = digest_of(numbers, bytes);
    struct gw_communicator *host = host_of(communicator);
    bool same = gw_allgather(host, &digest, sizeof digest, digests, NULL) == GW_OK && done;
    for (int rank = 0; rank < communicator->size; rank++) {
        same = same && digests[rank] == digest;
    }
    bool close = are_close(numbers, communicator->size, count, which);
    drop(communicator, sent);
    drop(communicator, received);
    free(numbers);
    free(digests);
    return !same    ? "allreduce: not the same bits on every rank"
           : !close ? "allreduce: further from the sum than its roundings allow"
                    : NULL;
}

const char *sums_have_the_same_bits(struct gw_communicator *communicator) {
    const char *complaint = NULL;
    for (size_t which = 0; which < sizeof types / sizeof *types && complaint == NULL; which++) {
        complaint = check_rounded_sums(communicator, which);
    }
    return complaint;
}

/* ---- messages ------------------------------------------------------------------------------ */

static const size_t lengths[] = {0, 1, 4096, 4097, 1 << 20};
enum { LENGTHS = sizeof lengths / sizeof *lengths, FLOOD = 2 * LENGTHS };

/* A message on this rank, with what is expected to be there at the end. */
struct message {
    unsigned char *expected, *room;
    size_t bytes;
    struct gw_request request;
};

/* Number `number` from one rank to another. */
static struct message message_of(int from, int to, size_t number, size_t bytes) {
    uint64_t key = 1000 + 100 * (uint64_t)from + 10 * (uint64_t)to + 1000 * number;
    return (struct message){.expected = bytes_of(key, 0, bytes), .bytes = bytes};
}

static bool start(struct gw_communicator *communicator, struct message *message, int other,
                  bool sends) {
    message->room = make_room(communicator, message->bytes);
    if (sends) {
        fill(communicator, message->room, message->expected, message->bytes);
    }
    return (sends ? gw_start_send(communicator, other, message->room, message->bytes,
                                  &message->request, NULL)
                  : gw_start_receive(communicator, other, message->room, message->bytes,
                                     &message->request, NULL)) == GW_OK;
}

static bool is_there(struct gw_communicator *communicator, struct message *message) {
    bool right = held(communicator, message->room, message->expected, message->bytes);
    free(message->expected);
    return right;
}

static bool finish(struct gw_communicator *communicator, struct message *message) {
    bool right = communicator->transport->wait(communicator, &message->request, 1, NULL) == GW_OK;
    return is_there(communicator, message) && right;
}

static bool start_flood(struct gw_communicator *communicator, int other, bool sends,
                        struct message *messages) {
    int me = communicator->rank;
    bool right = true;
    for (size_t i = 0; i < FLOOD; i++) {
        messages[i] = message_of(sends ? me : other, sends ? other : me, i, lengths[i % LENGTHS]);
        right = start(communicator, &messages[i], other, sends) && right;
    }
    return right;
}

/* All are waited for at once. */
static bool finish_flood(struct gw_communicator *communicator, struct message *messages) {
    struct gw_request requests[FLOOD];
    for (size_t i = 0; i < FLOOD; i++) {
        requests[i] = messages[i].request;
    }
    bool right = communicator->transport->wait(communicator, requests, FLOOD, NULL) == GW_OK;
    for (size_t i = 0; i < FLOOD; i++) {
        right = is_there(communicator, &messages[i]) && right;
    }
    return right;
}

/* From all to all at once, and a sum between start and wait. Even ranks send first. */
static const char *floods_keep_their_order(struct gw_communicator *communicator) {
    struct message(*floods)[MOST_RANKS][FLOOD] = calloc(2, sizeof *floods); /* in, out */
    int me = communicator->rank;
    bool right = true;
    for (int turn = 0; turn < 2; turn++) {
        int sends = (turn == 0) == (me % 2 == 0);
        for (int other = 0; other < communicator->size; other++) {
            right = (other == me ||
                     start_flood(communicator, other, sends == 1, floods[sends][other])) &&
                    right;
        }
    }
    right = sums_up(communicator, ROUNDS) && right;
    for (int i = 0; i < 2 * communicator->size; i++) {
        right = (i / 2 == me || finish_flood(communicator, floods[i % 2][i / 2])) && right;
    }
    free(floods);
    return right ? NULL : "start_send, start_receive: not the messages in their order";
}

/* Around a ring, one at a time: each waits for the rank before it. */
static bool goes_around(struct gw_communicator *communicator, size_t bytes) {
    int size = communicator->size;
    int me = communicator->rank;
    unsigned char *expected = bytes_of(99, 0, bytes);
    unsigned char *data = make_room(communicator, bytes);
    bool right = true;
    if (me > 0) {
        right = gw_receive(communicator, me - 1, data, bytes, NULL) == GW_OK;
    } else {
        fill(communicator, data, expected, bytes);
    }
    right = gw_send(communicator, (me + 1) % size, data, bytes, NULL) == GW_OK && right;
    right = held(communicator, data, expected, bytes) && right;
    if (me == 0) {
        data = make_room(communicator, bytes);
        right = gw_receive(communicator, size - 1, data, bytes, NULL) == GW_OK && right;
        right = held(communicator, data, expected, bytes) && right;
    }
    free(expected);
    return right;
}

static const char *messages_go_around(struct gw_communicator *communicator) {
    bool right = true;
    for (size_t i = 0; i < LENGTHS && communicator->size > 1; i++) {
        right = goes_around(communicator, lengths[i]) && right;
    }
    return right ? NULL : "send, receive: not the message that went around";
}

/* To the next rank and from the one before at once; they are waited for in another order. */
static const char *long_ones_pass_each_other(struct gw_communicator *communicator) {
    const size_t stage = stage_of(communicator);
    const size_t bytes[] = {2 * stage + 13, 3, stage - 15, 0, 3 * stage - 48};
    enum { COUNT = sizeof bytes / sizeof *bytes };
    const int order[COUNT] = {1, 4, 0, 3, 2};
    struct message messages[2][COUNT];
    int size = communicator->size;
    int me = communicator->rank;
    const int others[] = {(me + size - 1) % size, (me + 1) % size};
    bool right = true;
    for (int turn = 0; turn < 2 && size > 1; turn++) {
        int sends = (turn + me) % 2;
        for (size_t i = 0; i < COUNT; i++) {
            messages[sends][i] =
                message_of(sends ? me : others[0], sends ? others[1] : me, i, bytes[i]);
            right = start(communicator, &messages[sends][i], others[sends], sends) && right;
        }
    }
    for (size_t i = 0; i < 2 * COUNT && size > 1; i++) {
        right = finish(communicator, &messages[i % 2][order[i / 2]]) && right;
    }
    return right ? NULL : "start_send, start_receive: not the long messages";
}

/* Control messages to the next rank, of the host's memory, on the communicator and on the one under
 * it. */
static const char *posts_are_apart(struct gw_communicator *communicator) {
    struct gw_communicator *both[] = {communicator, host_of(communicator)};
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

/* ---- the first ranks ----------------------------------------------------------------------- */

const char *check_first(struct gw_communicator *parent, int size, check *const *checks) {
    struct gw_communicator first;
    if (parent->transport->open_first(parent, size, &first, NULL) != GW_OK) {
        return "open_first: failed";
    }
    if (parent->rank >= size) {
        return first.transport == NULL ? NULL : "open_first: open on a rank that is left out";
    }
    if (first.rank != parent->rank || first.size != size || first.transport != parent->transport) {
        return "open_first: not the parent's ranks and transport";
    }
    const char *complaint = run_checks(checks, &first);
    first.transport->close(&first);
    return complaint;
}

static const char *short_parts_are_right(struct gw_communicator *communicator) {
    bool right = true;
    for (uint64_t round = ROUNDS - 3; round < ROUNDS; round++) {
        right = gathers(communicator, round, -1) && right;
        right = gathers(communicator, round, 0) && right;
        right = exchanges_parts(communicator, round) && right;
        right = scatters(communicator, round, communicator->size - 1) && right;
        right = broadcasts(communicator, round, 0) && right;
        right = sums_up(communicator, round) && right;
    }
    return right ? NULL : "a communicator of the first ranks: a collective is wrong";
}

check *const short_promises[] = {short_parts_are_right, messages_go_around, NULL};

static const char *halves_work_alone(struct gw_communicator *communicator) {
    return check_first(communicator, (communicator->size + 1) / 2, short_promises);
}

static const char *other_parts_are_refused(struct gw_communicator *communicator) {
    const int sizes[] = {-1, 0, communicator->size + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct gw_communicator first;
        if (communicator->transport->open_first(communicator, sizes[i], &first, NULL) !=
                GW_BAD_INPUT ||
            first.transport != NULL) {
            return "open_first: took a part that there is not";
        }
    }
    return NULL;
}

/* ---- all ----------------------------------------------------------------------------------- */

#define PROMISES                                                                                   \
    parts_are_concatenated, parts_are_exchanged, roots_are_served, sums_are_exact,                 \
        sums_have_the_same_bits, floods_keep_their_order, messages_go_around,                      \
        long_ones_pass_each_other, other_parts_are_refused

check *const promises[] = {PROMISES, NULL};
check *const gpu_promises[] = {PROMISES, posts_are_apart, halves_work_alone, NULL};
