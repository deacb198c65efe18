/*
 * The communicator's promises, held against sums and concatenations computed here: between threads
 * when this program is started by itself, over MPI when it is started in an MPI job.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "tests/transport/transport_support.h"

/* Small integers: their sums are exact in any order. */
static float contribution(int rank, size_t i) {
    return (float)((size_t)(rank + 1) * (i % 1000 + 1));
}

/* ---- checks -------------------------------------------------------------------------------- */

static const char *allgather_concatenates(struct gw_communicator *communicator) {
    static const size_t sizes[] = {0, 1, 8, 1000, 1 << 20};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t bytes = sizes[s];
        unsigned char *send = malloc(bytes + 1);
        unsigned char *receive = malloc((size_t)communicator->size * bytes + 1);
        for (size_t i = 0; i < bytes; i++) {
            send[i] = (unsigned char)(31 * communicator->rank + (int)(i % 97));
        }
        bool right =
            communicator->transport->allgather(communicator, send, bytes, receive, NULL) == GW_OK;
        for (size_t i = 0; i < (size_t)communicator->size * bytes; i++) {
            int rank = (int)(i / bytes);
            right = right && receive[i] == (unsigned char)(31 * rank + (int)(i % bytes % 97));
        }
        free(send);
        free(receive);
        if (!right) {
            return "allgather: not the concatenation of what the ranks sent";
        }
    }
    return NULL;
}

/* The largest takes more than one piece of 16 MiB. */
static const char *allreduce_sums(struct gw_communicator *communicator) {
    static const size_t counts[] = {1, 7, 4096, 9 << 20};
    float ranks = (float)(communicator->size * (communicator->size + 1) / 2);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        size_t count = counts[c];
        float *send = malloc(count * sizeof *send);
        float *receive = malloc(count * sizeof *receive);
        for (size_t i = 0; i < count; i++) {
            send[i] = contribution(communicator->rank, i);
        }
        bool right =
            communicator->transport->allreduce(communicator, send, receive, count, NULL) == GW_OK;
        for (size_t i = 0; i < count; i++) {
            right = right && receive[i] == ranks * (float)(i % 1000 + 1) &&
                    send[i] == contribution(communicator->rank, i);
        }
        free(send);
        free(receive);
        if (!right) {
            return "allreduce: not the sum of what the ranks sent";
        }
    }
    return NULL;
}

static const char *a_barrier_holds_until_the_last(struct gw_communicator *communicator) {
    double entered_s[MOST_RANKS];
    if (communicator->rank == communicator->size - 1) {
        gw_clock_sleep_until_s(gw_clock_now_s() + 0.05);
    }
    double now_s = gw_clock_now_s();
    (void)communicator->transport->barrier(communicator, NULL);
    double left_s = gw_clock_now_s();
    (void)communicator->transport->allgather(communicator, &now_s, sizeof now_s, entered_s, NULL);
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

/* Byte i of the message number `number` from one rank to another. */
static unsigned char letter(int from, int to, size_t number, size_t i) {
    return (unsigned char)((size_t)(31 * from + 7 * to) + 13 * number + i % 251);
}

static unsigned char *compose(int from, int to, size_t number, size_t bytes) {
    unsigned char *data = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = letter(from, to, number, i);
    }
    return data;
}

static bool is_composed(const unsigned char *data, int from, int to, size_t number, size_t bytes) {
    bool right = true;
    for (size_t i = 0; i < bytes; i++) {
        right = right && data[i] == letter(from, to, number, i);
    }
    return right;
}

/* Lengths on both sides of what transports buffer. */
static const size_t lengths[] = {0, 1, 4096, 4097, 1 << 20};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Every pair of ranks: the lower one speaks, then the other answers. */
static const char *messages_go_back_and_forth(struct gw_communicator *communicator) {
    int me = communicator->rank;
    bool right = true;
    for (int other = 0; other < communicator->size; other++) {
        for (size_t i = 0; i < LENGTHS && other != me; i++) {
            unsigned char *send = compose(me, other, i, lengths[i]);
            unsigned char *receive = malloc(lengths[i] + 1);
            for (int turn = 0; turn < 2; turn++) {
                bool speaks = (turn == 0) == (me < other);
                enum gw_status status =
                    speaks ? gw_send(communicator, other, send, lengths[i], NULL)
                           : gw_receive(communicator, other, receive, lengths[i], NULL);
                right = right && status == GW_OK;
            }
            right = right && is_composed(receive, other, me, i, lengths[i]);
            free(send);
            free(receive);
        }
    }
    return right ? NULL : "send, receive: not the message that was sent";
}

enum { FLOOD = 3 * LENGTHS };

/* Messages from one rank to another, in one direction. */
struct flood {
    unsigned char *data[FLOOD];
    struct gw_request requests[FLOOD];
};

static bool start_sends(struct gw_communicator *communicator, int to, struct flood *flood) {
    bool right = true;
    for (size_t i = 0; i < FLOOD; i++) {
        size_t bytes = lengths[i % LENGTHS];
        flood->data[i] = compose(communicator->rank, to, i, bytes);
        right = communicator->transport->start_send(communicator, to, flood->data[i], bytes,
                                                    &flood->requests[i], NULL) == GW_OK &&
                right;
    }
    return right;
}

static bool start_receives(struct gw_communicator *communicator, int from, struct flood *flood) {
    bool right = true;
    for (size_t i = 0; i < FLOOD; i++) {
        size_t bytes = lengths[i % LENGTHS];
        flood->data[i] = malloc(bytes + 1);
        right = communicator->transport->start_receive(communicator, from, flood->data[i], bytes,
                                                       &flood->requests[i], NULL) == GW_OK &&
                right;
    }
    return right;
}

/* Waits, and looks whether the messages are those from one rank to another. */
static bool finish_flood(struct gw_communicator *communicator, int from, int to,
                         struct flood *flood) {
    bool right = communicator->transport->wait(communicator, flood->requests, FLOOD, NULL) == GW_OK;
    for (size_t i = 0; i < FLOOD; i++) {
        right = right && is_composed(flood->data[i], from, to, i, lengths[i % LENGTHS]);
        free(flood->data[i]);
    }
    return right;
}

/* From all to all at once. Even ranks send first, so that some messages wait, and some receives. */
static const char *floods_keep_their_order(struct gw_communicator *communicator) {
    struct flood *in = calloc(MOST_RANKS, sizeof *in);
    struct flood *out = calloc(MOST_RANKS, sizeof *out);
    int me = communicator->rank;
    bool right = true;
    for (int turn = 0; turn < 2; turn++) {
        for (int other = 0; other < communicator->size; other++) {
            if (other != me) {
                right = ((turn == 0) == (me % 2 == 0)
                             ? start_sends(communicator, other, &out[other])
                             : start_receives(communicator, other, &in[other])) &&
                        right;
            }
        }
    }
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

/* Rank 0 takes what comes, and knows the sender by what it says. */
static const char *any_rank_is_received_from(struct gw_communicator *communicator) {
    bool right = true;
    bool seen[MOST_RANKS] = {false};
    int me = communicator->rank;
    if (me != 0) {
        right = gw_send(communicator, 0, &me, sizeof me, NULL) == GW_OK;
    }
    for (int count = 1; count < communicator->size && me == 0; count++) {
        int who = 0;
        right = gw_receive(communicator, GW_ANY_RANK, &who, sizeof who, NULL) == GW_OK && right;
        right = right && who > 0 && who < communicator->size && !seen[who];
        seen[right ? who : 0] = true;
    }
    return right ? NULL : "receive: not one message of each rank";
}

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

static const char *hosts_are_told(struct gw_communicator *communicator) {
    char mine[GW_HOST_SIZE] = "";
    char hosts[MOST_RANKS][GW_HOST_SIZE];
    (void)gethostname(mine, sizeof mine - 1);
    bool right = gw_gather_hosts(communicator, hosts, NULL) == GW_OK;
    for (int rank = 0; rank < communicator->size; rank++) { /* all of them run here */
        right = right && strcmp(hosts[rank], mine) == 0;
    }
    return right ? NULL : "gather_hosts: not this host's name for each rank";
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

static check *const checks[] = {allgather_concatenates,
                                allreduce_sums,
                                a_barrier_holds_until_the_last,
                                maxima_are_agreed_on,
                                failures_are_agreed_on,
                                messages_go_back_and_forth,
                                floods_keep_their_order,
                                any_rank_is_received_from,
                                another_length_is_refused,
                                hosts_are_told,
                                posts_come_in_order,
                                NULL};

/* ---- between threads, and over MPI --------------------------------------------------------- */

static void threads_keep_the_promises(void **state) {
    (void)state;
    check_threads(checks);
}

static void mpi_keeps_the_promises(void **state) {
    (void)state;
    check_mpi(checks);
}

int main(void) {
    const struct CMUnitTest local[] = {cmocka_unit_test(threads_keep_the_promises)};
    const struct CMUnitTest mpi[] = {cmocka_unit_test(mpi_keeps_the_promises)};
    return gw_mpi_is_inside_job() ? cmocka_run_group_tests(mpi, NULL, NULL)
                                  : cmocka_run_group_tests(local, NULL, NULL);
}
