/* The MPI job of this process: a communicator of all its ranks or of the first ones, its
 * collectives, messages between two ranks, and control messages. */
#include <limits.h>
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <stdlib.h>
#include <string.h>

#include "transport/gpu_base.h"
#include "transport/mpi/launch.h"
#include "transport/mpi/ring.h"

/* A communicator's state. */
struct mpi_world {
    MPI_Comm comm;
    struct sent_message *sent; /* control messages that may not have left yet */
    bool ends_mpi;             /* it called MPI_Init_thread */
    bool has_links;            /* ranks are on several hosts */
};

static MPI_Comm mpi_comm(const struct gw_communicator *communicator) {
    return ((const struct mpi_world *)communicator->state)->comm;
}

/* Turns the result of an MPI call into a status. The message names the call. */
static enum gw_status check_mpi(int result, const char *call, struct gw_error *error) {
    if (result == MPI_SUCCESS) {
        return GW_OK;
    }
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(result, text, &length);
    return gw_fail(error, GW_FAILED, "%s: %.*s", call, length, text);
}

/* Refuses more than INT_MAX items, since MPI counts in int. */
static enum gw_status check_count(size_t count, const char *call, struct gw_error *error) {
    return count <= INT_MAX
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "%s: expected at most %d items in a message, got %zu",
                         call, INT_MAX, count);
}

static bool mpi_takes_gpu_memory(void) {
#ifdef MPIX_CUDA_AWARE_SUPPORT
    return MPIX_Query_cuda_support() == 1;
#else
    return false;
#endif
}

/* ---- collectives --------------------------------------------------------------------------- */

/* True for the ring of ring.h. Ranks of one host communicate through shared memory, for which it is
 * no gain. */
static bool uses_ring(const struct gw_communicator *communicator, size_t bytes) {
    const struct mpi_world *world = communicator->state;
    return world->has_links && gw_mpi_ring_is_worth(communicator->size, bytes);
}

/* Divides `units` as equally as possible among the ranks: offsets, in bytes, of their parts and of
 * the end of the last, [size + 1]. NULL: no memory. */
static size_t *allocate_offsets(const struct gw_communicator *communicator, size_t units,
                                size_t unit_bytes) {
    size_t ranks = (size_t)communicator->size;
    size_t *offsets = calloc(ranks + 1, sizeof *offsets);
    for (size_t rank = 0; rank < ranks && offsets != NULL; rank++) {
        offsets[rank + 1] = offsets[rank] + (units / ranks + (rank < units % ranks)) * unit_bytes;
    }
    return offsets;
}

static enum gw_status allgather_round_ring(const struct gw_communicator *communicator,
                                           const struct gw_collective_call *call,
                                           struct gw_error *error) {
    size_t *offsets = allocate_offsets(communicator, (size_t)communicator->size, call->bytes);
    if (offsets == NULL) {
        return gw_fail_memory(error, "gathering from all ranks");
    }
    enum gw_status status =
        check_mpi(gw_mpi_ring_allgather(mpi_comm(communicator), call->send, call->receive, offsets),
                  "an allgather round a ring", error);
    free(offsets);
    return status;
}

static enum gw_status allreduce_round_ring(const struct gw_communicator *communicator,
                                           const struct gw_collective_call *call,
                                           const struct gw_mpi_sum *sum, struct gw_error *error) {
    size_t unit = gw_number_bytes(call->type);
    size_t *offsets = allocate_offsets(communicator, call->bytes / unit, unit);
    if (offsets == NULL) {
        return gw_fail_memory(error, "summing over all ranks");
    }
    enum gw_status status = check_mpi(
        gw_mpi_ring_allreduce(mpi_comm(communicator), sum, call->send, call->receive, offsets),
        "an allreduce round a ring", error);
    free(offsets);
    return status;
}

static size_t piece_length(size_t count, size_t done, size_t piece) {
    return count - done < piece ? count - done : piece;
}

/*
 * Sums in pieces: MPI libraries allocate scratch memory of the message's size in each call, and
 * beyond malloc's mmap threshold every page of it is faulted in again. In one piece, zeros between
 * two ranks of one host took Open MPI 4.1.4 0.29 ns a byte up to 16 MiB and 0.41 to 0.46 above; in
 * pieces, 0.29 to 0.30 throughout (`calibrate --nodes 2 --max-bytes 134217728`).
 */
static enum gw_status sum_in_pieces(const struct gw_communicator *communicator,
                                    const struct gw_collective_call *call,
                                    const struct gw_mpi_sum *sum, struct gw_error *error) {
    const size_t longest = 16 << 20;
    for (size_t done = 0; done < call->bytes; done += longest) {
        const char *send = (const char *)call->send + done;
        char *sums = (char *)call->receive + done;
        size_t bytes = piece_length(call->bytes, done, longest);
        GW_TRY(check_mpi(MPI_Allreduce(send, sums, (int)(bytes / gw_number_bytes(call->type)),
                                       sum->type, sum->add, mpi_comm(communicator)),
                         "MPI_Allreduce", error));
    }
    return GW_OK;
}

/* ---- sums ---------------------------------------------------------------------------------- */

#define ADD_HALVES(name, value, code)                                                              \
    static void name(void *from, void *to, int *count, MPI_Datatype *type) {                       \
        const uint16_t *terms = from;                                                              \
        uint16_t *sums = to;                                                                       \
        (void)type;                                                                                \
        for (int i = 0; i < *count; i++) {                                                         \
            sums[i] = code(value(sums[i]) + value(terms[i]));                                      \
        }                                                                                          \
    }
ADD_HALVES(add_bf16, gw_bf16_value, gw_bf16_of)
ADD_HALVES(add_fp16, gw_fp16_value, gw_fp16_of)

/* MPI has no type of halves (Open MPI 4.1; MPIX_C_FLOAT16 is not in all builds): they are whole
 * numbers of 16 bits with an addition of their own. */
static enum gw_status sum_over_all(const struct gw_communicator *communicator,
                                   const struct gw_collective_call *call, struct gw_error *error) {
    struct gw_mpi_sum sum = {MPI_FLOAT, MPI_SUM, (int)gw_number_bytes(call->type)};
    if (call->type != GW_NUMBER_FLOAT) {
        sum.type = MPI_UINT16_T;
        GW_TRY(check_mpi(
            MPI_Op_create(call->type == GW_NUMBER_BF16 ? add_bf16 : add_fp16, 1, &sum.add),
            "MPI_Op_create", error));
    }
    enum gw_status status = uses_ring(communicator, call->bytes) && !mpi_takes_gpu_memory()
                                ? allreduce_round_ring(communicator, call, &sum, error)
                                : sum_in_pieces(communicator, call, &sum, error);
    if (call->type != GW_NUMBER_FLOAT) {
        MPI_Op_free(&sum.add);
    }
    return status;
}

/* Sends one piece, or several if MPI cannot count the bytes. */
static enum gw_status broadcast_in_pieces(struct gw_communicator *communicator,
                                          const struct gw_collective_call *call,
                                          struct gw_error *error) {
    bool is_root = communicator->rank == call->root;
    char *data = is_root ? (char *)(uintptr_t)call->send : call->receive;
    for (size_t done = 0; done < call->bytes; done += INT_MAX) {
        GW_TRY(check_mpi(MPI_Bcast(data + done, (int)piece_length(call->bytes, done, INT_MAX),
                                   MPI_BYTE, call->root, mpi_comm(communicator)),
                         "MPI_Bcast", error));
    }
    return GW_OK;
}

/* Counts that MPI cannot express in one call are split into pieces, or refused. */
static enum gw_status mpi_collect(struct gw_communicator *communicator,
                                  const struct gw_collective_call *call, struct gw_error *error) {
    MPI_Comm comm = mpi_comm(communicator);
    int bytes = (int)call->bytes;
    switch (call->kind) {
    case GW_ALLGATHER:
        GW_TRY(check_count(call->bytes, "MPI_Allgather", error));
        return uses_ring(communicator, call->bytes * (size_t)communicator->size)
                   ? allgather_round_ring(communicator, call, error)
                   : check_mpi(MPI_Allgather(call->send, bytes, MPI_BYTE, call->receive, bytes,
                                             MPI_BYTE, comm),
                               "MPI_Allgather", error);
    case GW_GATHER:
        GW_TRY(check_count(call->bytes, "MPI_Gather", error));
        return check_mpi(MPI_Gather(call->send, bytes, MPI_BYTE, call->receive, bytes, MPI_BYTE,
                                    call->root, comm),
                         "MPI_Gather", error);
    case GW_SCATTER:
        GW_TRY(check_count(call->bytes, "MPI_Scatter", error));
        return check_mpi(MPI_Scatter(call->send, bytes, MPI_BYTE, call->receive, bytes, MPI_BYTE,
                                     call->root, comm),
                         "MPI_Scatter", error);
    case GW_BROADCAST:
        return broadcast_in_pieces(communicator, call, error);
    case GW_ALLTOALL:
        GW_TRY(check_count(call->bytes, "MPI_Alltoall", error));
        return uses_ring(communicator, call->bytes * (size_t)communicator->size)
                   ? check_mpi(gw_mpi_ring_alltoall(comm, call->send, call->bytes, call->receive),
                               "an alltoall round a ring", error)
                   : check_mpi(MPI_Alltoall(call->send, bytes, MPI_BYTE, call->receive, bytes,
                                            MPI_BYTE, comm),
                               "MPI_Alltoall", error);
    case GW_ALLREDUCE:
        break;
    }
    return sum_over_all(communicator, call, error);
}

static enum gw_status mpi_barrier(struct gw_communicator *communicator, struct gw_error *error) {
    return check_mpi(MPI_Barrier(mpi_comm(communicator)), "MPI_Barrier", error);
}

/* ---- messages between two ranks ------------------------------------------------------------ */

_Static_assert(sizeof(MPI_Request) <= sizeof(uintptr_t), "a request fits its handle");

static enum gw_status mpi_start(struct gw_communicator *communicator,
                                const struct gw_message *message, struct gw_request *out,
                                struct gw_error *error) {
    const char *call = message->receives ? "MPI_Irecv" : "MPI_Isend";
    MPI_Comm comm = mpi_comm(communicator);
    int other = message->other;
    int bytes = (int)message->bytes;
    MPI_Request started;
    GW_TRY(check_count(message->bytes, call, error));
    GW_TRY(check_mpi(message->receives
                         ? MPI_Irecv(message->data, bytes, MPI_BYTE, other, 0, comm, &started)
                         : MPI_Isend(message->data, bytes, MPI_BYTE, other, 0, comm, &started),
                     call, error));
    *out = (struct gw_request){.bytes = message->bytes, .receives = message->receives};
    memcpy(&out->handle, &started, sizeof started);
    return GW_OK;
}

/* MPI itself refuses a message that is longer than the receive's buffer. */
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
        GW_TRY(check_mpi(MPI_Wait(&started, &status), "MPI_Wait", error));
        GW_TRY(check_length(&requests[i], &status, error));
    }
    return GW_OK;
}

static enum gw_status mpi_test(struct gw_communicator *communicator, struct gw_request *request,
                               bool *done, struct gw_error *error) {
    MPI_Request started;
    MPI_Status status;
    int flag = 0;
    (void)communicator;
    memcpy(&started, &request->handle, sizeof started);
    GW_TRY(check_mpi(MPI_Test(&started, &flag, &status), "MPI_Test", error));
    *done = flag != 0;
    return *done ? check_length(request, &status, error) : GW_OK;
}

/* ---- control messages ---------------------------------------------------------------------- */

/*
 * Control messages have a tag of their own, so that no receive of the data path takes them, and are
 * so short that MPI sends them with their data at once (Open MPI: up to 4 KiB between ranks of a
 * host): one that has arrived does not depend on its sender any more.
 */
enum { CONTROL_TAG = 1 };

/* A message that may not have left yet. */
struct sent_message {
    struct sent_message *next;
    MPI_Request request;
    char data[];
};

/* Frees messages that have left. */
static enum gw_status free_sent(struct mpi_world *world, struct gw_error *error) {
    for (struct sent_message **at = &world->sent; *at != NULL;) {
        struct sent_message *outgoing = *at;
        int sent = 0;
        GW_TRY(
            check_mpi(MPI_Test(&outgoing->request, &sent, MPI_STATUS_IGNORE), "MPI_Test", error));
        if (sent) {
            *at = outgoing->next;
            free(outgoing);
        } else {
            at = &outgoing->next;
        }
    }
    return GW_OK;
}

static enum gw_status mpi_post(struct gw_communicator *communicator, int to, const void *message,
                               size_t bytes, struct gw_error *error) {
    struct mpi_world *world = communicator->state;
    GW_TRY(free_sent(world, error));
    struct sent_message *outgoing = malloc(sizeof *outgoing + bytes);
    if (outgoing == NULL) {
        return gw_fail_memory(error, "posting a message");
    }
    memcpy(outgoing->data, message, bytes);
    enum gw_status status = check_mpi(MPI_Isend(outgoing->data, (int)bytes, MPI_BYTE, to,
                                                CONTROL_TAG, world->comm, &outgoing->request),
                                      "MPI_Isend", error);
    if (status != GW_OK) {
        free(outgoing);
        return status;
    }
    outgoing->next = world->sent;
    world->sent = outgoing;
    return GW_OK;
}

static enum gw_status mpi_poll(struct gw_communicator *communicator, void *message, size_t capacity,
                               size_t *bytes, int *from, struct gw_error *error) {
    struct mpi_world *world = communicator->state;
    int there = 0;
    int size = 0;
    MPI_Status about;
    *from = -1;
    *bytes = 0;
    GW_TRY(free_sent(world, error));
    GW_TRY(check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, CONTROL_TAG, world->comm, &there, &about),
                     "MPI_Iprobe", error));
    if (!there) {
        return GW_OK;
    }
    MPI_Get_count(&about, MPI_BYTE, &size);
    if ((size_t)size > capacity) {
        return gw_fail(error, GW_FAILED, "expected a message of at most %zu bytes, got %d",
                       capacity, size);
    }
    *from = about.MPI_SOURCE;
    *bytes = (size_t)size;
    return check_mpi(MPI_Recv(message, size, MPI_BYTE, *from, CONTROL_TAG, world->comm, &about),
                     "MPI_Recv", error);
}

/* ---- joining and leaving ------------------------------------------------------------------- */

/* Ends the whole job, also for a communicator of a part of it. */
static void mpi_abort(struct gw_communicator *communicator, int status) {
    (void)communicator;
    gw_mpi_job_ends();
    MPI_Abort(MPI_COMM_WORLD, gw_mpi_exit_status(status));
}

static void mpi_close(struct gw_communicator *communicator) {
    struct mpi_world *world = communicator->state;
    bool ends_mpi = world->ends_mpi;
    while (world->sent != NULL) {
        struct sent_message *outgoing = world->sent;
        world->sent = outgoing->next;
        MPI_Wait(&outgoing->request, MPI_STATUS_IGNORE);
        free(outgoing);
    }
    MPI_Comm_free(&world->comm);
    free(world);
    if (ends_mpi) {
        MPI_Finalize();
    }
}

/* Sets has_links. Collective over the communicator. */
static enum gw_status find_links(struct mpi_world *world, struct gw_error *error) {
    MPI_Comm host;
    int ranks = 0;
    int ranks_here = 0;
    GW_TRY(
        check_mpi(MPI_Comm_split_type(world->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host),
                  "MPI_Comm_split_type", error));
    MPI_Comm_size(world->comm, &ranks);
    MPI_Comm_size(host, &ranks_here);
    MPI_Comm_free(&host);
    world->has_links = ranks_here < ranks;
    return GW_OK;
}

/*
 * Opens a communicator of the ranks of `ranks` with this `color`; `out` stays closed on the others.
 */
static enum gw_status split_ranks(MPI_Comm ranks, int color, bool ends_mpi,
                                  struct gw_communicator *out, struct gw_error *error) {
    struct mpi_world *world = malloc(sizeof *world);
    int lacks_memory = world == NULL;
    enum gw_status status =
        check_mpi(MPI_Allreduce(MPI_IN_PLACE, &lacks_memory, 1, MPI_INT, MPI_MAX, ranks),
                  "MPI_Allreduce", error);
    if (status == GW_OK && lacks_memory) {
        status = gw_fail_memory(error, "opening a communicator");
    }
    if (status != GW_OK || world == NULL) {
        free(world);
        return status;
    }
    *world = (struct mpi_world){.ends_mpi = ends_mpi};
    status = check_mpi(MPI_Comm_split(ranks, color, 0, &world->comm), "MPI_Comm_split", error);
    if (status != GW_OK || world->comm == MPI_COMM_NULL) {
        free(world);
        return status;
    }
    MPI_Comm_set_errhandler(world->comm, MPI_ERRORS_RETURN);
    status = find_links(world, error);
    if (status != GW_OK) {
        MPI_Comm_free(&world->comm);
        free(world);
        return status;
    }
    out->state = world;
    MPI_Comm_rank(world->comm, &out->rank);
    MPI_Comm_size(world->comm, &out->size);
    return GW_OK;
}

static enum gw_status mpi_open_first(struct gw_communicator *parent, int size,
                                     struct gw_communicator *out, struct gw_error *error) {
    *out = (struct gw_communicator){0};
    GW_TRY(gw_communicator_check_first(parent, size, error));
    int color = parent->rank < size ? 0 : MPI_UNDEFINED;
    GW_TRY(split_ranks(mpi_comm(parent), color, false, out, error));
    out->transport = out->state == NULL ? NULL : parent->transport;
    return GW_OK;
}

static const char *communicator_version(const struct gw_communicator *communicator) {
    (void)communicator;
    return gw_mpi_version();
}

static const struct gw_transport mpi_transport = {
    .name = "mpi",
    .version = communicator_version,
    .takes_gpu_memory = mpi_takes_gpu_memory,
    .collect = mpi_collect,
    .barrier = mpi_barrier,
    .start = mpi_start,
    .wait = mpi_wait,
    .test = mpi_test,
    .post = mpi_post,
    .poll = mpi_poll,
    .open_first = mpi_open_first,
    .abort = mpi_abort,
    .close = mpi_close,
};

/*
 * Fails if the launcher of another MPI library started the processes: then each finds only itself.
 */
static enum gw_status check_size(const struct gw_communicator *communicator,
                                 struct gw_error *error) {
    int announced = gw_mpi_announced_size();
    if (communicator->size > GW_MAX_RANKS) {
        return gw_fail(error, GW_BAD_INPUT, "expected a job of at most %d ranks, got %d",
                       GW_MAX_RANKS, communicator->size);
    }
    return communicator->size > 1 || announced <= 1
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "this process was started as one of %d, but MPI finds no other: expected "
                         "the launcher of %s",
                         announced, gw_mpi_version());
}

static enum gw_status open_world(int provided, bool ends_mpi, struct gw_communicator *out,
                                 struct gw_error *error) {
    if (provided < MPI_THREAD_SERIALIZED) {
        return gw_fail(error, GW_FAILED,
                       "MPI_Init_thread: expected MPI_THREAD_SERIALIZED or better, got level %d",
                       provided);
    }
    *out = (struct gw_communicator){.transport = &mpi_transport};
    return split_ranks(MPI_COMM_WORLD, 0, ends_mpi, out, error);
}

enum gw_status gw_communicator_open_mpi(struct gw_communicator *out, struct gw_error *error) {
    int provided = MPI_THREAD_MULTIPLE;
    int begun = 0;
    GW_TRY(gw_mpi_check_launcher(error));
    GW_TRY(check_mpi(MPI_Initialized(&begun), "MPI_Initialized", error));
    if (begun) {
        MPI_Query_thread(&provided);
        GW_TRY(
            provided >= MPI_THREAD_MULTIPLE
                ? GW_OK
                : gw_fail(error, GW_BAD_INPUT,
                          "MPI: expected it to have begun with MPI_THREAD_MULTIPLE, got level %d",
                          provided));
    } else {
        GW_TRY(check_mpi(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided),
                         "MPI_Init_thread", error));
    }
    enum gw_status status = open_world(provided, !begun, out, error);
    if (status != GW_OK) {
        if (!begun) {
            MPI_Finalize();
        }
        return status;
    }
    status = check_size(out, error);
    if (status != GW_OK) {
        mpi_close(out);
    }
    return status;
}

/* ---- the library --------------------------------------------------------------------------- */

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
