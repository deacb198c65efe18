/* One message between GPUs, in pieces through page-locked memory; private to transport/. */
#ifndef GW_TRANSPORT_STAGED_PIECES_H
#define GW_TRANSPORT_STAGED_PIECES_H

#include "transport/staged/staged.h"

enum { GW_STAGED_PIECES = 2 }; /* of a message on the host at a time */

/* Page-locked memory, kept for later messages, as page-locking takes longer than sending. */
struct gw_staged_buffer {
    struct gw_staged_buffer *next;
    char *memory;
    size_t capacity;
    struct gw_device_event *copied; /* the last copy from or to the GPU is done */
    bool used;
    bool lost; /* a message has failed whose piece the host may still have under way in it */
};

/*
 * Piece i is in place i % GW_STAGED_PIECES. A send's are `filled` from the GPU, `begun` by the host
 * and `over` there, in this order; a receive's are `begun`, and `over` when the host has them and
 * their copies to the GPU are on the stream.
 */
struct gw_staged_message {
    struct gw_staged_message *next; /* that was started later */
    bool receives;
    int other;    /* whom it goes to or comes from; GW_ANY_RANK until its first piece is there */
    char *data;   /* on the GPU */
    size_t room;  /* there, in bytes */
    size_t bytes; /* that travel; a receive's are known once its first piece is there */
    size_t filled, begun, over;
    struct {
        struct gw_staged_buffer *buffer;
        struct gw_request request; /* on the host */
    } places[GW_STAGED_PIECES];
    struct gw_error failure; /* then it is over */
};

/* Whether the host has been given all pieces, and is done with them. */
bool gw_staged_is_begun(const struct gw_staged_message *message);
bool gw_staged_is_over(const struct gw_staged_message *message);

/* How far to go: no further than nothing waits; for the stream; for the next piece on the host. */
enum gw_staged_patience { GW_STAGED_LOOK, GW_STAGED_WAIT_STREAM, GW_STAGED_WAIT_HOST };

/* Whether anything moved. Its first piece begins only if it is the message's `turn`. */
bool gw_staged_advance(struct gw_staged *staged, struct gw_staged_message *message, bool turn,
                       enum gw_staged_patience patience);

/* Gives back the buffers of a message that is over, with its copies. */
void gw_staged_release(struct gw_staged_message *message);

void gw_staged_forget_buffers(struct gw_staged *staged);

#endif
