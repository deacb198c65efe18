/* A communicator over a trainer's own process group (of PyTorch, say), given as functions. */
#ifndef GW_TRANSPORT_GROUP_H
#define GW_TRANSPORT_GROUP_H

#include "transport/transport.h"

/*
 * All functions except `complain` and `close` return 0 on success. One thread at a time calls them,
 * not always the same one; all ranks call collectives in the same order. transport.h defines them
 * (gw_allgather and so on).
 */
struct gw_process_group {
    const char *name; /* "gloo, PyTorch 2.15.0"; NULL: unknown. Copied */
    int rank, size;
    void *context; /* first argument of the functions */

    int (*allreduce)(void *context, int type, const void *send, void *receive, size_t count);
    int (*allgather)(void *context, const void *send, size_t bytes, void *receive);
    int (*broadcast)(void *context, int root, void *data, size_t bytes);
    int (*gather)(void *context, int root, const void *send, size_t bytes, void *receive);
    int (*scatter)(void *context, int root, const void *send, size_t bytes, void *receive);
    int (*alltoall)(void *context, const void *send, size_t bytes, void *receive);

    /* Both return at once. wait() is called once for each handle. */
    int (*start_send)(void *context, int to, const void *data, size_t bytes, uintptr_t *handle);
    int (*start_receive)(void *context, int from, void *data, size_t bytes, uintptr_t *handle);
    int (*wait)(void *context, uintptr_t handle);

    /*
     * Opens the group of the first `size` ranks: the same functions with the context *part, which
     * `close` closes. All ranks call it in the same order; ranks beyond `size` set nothing. NULL:
     * the group cannot be divided.
     */
    int (*open_first)(void *context, int size, void **part);

    /* The reason of the last failure; copied before the next call. NULL: no reasons. */
    const char *(*complain)(void *context);
    void (*close)(void *context); /* NULL: there is nothing to close */
};

/*
 * Opens the communicator. It does not call the group for collectives of no bytes. It has no control
 * messages, testing a request waits for it, and open_first fails with GW_BAD_INPUT if the group
 * cannot be divided; abort ends this process, and leaves the other ranks to their launcher.
 */
enum gw_status gw_communicator_open_group(const struct gw_process_group *group,
                                          struct gw_communicator *out, struct gw_error *error);

#endif
