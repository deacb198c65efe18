/*
 * The communicator: collectives among the workers of a job, and messages between two of them. One
 * interface, several transports: MPI between processes (this header), and between GPUs (gpu.h).
 * calibrate times exactly these functions, and exec calls them.
 */
#ifndef GW_TRANSPORT_TRANSPORT_H
#define GW_TRANSPORT_TRANSPORT_H

#include "core/core.h"

struct gw_communicator;

enum { GW_MOST_RANKS = 65536 };

/* ---- the interface ------------------------------------------------------------------------- */

enum gw_collective_kind {
    GW_ALLGATHER,
    GW_ALLGATHER_UNEQUAL,
    GW_ALLREDUCE,
    GW_BROADCAST,
    GW_REDUCE,
    GW_GATHER,
    GW_SCATTER
};

/* A collective of the data path; what each kind reads and writes stands at gw_allgather etc. */
struct gw_collective_call {
    enum gw_collective_kind kind;
    int root;         /* of those that have one */
    const void *send; /* of a broadcast: what the root reads; `receive` is what the others write */
    void *receive;
    size_t bytes;        /* of a part, or of all that is summed or broadcast */
    const size_t *parts; /* GW_ALLGATHER_UNEQUAL: [size], in place of bytes */
};

/* A message as one of its two ranks sees it. */
struct gw_message {
    int other; /* whom it goes to or comes from */
    bool receives;
    void *data; /* which is only read unless it is received */
    size_t bytes;
};

/* A message that was started and not yet waited for; what it holds is the transport's. */
struct gw_request {
    uintptr_t handle;
    size_t bytes;
    bool receives;
};

struct gw_transport {
    const char *name;
    /* Of what it goes through: "Open MPI 4.1.4"; NULL, or returns NULL: nothing is known of it. */
    const char *(*version)(const struct gw_communicator *communicator);
    /* Whether memory of GPUs can stand for the host's; NULL: no. */
    bool (*takes_gpu_memory)(void);

    /*
     * Collectives of the data path. All ranks call them, in the
     * same order, from one thread at a time.
     */
    enum gw_status (*collect)(struct gw_communicator *communicator,
                              const struct gw_collective_call *call, struct gw_error *error);
    enum gw_status (*barrier)(struct gw_communicator *communicator, struct gw_error *error);

    /*
     * Messages between two ranks, which only those two call for: one rank's messages to another
     * arrive in the order in which they were started. Both return at once; the data must stay
     * where it is, unchanged or unread, until wait() has returned. A receive of another length
     * than the message's fails.
     */
    enum gw_status (*start)(struct gw_communicator *communicator, const struct gw_message *message,
                            struct gw_request *out, struct gw_error *error);
    /* A send may be over before it is received; with large messages, do not count on that. */
    enum gw_status (*wait)(struct gw_communicator *communicator, struct gw_request *requests,
                           size_t count, struct gw_error *error);
    /* wait() for one that is done; otherwise *done is false. Only for memory of the host. */
    enum gw_status (*test)(struct gw_communicator *communicator, struct gw_request *request,
                           bool *done, struct gw_error *error);

    /*
     * Control messages of some hundred bytes, beside the data path; between the same two ranks they
     * keep their order. post copies one and never waits. poll takes one of at most `capacity`
     * bytes, if one is there; otherwise *from is -1. Both NULL: it has none.
     */
    enum gw_status (*post)(struct gw_communicator *communicator, int to, const void *message,
                           size_t bytes, struct gw_error *error);
    enum gw_status (*poll)(struct gw_communicator *communicator, void *message, size_t capacity,
                           size_t *bytes, int *from, struct gw_error *error);

    /*
     * Called by all ranks of `parent`: a communicator of its ranks 0 .. size - 1, with the parent's
     * transport, and messages of both kinds of its own. On those *out is open, to be closed before
     * the parent; on the others out->transport is NULL.
     */
    enum gw_status (*open_first)(struct gw_communicator *parent, int size,
                                 struct gw_communicator *out, struct gw_error *error);

    /* Ends the whole job at once, with this exit status: for a rank that cannot go on. */
    void (*abort)(struct gw_communicator *communicator, int status);
    void (*close)(struct gw_communicator *communicator);
};

struct gw_communicator {
    const struct gw_transport *transport;
    int rank, size;
    void *state;
};

/* Whether the parent has such first ranks: for transports' open_first. */
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
/* receive[i] = sum over ranks of send[i], the same bits on every rank. */
enum gw_status gw_allreduce(struct gw_communicator *communicator, const float *send, float *receive,
                            size_t count, struct gw_error *error);
/* data = the root's, on every rank. */
enum gw_status gw_broadcast(struct gw_communicator *communicator, int root, void *data,
                            size_t bytes, struct gw_error *error);
/* On the root receive[r * bytes ..] = rank r's `bytes` bytes; elsewhere it is not looked at. */
enum gw_status gw_gather(struct gw_communicator *communicator, int root, const void *send,
                         size_t bytes, void *receive, struct gw_error *error);
/* receive = the root's send[r * bytes ..] on rank r; elsewhere `send` is not looked at. */
enum gw_status gw_scatter(struct gw_communicator *communicator, int root, const void *send,
                          size_t bytes, void *receive, struct gw_error *error);

/* ---- messages ------------------------------------------------------------------------------ */

enum gw_status gw_start_send(struct gw_communicator *communicator, int to, const void *data,
                             size_t bytes, struct gw_request *out, struct gw_error *error);
enum gw_status gw_start_receive(struct gw_communicator *communicator, int from, void *data,
                                size_t bytes, struct gw_request *out, struct gw_error *error);

/* One message, started and waited for. */
enum gw_status gw_send(struct gw_communicator *communicator, int to, const void *data, size_t bytes,
                       struct gw_error *error);
enum gw_status gw_receive(struct gw_communicator *communicator, int from, void *data, size_t bytes,
                          struct gw_error *error);

/* As gw_receive into memory of the host, off the core but for some looks in a millisecond. */
enum gw_status gw_receive_resting(struct gw_communicator *communicator, int from, void *data,
                                  size_t bytes, struct gw_error *error);

/* Room for a host's name; longer ones are cut. */
enum { GW_HOST_SIZE = 64 };

/* The name of the host that each rank is on, [size], on every rank: ranks with one name share a
 * node. */
enum gw_status gw_gather_hosts(struct gw_communicator *communicator, char (*hosts)[GW_HOST_SIZE],
                               struct gw_error *error);

/* How many ranks of lower number are on the same host; all ranks call it, and fail alike. */
enum gw_status gw_find_local_rank(struct gw_communicator *ranks, size_t *out,
                                  struct gw_error *error);

/* The maximum over ranks of each value, in place, on every rank: for agreeing on measurements. */
enum gw_status gw_agree_maximum(struct gw_communicator *communicator, double *values, size_t count,
                                struct gw_error *error);

/*
 * All ranks say how they fared. If one failed, all return that failure; the lowest failing rank
 * keeps its own message in `error`, the others get "rank R: ..." with that rank's message.
 */
enum gw_status gw_agree_with_all(struct gw_communicator *communicator, enum gw_status status,
                                 struct gw_error *error);

/* The same. Who failed never goes on: said here, where analysers see it. */
static inline enum gw_status gw_agree(struct gw_communicator *communicator, enum gw_status status,
                                      struct gw_error *error) {
    enum gw_status agreed = gw_agree_with_all(communicator, status, error);
    return agreed == GW_OK ? status : agreed;
}

/*
 * Rests, off the core but for a look each millisecond, until some rank wakes this one; for ranks
 * that are left out while others measure. No other control message may be sent to them meanwhile. A
 * call may come before its rank rests, and counts then.
 *
 * A transport without control messages has rank 0 alone wake others, by a message: then a rank
 * rests in its receive, and who wakes it may wait until it rests.
 */
enum gw_status gw_rest_until_woken(struct gw_communicator *communicator, struct gw_error *error);

/*
 * Wakes the ranks first .. size - 1. Over MPI the caller must go on to a collective with them:
 * that is what sends the calls off for sure.
 */
enum gw_status gw_wake(struct gw_communicator *communicator, int first, struct gw_error *error);

/* ---- MPI (transport/mpi/; without MPI: GW_BAD_INPUT) ----------------------------------------- */

/* Joins the MPI job that this process was started in. */
enum gw_status gw_communicator_open_mpi(struct gw_communicator *out, struct gw_error *error);

/*
 * Whether a launcher started this process as a rank of a job, and as which (0 if that is not said).
 * Whether MPI finds the other ranks, opening a communicator shows.
 */
bool gw_mpi_is_inside_job(void);
int gw_mpi_job_rank(void);

/*
 * What a rank exits with to say `status`: the same, unless gw_launch_mpi started it. mpirun's own
 * failures are 1 as well, so those ranks say theirs otherwise, and gw_launch_mpi translates.
 */
int gw_mpi_exit_status(int status);

/*
 * What a rank does first, and before it ends the job by itself: tells gw_launch_mpi, if that
 * started it, so that neither is waited for without end. A rank that has begun ends with the
 * process that started it.
 */
void gw_mpi_rank_begins(void);
void gw_mpi_job_ends(void);

/* "Open MPI 4.1.4", or NULL in a build without MPI. */
const char *gw_mpi_version(void);

/* NCCL's version, "2.27.7", and whether this machine lacks it; NULL in a build without it. */
const char *gw_nccl_version(void);

/* How to start an MPI job of this very program. */
struct gw_launch {
    int ranks;
    const char *hostfile;   /* NULL: on the hosts of the Slurm allocation, or on this one */
    char *const *arguments; /* the program's, without its name, ended by NULL */
    int answer;             /* the descriptor that what it prints on stdout goes to */
    double start_s;         /* until rank 0 has begun */
};

/*
 * Starts the job under mpirun, waits for it and returns the exit status it ended with: 0 to 3 if
 * its ranks agreed on one. Fails if it could not be started, which may take start_s, if a rank
 * died, which it names with its host, or if it was interrupted. A job that was to end, and that
 * mpirun has not ended within ten seconds, as hosts cannot be reached, is left.
 */
enum gw_status gw_launch_mpi(const struct gw_launch *launch, int *exit_status,
                             struct gw_error *error);

/* What a rank that is no worker waits for while the first ones are by themselves, and its end. */
enum gw_status gw_rest_beside(struct gw_communicator *job, struct gw_error *error);
enum gw_status gw_wake_beside(struct gw_communicator *job, int workers, struct gw_error *error);

#endif
