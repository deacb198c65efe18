/*
 * Messages between GPUs through the host. Pieces of all that are under way travel at the same time,
 * but those that go the same way begin in the order of their messages: only in that order can a
 * receiver tell them apart.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/staged/pieces.h"

void gw_staged_forget_messages(struct gw_staged *staged) {
    while (staged->messages != NULL) {
        struct gw_staged_message *message = staged->messages;
        staged->messages = message->next;
        gw_staged_release(message);
        free(message);
    }
    gw_staged_forget_buffers(staged);
}

/* ---- all that are under way ---------------------------------------------------------------- */

static bool may_go_the_same_way(const struct gw_staged_message *one,
                                const struct gw_staged_message *other) {
    return one->receives == other->receives &&
           (one->other == other->other || one->other == GW_ANY_RANK || other->other == GW_ANY_RANK);
}

static bool is_its_turn(const struct gw_staged *staged, const struct gw_staged_message *message) {
    const struct gw_staged_message *earlier = staged->messages;
    while (earlier != message &&
           (gw_staged_is_begun(earlier) || !may_go_the_same_way(earlier, message))) {
        earlier = earlier->next;
    }
    return earlier == message;
}

/* Whether any moved. */
static bool advance_all(struct gw_staged *staged) {
    bool moved = false;
    for (struct gw_staged_message *m = staged->messages; m != NULL; m = m->next) {
        moved = gw_staged_advance(staged, m, is_its_turn(staged, m), GW_STAGED_LOOK) || moved;
    }
    return moved;
}

static bool are_all_begun(const struct gw_staged *staged) {
    const struct gw_staged_message *message = staged->messages;
    while (message != NULL && gw_staged_is_begun(message)) {
        message = message->next;
    }
    return message == NULL;
}

enum gw_status gw_staged_poll(struct gw_communicator *communicator, void *message, size_t capacity,
                              size_t *bytes, int *from, struct gw_error *error) {
    (void)advance_all(communicator->state);
    return gw_gpu_poll(communicator, message, capacity, bytes, from, error);
}

static void end(struct gw_staged *staged, struct gw_staged_message *message) {
    struct gw_staged_message **place = &staged->messages;
    while (*place != message) {
        place = &(*place)->next;
    }
    *place = message->next;
    gw_staged_release(message);
    free(message);
}

static enum gw_status failure_of(const struct gw_staged_message *message, struct gw_error *error) {
    const struct gw_error *failure = &message->failure;
    return failure->status == GW_OK ? GW_OK
                                    : gw_fail(error, failure->status, "%s", failure->message);
}

/* ---- starting ------------------------------------------------------------------------------ */

static enum gw_status start(struct gw_communicator *communicator, struct gw_staged_message message,
                            struct gw_request *out, struct gw_error *error) {
    struct gw_staged *staged = communicator->state;
    struct gw_staged_message **last = &staged->messages;
    struct gw_staged_message *made = malloc(sizeof *made);
    if (made == NULL) {
        return gw_fail_memory(error, "a message of a GPU");
    }
    *made = message;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = made;
    *out = (struct gw_request){
        .handle = (uintptr_t)made, .bytes = message.bytes, .receives = message.receives};
    (void)gw_staged_advance(staged, made, is_its_turn(staged, made), GW_STAGED_WAIT_STREAM);
    enum gw_status status = failure_of(made, error);
    if (status != GW_OK) {
        end(staged, made);
    }
    return status;
}

enum gw_status gw_staged_start_send(struct gw_communicator *communicator, int to, const void *data,
                                    size_t bytes, struct gw_request *out, struct gw_error *error) {
    struct gw_staged_message message = {.other = to, .room = bytes, .bytes = bytes};
    memcpy(&message.data, &data, sizeof data); /* which is only read */
    return start(communicator, message, out, error);
}

enum gw_status gw_staged_start_receive(struct gw_communicator *communicator, int from, void *data,
                                       size_t bytes, struct gw_request *out,
                                       struct gw_error *error) {
    struct gw_staged_message message = {
        .receives = true, .other = from, .data = data, .room = bytes, .bytes = bytes};
    return start(communicator, message, out, error);
}

/* ---- waiting ------------------------------------------------------------------------------- */

/*
 * While pieces are left to begin, some rank may wait for them: nothing here may be waited for
 * alone.
 */
static enum gw_status finish(struct gw_staged *staged, struct gw_staged_message *message,
                             struct gw_error *error) {
    double moved_s = gw_clock_now_s();
    while (!gw_staged_is_over(message)) {
        if (are_all_begun(staged)) {
            (void)gw_staged_advance(staged, message, true, GW_STAGED_WAIT_HOST);
        } else if (advance_all(staged)) {
            moved_s = gw_clock_now_s();
        } else {
            gw_gpu_rest(gw_clock_now_s() - moved_s);
        }
    }
    return failure_of(message, error);
}

/* Behind one that fails the others end, too: their requests are not the caller's any more. */
enum gw_status gw_staged_wait(struct gw_communicator *communicator, struct gw_request *requests,
                              size_t count, struct gw_error *error) {
    struct gw_staged *staged = communicator->state;
    enum gw_status status = GW_OK;
    for (size_t i = 0; i < count && status == GW_OK; i++) {
        status = finish(staged, (struct gw_staged_message *)requests[i].handle, error);
    }
    if (status == GW_OK) {
        status = gw_device_stream_finish(staged->base.settings.stream, error);
    }
    for (size_t i = 0; i < count; i++) {
        end(staged, (struct gw_staged_message *)requests[i].handle);
    }
    return status;
}
