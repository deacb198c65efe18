/* Collectives of transports that no room sends, and calibration alone measures. */
#ifndef GW_TESTS_RARE_COLLECTIVES_H
#define GW_TESTS_RARE_COLLECTIVES_H

#include "transport/transport.h"

/* receive[bytes[0] + .. + bytes[r - 1] ..] = rank r's bytes[r] bytes; all know `bytes`. */
static inline enum gw_status allgather_unequal(struct gw_communicator *communicator,
                                               const void *send, const size_t *bytes,
                                               void *receive) {
    const struct gw_collective_call call = {
        .kind = GW_ALLGATHER_UNEQUAL, .send = send, .receive = receive, .parts = bytes};
    return communicator->transport->collect(communicator, &call, NULL);
}

/* On the root receive[i] = sum over ranks of send[i]. */
static inline enum gw_status reduce_to(struct gw_communicator *communicator, int root,
                                       const float *send, float *receive, size_t count) {
    const struct gw_collective_call call = {.kind = GW_REDUCE,
                                            .root = root,
                                            .send = send,
                                            .receive = receive,
                                            .bytes = count * sizeof *send};
    return communicator->transport->collect(communicator, &call, NULL);
}

#endif
