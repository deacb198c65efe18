/*
 * Ranks that rest take next to none of the processor's time, until they are woken: between threads
 * when this program is started by itself, over MPI when it is started in an MPI job.
 */
#include <sys/resource.h>

#include "tests/test.h"
#include "tests/transport/transport_support.h"

static const double rest_s = 0.3;

/* Processor time of the calling thread. */
static double processor_s(void) {
    struct rusage used;
    (void)getrusage(RUSAGE_THREAD, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* The ranks from `first` on rest while rank 0 works; all come together again. */
static const char *rest(struct gw_communicator *communicator, int first) {
    struct gw_error error = {0};
    double woken_s = 0;
    double used_s = 0;
    if (communicator->rank == 0) {
        gw_clock_sleep_until_s(gw_clock_now_s() + rest_s);
        woken_s = gw_clock_now_s();
        if (gw_wake(communicator, first, &error) != GW_OK) {
            return "wake: failed";
        }
    } else if (communicator->rank >= first) {
        double before_s = processor_s();
        if (gw_rest_until_woken(communicator, &error) != GW_OK) {
            return "rest_until_woken: failed";
        }
        used_s = processor_s() - before_s;
    }
    double left_s = gw_clock_now_s();
    double all_s[MOST_RANKS];
    (void)gw_allgather(communicator, &woken_s, sizeof woken_s, all_s, NULL);
    if (communicator->rank >= first && left_s < all_s[0]) {
        return "rest_until_woken: left before it was woken (on one host, with one clock)";
    }
    if (used_s > 0.1 * rest_s) {
        return "rest_until_woken: took more than a tenth of a core";
    }
    return NULL;
}

static const char *resting_costs_little(struct gw_communicator *communicator) {
    const char *complaint = rest(communicator, 1);
    return complaint != NULL ? complaint : rest(communicator, communicator->size / 2 + 1);
}

/* Calls that come before their ranks rest are not lost, and each wakes once. */
static const char *early_calls_count(struct gw_communicator *communicator) {
    bool right = true;
    for (int i = 0; i < 3 && communicator->rank == 0; i++) {
        right = gw_wake(communicator, 1, NULL) == GW_OK && right;
    }
    (void)communicator->transport->barrier(communicator, NULL);
    for (int i = 0; i < 3 && communicator->rank > 0; i++) {
        right = gw_rest_until_woken(communicator, NULL) == GW_OK && right;
    }
    (void)communicator->transport->barrier(communicator, NULL);
    return right ? NULL : "rest_until_woken: not woken by an early call";
}

static const char *other_posts_are_refused(struct gw_communicator *communicator) {
    static const char *const posts[] = {"", "wake up" /* without its end */, "sleep up",
                                        "wake up, all of you"};
    const struct gw_transport *transport = communicator->transport;
    bool right = true;
    for (size_t i = 0; i < sizeof posts / sizeof *posts; i++) {
        right = transport->post(communicator, communicator->rank, posts[i], strlen(posts[i]),
                                NULL) == GW_OK &&
                gw_rest_until_woken(communicator, NULL) == GW_FAILED && right;
        if (strlen(posts[i]) > 8) { /* over MPI what is too long stays */
            char text[64];
            size_t bytes = 0;
            int from = -1;
            (void)transport->poll(communicator, text, sizeof text, &bytes, &from, NULL);
        }
    }
    return right ? NULL : "rest_until_woken: woken by another post";
}

static check *const checks[] = {resting_costs_little, early_calls_count, other_posts_are_refused,
                                NULL};

TEST(ranks_rest) {
    check_ranks(checks);
}
