#include "transport/group.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A communicator's state. */
struct lent_group_state {
    struct gw_process_group group;
    char *name; /* the group's, or NULL */
};

static struct lent_group_state *group_of(const struct gw_communicator *communicator) {
    return communicator->state;
}

static enum gw_status check_result(const struct gw_communicator *communicator, int result,
                                   const char *call, struct gw_error *error) {
    const struct gw_process_group *group = &group_of(communicator)->group;
    if (result == 0) {
        return GW_OK;
    }
    const char *why = group->complain == NULL ? NULL : group->complain(group->context);
    return gw_fail(error, GW_FAILED, "process group: %s: %s", call,
                   why == NULL ? "it failed" : why);
}

/* ---- collectives --------------------------------------------------------------------------- */

static enum gw_status group_collect(struct gw_communicator *communicator,
                                    const struct gw_collective_call *call, struct gw_error *error) {
    const struct gw_process_group *group = &group_of(communicator)->group;
    void *context = group->context;
    int result = 0;
    const char *name = "";
    if (call->bytes == 0) {
        return GW_OK;
    }
    switch (call->kind) {
    case GW_BROADCAST:
        name = "broadcast";
        result = group->broadcast(context, call->root,
                                  communicator->rank == call->root ? (void *)(uintptr_t)call->send
                                                                   : call->receive,
                                  call->bytes);
        break;
    case GW_ALLREDUCE:
        name = "allreduce";
        result = group->allreduce(context, (int)call->type, call->send, call->receive,
                                  call->bytes / gw_number_bytes(call->type));
        break;
    case GW_GATHER:
        name = "gather";
        result = group->gather(context, call->root, call->send, call->bytes, call->receive);
        break;
    case GW_SCATTER:
        name = "scatter";
        result = group->scatter(context, call->root, call->send, call->bytes, call->receive);
        break;
    case GW_ALLGATHER:
        name = "allgather";
        result = group->allgather(context, call->send, call->bytes, call->receive);
        break;
    case GW_ALLTOALL:
        name = "alltoall";
        result = group->alltoall(context, call->send, call->bytes, call->receive);
        break;
    }
    return check_result(communicator, result, name, error);
}

/* No rank has the sum before all ranks have called. */
static enum gw_status group_barrier(struct gw_communicator *communicator, struct gw_error *error) {
    float here = 1;
    float there = 0;
    return gw_allreduce(communicator, GW_NUMBER_FLOAT, &here, &there, 1, error);
}

/* ---- messages ------------------------------------------------------------------------------ */

static enum gw_status group_start(struct gw_communicator *communicator,
                                  const struct gw_message *message, struct gw_request *out,
                                  struct gw_error *error) {
    const struct gw_process_group *group = &group_of(communicator)->group;
    *out = (struct gw_request){.bytes = message->bytes, .receives = message->receives};
    return message->receives
               ? check_result(communicator,
                              group->start_receive(group->context, message->other, message->data,
                                                   message->bytes, &out->handle),
                              "receive", error)
               : check_result(communicator,
                              group->start_send(group->context, message->other, message->data,
                                                message->bytes, &out->handle),
                              "send", error);
}

static enum gw_status group_wait(struct gw_communicator *communicator, struct gw_request *requests,
                                 size_t count, struct gw_error *error) {
    const struct gw_process_group *group = &group_of(communicator)->group;
    for (size_t i = 0; i < count; i++) {
        GW_TRY(check_result(communicator, group->wait(group->context, requests[i].handle), "wait",
                            error));
    }
    return GW_OK;
}

static enum gw_status group_test(struct gw_communicator *communicator, struct gw_request *request,
                                 bool *done, struct gw_error *error) {
    *done = true;
    return group_wait(communicator, request, 1, error);
}

/* ---- joining and leaving ------------------------------------------------------------------- */

static const char *group_version(const struct gw_communicator *communicator) {
    return group_of(communicator)->name;
}

static enum gw_status group_open_first(struct gw_communicator *parent, int size,
                                       struct gw_communicator *out, struct gw_error *error) {
    struct gw_process_group part = group_of(parent)->group;
    void *context = part.context;
    *out = (struct gw_communicator){0};
    GW_TRY(gw_communicator_check_first(parent, size, error));
    if (part.open_first == NULL) {
        return gw_fail(error, GW_BAD_INPUT,
                       "process group: expected one that opens groups of its first ranks");
    }
    part.context = NULL;
    GW_TRY(
        check_result(parent, part.open_first(context, size, &part.context), "open_first", error));
    part.size = size;
    return parent->rank < size ? gw_communicator_open_group(&part, out, error) : GW_OK;
}

static void group_abort(struct gw_communicator *communicator, int status) {
    (void)communicator;
    _exit(status);
}

static void group_close(struct gw_communicator *communicator) {
    struct lent_group_state *state = group_of(communicator);
    if (state->group.close != NULL) {
        state->group.close(state->group.context);
    }
    free(state->name);
    free(state);
}

static const struct gw_transport group_transport = {
    .name = "group",
    .version = group_version,
    .collect = group_collect,
    .barrier = group_barrier,
    .start = group_start,
    .wait = group_wait,
    .test = group_test,
    .open_first = group_open_first,
    .abort = group_abort,
    .close = group_close,
};

enum gw_status gw_communicator_open_group(const struct gw_process_group *group,
                                          struct gw_communicator *out, struct gw_error *error) {
    if (group->size < 1 || group->rank < 0 || group->rank >= group->size) {
        return gw_fail(error, GW_BAD_INPUT, "process group: expected a rank below %d, got %d",
                       group->size, group->rank);
    }
    if (group->size > GW_MAX_RANKS) {
        return gw_fail(error, GW_BAD_INPUT, "process group: expected at most %d ranks, got %d",
                       GW_MAX_RANKS, group->size);
    }
    struct lent_group_state *state = calloc(1, sizeof *state);
    char *name = group->name == NULL ? NULL : strdup(group->name);
    if (state == NULL || (group->name != NULL && name == NULL)) {
        free(state);
        free(name);
        return gw_fail_memory(error, "opening a communicator");
    }
    *state = (struct lent_group_state){.group = *group, .name = name};
    state->group.name = name;
    *out = (struct gw_communicator){
        .transport = &group_transport, .rank = group->rank, .size = group->size, .state = state};
    return GW_OK;
}
