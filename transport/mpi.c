#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "transport/transport.h"

/* What is posted has a tag of its own, so that no receive of the data path takes it. */
enum { POST_TAG = 1 };

/* A posted message on its way. */
struct letter {
    struct letter *next;
    MPI_Request request;
    char message[];
};

struct world {
    MPI_Comm comm;
    struct letter *posted;
};

static MPI_Comm comm(const struct gw_communicator *communicator) {
    return ((const struct world *)communicator->state)->comm;
}

static enum gw_status check(int result, const char *call, struct gw_error *error) {
    if (result == MPI_SUCCESS) {
        return GW_OK;
    }
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(result, text, &length);
    return gw_fail(error, GW_FAILED, "%s: %.*s", call, length, text);
}

/* MPI counts in int. */
static enum gw_status check_count(size_t count, const char *call, struct gw_error *error) {
    return count <= INT_MAX
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "%s: expected at most %d items in a message, got %zu",
                         call, INT_MAX, count);
}

static enum gw_status mpi_allgather(struct gw_communicator *communicator, const void *send,
                                    size_t bytes, void *receive, struct gw_error *error) {
    GW_TRY(check_count(bytes, "MPI_Allgather", error));
    return check(MPI_Allgather(send, (int)bytes, MPI_BYTE, receive, (int)bytes, MPI_BYTE,
                               comm(communicator)),
                 "MPI_Allgather", error);
}

/*
 * In pieces: MPI libraries allocate scratch of the message's size in each call, and beyond malloc's
 * mmap threshold every page of it is faulted in anew. In one piece, zeros between two ranks of one
 * host took Open MPI 4.1.4 0.29 ns a byte up to 16 MiB and 0.41 to 0.46 above; in pieces, 0.29 to
 * 0.30 throughout (`calibrate --nodes 2 --max-bytes 134217728`).
 */
static enum gw_status mpi_allreduce(struct gw_communicator *communicator, const float *send,
                                    float *receive, size_t count, struct gw_error *error) {
    const size_t piece = (16 << 20) / sizeof(float);
    for (size_t done = 0; done < count; done += piece) {
        size_t length = count - done < piece ? count - done : piece;
        GW_TRY(check(MPI_Allreduce(send + done, receive + done, (int)length, MPI_FLOAT, MPI_SUM,
                                   comm(communicator)),
                     "MPI_Allreduce", error));
    }
    return GW_OK;
}

static enum gw_status mpi_barrier(struct gw_communicator *communicator, struct gw_error *error) {
    return check(MPI_Barrier(comm(communicator)), "MPI_Barrier", error);
}

/* ---- messages ------------------------------------------------------------------------------ */

_Static_assert(sizeof(MPI_Request) <= sizeof(uintptr_t), "a request fits its handle");

static struct gw_request request_of(MPI_Request started, size_t bytes, bool receives) {
    struct gw_request request = {.bytes = bytes, .receives = receives};
    memcpy(&request.handle, &started, sizeof started);
    return request;
}

static enum gw_status mpi_start_send(struct gw_communicator *communicator, int to, const void *data,
                                     size_t bytes, struct gw_request *out, struct gw_error *error) {
    MPI_Request started;
    GW_TRY(check_count(bytes, "MPI_Isend", error));
    GW_TRY(check(MPI_Isend(data, (int)bytes, MPI_BYTE, to, 0, comm(communicator), &started),
                 "MPI_Isend", error));
    *out = request_of(started, bytes, false);
    return GW_OK;
}

static enum gw_status mpi_start_receive(struct gw_communicator *communicator, int from, void *data,
                                        size_t bytes, struct gw_request *out,
                                        struct gw_error *error) {
    MPI_Request started;
    int source = from == GW_ANY_RANK ? MPI_ANY_SOURCE : from;
    GW_TRY(check_count(bytes, "MPI_Irecv", error));
    GW_TRY(check(MPI_Irecv(data, (int)bytes, MPI_BYTE, source, 0, comm(communicator), &started),
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

static enum gw_status mpi_wait(struct gw_communicator *communicator, struct gw_request *requests,
                               size_t count, struct gw_error *error) {
    (void)communicator;
    for (size_t i = 0; i < count; i++) {
        MPI_Request started;
        MPI_Status status;
        memcpy(&started, &requests[i].handle, sizeof started);
        GW_TRY(check(MPI_Wait(&started, &status), "MPI_Wait", error));
        GW_TRY(check_length(&requests[i], &status, error));
    }
    return GW_OK;
}

/* ---- posts --------------------------------------------------------------------------------- */

/* Frees what has left. */
static enum gw_status forget_sent(struct world *world, struct gw_error *error) {
    for (struct letter **place = &world->posted; *place != NULL;) {
        struct letter *letter = *place;
        int sent = 0;
        GW_TRY(check(MPI_Test(&letter->request, &sent, MPI_STATUS_IGNORE), "MPI_Test", error));
        if (sent) {
            *place = letter->next;
            free(letter);
        } else {
            place = &letter->next;
        }
    }
    return GW_OK;
}

static enum gw_status mpi_post(struct gw_communicator *communicator, int to, const void *message,
                               size_t bytes, struct gw_error *error) {
    struct world *world = communicator->state;
    GW_TRY(check_count(bytes, "MPI_Isend", error));
    GW_TRY(forget_sent(world, error));
    struct letter *letter = malloc(sizeof *letter + bytes);
    if (letter == NULL) {
        return gw_fail_memory(error, "posting a message");
    }
    memcpy(letter->message, message, bytes);
    enum gw_status status = check(MPI_Isend(letter->message, (int)bytes, MPI_BYTE, to, POST_TAG,
                                            world->comm, &letter->request),
                                  "MPI_Isend", error);
    if (status != GW_OK) {
        free(letter);
        return status;
    }
    letter->next = world->posted;
    world->posted = letter;
    return GW_OK;
}

static enum gw_status mpi_poll(struct gw_communicator *communicator, void *message, size_t capacity,
                               size_t *bytes, int *from, struct gw_error *error) {
    struct world *world = communicator->state;
    int there = 0;
    int size = 0;
    MPI_Status about;
    *from = -1;
    *bytes = 0;
    GW_TRY(forget_sent(world, error));
    GW_TRY(check(MPI_Iprobe(MPI_ANY_SOURCE, POST_TAG, world->comm, &there, &about), "MPI_Iprobe",
                 error));
    if (!there) {
        return GW_OK;
    }
    MPI_Get_count(&about, MPI_BYTE, &size);
    if ((size_t)size > capacity) {
        return gw_fail(error, GW_FAILED, "expected a message of at most %zu bytes, got %d",
                       capacity, size);
    }
    GW_TRY(check(MPI_Recv(message, size, MPI_BYTE, about.MPI_SOURCE, POST_TAG, world->comm,
                          MPI_STATUS_IGNORE),
                 "MPI_Recv", error));
    *from = about.MPI_SOURCE;
    *bytes = (size_t)size;
    return GW_OK;
}

/* ---- opening and closing ------------------------------------------------------------------- */

static void mpi_abort(struct gw_communicator *communicator, int status) {
    MPI_Abort(comm(communicator), gw_mpi_exit_status(status));
}

static void mpi_close(struct gw_communicator *communicator) {
    struct world *world = communicator->state;
    while (world->posted != NULL) {
        struct letter *letter = world->posted;
        world->posted = letter->next;
        MPI_Wait(&letter->request, MPI_STATUS_IGNORE);
        free(letter);
    }
    MPI_Comm_free(&world->comm);
    free(world);
    MPI_Finalize();
}

static const struct gw_transport mpi_transport = {
    .name = "mpi",
    .allgather = mpi_allgather,
    .allreduce = mpi_allreduce,
    .barrier = mpi_barrier,
    .start_send = mpi_start_send,
    .start_receive = mpi_start_receive,
    .wait = mpi_wait,
    .post = mpi_post,
    .poll = mpi_poll,
    .abort = mpi_abort,
    .close = mpi_close,
};

static enum gw_status make_world(struct gw_communicator *out, int provided,
                                 struct gw_error *error) {
    if (provided < MPI_THREAD_SERIALIZED) {
        return gw_fail(error, GW_FAILED,
                       "MPI_Init_thread: expected MPI_THREAD_SERIALIZED or better, got level %d",
                       provided);
    }
    struct world *world = malloc(sizeof *world);
    if (world == NULL) {
        return gw_fail_memory(error, "opening a communicator");
    }
    enum gw_status status =
        check(MPI_Comm_dup(MPI_COMM_WORLD, &world->comm), "MPI_Comm_dup", error);
    world->posted = NULL;
    if (status != GW_OK) {
        free(world);
        return status;
    }
    MPI_Comm_set_errhandler(world->comm, MPI_ERRORS_RETURN);
    *out = (struct gw_communicator){.transport = &mpi_transport, .state = world};
    MPI_Comm_rank(world->comm, &out->rank);
    MPI_Comm_size(world->comm, &out->size);
    return GW_OK;
}

enum gw_status gw_communicator_open_mpi(struct gw_communicator *out, struct gw_error *error) {
    int provided = MPI_THREAD_SINGLE;
    GW_TRY(check(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread",
                 error));
    enum gw_status status = make_world(out, provided, error);
    if (status != GW_OK) {
        MPI_Finalize();
    }
    return status;
}

int gw_mpi_job_rank(void) {
    const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *rank = getenv(names[i]);
        if (rank != NULL) {
            return atoi(rank);
        }
    }
    return 0;
}

bool gw_mpi_is_inside_job(void) {
    /* Open MPI and PMIx, then MPICH and Slurm's PMI-2. */
    return getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMIX_RANK") != NULL ||
           getenv("PMI_RANK") != NULL;
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *gw_mpi_version(void) {
#ifdef OMPI_MAJOR_VERSION
    return "Open MPI " TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(
        OMPI_RELEASE_VERSION);
#else
    return "MPI " TEXT(MPI_VERSION) "." TEXT(MPI_SUBVERSION);
#endif
}
