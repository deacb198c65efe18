#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "tests/transport/transport_gpu_checks.h"

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
    right = right && gpu_gathers(&first, GATHER_EQUAL, 5, 0) && gpu_sums(&first, 6, -1);
    const char *complaint = right ? gpu_messages_go_around(&first) : "open_first: wrong";
    first.transport->close(&first);
    return complaint;
}

check *const gpu_promises[] = {gpu_collectives_are_right, gpu_messages_arrive, posts_are_apart,
                               first_ranks_work_alone, NULL};
