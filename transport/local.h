/* What the threads that are each other's ranks share; private to transport/. */
#ifndef GW_TRANSPORT_LOCAL_H
#define GW_TRANSPORT_LOCAL_H

#include <pthread.h>

#include "transport/mailboxes.h"
#include "transport/posts.h"

struct gw_local {
    int size, open;
    pthread_mutex_t mutex;
    pthread_cond_t all_arrived;
    int arrived;
    unsigned generation;
    const void **buffers; /* per rank, for the others to read between two meetings */
    struct gw_mailboxes *mailboxes;
    struct gw_posts *posts;
};

/* Waits for all ranks. */
void gw_local_meet(struct gw_local *shared);

/* The transport's functions of these names (local_collectives.c). */
enum gw_status gw_local_allgather(struct gw_communicator *communicator, const void *send,
                                  size_t bytes, void *receive, struct gw_error *error);
enum gw_status gw_local_allgather_unequal(struct gw_communicator *communicator, const void *send,
                                          const size_t *bytes, void *receive,
                                          struct gw_error *error);
enum gw_status gw_local_allreduce(struct gw_communicator *communicator, const float *send,
                                  float *receive, size_t count, struct gw_error *error);
enum gw_status gw_local_broadcast(struct gw_communicator *communicator, int root, void *data,
                                  size_t bytes, struct gw_error *error);
enum gw_status gw_local_reduce(struct gw_communicator *communicator, int root, const float *send,
                               float *receive, size_t count, struct gw_error *error);
enum gw_status gw_local_gather(struct gw_communicator *communicator, int root, const void *send,
                               size_t bytes, void *receive, struct gw_error *error);
enum gw_status gw_local_scatter(struct gw_communicator *communicator, int root, const void *send,
                                size_t bytes, void *receive, struct gw_error *error);
enum gw_status gw_local_barrier(struct gw_communicator *communicator, struct gw_error *error);

#endif
