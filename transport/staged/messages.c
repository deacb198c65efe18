/*
 * Messages between GPUs through the host. Pieces of all that are under way travel at the same time,
 * but those that go the same way begin in the order of their messages: only in that order can a
 * receiver tell them apart.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/staged/staged.h"

/* How far to go: no further than nothing waits; for the stream; for the next piece on the host. */
enum patience { LOOK, WAIT_STREAM, WAIT_HOST };

/*
 * Piece i is in slot i % GW_STAGED_PIECES. A send's are `filled` from the GPU, `begun` by the host
 * and `over` there, in this order; a receive's are `begun`, and `over` when the host has them and
 * their copies to the GPU are on the stream.
 */
struct gw_staged_message {
    struct gw_staged_message *next; /* that was started later */
    bool receives;
    int other;       /* whom it goes to or comes from */
    char *data;      /* on the GPU */
    size_t capacity; /* there, in bytes */
    size_t bytes;    /* that travel; a receive's are known once its first piece is there */
    size_t filled, begun, over;
    struct {
        struct gw_staged_buffer *buffer;
        struct gw_request request; /* on the host */
    } slots[GW_STAGED_PIECES];
    struct gw_error failure; /* then it is over */
};

/*
 * Behind the first piece of a message that has several: its bytes, so that a receiver of another
 * length knows how many pieces come.
 */
typedef uint64_t header;

static const size_t step = GW_STAGED_MESSAGE_BYTES;
_Static_assert(GW_STAGED_MESSAGE_BYTES + sizeof(header) <= GW_STAGE_BYTES,
               "a piece fits a stage with its header");
enum { SMALLEST_BYTES = 4096 };

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

/* Whether the host has been given all pieces, and is done with them. */
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

static void close_buffers(struct gw_staged *staged) {
    while (staged->buffers != NULL) {
        struct gw_staged_buffer *buffer = staged->buffers;
        staged->buffers = buffer->next;
        if (buffer->lost) {
            continue; /* and its memory with it */
        }
        close_buffer(buffer, gw_device_stream_device(staged->base.settings.stream));
    }
}

/* With the least memory of those that have enough. */
static struct gw_staged_buffer *find_unused(const struct gw_staged *staged, size_t bytes) {
    struct gw_staged_buffer *found = NULL;
    for (struct gw_staged_buffer *b = staged->buffers; b != NULL; b = b->next) {
        if (!b->used && b->capacity >= bytes && (found == NULL || b->capacity < found->capacity)) {
            found = b;
        }
    }
    return found;
}

static size_t round_up(size_t bytes) {
    size_t rounded = SMALLEST_BYTES;
    while (rounded < bytes) {
        rounded *= 2;
    }
    return rounded;
}

static enum gw_status make_buffer(struct gw_staged *staged, size_t bytes,
                                  struct gw_staged_buffer **out, struct gw_error *error) {
    struct gw_device *device = gw_device_stream_device(staged->base.settings.stream);
    struct gw_staged_buffer *made = malloc(sizeof *made);
    void *memory = NULL;
    if (made == NULL) {
        return gw_fail_memory(error, "a message of a GPU");
    }
    *made = (struct gw_staged_buffer){.capacity = round_up(bytes)};
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

/* A piece's; later pieces in its place are no longer. */
static enum gw_status take_buffer(struct gw_staged *staged, struct gw_staged_message *message,
                                  size_t piece, struct gw_staged_buffer **out,
                                  struct gw_error *error) {
    struct gw_staged_buffer **slot = &message->slots[piece % GW_STAGED_PIECES].buffer;
    size_t bytes = host_bytes(message, piece);
    if (*slot == NULL) {
        *slot = find_unused(staged, bytes);
    }
    if (*slot == NULL) {
        GW_TRY(make_buffer(staged, bytes, slot, error));
    }
    (*slot)->used = true;
    *out = *slot;
    return GW_OK;
}

/* The host may still send from, or receive to, those of pieces that have begun and are not over. */
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

/* ---- a message's next step, both ways ------------------------------------------------------ */

/* A step of a message's; *moved becomes true if it could be taken. */
struct walk {
    struct gw_staged *staged;
    struct gw_staged_message *message;
    enum patience patience;
    bool *moved;
};

/* Whether the copy of a piece from or to the GPU is done. */
static enum gw_status look_copied(const struct walk *walk, size_t piece, bool *done,
                                  struct gw_error *error) {
    struct gw_device_event *copied = walk->message->slots[piece % GW_STAGED_PIECES].buffer->copied;
    *done = true;
    return walk->patience == LOOK ? gw_device_event_reached(copied, done, error)
                                  : gw_device_event_finish(copied, error);
}

/* Whether the host is done with the oldest piece that it was given. */
static enum gw_status look_host(const struct walk *walk, bool *done, struct gw_error *error) {
    struct gw_staged_message *message = walk->message;
    struct gw_communicator *host = &walk->staged->base.host;
    struct gw_request *request = &message->slots[message->over % GW_STAGED_PIECES].request;
    *done = message->over < message->begun;
    if (!*done) {
        return GW_OK;
    }
    enum gw_status status = walk->patience == WAIT_HOST
                                ? host->transport->wait(host, request, 1, error)
                                : host->transport->test(host, request, done, error);
    message->over += status != GW_OK; /* which ends it as well */
    return status;
}

static enum gw_status copy(const struct walk *walk, const struct gw_staged_buffer *buffer, void *to,
                           const void *from, size_t bytes, struct gw_error *error) {
    struct gw_device_stream *stream = walk->staged->base.settings.stream;
    GW_TRY(gw_device_copy(stream, to, from, bytes, error));
    return gw_device_event_record(buffer->copied, stream, error);
}

/* ---- sending ------------------------------------------------------------------------------- */

static enum gw_status fill(const struct walk *walk, struct gw_error *error) {
    struct gw_staged_message *message = walk->message;
    size_t piece = message->filled;
    struct gw_staged_buffer *buffer = NULL;
    if (piece == piece_count(message->bytes) || piece - message->over == GW_STAGED_PIECES) {
        return GW_OK;
    }
    GW_TRY(take_buffer(walk->staged, message, piece, &buffer, error));
    GW_TRY(copy(walk, buffer, buffer->memory, message->data + piece * step,
                piece_bytes(message, piece), error));
    if (has_header(message, piece)) {
        header bytes = message->bytes;
        memcpy(buffer->memory + step, &bytes, sizeof bytes);
    }
    message->filled++;
    *walk->moved = true;
    return GW_OK;
}

static enum gw_status begin_send(const struct walk *walk, struct gw_error *error) {
    struct gw_staged_message *message = walk->message;
    struct gw_communicator *host = &walk->staged->base.host;
    size_t piece = message->begun;
    size_t slot = piece % GW_STAGED_PIECES;
    bool copied = false;
    if (piece < message->filled) {
        GW_TRY(look_copied(walk, piece, &copied, error));
    }
    if (copied) {
        GW_TRY(gw_start_send(host, message->other, message->slots[slot].buffer->memory,
                             host_bytes(message, piece), &message->slots[slot].request, error));
        message->begun++;
        *walk->moved = true;
    }
    return GW_OK;
}

/* One piece is filled while the one before it is still to begin. */
static enum gw_status advance_send(const struct walk *walk, bool turn, struct gw_error *error) {
    bool over = false;
    GW_TRY(look_host(walk, &over, error));
    walk->message->over += over;
    *walk->moved = *walk->moved || over;
    for (size_t i = 0; i < GW_STAGED_PIECES && turn; i++) {
        GW_TRY(fill(walk, error));
    }
    for (size_t i = 0; i < GW_STAGED_PIECES && turn; i++) {
        GW_TRY(begin_send(walk, error));
    }
    return GW_OK;
}

/* ---- receiving ----------------------------------------------------------------------------- */

static enum gw_status begin_receive(const struct walk *walk, struct gw_error *error) {
    struct gw_staged_message *message = walk->message;
    struct gw_communicator *host = &walk->staged->base.host;
    size_t piece = message->begun;
    struct gw_staged_buffer *buffer = NULL;
    bool is_free = piece - message->over < GW_STAGED_PIECES && (piece == 0 || message->over > 0);
    if (piece == piece_count(message->bytes) || !is_free) {
        return GW_OK;
    }
    if (piece >= GW_STAGED_PIECES) {
        GW_TRY(look_copied(walk, piece, &is_free, error));
    }
    if (is_free) {
        GW_TRY(take_buffer(walk->staged, message, piece, &buffer, error));
        GW_TRY(gw_start_receive(host, message->other, buffer->memory, host_bytes(message, piece),
                                &message->slots[piece % GW_STAGED_PIECES].request, error));
        message->begun++;
        *walk->moved = true;
    }
    return GW_OK;
}

/* A message of another length is received to its end, so that its sender can go on. */
static enum gw_status take_piece(const struct walk *walk, struct gw_error *error) {
    struct gw_staged_message *message = walk->message;
    size_t piece = message->over;
    struct gw_staged_buffer *buffer = message->slots[piece % GW_STAGED_PIECES].buffer;
    if (has_header(message, piece)) {
        header bytes = 0;
        memcpy(&bytes, buffer->memory + step, sizeof bytes);
        message->bytes = (size_t)bytes;
    }
    if (message->bytes == message->capacity) {
        GW_TRY(copy(walk, buffer, message->data + piece * step, buffer->memory,
                    piece_bytes(message, piece), error));
    }
    message->over++;
    *walk->moved = true;
    return message->bytes == message->capacity || message->over < piece_count(message->bytes)
               ? GW_OK
               : gw_fail(error, GW_FAILED, "a message from rank %d: expected %zu bytes, got %zu",
                         message->other, message->capacity, message->bytes);
}

static enum gw_status advance_receive(const struct walk *walk, bool turn, struct gw_error *error) {
    bool there = false;
    bool is_first = has_header(walk->message, walk->message->over);
    enum gw_status status = look_host(walk, &there, error);
    if (status != GW_OK && is_first) {
        gw_error_prefix(error, "the first piece of a longer message");
    }
    GW_TRY(status);
    if (there) {
        GW_TRY(take_piece(walk, error));
    }
    for (size_t i = 0; i < GW_STAGED_PIECES && turn; i++) {
        GW_TRY(begin_receive(walk, error));
    }
    return GW_OK;
}

/* Whether anything moved. Its first piece begins only if it is the message's `turn`. */
static bool advance(struct gw_staged *staged, struct gw_staged_message *message, bool turn,
                    enum patience patience) {
    bool moved = false;
    const struct walk walk = {staged, message, patience, &moved};
    if (is_over(message)) {
        return false;
    }
    enum gw_status status = message->receives ? advance_receive(&walk, turn, &message->failure)
                                              : advance_send(&walk, turn, &message->failure);
    message->failure.status = status;
    return moved || status != GW_OK;
}

/* ---- all that are under way ---------------------------------------------------------------- */

static bool go_the_same_way(const struct gw_staged_message *one,
                            const struct gw_staged_message *other) {
    return one->receives == other->receives && one->other == other->other;
}

static bool is_its_turn(const struct gw_staged *staged, const struct gw_staged_message *message) {
    const struct gw_staged_message *earlier = staged->messages;
    while (earlier != message && (is_begun(earlier) || !go_the_same_way(earlier, message))) {
        earlier = earlier->next;
    }
    return earlier == message;
}

/* Whether any moved. */
static bool advance_all(struct gw_staged *staged) {
    bool moved = false;
    for (struct gw_staged_message *m = staged->messages; m != NULL; m = m->next) {
        moved = advance(staged, m, is_its_turn(staged, m), LOOK) || moved;
    }
    return moved;
}

static bool are_all_begun(const struct gw_staged *staged) {
    const struct gw_staged_message *message = staged->messages;
    while (message != NULL && is_begun(message)) {
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
    struct gw_staged_message **link = &staged->messages;
    while (*link != message) {
        link = &(*link)->next;
    }
    *link = message->next;
    release_buffers(message);
    free(message);
}

static enum gw_status failure_of(const struct gw_staged_message *message, struct gw_error *error) {
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
    (void)advance(staged, made, is_its_turn(staged, made), WAIT_STREAM);
    enum gw_status status = failure_of(made, error);
    if (status != GW_OK) {
        end(staged, made);
    }
    return status;
}

/* ---- waiting ------------------------------------------------------------------------------- */

/*
 * While pieces are left to begin, some rank may wait for them: nothing here may be waited for
 * alone.
 */
static enum gw_status finish(struct gw_staged *staged, struct gw_staged_message *message,
                             struct gw_error *error) {
    double moved_s = gw_clock_now_s();
    while (!is_over(message)) {
        if (are_all_begun(staged)) {
            (void)advance(staged, message, true, WAIT_HOST);
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

/* ---- the end ------------------------------------------------------------------------------- */

void gw_staged_close_messages(struct gw_staged *staged) {
    while (staged->messages != NULL) {
        struct gw_staged_message *message = staged->messages;
        staged->messages = message->next;
        release_buffers(message);
        free(message);
    }
    close_buffers(staged);
}
