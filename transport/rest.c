/*
 * Ranks with nothing to do while others measure. A blocking call of MPI looks for messages without
 * a pause and takes a core from whoever else is on it, even if it yields; these look once in a
 * while.
 */
#include <string.h>

#include "transport/transport.h"

static const char wake_up[] = "wake up";
static const double look_every_s = 1e-3;

enum gw_status gw_rest_until_woken(struct gw_communicator *communicator, struct gw_error *error) {
    char message[sizeof wake_up] = "";
    size_t bytes = 0;
    int from = -1;
    while (true) {
        GW_TRY(communicator->transport->poll(communicator, message, sizeof message, &bytes, &from,
                                             error));
        if (from >= 0) {
            break;
        }
        gw_clock_sleep_until_s(gw_clock_now_s() + look_every_s);
    }
    return bytes == sizeof wake_up && memcmp(message, wake_up, sizeof wake_up) == 0
               ? GW_OK
               : gw_fail(error, GW_FAILED,
                         "expected to be woken, got another post of %zu bytes from rank %d", bytes,
                         from);
}

enum gw_status gw_wake(struct gw_communicator *communicator, int first, struct gw_error *error) {
    for (int rank = first; rank < communicator->size; rank++) {
        GW_TRY(communicator->transport->post(communicator, rank, wake_up, sizeof wake_up, error));
    }
    return GW_OK;
}
