/*
 * The communicator's promises, and what is promised of memory of the host alone: between threads
 * when this program is started by itself, over MPI when it is started in an MPI job.
 */
#include <limits.h>

#include "tests/transport/promises.h"

/* ---- collectives --------------------------------------------------------------------------- */

/* Sums of more than one piece of 16 MiB; of three between few processes. */
static const char *long_sums_are_reduced(struct gw_communicator *communicator) {
    bool few = communicator->size <= 2 && strcmp(communicator->transport->name, "mpi") == 0;
    const size_t count = few ? 9 << 20 : (4 << 20) + 3;
    float *send = malloc(count * sizeof *send);
    float *sums = malloc(count * sizeof *sums);
    float ranks = (float)(communicator->size * (communicator->size + 1) / 2);
    for (size_t i = 0; i < count; i++) {
        send[i] = (float)((size_t)(communicator->rank + 1) * (i % 1000));
    }
    bool right = gw_allreduce(communicator, GW_NUMBER_FLOAT, send, sums, count, NULL) == GW_OK;
    for (size_t i = 0; i < count; i++) {
        right = right && sums[i] == ranks * (float)(i % 1000) &&
                send[i] == (float)((size_t)(communicator->rank + 1) * (i % 1000));
    }
    free(send);
    free(sums);
    return right ? NULL : "allreduce: not the long sum of what the ranks sent";
}

/* MPI counts in int; what it cannot count is refused before anything is read. */
static const char *counts_beyond_int_are_refused(struct gw_communicator *communicator) {
    const struct gw_transport *transport = communicator->transport;
    const size_t huge = (size_t)INT_MAX + 1;
    if (strcmp(transport->name, "mpi") != 0) {
        return NULL;
    }
    return gw_allgather(communicator, NULL, huge, NULL, NULL) == GW_BAD_INPUT &&
                   gw_gather(communicator, 0, NULL, huge, NULL, NULL) == GW_BAD_INPUT &&
                   gw_scatter(communicator, 0, NULL, huge, NULL, NULL) == GW_BAD_INPUT &&
                   gw_alltoall(communicator, NULL, huge, NULL, NULL) == GW_BAD_INPUT
               ? NULL
               : "took more bytes than MPI counts";
}

static const char *a_barrier_holds_until_the_last(struct gw_communicator *communicator) {
    double entered_s[MOST_RANKS];
    if (communicator->rank == communicator->size - 1) {
        gw_clock_sleep_until_s(gw_clock_now_s() + 0.05);
    }
    double now_s = gw_clock_now_s();
    (void)communicator->transport->barrier(communicator, NULL);
    double left_s = gw_clock_now_s();
    (void)gw_allgather(communicator, &now_s, sizeof now_s, entered_s, NULL);
    for (int rank = 0; rank < communicator->size; rank++) {
        if (left_s < entered_s[rank]) {
            return "barrier: left before the last rank had come (on one host, with one clock)";
        }
    }
    return NULL;
}

static const char *maxima_are_agreed_on(struct gw_communicator *communicator) {
    double values[] = {communicator->rank, -communicator->rank, 5};
    if (gw_agree_maximum(communicator, values, 3, NULL) != GW_OK ||
        values[0] != communicator->size - 1 || values[1] != 0 || values[2] != 5) {
        return "agree_maximum: not the largest value of each";
    }
    return NULL;
}

static const char *failures_are_agreed_on(struct gw_communicator *communicator) {
    struct gw_error error = {0};
    if (gw_agree(communicator, GW_OK, &error) != GW_OK) {
        return "agree: failed though every rank did well";
    }
    int last = communicator->size - 1;
    enum gw_status status =
        communicator->rank == last ? gw_fail(&error, GW_BAD_INPUT, "no such file") : GW_OK;
    char expected[64];
    snprintf(expected, sizeof expected,
             communicator->rank == last ? "no such file" : "rank %d: no such file", last);
    if (gw_agree(communicator, status, &error) != GW_BAD_INPUT ||
        strcmp(error.message, expected) != 0) {
        return "agree: not the failing rank's status and message";
    }
    return NULL;
}

/* ---- messages ------------------------------------------------------------------------------ */

static const char *another_length_is_refused(struct gw_communicator *communicator) {
    int me = communicator->rank;
    if (communicator->size < 2 || me > 1) {
        return NULL;
    }
    char data[16] = "";
    struct gw_error error = {0};
    if (me == 0) {
        return gw_send(communicator, 1, data, 5, NULL) == GW_OK ? NULL : "send: failed";
    }
    enum gw_status status = gw_receive(communicator, 0, data, sizeof data, &error);
    return status == GW_FAILED &&
                   strcmp(error.message, "a message from rank 0: expected 16 bytes, got 5") == 0
               ? NULL
               : "receive: took a message of another length";
}

/* Everyone writes to everyone, itself too; what comes from one rank comes in order, whole. */
static const char *posts_come_in_order(struct gw_communicator *communicator) {
    enum { EACH = 200, LONGEST = 5000 };
    unsigned char message[LONGEST];
    size_t seen[MOST_RANKS] = {0};
    size_t bytes = 0;
    int from = -1;
    size_t left = (size_t)communicator->size * EACH;
    for (size_t i = 0; i < EACH; i++) {
        memset(message, (int)(i + (size_t)communicator->rank) % 256, sizeof message);
        for (int to = 0; to < communicator->size; to++) {
            if (communicator->transport->post(communicator, to, message, 1 + i * 25 % LONGEST,
                                              NULL) != GW_OK) {
                return "post: failed";
            }
        }
    }
    while (left > 0) {
        if (communicator->transport->poll(communicator, message, LONGEST, &bytes, &from, NULL) !=
            GW_OK) {
            return "poll: failed";
        }
        if (from >= 0) {
            size_t i = seen[from]++;
            unsigned char byte = (unsigned char)(i + (size_t)from);
            if (bytes != 1 + i * 25 % LONGEST || message[0] != byte || message[bytes - 1] != byte) {
                return "poll: not the message that was posted next";
            }
            left--;
        }
    }
    (void)communicator->transport->barrier(communicator, NULL);
    if (communicator->transport->poll(communicator, message, LONGEST, &bytes, &from, NULL) !=
            GW_OK ||
        from != -1) {
        return "poll: more than was posted";
    }
    return NULL;
}

/* ---- the first ranks ----------------------------------------------------------------------- */

static const char *halves_work(struct gw_communicator *communicator) {
    check *const all[] = {short_promises[0], roots_are_served, sums_have_the_same_bits,
                          counts_beyond_int_are_refused, NULL};
    return check_first(communicator, (communicator->size + 1) / 2, all);
}

/* Those of one rank, two, .. all, and half of each as a part of the part. */
static const char *first_ranks_work_alone(struct gw_communicator *communicator) {
    check *const both[] = {short_promises[0], halves_work, short_promises[0], NULL};
    const char *complaint = NULL;
    for (int size = 1; size <= communicator->size && complaint == NULL; size++) {
        complaint = check_first(communicator, size, both);
    }
    return complaint;
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

static const char *promises_are_kept(struct gw_communicator *communicator) {
    return run_checks(promises, communicator);
}

static check *const checks[] = {seeds_are_agreed_on,
                                promises_are_kept,
                                long_sums_are_reduced,
                                counts_beyond_int_are_refused,
                                a_barrier_holds_until_the_last,
                                maxima_are_agreed_on,
                                failures_are_agreed_on,
                                another_length_is_refused,
                                posts_come_in_order,
                                first_ranks_work_alone,
                                parts_talk_apart,
                                NULL};

TEST(communicators_keep_their_promises) {
    check_ranks(checks);
}
