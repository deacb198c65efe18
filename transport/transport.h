/*
 * The communicator: collectives among the workers of a job, and messages between two of them. One
 * interface has several transports: MPI between processes (this header), and between GPUs (gpu.h).
 * calibrate times exactly these functions, and exec calls them.
 */
#ifndef GW_TRANSPORT_TRANSPORT_H
#define GW_TRANSPORT_TRANSPORT_H

#include "core/core.h"

struct gw_communicator;

enum { GW_MAX_RANKS = 65536 };

/* ---- the interface ------------------------------------------------------------------------- */

enum gw_collective_kind {
    GW_ALLGATHER,
    GW_ALLREDUCE,
    GW_BROADCAST,
    GW_GATHER,
    GW_SCATTER,
    GW_ALLTOALL
};

/* A collective of the data path; gw_allgather etc. define what each kind reads and writes. */
struct gw_collective_call {
    enum gw_collective_kind kind;
    int root;         /* for kinds that have one */
    const void *send; /* in a broadcast, the root reads `send` and the others write `receive` */
    void *receive;
    size_t bytes;             /* of a part, or of the whole vector that is summed or broadcast */
    enum gw_number_type type; /* of the numbers that are summed */
};

/* A message as one of its two ranks sees it. */
struct gw_message {
    int other; /* the receiving or sending rank */
    bool receives;
    void *data; /* only read, unless it is received */
    size_t bytes;
};

/* A message that was started and not yet waited for; its handle is the transport's. */
struct gw_request {
    uintptr_t handle;
    size_t bytes;
    bool receives;
};

struct gw_transport {
    const char *name;
    /* The library's name and version, "Open MPI 4.1.4"; NULL, or returns NULL: unknown. */
    const char *(*version)(const struct gw_communicator *communicator);
    /* True if data may be in memory of GPUs; NULL: false. */
    bool (*takes_gpu_memory)(void);

    /* Collectives of the data path. All ranks call them in the same order, from one thread at a
     * time. */
    enum gw_status (*collect)(struct gw_communicator *communicator,
                              const struct gw_collective_call *call, struct gw_error *error);
    enum gw_status (*barrier)(struct gw_communicator *communicator, struct gw_error *error);

    /*
     * Messages between two ranks, which only those two call for: one rank's messages to another
     * arrive in the order in which they were started. Starting returns at once; the data must stay
     * in place, and must not be changed (or read, if received), until wait() has returned. A
     * receive of another length than the message fails.
     */
    enum gw_status (*start)(struct gw_communicator *communicator, const struct gw_message *message,
                            struct gw_request *out, struct gw_error *error);
    /* A send may end before it is received; large ones may not, so callers must not rely on it. */
    enum gw_status (*wait)(struct gw_communicator *communicator, struct gw_request *requests,
                           size_t count, struct gw_error *error);
    /* Acts as wait() for a request that is done; otherwise sets *done to false. Only for memory of
     * the host. */
    enum gw_status (*test)(struct gw_communicator *communicator, struct gw_request *request,
                           bool *done, struct gw_error *error);

    /*
     * Control messages of some hundred bytes, apart from the data path; between the same two ranks
     * they keep their order. post copies a message and never waits. poll takes one of at most
     * `capacity` bytes; *from is -1 if there is none. Both NULL: the transport has no control
     * messages.
     */
    enum gw_status (*post)(struct gw_communicator *communicator, int to, const void *message,
                           size_t bytes, struct gw_error *error);
    enum gw_status (*poll)(struct gw_communicator *communicator, void *message, size_t capacity,
                           size_t *bytes, int *from, struct gw_error *error);

    /*
     * Called by all ranks of `parent`: opens a communicator of its ranks 0 .. size - 1, with the
     * parent's transport, and with messages and control messages of its own. On those ranks *out is
     * open, and must be closed before the parent; on the others out->transport is NULL.
     */
    enum gw_status (*open_first)(struct gw_communicator *parent, int size,
                                 struct gw_communicator *out, struct gw_error *error);

    /* Ends the whole job at once, with this exit status, for a rank that cannot go on. */
    void (*abort)(struct gw_communicator *communicator, int status);
    void (*close)(struct gw_communicator *communicator);
};

struct gw_communicator {
    const struct gw_transport *transport;
    int rank, size;
    void *state;
};

/* Fails unless the parent has at least `size` ranks; for open_first of transports. */
enum gw_status gw_communicator_check_first(const struct gw_communicator *parent, int size,
                                           struct gw_error *error);

static inline bool gw_takes_gpu_memory(const struct gw_communicator *communicator) {
    return communicator->transport->takes_gpu_memory != NULL &&
           communicator->transport->takes_gpu_memory();
}

/* ---- collectives --------------------------------------------------------------------------- */

/* receive[r * bytes ..] = rank r's `bytes` bytes, on every rank. */
enum gw_status gw_allgather(struct gw_communicator *communicator, const void *send, size_t bytes,
                            void *receive, struct gw_error *error);
/*
 * receive[i] = sum over ranks of send[i], the same bits on every rank. Each addition rounds to the
 * type: over MPI halves are added in floats and rounded to the nearest, a tie to the even one, in
 * each of the steps that the sum is made of; gloo and NCCL do alike.
 */
enum gw_status gw_allreduce(struct gw_communicator *communicator, enum gw_number_type type,
                            const void *send, void *receive, size_t count, struct gw_error *error);
/* data = the root's, on every rank. */
enum gw_status gw_broadcast(struct gw_communicator *communicator, int root, void *data,
                            size_t bytes, struct gw_error *error);
/* On the root receive[r * bytes ..] = rank r's `bytes` bytes; other ranks do not use `receive`. */
enum gw_status gw_gather(struct gw_communicator *communicator, int root, const void *send,
                         size_t bytes, void *receive, struct gw_error *error);
/* receive = the root's send[r * bytes ..] on rank r; other ranks do not use `send`. */
enum gw_status gw_scatter(struct gw_communicator *communicator, int root, const void *send,
                          size_t bytes, void *receive, struct gw_error *error);

/* receive[r * bytes ..] = rank r's send[own rank * bytes ..]. All parts have the same length: who
 * divides less than their sum fills up the last ones. */
enum gw_status gw_alltoall(struct gw_communicator *communicator, const void *send, size_t bytes,
                           void *receive, struct gw_error *error);

/* ---- messages ------------------------------------------------------------------------------ */

enum gw_status gw_start_send(struct gw_communicator *communicator, int to, const void *data,
                             size_t bytes, struct gw_request *out, struct gw_error *error);
enum gw_status gw_start_receive(struct gw_communicator *communicator, int from, void *data,
                                size_t bytes, struct gw_request *out, struct gw_error *error);

/* Start one message and wait for it. */
enum gw_status gw_send(struct gw_communicator *communicator, int to, const void *data, size_t bytes,
                       struct gw_error *error);
enum gw_status gw_receive(struct gw_communicator *communicator, int from, void *data, size_t bytes,
                          struct gw_error *error);

/* The size of a host's name; longer names are cut. */
enum { GW_HOST_SIZE = 64 };

/*
 * Counts the ranks of lower number on the same host; all ranks call it, and all fail if one fails.
 */
enum gw_status gw_find_local_rank(struct gw_communicator *ranks, size_t *out,
                                  struct gw_error *error);

/* Sets each value to its maximum over ranks, on every rank: for agreeing on measurements. */
enum gw_status gw_agree_maximum(struct gw_communicator *communicator, double *values, size_t count,
                                struct gw_error *error);

/*
 * Gathers `bytes` bytes of each rank on every rank: *out, of which the caller frees [ranks *
 * bytes]. On failure, of all ranks alike, *out is NULL; `what` is as for gw_fail_memory.
 */
enum gw_status gw_gather_all(struct gw_communicator *communicator, const void *own, size_t bytes,
                             const char *what, void **out, struct gw_error *error);

/* Combines the status of all ranks. If one failed, all return that failure; the lowest failing rank
 * keeps its own message in `error`, the others get "rank R: ..." with that rank's message. */
enum gw_status gw_agree_with_all(struct gw_communicator *communicator, enum gw_status status,
                                 struct gw_error *error);

/* The same, written so that analysers see that a failed rank never continues. */
static inline enum gw_status gw_agree(struct gw_communicator *communicator, enum gw_status status,
                                      struct gw_error *error) {
    enum gw_status agreed = gw_agree_with_all(communicator, status, error);
    return agreed == GW_OK ? status : agreed;
}

/*
 * Waits, polling once a millisecond, until another rank wakes this one; for ranks that are left out
 * while others measure. No other control message may be sent to them meanwhile. A wake-up that is
 * sent before the rank waits counts too.
 *
 * Over a transport without control messages only rank 0 wakes others, by a message: the rank waits
 * in its receive, and rank 0 may wait until it does.
 */
enum gw_status gw_rest_until_woken(struct gw_communicator *communicator, struct gw_error *error);

/* Wakes the ranks first .. size - 1. Over MPI the caller must then enter a collective with them,
 * which makes sure that the messages leave. */
enum gw_status gw_wake(struct gw_communicator *communicator, int first, struct gw_error *error);

/* ---- MPI (transport/mpi/; without MPI: GW_BAD_INPUT) ----------------------------------------- */

/* Joins the MPI job that this process was started in. */
enum gw_status gw_communicator_open_mpi(struct gw_communicator *out, struct gw_error *error);

/* True if a launcher started this process as a rank of a job, and the number of that rank (0 if the
 * launcher does not tell). Only opening a communicator shows whether MPI finds the other ranks. */
bool gw_mpi_is_inside_job(void);
int gw_mpi_job_rank(void);

/*
 * The exit status of a rank for `status`: the same, unless gw_launch_mpi started the rank. Then it
 * is another number, since mpirun's own failures exit with 1 as well, and gw_launch_mpi translates
 * it.
 */
int gw_mpi_exit_status(int status);

/*
 * Tell gw_launch_mpi, if it started this rank, that the rank has begun, and that it is about to end
 * the job, so that gw_launch_mpi does not wait without end. A rank that has begun ends when the
 * process that started it ends.
 */
void gw_mpi_rank_begins(void);
void gw_mpi_job_ends(void);

/* "Open MPI 4.1.4", or NULL in a build without MPI. */
const char *gw_mpi_version(void);

/* NCCL's version, "2.27.7", with a note if this machine lacks it; NULL in a build without it. */
const char *gw_nccl_version(void);

/* The settings of an MPI job of this very program. */
struct gw_launch {
    int ranks;
    const char *hostfile;   /* NULL: the hosts of the Slurm allocation, or this one */
    char *const *arguments; /* the program's, without its name, ended by NULL */
    int answer;             /* file descriptor that receives the job's stdout */
    double start_s;         /* maximum time until rank 0 has begun */
};

/*
 * Starts the job under mpirun, waits for it and returns its exit status: 0 to 3 if its ranks agreed
 * on one. Fails if the job could not be started within start_s, if a rank died (names it with its
 * host), and if the job was interrupted. A job that should end, and that mpirun does not end within
 * ten seconds because hosts cannot be reached, is abandoned.
 */
enum gw_status gw_launch_mpi(const struct gw_launch *launch, int *exit_status,
                             struct gw_error *error);

/* Called by a rank that is no worker, to wait while the workers work by themselves, and by the
 * workers, to end that wait. */
enum gw_status gw_rest_beside(struct gw_communicator *job, struct gw_error *error);
enum gw_status gw_wake_beside(struct gw_communicator *job, int workers, struct gw_error *error);

#endif
