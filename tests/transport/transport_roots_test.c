/*
 * Collectives with unequal parts or with a root, held against what each rank is known to have sent,
 * at random sizes and from every root: between threads when this program is started by itself,
 * over MPI when it is started in an MPI job. The same on communicators of the first ranks.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <limits.h>

#include "tests/transport/transport_support.h"

enum { ROUNDS = 12, GUARDED = 64 };

static uint64_t seed;

/* ---- what ranks send ----------------------------------------------------------------------- */

/* Byte i of what rank `rank` contributes in a round. */
static unsigned char byte_of(uint64_t round, int rank, size_t i) {
    return (unsigned char)gw_random_mix(gw_random_mix(seed + 64 * round + (uint64_t)rank) + i / 7);
}

/* Small integers: their sums are exact in any order. */
static float number_of(uint64_t round, int rank, size_t i) {
    return (float)(byte_of(round, rank, i) - 100);
}

/* Random sizes, the same on all ranks; nothing and one byte among them, and one that is long. */
static size_t size_of(uint64_t round, uint64_t draw, size_t longest) {
    uint64_t random = gw_random_mix(gw_random_mix(seed + round) + draw);
    return round < 2 ? round : round == 2 ? longest : random % ((size_t)1 << random / 512 % 16);
}

static unsigned char *send_of(uint64_t round, int rank, size_t bytes) {
    unsigned char *data = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = byte_of(round, rank, i);
    }
    return data;
}

static bool is_send_of(const unsigned char *data, uint64_t round, int rank, size_t bytes) {
    bool right = true;
    for (size_t i = 0; i < bytes; i++) {
        right = right && data[i] == byte_of(round, rank, i);
    }
    return right;
}

/* Room for so many bytes, with a guard behind it. */
static unsigned char *make_room(size_t bytes) {
    unsigned char *room = malloc(bytes + GUARDED);
    memset(room, 0xA5, bytes + GUARDED);
    return room;
}

static bool is_guarded(const unsigned char *room, size_t bytes) {
    bool right = true;
    for (size_t i = 0; i < GUARDED; i++) {
        right = right && room[bytes + i] == 0xA5;
    }
    return right;
}

/* ---- collectives --------------------------------------------------------------------------- */

/* A third of the parts are empty, and in the first round all are. */
static size_t part_of(uint64_t round, int rank) {
    size_t bytes = size_of(round, (uint64_t)rank, 300000);
    return gw_random_mix(seed + 1000 * round + (uint64_t)rank) % 3 == 0 ? 0 : bytes;
}

static bool gather_unequal(struct gw_communicator *communicator, uint64_t round) {
    size_t bytes[MOST_RANKS];
    size_t total = 0;
    for (int rank = 0; rank < communicator->size; rank++) {
        bytes[rank] = part_of(round, rank);
        total += bytes[rank];
    }
    unsigned char *send = send_of(round, communicator->rank, bytes[communicator->rank]);
    unsigned char *receive = make_room(total);
    bool right = communicator->transport->allgather_unequal(communicator, send, bytes, receive,
                                                            NULL) == GW_OK;
    size_t offset = 0;
    for (int rank = 0; rank < communicator->size; rank++) {
        right = right && is_send_of(receive + offset, round, rank, bytes[rank]);
        offset += bytes[rank];
    }
    right = right && is_guarded(receive, total) &&
            is_send_of(send, round, communicator->rank, bytes[communicator->rank]);
    free(send);
    free(receive);
    return right;
}

static const char *unequal_parts_are_concatenated(struct gw_communicator *communicator) {
    bool right = true;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        right = gather_unequal(communicator, round) && right;
    }
    return right ? NULL : "allgather_unequal: not the concatenation of what the ranks sent";
}

static bool broadcast(struct gw_communicator *communicator, uint64_t round, int root) {
    size_t bytes = size_of(round, 0, 1 << 20);
    unsigned char *data = make_room(bytes);
    for (size_t i = 0; i < bytes && communicator->rank == root; i++) {
        data[i] = byte_of(round, root, i);
    }
    bool right = communicator->transport->broadcast(communicator, root, data, bytes, NULL) == GW_OK;
    right = right && is_send_of(data, round, root, bytes) && is_guarded(data, bytes);
    free(data);
    return right;
}

static bool gather(struct gw_communicator *communicator, uint64_t round, int root) {
    size_t bytes = size_of(round, 0, 300000);
    size_t total = (size_t)communicator->size * bytes;
    bool receives = communicator->rank == root;
    unsigned char *send = send_of(round, communicator->rank, bytes);
    unsigned char *receive = receives ? make_room(total) : NULL;
    bool right =
        communicator->transport->gather(communicator, root, send, bytes, receive, NULL) == GW_OK;
    for (int rank = 0; rank < communicator->size && receives; rank++) {
        right = right && is_send_of(receive + (size_t)rank * bytes, round, rank, bytes);
    }
    right = right && (!receives || is_guarded(receive, total)) &&
            is_send_of(send, round, communicator->rank, bytes);
    free(send);
    free(receive);
    return right;
}

static bool scatter(struct gw_communicator *communicator, uint64_t round, int root) {
    size_t bytes = size_of(round, 0, 300000);
    size_t total = (size_t)communicator->size * bytes;
    unsigned char *send = communicator->rank == root ? malloc(total + 1) : NULL;
    for (size_t i = 0; i < total && send != NULL; i++) {
        send[i] = byte_of(round, (int)(i / bytes), i % bytes);
    }
    unsigned char *receive = make_room(bytes);
    bool right =
        communicator->transport->scatter(communicator, root, send, bytes, receive, NULL) == GW_OK;
    right = right && is_send_of(receive, round, communicator->rank, bytes) &&
            is_guarded(receive, bytes);
    free(send);
    free(receive);
    return right;
}

static bool is_sum(const float *sums, uint64_t round, int ranks, size_t count) {
    bool right = true;
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (int rank = 0; rank < ranks; rank++) {
            sum += number_of(round, rank, i);
        }
        right = right && sums[i] == sum;
    }
    return right;
}

static bool reduce(struct gw_communicator *communicator, uint64_t round, int root) {
    size_t count = size_of(round, 0, 100000);
    bool receives = communicator->rank == root;
    float *send = malloc((count + 1) * sizeof *send);
    unsigned char *receive = receives ? make_room(count * sizeof *send) : NULL;
    for (size_t i = 0; i < count; i++) {
        send[i] = number_of(round, communicator->rank, i);
    }
    bool right = communicator->transport->reduce(communicator, root, send, (float *)receive, count,
                                                 NULL) == GW_OK;
    for (size_t i = 0; i < count; i++) {
        right = right && send[i] == number_of(round, communicator->rank, i);
    }
    right = right && (!receives || (is_sum((float *)receive, round, communicator->size, count) &&
                                    is_guarded(receive, count * sizeof *send)));
    free(send);
    free(receive);
    return right;
}

/* In each round from every root, the last first. */
static const char *roots_are_served(struct gw_communicator *communicator) {
    static const struct {
        bool (*collective)(struct gw_communicator *, uint64_t, int);
        const char *complaint;
    } cases[] = {
        {broadcast, "broadcast: not what the root sent"},
        {gather, "gather: not the concatenation of what the ranks sent"},
        {scatter, "scatter: not this rank's part of what the root sent"},
        {reduce, "reduce: not the sum of what the ranks sent"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        bool right = true;
        for (uint64_t round = 0; round < ROUNDS; round++) {
            for (int root = communicator->size - 1; root >= 0; root--) {
                right = cases[c].collective(communicator, round, root) && right;
            }
        }
        if (!right) {
            return cases[c].complaint;
        }
    }
    return NULL;
}

/* Of more than one piece of 16 MiB. */
static const char *long_sums_are_reduced(struct gw_communicator *communicator) {
    const size_t count = (4 << 20) + 3;
    int root = communicator->size - 1;
    float *send = malloc(count * sizeof *send);
    float *sums = malloc(count * sizeof *sums);
    float ranks = (float)(communicator->size * (communicator->size + 1) / 2);
    for (size_t i = 0; i < count; i++) {
        send[i] = (float)((size_t)(communicator->rank + 1) * (i % 1000));
    }
    bool right = communicator->transport->reduce(communicator, root, send,
                                                 communicator->rank == root ? sums : NULL, count,
                                                 NULL) == GW_OK;
    for (size_t i = 0; i < count && communicator->rank == root; i++) {
        right = right && sums[i] == ranks * (float)(i % 1000);
    }
    free(send);
    free(sums);
    return right ? NULL : "reduce: not the long sum of what the ranks sent";
}

/* Of numbers whose sums are rounded. */
static const char *sums_have_the_same_bits(struct gw_communicator *communicator) {
    enum { COUNT = 20000 };
    float *send = malloc(COUNT * sizeof *send);
    float *sums = malloc(COUNT * sizeof *sums);
    float *all = malloc((size_t)communicator->size * COUNT * sizeof *all);
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t random = gw_random_mix(seed + 7 * i + (uint64_t)communicator->rank);
        send[i] = (float)random * 0x1p-64F;
    }
    bool right =
        communicator->transport->allreduce(communicator, send, sums, COUNT, NULL) == GW_OK &&
        communicator->transport->allgather(communicator, sums, COUNT * sizeof *sums, all, NULL) ==
            GW_OK;
    for (int rank = 0; rank < communicator->size; rank++) {
        right = right && memcmp(all + (size_t)rank * COUNT, sums, COUNT * sizeof *sums) == 0;
    }
    free(send);
    free(sums);
    free(all);
    return right ? NULL : "allreduce: not the same bits on every rank";
}

/* MPI counts in int; what it cannot count is refused before anything is read. */
static const char *counts_beyond_int_are_refused(struct gw_communicator *communicator) {
    const struct gw_transport *transport = communicator->transport;
    const size_t huge = (size_t)INT_MAX + 1;
    size_t parts[MOST_RANKS] = {1};
    parts[communicator->size - 1] = communicator->size == 1 ? huge : INT_MAX;
    if (strcmp(transport->name, "mpi") != 0) {
        return NULL;
    }
    return transport->allgather(communicator, NULL, huge, NULL, NULL) == GW_BAD_INPUT &&
                   transport->allgather_unequal(communicator, NULL, parts, NULL, NULL) ==
                       GW_BAD_INPUT &&
                   transport->gather(communicator, 0, NULL, huge, NULL, NULL) == GW_BAD_INPUT &&
                   transport->scatter(communicator, 0, NULL, huge, NULL, NULL) == GW_BAD_INPUT
               ? NULL
               : "took more bytes than MPI counts";
}

static check *const collectives[] = {unequal_parts_are_concatenated, roots_are_served,
                                     sums_have_the_same_bits, counts_beyond_int_are_refused, NULL};

/* ---- the first ranks ----------------------------------------------------------------------- */

static const char *check_first(struct gw_communicator *parent, int size, check *const *checks) {
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

static const char *halves_work(struct gw_communicator *communicator) {
    return check_first(communicator, (communicator->size + 1) / 2, collectives);
}

/* Those of one rank, two, .. all, and half of each as a part of the part. */
static const char *first_ranks_work_alone(struct gw_communicator *communicator) {
    check *const both[] = {unequal_parts_are_concatenated, halves_work,
                           unequal_parts_are_concatenated, NULL};
    const char *complaint = NULL;
    for (int size = 1; size <= communicator->size && complaint == NULL; size++) {
        complaint = check_first(communicator, size, both);
    }
    return complaint;
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

/* Rank 0 writes to rank 1 on both; rank 1 looks on the part first. */
static const char *talk_apart(struct gw_communicator *whole, struct gw_communicator *part) {
    const struct gw_transport *transport = whole->transport;
    int words[] = {1, 2, 3, 4};
    bool right = true;
    int from = -1;
    size_t bytes = 0;
    if (whole->rank == 0) {
        right = gw_send(whole, 1, &words[0], sizeof *words, NULL) == GW_OK &&
                gw_send(part, 1, &words[1], sizeof *words, NULL) == GW_OK &&
                transport->post(whole, 1, &words[2], sizeof *words, NULL) == GW_OK &&
                transport->post(part, 1, &words[3], sizeof *words, NULL) == GW_OK;
    } else if (whole->rank == 1) {
        int heard[4] = {0};
        right = gw_receive(part, 0, &heard[1], sizeof *heard, NULL) == GW_OK &&
                gw_receive(whole, 0, &heard[0], sizeof *heard, NULL) == GW_OK;
        for (int i = 3; i >= 2; i--) {
            for (from = -1; right && from < 0;) {
                right = transport->poll(i == 3 ? part : whole, &heard[i], sizeof *heard, &bytes,
                                        &from, NULL) == GW_OK;
            }
        }
        right = right && memcmp(words, heard, sizeof words) == 0;
    }
    return right ? NULL : "open_first: messages of the part and of the whole are mixed";
}

static const char *parts_talk_apart(struct gw_communicator *communicator) {
    struct gw_communicator part;
    if (communicator->size < 2) {
        return NULL;
    }
    if (communicator->transport->open_first(communicator, 2, &part, NULL) != GW_OK) {
        return "open_first: failed";
    }
    if (part.transport == NULL) {
        return NULL;
    }
    const char *complaint = talk_apart(communicator, &part);
    part.transport->close(&part);
    return complaint;
}

/* ---- between threads, and over MPI --------------------------------------------------------- */

/* Rank 0's seed for all. */
static const char *seeds_are_agreed_on(struct gw_communicator *communicator) {
    uint64_t seeds[MOST_RANKS] = {communicator->rank == 0 ? choose_seed() : 0};
    uint64_t mine = seeds[0];
    if (communicator->transport->allgather(communicator, &mine, sizeof mine, seeds, NULL) !=
        GW_OK) {
        return "allgather: failed";
    }
    seed = seeds[0];
    return NULL;
}

static void threads_keep_the_promises(void **state) {
    (void)state;
    check *const checks[] = {unequal_parts_are_concatenated,
                             roots_are_served,
                             long_sums_are_reduced,
                             sums_have_the_same_bits,
                             first_ranks_work_alone,
                             other_parts_are_refused,
                             parts_talk_apart,
                             NULL};
    seed = choose_seed();
    check_threads(checks);
}

static void mpi_keeps_the_promises(void **state) {
    (void)state;
    check *const checks[] = {seeds_are_agreed_on,     unequal_parts_are_concatenated,
                             roots_are_served,        long_sums_are_reduced,
                             sums_have_the_same_bits, counts_beyond_int_are_refused,
                             first_ranks_work_alone,  other_parts_are_refused,
                             parts_talk_apart,        NULL};
    check_mpi(checks);
}

int main(void) {
    const struct CMUnitTest local[] = {cmocka_unit_test(threads_keep_the_promises)};
    const struct CMUnitTest mpi[] = {cmocka_unit_test(mpi_keeps_the_promises)};
    return gw_mpi_is_inside_job() ? cmocka_run_group_tests(mpi, NULL, NULL)
                                  : cmocka_run_group_tests(local, NULL, NULL);
}
