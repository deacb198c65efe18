/* The MPI job that this process is in: joining and leaving it, and communicators of parts of it. */
#include <limits.h>
#include <stdlib.h>

#include "transport/first.h"
#include "transport/mpi/job.h"
#include "transport/mpi/mpi.h"

enum gw_status gw_mpi_check(int result, const char *call, struct gw_error *error) {
    if (result == MPI_SUCCESS) {
        return GW_OK;
    }
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(result, text, &length);
    return gw_fail(error, GW_FAILED, "%s: %.*s", call, length, text);
}

enum gw_status gw_mpi_check_count(size_t count, const char *call, struct gw_error *error) {
    return count <= INT_MAX
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "%s: expected at most %d items in a message, got %zu",
                         call, INT_MAX, count);
}

/* A part's failure is the whole job's. */
static void mpi_abort(struct gw_communicator *communicator, int status) {
    (void)communicator;
    MPI_Abort(MPI_COMM_WORLD, gw_mpi_exit_status(status));
}

static void mpi_close(struct gw_communicator *communicator) {
    struct gw_mpi_world *world = communicator->state;
    bool whole = world->whole;
    gw_mpi_finish_posts(world);
    MPI_Comm_free(&world->comm);
    free(world);
    if (whole) {
        MPI_Finalize();
    }
}

/* A communicator of those ranks of `ranks` that say `color`; `out` stays closed on the others. */
static enum gw_status split(MPI_Comm ranks, int color, struct gw_communicator *out,
                            struct gw_error *error) {
    struct gw_mpi_world *world = malloc(sizeof *world);
    if (world == NULL) {
        return gw_fail_memory(error, "opening a communicator");
    }
    *world = (struct gw_mpi_world){.whole = ranks == MPI_COMM_WORLD};
    enum gw_status status =
        gw_mpi_check(MPI_Comm_split(ranks, color, 0, &world->comm), "MPI_Comm_split", error);
    if (status != GW_OK || world->comm == MPI_COMM_NULL) {
        free(world);
        return status;
    }
    MPI_Comm_set_errhandler(world->comm, MPI_ERRORS_RETURN);
    out->state = world;
    MPI_Comm_rank(world->comm, &out->rank);
    MPI_Comm_size(world->comm, &out->size);
    return GW_OK;
}

static enum gw_status mpi_open_first(struct gw_communicator *parent, int size,
                                     struct gw_communicator *out, struct gw_error *error) {
    *out = (struct gw_communicator){0};
    GW_TRY(gw_check_first(parent, size, error));
    int color = parent->rank < size ? 0 : MPI_UNDEFINED;
    GW_TRY(split(gw_mpi_comm(parent), color, out, error));
    out->transport = out->state == NULL ? NULL : parent->transport;
    return GW_OK;
}

static const struct gw_transport mpi_transport = {
    .name = "mpi",
    .allgather = gw_mpi_allgather,
    .allgather_unequal = gw_mpi_allgather_unequal,
    .allreduce = gw_mpi_allreduce,
    .broadcast = gw_mpi_broadcast,
    .reduce = gw_mpi_reduce,
    .gather = gw_mpi_gather,
    .scatter = gw_mpi_scatter,
    .barrier = gw_mpi_barrier,
    .start_send = gw_mpi_start_send,
    .start_receive = gw_mpi_start_receive,
    .wait = gw_mpi_wait,
    .test = gw_mpi_test,
    .post = gw_mpi_post,
    .poll = gw_mpi_poll,
    .open_first = mpi_open_first,
    .abort = mpi_abort,
    .close = mpi_close,
};

/* Processes that were started together, by the launcher of another MPI library, find only
 * themselves. */
static enum gw_status check_size(const struct gw_communicator *communicator,
                                 struct gw_error *error) {
    int told = gw_mpi_told_size();
    return communicator->size > 1 || told <= 1
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "this process was started as one of %d, but MPI finds no other: expected "
                         "the launcher of %s",
                         told, gw_mpi_version());
}

static enum gw_status open_world(int provided, struct gw_communicator *out,
                                 struct gw_error *error) {
    if (provided < MPI_THREAD_SERIALIZED) {
        return gw_fail(error, GW_FAILED,
                       "MPI_Init_thread: expected MPI_THREAD_SERIALIZED or better, got level %d",
                       provided);
    }
    *out = (struct gw_communicator){.transport = &mpi_transport};
    return split(MPI_COMM_WORLD, 0, out, error);
}

enum gw_status gw_communicator_open_mpi(struct gw_communicator *out, struct gw_error *error) {
    int provided = MPI_THREAD_SINGLE;
    GW_TRY(gw_mpi_check_launcher(error));
    GW_TRY(gw_mpi_check(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided),
                        "MPI_Init_thread", error));
    enum gw_status status = open_world(provided, out, error);
    if (status != GW_OK) {
        MPI_Finalize();
        return status;
    }
    status = check_size(out, error);
    if (status != GW_OK) {
        mpi_close(out);
    }
    return status;
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
