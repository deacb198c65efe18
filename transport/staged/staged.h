/* Memory of GPUs that is sent through page-locked memory of the host; private to transport/. */
#ifndef GW_TRANSPORT_STAGED_H
#define GW_TRANSPORT_STAGED_H

#include "transport/gpu_base.h"

/* The size of a stage: long enough for the bus and the network, short enough to begin soon. */
enum { GW_STAGE_BYTES = GW_STAGED_MESSAGE_BYTES + 16 };

/* The place of a piece of a collective on the host. */
struct gw_stage {
    char *send, *receive;         /* page-locked, GW_STAGE_BYTES each */
    struct gw_device_event *sent; /* `send` has been filled from the GPU */
};

/* The bytes of the next piece, after `done` bytes. */
static inline size_t gw_stage_bytes(size_t bytes, size_t done, size_t step) {
    size_t left = bytes > done ? bytes - done : 0;
    return left < step ? left : step;
}

enum { GW_STAGED_PIECES = 2 }; /* of a message on the host at a time */

/* Page-locked memory, kept for later messages, because page-locking takes longer than sending. */
struct gw_staged_buffer {
    struct gw_staged_buffer *next;
    char *memory;
    size_t capacity;
    struct gw_device_event *copied; /* the last copy from or to the GPU is done */
    bool used;
    bool lost; /* a message has failed, and the host may still use its piece in this buffer */
};

struct gw_staged_message;

struct gw_staged {
    struct gw_gpu_base base;
    struct gw_stage stages[2];          /* used alternately */
    struct gw_staged_message *messages; /* current ones, in the order in which they were started */
    struct gw_staged_buffer *buffers;   /* in use, and kept for later messages */
};

/* The transport's functions of these names for messages (messages.c). */
enum gw_status gw_staged_start(struct gw_communicator *communicator,
                               const struct gw_message *message, struct gw_request *out,
                               struct gw_error *error);
enum gw_status gw_staged_wait(struct gw_communicator *communicator, struct gw_request *requests,
                              size_t count, struct gw_error *error);
enum gw_status gw_staged_poll(struct gw_communicator *communicator, void *message, size_t capacity,
                              size_t *bytes, int *from, struct gw_error *error);

/* Drops all current messages and all buffers. */
void gw_staged_close_messages(struct gw_staged *staged);

#endif
