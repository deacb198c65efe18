/* A process group that is lent by another communicator, in place of a trainer's own. */
#ifndef GW_TESTS_LENT_GROUP_H
#define GW_TESTS_LENT_GROUP_H

#include <stdlib.h>

#include "transport/group.h"

/* The context of the lent functions. */
struct lent {
    struct gw_communicator *lender;
    struct gw_communicator part; /* the lender of a part */
};

static inline struct gw_communicator *lender_of(void *context) {
    const struct lent *lent = context;
    return lent->lender;
}

static inline int lend_allreduce(void *context, int type, const void *send, void *receive,
                                 size_t count) {
    return gw_allreduce(lender_of(context), (enum gw_number_type)type, send, receive, count,
                        NULL) != GW_OK;
}

static inline int lend_allgather(void *context, const void *send, size_t bytes, void *receive) {
    return gw_allgather(lender_of(context), send, bytes, receive, NULL) != GW_OK;
}

static inline int lend_broadcast(void *context, int root, void *data, size_t bytes) {
    return gw_broadcast(lender_of(context), root, data, bytes, NULL) != GW_OK;
}

static inline int lend_gather(void *context, int root, const void *send, size_t bytes,
                              void *receive) {
    return gw_gather(lender_of(context), root, send, bytes, receive, NULL) != GW_OK;
}

static inline int lend_scatter(void *context, int root, const void *send, size_t bytes,
                               void *receive) {
    return gw_scatter(lender_of(context), root, send, bytes, receive, NULL) != GW_OK;
}

static inline int lend_alltoall(void *context, const void *send, size_t bytes, void *receive) {
    return gw_alltoall(lender_of(context), send, bytes, receive, NULL) != GW_OK;
}

static inline int lend_message(void *context, struct gw_message message, uintptr_t *handle) {
    struct gw_communicator *communicator = lender_of(context);
    struct gw_request *request = malloc(sizeof *request);
    *handle = (uintptr_t)request;
    return communicator->transport->start(communicator, &message, request, NULL) != GW_OK;
}

static inline int lend_send(void *context, int to, const void *data, size_t bytes,
                            uintptr_t *handle) {
    struct gw_message message = {.other = to, .data = (void *)(uintptr_t)data, .bytes = bytes};
    return lend_message(context, message, handle);
}

static inline int lend_receive(void *context, int from, void *data, size_t bytes,
                               uintptr_t *handle) {
    struct gw_message message = {.other = from, .receives = true, .data = data, .bytes = bytes};
    return lend_message(context, message, handle);
}

static inline int lend_wait(void *context, uintptr_t handle) {
    struct gw_communicator *communicator = lender_of(context);
    struct gw_request *request = (struct gw_request *)handle;
    int failed = communicator->transport->wait(communicator, request, 1, NULL) != GW_OK;
    free(request);
    return failed;
}

static inline struct lent *make_lent(struct gw_communicator *lender) {
    struct lent *lent = calloc(1, sizeof *lent);
    lent->lender = lender;
    return lent;
}

static inline int lend_first(void *context, int size, void **part) {
    struct gw_communicator *lender = lender_of(context);
    struct lent *lent = make_lent(NULL);
    int failed = lender->transport->open_first(lender, size, &lent->part, NULL) != GW_OK;
    lent->lender = &lent->part;
    if (failed || lender->rank >= size) {
        free(lent);
    } else {
        *part = lent;
    }
    return failed;
}

static inline void lend_close(void *context) {
    struct lent *lent = context;
    if (lent->lender == &lent->part) {
        lent->part.transport->close(&lent->part);
    }
    free(lent);
}

static inline struct gw_process_group lend_group(struct gw_communicator *lender) {
    return (struct gw_process_group){.name = "lent",
                                     .rank = lender->rank,
                                     .size = lender->size,
                                     .context = make_lent(lender),
                                     .allreduce = lend_allreduce,
                                     .allgather = lend_allgather,
                                     .broadcast = lend_broadcast,
                                     .gather = lend_gather,
                                     .scatter = lend_scatter,
                                     .alltoall = lend_alltoall,
                                     .start_send = lend_send,
                                     .start_receive = lend_receive,
                                     .wait = lend_wait,
                                     .open_first = lend_first,
                                     .close = lend_close};
}

#endif
