/*
 * A communicator made of what a trainer has: its own process group (of PyTorch, say), as functions
 * that it lends.
 */
#ifndef GW_TRANSPORT_GROUP_H
#define GW_TRANSPORT_GROUP_H

#include "transport/transport.h"

/*
 * All but `complain` and `close` return 0, or else have failed. They are called by one thread at a
 * time, not always the same one, and collectives by all ranks in the same order. What they mean
 * stands at gw_allgather and so on (transport.h).
 */
struct gw_process_group {
    const char *name; /* what it is: "gloo, PyTorch 2.15.0"; NULL: nobody says. Copied */
    int rank, size;
    void *context; /* their first argument */

    int (*allreduce)(void *context, const float *send, float *receive, size_t count);
    int (*allgather)(void *context, const void *send, size_t bytes, void *receive);
    int (*broadcast)(void *context, int root, void *data, size_t bytes);
    int (*reduce)(void *context, int root, const float *send, float *receive, size_t count);
    int (*gather)(void *context, int root, const void *send, size_t bytes, void *receive);
    int (*scatter)(void *context, int root, const void *send, size_t bytes, void *receive);

    /* Both return at once; what is started is waited for by its handle, once. */
    int (*start_send)(void *context, int to, const void *data, size_t bytes, uintptr_t *handle);
    int (*start_receive)(void *context, int from, void *data, size_t bytes, uintptr_t *handle);
    int (*wait)(void *context, uintptr_t handle);

    /*
     * The group of the first `size` ranks: these functions with the context *part, which `close`
     * closes. All ranks call it in the same order; those beyond get no part, and set nothing.
     * NULL: the group has no parts.
     */
    int (*open_first)(void *context, int size, void **part);

    /* Why the last call failed: copied before the next one. NULL: nobody knows. */
    const char *(*complain)(void *context);
    void (*close)(void *context); /* NULL: nothing is to be done */
};

/*
 * Collectives of no bytes do not reach it. It has no control messages, a test of a request waits,
 * and parts are GW_BAD_INPUT where the group has none; abort ends this process, and leaves the
 * others to their launcher.
 */
enum gw_status gw_communicator_open_group(const struct gw_process_group *group,
                                          struct gw_communicator *out, struct gw_error *error);

#endif
