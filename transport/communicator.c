/* Collectives, messages and agreement of ranks, over any transport. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/transport.h"

enum gw_status gw_communicator_check_first(const struct gw_communicator *parent, int size,
                                           struct gw_error *error) {
    return size >= 1 && size <= parent->size
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "a communicator of the first ranks: expected 1 to %d of them, got %d",
                         parent->size, size);
}

/* ---- collectives and messages -------------------------------------------------------------- */

static enum gw_status run_collective(struct gw_communicator *communicator,
                                     struct gw_collective_call call, struct gw_error *error) {
    return communicator->transport->collect(communicator, &call, error);
}

enum gw_status gw_allgather(struct gw_communicator *communicator, const void *send, size_t bytes,
                            void *receive, struct gw_error *error) {
    return run_collective(
        communicator,
        (struct gw_collective_call){
            .kind = GW_ALLGATHER, .send = send, .receive = receive, .bytes = bytes},
        error);
}

enum gw_status gw_allreduce(struct gw_communicator *communicator, enum gw_number_type type,
                            const void *send, void *receive, size_t count, struct gw_error *error) {
    return run_collective(communicator,
                          (struct gw_collective_call){.kind = GW_ALLREDUCE,
                                                      .send = send,
                                                      .receive = receive,
                                                      .bytes = count * gw_number_bytes(type),
                                                      .type = type},
                          error);
}

enum gw_status gw_alltoall(struct gw_communicator *communicator, const void *send, size_t bytes,
                           void *receive, struct gw_error *error) {
    return run_collective(
        communicator,
        (struct gw_collective_call){
            .kind = GW_ALLTOALL, .send = send, .receive = receive, .bytes = bytes},
        error);
}

enum gw_status gw_broadcast(struct gw_communicator *communicator, int root, void *data,
                            size_t bytes, struct gw_error *error) {
    return run_collective(
        communicator,
        (struct gw_collective_call){GW_BROADCAST, root, data, data, bytes, GW_NUMBER_FLOAT}, error);
}

enum gw_status gw_gather(struct gw_communicator *communicator, int root, const void *send,
                         size_t bytes, void *receive, struct gw_error *error) {
    return run_collective(
        communicator,
        (struct gw_collective_call){GW_GATHER, root, send, receive, bytes, GW_NUMBER_FLOAT}, error);
}

enum gw_status gw_scatter(struct gw_communicator *communicator, int root, const void *send,
                          size_t bytes, void *receive, struct gw_error *error) {
    return run_collective(
        communicator,
        (struct gw_collective_call){GW_SCATTER, root, send, receive, bytes, GW_NUMBER_FLOAT},
        error);
}

enum gw_status gw_start_send(struct gw_communicator *communicator, int to, const void *data,
                             size_t bytes, struct gw_request *out, struct gw_error *error) {
    struct gw_message message = {.other = to, .data = (void *)(uintptr_t)data, .bytes = bytes};
    return communicator->transport->start(communicator, &message, out, error);
}

enum gw_status gw_start_receive(struct gw_communicator *communicator, int from, void *data,
                                size_t bytes, struct gw_request *out, struct gw_error *error) {
    struct gw_message message = {.other = from, .receives = true, .data = data, .bytes = bytes};
    return communicator->transport->start(communicator, &message, out, error);
}

enum gw_status gw_send(struct gw_communicator *communicator, int to, const void *data, size_t bytes,
                       struct gw_error *error) {
    struct gw_request request;
    GW_TRY(gw_start_send(communicator, to, data, bytes, &request, error));
    return communicator->transport->wait(communicator, &request, 1, error);
}

enum gw_status gw_receive(struct gw_communicator *communicator, int from, void *data, size_t bytes,
                          struct gw_error *error) {
    struct gw_request request;
    GW_TRY(gw_start_receive(communicator, from, data, bytes, &request, error));
    return communicator->transport->wait(communicator, &request, 1, error);
}

/* ---- agreement ----------------------------------------------------------------------------- */

/* Allocates no memory, since lack of memory may be the failure. */
enum gw_status gw_agree_with_all(struct gw_communicator *communicator, enum gw_status status,
                                 struct gw_error *error) {
    const unsigned char mine = (unsigned char)status;
    unsigned char all[GW_MAX_RANKS];
    struct gw_error first_error = {0};
    int first = 0;
    GW_TRY(gw_allgather(communicator, &mine, sizeof mine, all, error));
    while (first < communicator->size && all[first] == GW_OK) {
        first++;
    }
    if (first == communicator->size) {
        return GW_OK;
    }
    if (first == communicator->rank) {
        memcpy(first_error.message, error->message, sizeof first_error.message);
    }
    GW_TRY(gw_broadcast(communicator, first, &first_error, sizeof first_error, error));
    enum gw_status agreed = (enum gw_status)all[first];
    if (first != communicator->rank) {
        gw_error_set(error, agreed, "rank %d: %.480s", first, first_error.message);
    }
    return agreed;
}

enum gw_status gw_gather_all(struct gw_communicator *communicator, const void *own, size_t bytes,
                             const char *what, void **out, struct gw_error *error) {
    *out = calloc((size_t)communicator->size, bytes);
    enum gw_status status = *out == NULL ? gw_fail_memory(error, what) : GW_OK;
    status = gw_agree(communicator, status, error);
    if (status == GW_OK) {
        status = gw_allgather(communicator, own, bytes, *out, error);
    }
    if (status != GW_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

enum gw_status gw_agree_maximum(struct gw_communicator *communicator, double *values, size_t count,
                                struct gw_error *error) {
    void *gathered = NULL;
    GW_TRY(gw_gather_all(communicator, values, count * sizeof *values, "agreeing between ranks",
                         &gathered, error));
    const double *all = gathered;
    for (size_t i = 0; i < (size_t)communicator->size * count; i++) {
        values[i % count] = i < count ? all[i] : fmax(values[i % count], all[i]);
    }
    free(gathered);
    return GW_OK;
}

enum gw_status gw_find_local_rank(struct gw_communicator *ranks, size_t *out,
                                  struct gw_error *error) {
    char mine[GW_HOST_SIZE] = "";
    void *gathered = NULL;
    (void)gethostname(mine, sizeof mine - 1);
    *out = 0;
    GW_TRY(gw_gather_all(ranks, mine, sizeof mine, "looking for ranks that share a host", &gathered,
                         error));
    const char(*hosts)[GW_HOST_SIZE] = gathered;
    for (int rank = 0; rank < ranks->rank; rank++) {
        *out += strcmp(hosts[rank], mine) == 0;
    }
    free(gathered);
    return GW_OK;
}

/* ---- ranks that wait while others measure -------------------------------------------------- */

/* A blocking call of MPI polls without a pause and takes time from other processes on its core,
 * even if it yields; ranks that wait here poll every millisecond and sleep in between. */
static const char wake_up[] = "wake up";
static const double wait_interval_s = 1e-3;

enum gw_status gw_rest_until_woken(struct gw_communicator *communicator, struct gw_error *error) {
    char message[sizeof wake_up] = "";
    size_t bytes = 0;
    int from = -1;
    if (communicator->transport->poll == NULL) {
        return gw_receive(communicator, 0, message, sizeof message, error);
    }
    while (true) {
        GW_TRY(communicator->transport->poll(communicator, message, sizeof message, &bytes, &from,
                                             error));
        if (from >= 0) {
            break;
        }
        gw_clock_sleep_until_s(gw_clock_now_s() + wait_interval_s);
    }
    return bytes == sizeof wake_up && memcmp(message, wake_up, sizeof wake_up) == 0
               ? GW_OK
               : gw_fail(
                     error, GW_FAILED,
                     "control message: expected one that ends the wait, got %zu bytes from rank %d",
                     bytes, from);
}

enum gw_status gw_wake(struct gw_communicator *communicator, int first, struct gw_error *error) {
    const struct gw_transport *transport = communicator->transport;
    for (int rank = first; rank < communicator->size; rank++) {
        GW_TRY(transport->post == NULL
                   ? gw_send(communicator, rank, wake_up, sizeof wake_up, error)
                   : transport->post(communicator, rank, wake_up, sizeof wake_up, error));
    }
    return GW_OK;
}

enum gw_status gw_rest_beside(struct gw_communicator *job, struct gw_error *error) {
    GW_TRY(gw_rest_until_woken(job, error));
    return job->transport->barrier(job, error);
}

enum gw_status gw_wake_beside(struct gw_communicator *job, int workers, struct gw_error *error) {
    if (job->rank == 0) {
        GW_TRY(gw_wake(job, workers, error));
    }
    return job->transport->barrier(job, error);
}
