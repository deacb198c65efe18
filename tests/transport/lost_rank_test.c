/*
 * Posts in an MPI job that lost a rank while a long message of its was on its way: what the others
 * post still comes, in order. Started as three ranks by a launcher that lets the others go on,
 * whose exit status says nothing then: what counts is the last line.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/transport.h"

enum { LONG_BYTES = 1 << 20, SHORT_COUNT = 1000 };

static void require(struct gw_communicator *communicator, bool good, const char *what) {
    if (!good) {
        (void)fprintf(stderr, "rank %d: %s\n", communicator->rank, what);
        communicator->transport->abort(communicator, 1);
    }
}

/* Of a message as long as this not all has left by then. */
static void post_and_die(struct gw_communicator *communicator) {
    gw_clock_sleep_until_s(gw_clock_now_s() + 0.2);
    void *message = calloc(LONG_BYTES, 1);
    require(communicator, message != NULL, "out of memory");
    enum gw_status status =
        communicator->transport->post(communicator, 0, message, LONG_BYTES, NULL);
    require(communicator, status == GW_OK, "the long message was not posted");
    (void)kill(getpid(), SIGKILL);
}

static void post_many(struct gw_communicator *communicator) {
    gw_clock_sleep_until_s(gw_clock_now_s() + 0.5);
    for (int i = 0; i < SHORT_COUNT; i++) {
        enum gw_status status = communicator->transport->post(communicator, 0, &i, sizeof i, NULL);
        require(communicator, status == GW_OK, "a short message was not posted");
    }
    for (;;) { /* what could not leave at once leaves in later calls */
        char nothing = 0;
        size_t bytes = 0;
        int from = -1;
        (void)communicator->transport->poll(communicator, &nothing, 1, &bytes, &from, NULL);
        gw_clock_sleep_until_s(gw_clock_now_s() + 1e-3);
    }
}

static void poll_all(struct gw_communicator *communicator, char *message) {
    double deadline_s = gw_clock_now_s() + 60;
    int next = 0;
    while (next < SHORT_COUNT) {
        size_t bytes = 0;
        int from = -1;
        enum gw_status status =
            communicator->transport->poll(communicator, message, LONG_BYTES, &bytes, &from, NULL);
        require(communicator, status == GW_OK, "polling failed");
        require(communicator, gw_clock_now_s() < deadline_s, "not all messages came");
        if (from == 2) {
            int got = 0;
            memcpy(&got, message, sizeof got);
            require(communicator, bytes == sizeof got && got == next, "out of order");
            next++;
        }
    }
}

int main(void) {
    struct gw_communicator communicator;
    struct gw_error error = {0};
    if (gw_communicator_open_mpi(&communicator, &error) != GW_OK) {
        (void)fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    require(&communicator, communicator.size == 3, "expected 3 ranks");
    require(&communicator, communicator.transport->barrier(&communicator, NULL) == GW_OK,
            "the ranks did not meet");
    if (communicator.rank == 1) {
        post_and_die(&communicator);
    } else if (communicator.rank == 2) {
        post_many(&communicator);
    }
    char *message = malloc(LONG_BYTES);
    require(&communicator, message != NULL, "out of memory");
    poll_all(&communicator, message);
    free(message);
    (void)printf("all posts came\n");
    (void)fflush(stdout);
    communicator.transport->abort(&communicator, 0);
    return 1;
}
