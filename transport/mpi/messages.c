/* Messages between two ranks of an MPI job. */
#include <string.h>

#include "transport/mpi/mpi.h"

_Static_assert(sizeof(MPI_Request) <= sizeof(uintptr_t), "a request fits its handle");

static struct gw_request request_of(MPI_Request started, size_t bytes, bool receives) {
    struct gw_request request = {.bytes = bytes, .receives = receives};
    memcpy(&request.handle, &started, sizeof started);
    return request;
}

enum gw_status gw_mpi_start_send(struct gw_communicator *communicator, int to, const void *data,
                                 size_t bytes, struct gw_request *out, struct gw_error *error) {
    MPI_Request started;
    GW_TRY(gw_mpi_check_count(bytes, "MPI_Isend", error));
    GW_TRY(gw_mpi_check(
        MPI_Isend(data, (int)bytes, MPI_BYTE, to, 0, gw_mpi_comm(communicator), &started),
        "MPI_Isend", error));
    *out = request_of(started, bytes, false);
    return GW_OK;
}

enum gw_status gw_mpi_start_receive(struct gw_communicator *communicator, int from, void *data,
                                    size_t bytes, struct gw_request *out, struct gw_error *error) {
    MPI_Request started;
    int source = from == GW_ANY_RANK ? MPI_ANY_SOURCE : from;
    GW_TRY(gw_mpi_check_count(bytes, "MPI_Irecv", error));
    GW_TRY(gw_mpi_check(
        MPI_Irecv(data, (int)bytes, MPI_BYTE, source, 0, gw_mpi_comm(communicator), &started),
        "MPI_Irecv", error));
    *out = request_of(started, bytes, true);
    return GW_OK;
}

/* A longer message than the receive has room for is MPI's own error. */
static enum gw_status check_length(const struct gw_request *request, const MPI_Status *status,
                                   struct gw_error *error) {
    int count = 0;
    MPI_Get_count(status, MPI_BYTE, &count);
    if (request->receives && (size_t)count != request->bytes) {
        return gw_fail(error, GW_FAILED, "a message from rank %d: expected %zu bytes, got %d",
                       status->MPI_SOURCE, request->bytes, count);
    }
    return GW_OK;
}

enum gw_status gw_mpi_wait(struct gw_communicator *communicator, struct gw_request *requests,
                           size_t count, struct gw_error *error) {
    (void)communicator;
    for (size_t i = 0; i < count; i++) {
        MPI_Request started;
        MPI_Status status;
        memcpy(&started, &requests[i].handle, sizeof started);
        GW_TRY(gw_mpi_check(MPI_Wait(&started, &status), "MPI_Wait", error));
        GW_TRY(check_length(&requests[i], &status, error));
    }
    return GW_OK;
}

enum gw_status gw_mpi_test(struct gw_communicator *communicator, struct gw_request *request,
                           bool *done, struct gw_error *error) {
    MPI_Request started;
    MPI_Status status;
    int flag = 0;
    (void)communicator;
    memcpy(&started, &request->handle, sizeof started);
    GW_TRY(gw_mpi_check(MPI_Test(&started, &flag, &status), "MPI_Test", error));
    *done = flag != 0;
    return *done ? check_length(request, &status, error) : GW_OK;
}
