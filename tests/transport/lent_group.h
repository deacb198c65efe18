/* A process group that is lent by another communicator, in place of a trainer's own. */
#ifndef GW_TESTS_LENT_GROUP_H
#define GW_TESTS_LENT_GROUP_H

#include <stdlib.h>

#include "transport/group.h"

static inline int lend_allreduce(void *lender, const float *send, float *receive, size_t count) {
    return gw_allreduce(lender, send, receive, count, NULL) != GW_OK;
}

static inline int lend_allgather(void *lender, const void *send, size_t bytes, void *receive) {
    return gw_allgather(lender, send, bytes, receive, NULL) != GW_OK;
}

static inline int lend_broadcast(void *lender, int root, void *data, size_t bytes) {
    return gw_broadcast(lender, root, data, bytes, NULL) != GW_OK;
}

static inline int lend_reduce(void *lender, int root, const float *send, float *receive,
                              size_t count) {
    return gw_reduce(lender, root, send, receive, count, NULL) != GW_OK;
}

static inline int lend_gather(void *lender, int root, const void *send, size_t bytes,
                              void *receive) {
    return gw_gather(lender, root, send, bytes, receive, NULL) != GW_OK;
}

static inline int lend_scatter(void *lender, int root, const void *send, size_t bytes,
                               void *receive) {
    return gw_scatter(lender, root, send, bytes, receive, NULL) != GW_OK;
}

static inline int lend_message(void *lender, struct gw_message message, uintptr_t *handle) {
    struct gw_communicator *communicator = lender;
    struct gw_request *request = malloc(sizeof *request);
    *handle = (uintptr_t)request;
    return communicator->transport->start(communicator, &message, request, NULL) != GW_OK;
}

static inline int lend_send(void *lender, int to, const void *data, size_t bytes,
                            uintptr_t *handle) {
    struct gw_message message = {.other = to, .data = (void *)(uintptr_t)data, .bytes = bytes};
    return lend_message(lender, message, handle);
}

static inline int lend_receive(void *lender, int from, void *data, size_t bytes,
                               uintptr_t *handle) {
    struct gw_message message = {.other = from, .receives = true, .data = data, .bytes = bytes};
    return lend_message(lender, message, handle);
}

static inline int lend_wait(void *lender, uintptr_t handle) {
    struct gw_communicator *communicator = lender;
    struct gw_request *request = (struct gw_request *)handle;
    int failed = communicator->transport->wait(communicator, request, 1, NULL) != GW_OK;
    free(request);
    return failed;
}

static inline struct gw_process_group lend_group(struct gw_communicator *lender) {
    return (struct gw_process_group){.rank = lender->rank,
                                     .size = lender->size,
                                     .context = lender,
                                     .allreduce = lend_allreduce,
                                     .allgather = lend_allgather,
                                     .broadcast = lend_broadcast,
                                     .reduce = lend_reduce,
                                     .gather = lend_gather,
                                     .scatter = lend_scatter,
                                     .start_send = lend_send,
                                     .start_receive = lend_receive,
                                     .wait = lend_wait};
}

#endif
