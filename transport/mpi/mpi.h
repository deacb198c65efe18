/* What the files of the MPI transport share; private to transport/. */
#ifndef GW_TRANSPORT_MPI_WORLD_H
#define GW_TRANSPORT_MPI_WORLD_H

#include <mpi.h>

#include "transport/transport.h"

struct gw_mpi_parcel;
struct gw_mpi_letter;

/* A communicator's state. */
struct gw_mpi_world {
    MPI_Comm comm;
    struct gw_mpi_parcel *posted;   /* that may not have left yet */
    struct gw_mpi_letter *arriving; /* of each rank one at most */
    bool whole;                     /* of the whole job, which ends with it */
};

static inline MPI_Comm gw_mpi_comm(const struct gw_communicator *communicator) {
    return ((const struct gw_mpi_world *)communicator->state)->comm;
}

/* What a call of MPI returned, as a status. */
enum gw_status gw_mpi_check(int result, const char *call, struct gw_error *error);

/* MPI counts in int: refuses more. */
enum gw_status gw_mpi_check_count(size_t count, const char *call, struct gw_error *error);

/* Waits until all that was posted has left. */
void gw_mpi_finish_posts(struct gw_mpi_world *world);

/* The transport's functions of these names: collectives (collectives.c). */
enum gw_status gw_mpi_allgather(struct gw_communicator *communicator, const void *send,
                                size_t bytes, void *receive, struct gw_error *error);
enum gw_status gw_mpi_allgather_unequal(struct gw_communicator *communicator, const void *send,
                                        const size_t *bytes, void *receive, struct gw_error *error);
enum gw_status gw_mpi_allreduce(struct gw_communicator *communicator, const float *send,
                                float *receive, size_t count, struct gw_error *error);
enum gw_status gw_mpi_broadcast(struct gw_communicator *communicator, int root, void *data,
                                size_t bytes, struct gw_error *error);
enum gw_status gw_mpi_reduce(struct gw_communicator *communicator, int root, const float *send,
                             float *receive, size_t count, struct gw_error *error);
enum gw_status gw_mpi_gather(struct gw_communicator *communicator, int root, const void *send,
                             size_t bytes, void *receive, struct gw_error *error);
enum gw_status gw_mpi_scatter(struct gw_communicator *communicator, int root, const void *send,
                              size_t bytes, void *receive, struct gw_error *error);
enum gw_status gw_mpi_barrier(struct gw_communicator *communicator, struct gw_error *error);

/* Messages (messages.c). */
enum gw_status gw_mpi_start_send(struct gw_communicator *communicator, int to, const void *data,
                                 size_t bytes, struct gw_request *out, struct gw_error *error);
enum gw_status gw_mpi_start_receive(struct gw_communicator *communicator, int from, void *data,
                                    size_t bytes, struct gw_request *out, struct gw_error *error);
enum gw_status gw_mpi_wait(struct gw_communicator *communicator, struct gw_request *requests,
                           size_t count, struct gw_error *error);
enum gw_status gw_mpi_test(struct gw_communicator *communicator, struct gw_request *request,
                           bool *done, struct gw_error *error);

/* Posts (posts.c). */
enum gw_status gw_mpi_post(struct gw_communicator *communicator, int to, const void *message,
                           size_t bytes, struct gw_error *error);
enum gw_status gw_mpi_poll(struct gw_communicator *communicator, void *message, size_t capacity,
                           size_t *bytes, int *from, struct gw_error *error);

#endif
