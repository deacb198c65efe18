/*
 * Messages between GPUs through the host. Pieces of all current messages are sent at the same time,
 * but those with the same sender and receiver begin in the order of their messages, by which the
 * receiver tells them apart.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/staged/staged.h"

/* How long an advance may wait: not at all; for the stream; for the next piece on the host. */
enum patience { WAIT_NOT, WAIT_STREAM, WAIT_HOST };

/*
 * Piece i is in slot i % GW_STAGED_PIECES. Pieces of a send are `filled` from the GPU, `begun` by
 * the host and `over` there, in this order; those of a receive are `begun`, and `over` when the
 * host has them and their copies to the GPU are on the stream.
 */
struct gw_staged_message {
    struct gw_staged_message *next; /* started later */
    bool receives;
    int other;       /* the receiving or sending rank */
    char *data;      /* on the GPU */
    size_t capacity; /* of data, in bytes */
    size_t bytes;    /* of the message; for a receive, known once its first piece has arrived */
    size_t filled, begun, over;
    struct {
        struct gw_staged_buffer *buffer;
        struct gw_request request; /* on the host */
    } slots[GW_STAGED_PIECES];
    struct gw_error failure; /* set: the message is over */
};

/* Follows the first piece of a message of several pieces: the message's bytes, so that a receiver
 * of another length knows how many pieces to expect. */
typedef uint64_t header;

static const size_t step = GW_STAGED_MESSAGE_BYTES;
_Static_assert(GW_STAGED_MESSAGE_BYTES + sizeof(header) <= GW_STAGE_BYTES,
               "a piece fits a stage with its header");
enum { MIN_BUFFER_BYTES = 4096 };

static size_t piece_count(size_t bytes) {
    return bytes == 0 ? 1 : (bytes - 1) / step + 1;
}

static bool has_header(const struct gw_staged_message *message, size_t piece) {
    return piece == 0 && piece_count(message->bytes) > 1;
}

static size_t piece_bytes(const struct gw_staged_message *message, size_t piece) {
    return gw_stage_bytes(message->bytes, piece * step, step);
}

static size_t host_bytes(const struct gw_staged_message *message, size_t piece) {
    return piece_bytes(message, piece) + (has_header(message, piece) ? sizeof(header) : 0);
}

/* True if the host has begun all pieces; true if it is done with all. */
static bool is_begun(const struct gw_staged_message *message) {
    return message->failure.status != GW_OK || message->begun == piece_count(message->bytes);
}

static bool is_over(const struct gw_staged_message *message) {
    return message->failure.status != GW_OK || message->over == piece_count(message->bytes);
}

/* ---- buffers ------------------------------------------------------------------------------- */

static void close_buffer(struct gw_staged_buffer *buffer, struct gw_device *device) {
    gw_device_free_host(device, buffer->memory);
    gw_device_event_close(buffer->copied);
    free(buffer);
}

static enum gw_status make_buffer(struct gw_staged *staged, size_t bytes,
                                  struct gw_staged_buffer **out, struct gw_error *error) {
    struct gw_device *device = gw_device_stream_device(staged->base.settings.stream);
    struct gw_staged_buffer *made = malloc(sizeof *made);
    void *memory = NULL;
    if (made == NULL) {
        return gw_fail_memory(error, "a message of a GPU");
    }
    *made = (struct gw_staged_buffer){.capacity = MIN_BUFFER_BYTES};
    while (made->capacity < bytes) {
        made->capacity *= 2;
    }
    enum gw_status status = gw_device_allocate_host(device, made->capacity, &memory, error);
    made->memory = memory;
    status = status == GW_OK ? gw_device_event_open(device, false, &made->copied, error) : status;
    if (status != GW_OK) {
        close_buffer(made, device);
        return status;
    }
    made->next = staged->buffers;
    staged->buffers = made;
    *out = made;
    return GW_OK;
}

/* Returns the buffer of a piece; later pieces in its slot are not longer. */
static enum gw_status take_buffer(struct gw_staged *staged, struct gw_staged_message *message,
                                  size_t piece, struct gw_staged_buffer **out,
                                  struct gw_error *error) {
    struct gw_staged_buffer **slot = &message->slots[piece % GW_STAGED_PIECES].buffer;
    size_t bytes = host_bytes(message, piece);
    bool is_new = *slot == NULL;
    for (struct gw_staged_buffer *b = staged->buffers; is_new && b != NULL; b = b->next) {
        bool fits = !b->used && b->capacity >= bytes;
        *slot = fits && (*slot == NULL || b->capacity < (*slot)->capacity) ? b : *slot;
    }
    if (*slot == NULL) {
        GW_TRY(make_buffer(staged, bytes, slot, error));
    }
    (*slot)->used = true;
    *out = *slot;
    return GW_OK;
}

/* The host may still use the buffers of pieces that have begun and are not over. */
static void release_buffers(struct gw_staged_message *message) {
    for (size_t piece = message->over; piece < message->begun; piece++) {
        message->slots[piece % GW_STAGED_PIECES].buffer->lost = true;
    }
    for (size_t i = 0; i < GW_STAGED_PIECES; i++) {
        struct gw_staged_buffer *buffer = message->slots[i].buffer;
        if (buffer != NULL) {
            buffer->used = buffer->lost;
        }
    }
}

/* ---- steps of a message, both ways --------------------------------------------------------- */

/* A step of a message; sets *moved if it made progress. */
struct step_of_message {
    struct gw_staged *staged;
    struct gw_staged_message *message;
    enum patience patience;
    bool *moved;
};

/* Sets *done if the copy of a piece from or to the GPU is done. */
static enum gw_status poll_copy(const struct step_of_message *step_of_message, size_t piece,
                                bool *done, struct gw_error *error) {
    struct gw_device_event *copied =
        step_of_message->message->slots[piece % GW_STAGED_PIECES].buffer->copied;
    *done = true;
    return step_of_message->patience == WAIT_NOT ? gw_device_event_reached(copied, done, error)
                                                 : gw_device_event_finish(copied, error);
}

/* Sets *done if the host is done with the oldest piece that it has begun. */
static enum gw_status poll_host(const struct step_of_message *step_of_message, bool *done,
                                struct gw_error *error) {
    struct gw_staged_message *message = step_of_message->message;
    struct gw_communicator *host = &step_of_message->staged->base.host;
    struct gw_request *request = &message->slots[message->over % GW_STAGED_PIECES].request;
    *done = message->over < message->begun;
    if (!*done) {
        return GW_OK;
    }
    enum gw_status status = step_of_message->patience == WAIT_HOST
                                ? host->transport->wait(host, request, 1, error)
                                : host->transport->test(host, request, done, error);
    message->over += status != GW_OK; /* a failure ends the piece too */
    return status;
}

static enum gw_status copy_piece(const struct step_of_message *step_of_message,
                                 const struct gw_staged_buffer *buffer, void *to, const void *from,
                                 size_t bytes, struct gw_error *error) {
    struct gw_device_stream *stream = step_of_message->staged->base.settings.stream;
    GW_TRY(gw_device_copy(stream, to, from, bytes, error));
    return gw_device_event_record(buffer->copied, stream, error);
}

/* ---- sending ------------------------------------------------------------------------------- */

static enum gw_status fill_piece(const struct step_of_message *step_of_message,
                                 struct gw_error *error) {
    struct gw_staged_message *message = step_of_message->message;
    size_t piece = message->filled;
    struct gw_staged_buffer *buffer = NULL;
    if (piece == piece_count(message->bytes) || piece - message->over == GW_STAGED_PIECES) {
        return GW_OK;
    }
    GW_TRY(take_buffer(step_of_message->staged, message, piece, &buffer, error));
    GW_TRY(copy_piece(step_of_message, buffer, buffer->memory, message->data + piece * step,
                      piece_bytes(message, piece), error));
    if (has_header(message, piece)) {
        header bytes = message->bytes;
        memcpy(buffer->memory + step, &bytes, sizeof bytes);
    }
    message->filled++;
    *step_of_message->moved = true;
    return GW_OK;
}

static enum gw_status begin_send(const struct step_of_message *step_of_message,
                                 struct gw_error *error) {
    struct gw_staged_message *message = step_of_message->message;
    struct gw_communicator *host = &step_of_message->staged->base.host;
    size_t piece = message->begun;
    size_t slot = piece % GW_STAGED_PIECES;
    bool copied = false;
    if (piece < message->filled) {
        GW_TRY(poll_copy(step_of_message, piece, &copied, error));
    }
    if (copied) {
        GW_TRY(gw_start_send(host, message->other, message->slots[slot].buffer->memory,
                             host_bytes(message, piece), &message->slots[slot].request, error));
        message->begun++;
        *step_of_message->moved = true;
    }
    return GW_OK;
}

/* Fills one piece while the one before it has not yet begun. */
static enum gw_status advance_send(const struct step_of_message *step_of_message, bool turn,
                                   struct gw_error *error) {
    bool over = false;
    GW_TRY(poll_host(step_of_message, &over, error));
    step_of_message->message->over += over;
    *step_of_message->moved = *step_of_message->moved || over;
    for (size_t i = 0; i < GW_STAGED_PIECES && turn; i++) {
        GW_TRY(fill_piece(step_of_message, error));
    }
    for (size_t i = 0; i < GW_STAGED_PIECES && turn; i++) {
        GW_TRY(begin_send(step_of_message, error));
    }
    return GW_OK;
}

/* ---- receiving ----------------------------------------------------------------------------- */

static enum gw_status begin_receive(const struct step_of_message *step_of_message,
                                    struct gw_error *error) {
    struct gw_staged_message *message = step_of_message->message;
    struct gw_communicator *host = &step_of_message->staged->base.host;
    size_t piece = message->begun;
    struct gw_staged_buffer *buffer = NULL;
    bool is_free = piece - message->over < GW_STAGED_PIECES && (piece == 0 || message->over > 0);
    if (piece == piece_count(message->bytes) || !is_free) {
        return GW_OK;
    }
    if (piece >= GW_STAGED_PIECES) {
        GW_TRY(poll_copy(step_of_message, piece, &is_free, error));
    }
    if (is_free) {
        GW_TRY(take_buffer(step_of_message->staged, message, piece, &buffer, error));
        GW_TRY(gw_start_receive(host, message->other, buffer->memory, host_bytes(message, piece),
                                &message->slots[piece % GW_STAGED_PIECES].request, error));
        message->begun++;
        *step_of_message->moved = true;
    }
    return GW_OK;
}

/* Receives a message of another length to its end too, so that its sender can continue. */
static enum gw_status receive_piece(const struct step_of_message *step_of_message,
                                    struct gw_error *error) {
    struct gw_staged_message *message = step_of_message->message;
    size_t piece = message->over;
    struct gw_staged_buffer *buffer = message->slots[piece % GW_STAGED_PIECES].buffer;
    if (has_header(message, piece)) {
        header bytes = 0;
        memcpy(&bytes, buffer->memory + step, sizeof bytes);
        message->bytes = (size_t)bytes;
    }
    if (message->bytes == message->capacity) {
        GW_TRY(copy_piece(step_of_message, buffer, message->data + piece * step, buffer->memory,
                          piece_bytes(message, piece), error));
    }
    message->over++;
    *step_of_message->moved = true;
    return message->bytes == message->capacity || message->over < piece_count(message->bytes)
               ? GW_OK
               : gw_fail(error, GW_FAILED, "a message from rank %d: expected %zu bytes, got %zu",
                         message->other, message->capacity, message->bytes);
}

static enum gw_status advance_receive(const struct step_of_message *step_of_message, bool turn,
                                      struct gw_error *error) {
    bool there = false;
    bool is_first = has_header(step_of_message->message, step_of_message->message->over);
    enum gw_status status = poll_host(step_of_message, &there, error);
    if (status != GW_OK && is_first) {
        gw_error_prefix(error, "the first piece of a longer message");
    }
    GW_TRY(status);
    if (there) {
        GW_TRY(receive_piece(step_of_message, error));
    }
    for (size_t i = 0; i < GW_STAGED_PIECES && turn; i++) {
        GW_TRY(begin_receive(step_of_message, error));
    }
    return GW_OK;
}

/* Advances a message; returns true if it made progress. Its first piece begins only if it is the
 * message's `turn`. */
static bool advance_message(struct gw_staged *staged, struct gw_staged_message *message, bool turn,
                            enum patience patience) {
    bool moved = false;
    const struct step_of_message step_of_message = {staged, message, patience, &moved};
    if (is_over(message)) {
        return false;
    }
    enum gw_status status = message->receives
                                ? advance_receive(&step_of_message, turn, &message->failure)
                                : advance_send(&step_of_message, turn, &message->failure);
    message->failure.status = status;
    return moved || status != GW_OK;
}

/* ---- all current messages ------------------------------------------------------------------ */

static bool is_its_turn(const struct gw_staged *staged, const struct gw_staged_message *message) {
    const struct gw_staged_message *earlier = staged->messages;
    while (earlier != message && (is_begun(earlier) || earlier->receives != message->receives ||
                                  earlier->other != message->other)) {
        earlier = earlier->next;
    }
    return earlier == message;
}

/* Advances all messages; returns true if any made progress. */
static bool advance_messages(struct gw_staged *staged) {
    bool moved = false;
    for (struct gw_staged_message *m = staged->messages; m != NULL; m = m->next) {
        moved = advance_message(staged, m, is_its_turn(staged, m), WAIT_NOT) || moved;
    }
    return moved;
}

enum gw_status gw_staged_poll(struct gw_communicator *communicator, void *message, size_t capacity,
                              size_t *bytes, int *from, struct gw_error *error) {
    (void)advance_messages(communicator->state);
    return gw_gpu_poll(communicator, message, capacity, bytes, from, error);
}

static void end_message(struct gw_staged *staged, struct gw_staged_message *message) {
    struct gw_staged_message **link = &staged->messages;
    while (*link != message) {
        link = &(*link)->next;
    }
    *link = message->next;
    release_buffers(message);
    free(message);
}

static enum gw_status message_failure(const struct gw_staged_message *message,
                                      struct gw_error *error) {
    const struct gw_error *failure = &message->failure;
    return failure->status == GW_OK ? GW_OK
                                    : gw_fail(error, failure->status, "%s", failure->message);
}

/* ---- starting ------------------------------------------------------------------------------ */

enum gw_status gw_staged_start(struct gw_communicator *communicator,
                               const struct gw_message *message, struct gw_request *out,
                               struct gw_error *error) {
    struct gw_staged *staged = communicator->state;
    struct gw_staged_message **last = &staged->messages;
    struct gw_staged_message *made = malloc(sizeof *made);
    if (made == NULL) {
        return gw_fail_memory(error, "a message of a GPU");
    }
    *made = (struct gw_staged_message){.receives = message->receives,
                                       .other = message->other,
                                       .data = message->data,
                                       .capacity = message->bytes,
                                       .bytes = message->bytes};
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = made;
    *out = (struct gw_request){
        .handle = (uintptr_t)made, .bytes = message->bytes, .receives = message->receives};
    (void)advance_message(staged, made, is_its_turn(staged, made), WAIT_STREAM);
    enum gw_status status = message_failure(made, error);
    if (status != GW_OK) {
        end_message(staged, made);
    }
    return status;
}

/* ---- waiting ------------------------------------------------------------------------------- */

/* Advances all messages while some have pieces to begin, since another rank may wait for those. */
static enum gw_status finish_message(struct gw_staged *staged, struct gw_staged_message *message,
                                     struct gw_error *error) {
    double moved_s = gw_clock_now_s();
    while (!is_over(message)) {
        const struct gw_staged_message *waiting = staged->messages;
        while (waiting != NULL && is_begun(waiting)) {
            waiting = waiting->next;
        }
        if (waiting == NULL) {
            (void)advance_message(staged, message, true, WAIT_HOST);
        } else if (advance_messages(staged)) {
            moved_s = gw_clock_now_s();
        } else {
            gw_gpu_rest(gw_clock_now_s() - moved_s);
        }
    }
    return message_failure(message, error);
}

/* If one message fails, ends the others too: the caller does not use their requests any more. */
enum gw_status gw_staged_wait(struct gw_communicator *communicator, struct gw_request *requests,
                              size_t count, struct gw_error *error) {
    struct gw_staged *staged = communicator->state;
    enum gw_status status = GW_OK;
    for (size_t i = 0; i < count && status == GW_OK; i++) {
        status = finish_message(staged, (struct gw_staged_message *)requests[i].handle, error);
    }
    if (status == GW_OK) {
        status = gw_device_stream_finish(staged->base.settings.stream, error);
    }
    for (size_t i = 0; i < count; i++) {
        end_message(staged, (struct gw_staged_message *)requests[i].handle);
    }
    return status;
}

/* ---- the end ------------------------------------------------------------------------------- */

void gw_staged_close_messages(struct gw_staged *staged) {
    while (staged->messages != NULL) {
        struct gw_staged_message *message = staged->messages;
        staged->messages = message->next;
        release_buffers(message);
        free(message);
    }
    while (staged->buffers != NULL) {
        struct gw_staged_buffer *buffer = staged->buffers;
        staged->buffers = buffer->next;
        if (!buffer->lost) { /* a lost one keeps its memory too */
            close_buffer(buffer, gw_device_stream_device(staged->base.settings.stream));
        }
    }
}
