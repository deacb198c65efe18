#include <nccl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/halves.h"

enum { MOST_RANKS = 64 };

enum what { ALL_GATHER, ALL_REDUCE, BROADCAST, SEND, RECEIVE };

struct operation {
    enum what what;
    const char *send;
    char *receive;
    size_t bytes;
    ncclDataType_t type;
    int other; /* the root, or the message's other rank */
    bool done;
};

/* The operations that one rank has started together. */
struct group {
    struct operation *operations;
    size_t count, capacity;
};

struct world {
    struct world *next;
    char id[128];
    int size, joined, open;
    struct ncclComm *ranks[MOST_RANKS];
};

struct ncclComm {
    struct world *world;
    int rank;
    struct group group;                 /* under way */
    unsigned long begun, reached, done; /* groups: by the host, by the stream; and through */
    int waiting;                        /* so many are on streams still */
    bool aborted;
    ncclResult_t state;
    char text[160];
};

static pthread_mutex_t nccl_mutex = PTHREAD_MUTEX_INITIALIZER; /* of all of this */
static pthread_cond_t nccl_changed = PTHREAD_COND_INITIALIZER;
static struct world *worlds;
static const char *_Atomic refusal = ""; /* why a rank could not join */

/* Whether its group may be worked on: the stream waits for it. */
static bool is_started(const struct ncclComm *comm) {
    return comm->state == ncclInProgress && comm->reached == comm->begun;
}

static struct operation *first_left(struct ncclComm *comm) {
    for (size_t i = 0; i < comm->group.count; i++) {
        if (!comm->group.operations[i].done) {
            return &comm->group.operations[i];
        }
    }
    return NULL;
}

/* ---- collectives --------------------------------------------------------------------------- */

static float number_at(const void *numbers, size_t i, ncclDataType_t type) {
    return type == ncclFloat     ? ((const float *)numbers)[i]
           : type == ncclFloat16 ? gw_fp16_value(((const uint16_t *)numbers)[i])
                                 : gw_bf16_value(((const uint16_t *)numbers)[i]);
}

static void set_number(void *numbers, size_t i, ncclDataType_t type, float value) {
    if (type == ncclFloat) {
        ((float *)numbers)[i] = value;
    } else {
        ((uint16_t *)numbers)[i] = type == ncclFloat16 ? gw_fp16_of(value) : gw_bf16_of(value);
    }
}

/* Rounds to the type in each step, as along NCCL's rings. */
static void sum(struct operation *const *all, int size, size_t count) {
    ncclDataType_t type = all[0]->type;
    for (size_t i = 0; i < count; i++) {
        set_number(all[0]->receive, i, type, number_at(all[0]->send, i, type));
        for (int rank = 1; rank < size; rank++) {
            float total = number_at(all[0]->receive, i, type) + number_at(all[rank]->send, i, type);
            set_number(all[0]->receive, i, type, total);
        }
    }
    for (int rank = 1; rank < size; rank++) {
        memmove(all[rank]->receive, all[0]->receive, all[0]->bytes);
    }
}

static size_t bytes_of(ncclDataType_t type) {
    return type == ncclChar ? 1 : type == ncclFloat ? sizeof(float) : sizeof(uint16_t);
}

static void do_together(struct operation *const *all, int size) {
    size_t bytes = all[0]->bytes;
    int root = all[0]->other;
    if (all[0]->what == ALL_REDUCE) {
        sum(all, size, bytes / bytes_of(all[0]->type));
    }
    for (int to = 0; to < size; to++) {
        for (int from = 0; from < size && all[0]->what == ALL_GATHER; from++) {
            memmove(all[to]->receive + (size_t)from * bytes, all[from]->send, bytes);
        }
        if (all[0]->what == BROADCAST) {
            memmove(all[to]->receive, all[root]->send, bytes);
        }
        all[to]->done = true;
    }
}

static bool fail_different(struct world *world, struct operation *const *all) {
    bool same = true;
    for (int rank = 1; rank < world->size; rank++) {
        same = same && all[rank]->what == all[0]->what && all[rank]->bytes == all[0]->bytes &&
               all[rank]->type == all[0]->type && all[rank]->other == all[0]->other;
    }
    for (int rank = 0; rank < world->size && !same; rank++) {
        struct ncclComm *comm = world->ranks[rank];
        comm->state = ncclInvalidUsage;
        (void)snprintf(comm->text, sizeof comm->text, "the ranks call for different collectives");
    }
    return !same;
}

/* Once all ranks have come to one. */
static void advance_collective(struct world *world) {
    struct operation *all[MOST_RANKS] = {NULL};
    for (int rank = 0; rank < world->size; rank++) {
        struct ncclComm *comm = world->ranks[rank];
        all[rank] = comm != NULL && is_started(comm) ? first_left(comm) : NULL;
        if (all[rank] == NULL || all[rank]->what == SEND || all[rank]->what == RECEIVE) {
            return;
        }
    }
    if (!fail_different(world, all)) {
        do_together(all, world->size);
    }
}

/* ---- messages ------------------------------------------------------------------------------ */

static struct operation *first_message(struct ncclComm *comm, enum what what, int other) {
    for (size_t i = 0; i < comm->group.count && is_started(comm); i++) {
        struct operation *one = &comm->group.operations[i];
        if (!one->done && one->what == what && one->other == other) {
            return one;
        }
    }
    return NULL;
}

/* A message of another length than expected is never done, as between GPUs. */
static void advance_messages(struct world *world, int from, int to) {
    while (true) {
        struct operation *sent = first_message(world->ranks[from], SEND, to);
        struct operation *expected = first_message(world->ranks[to], RECEIVE, from);
        if (sent == NULL || expected == NULL || sent->bytes != expected->bytes) {
            return;
        }
        memmove(expected->receive, sent->send, sent->bytes);
        sent->done = expected->done = true;
    }
}

static void settle(struct ncclComm *comm) {
    if (comm->state != ncclInProgress) {
        return;
    }
    if (first_left(comm) == NULL) {
        comm->group.count = 0;
        comm->state = ncclSuccess;
        comm->done = comm->begun;
    }
}

/* Does what can be done now; called with the mutex. */
static void nccl_advance(struct world *world) {
    if (world->joined < world->size) {
        return;
    }
    advance_collective(world);
    for (int from = 0; from < world->size; from++) {
        for (int to = 0; to < world->size; to++) {
            if (world->ranks[from] != NULL && world->ranks[to] != NULL) {
                advance_messages(world, from, to);
            }
        }
    }
    for (int rank = 0; rank < world->size; rank++) {
        if (world->ranks[rank] != NULL) {
            settle(world->ranks[rank]);
        }
    }
    (void)pthread_cond_broadcast(&nccl_changed);
}

/* ---- the library ---------------------------------------------------------------------------- */

ncclResult_t ncclGetVersion(int *version) {
    *version = NCCL_MAJOR * 10000 + NCCL_MINOR * 100 + NCCL_PATCH;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
    static const char *const texts[] = {"no error",
                                        "unhandled cuda error",
                                        "unhandled system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error",
                                        "NCCL operation in progress"};
    return texts[result];
}

const char *ncclGetLastError(ncclComm_t comm) {
    return comm == NULL ? refusal : comm->text;
}

/* ---- communicators ------------------------------------------------------------------------- */

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
    static unsigned long made;
    pthread_mutex_lock(&nccl_mutex);
    memset(id, 0, sizeof *id);
    (void)snprintf(id->internal, sizeof id->internal, "%ld %lu", (long)getpid(), ++made);
    pthread_mutex_unlock(&nccl_mutex);
    return ncclSuccess;
}

static struct world *find_world(const ncclUniqueId *id, int size) {
    struct world *world = worlds;
    while (world != NULL && memcmp(world->id, id->internal, sizeof world->id) != 0) {
        world = world->next;
    }
    if (world == NULL && (world = calloc(1, sizeof *world)) != NULL) {
        memcpy(world->id, id->internal, sizeof world->id);
        world->size = size;
        world->next = worlds;
        worlds = world;
    }
    return world;
}

static bool can_join(const ncclUniqueId *id, int size, int rank) {
    bool own = strtol(id->internal, NULL, 10) == (long)getpid();
    refusal = own ? "" : "emulated, NCCL works between threads of one process";
    return own && size >= 1 && size <= MOST_RANKS && rank >= 0 && rank < size;
}

static void wait_for_all(struct world *world) {
    const char *blocking = getenv("NCCL_COMM_BLOCKING");
    bool all = blocking == NULL || strcmp(blocking, "1") != 0;
    while (!all) {
        (void)usleep(1000);
        pthread_mutex_lock(&nccl_mutex);
        all = world->joined == world->size;
        pthread_mutex_unlock(&nccl_mutex);
    }
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int size, ncclUniqueId id, int rank) {
    *comm = NULL;
    if (!can_join(&id, size, rank)) {
        return ncclInvalidArgument;
    }
    struct ncclComm *made = calloc(1, sizeof *made);
    pthread_mutex_lock(&nccl_mutex);
    struct world *world = find_world(&id, size);
    bool good = made != NULL && world != NULL && world->size == size && world->ranks[rank] == NULL;
    if (good) {
        *made = (struct ncclComm){.world = world, .rank = rank, .state = ncclInProgress};
        world->ranks[rank] = made;
        world->joined++;
        world->open++;
        *comm = made;
    }
    pthread_mutex_unlock(&nccl_mutex);
    if (!good) {
        free(made);
        return ncclInvalidUsage;
    }
    wait_for_all(world);
    return ncclInProgress;
}

static void leave(ncclComm_t comm) {
    struct world *world = comm->world;
    pthread_mutex_lock(&nccl_mutex);
    comm->aborted = true;
    (void)pthread_cond_broadcast(&nccl_changed);
    while (comm->waiting > 0) {
        (void)pthread_cond_wait(&nccl_changed, &nccl_mutex);
    }
    world->ranks[comm->rank] = NULL;
    if (--world->open == 0) {
        struct world **place = &worlds;
        while (*place != world) {
            place = &(*place)->next;
        }
        *place = world->next;
        free(world);
    }
    pthread_mutex_unlock(&nccl_mutex);
    free(comm->group.operations);
    free(comm);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    return comm->state == ncclSuccess ? ncclSuccess : ncclInvalidUsage;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    leave(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
    leave(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result) {
    pthread_mutex_lock(&nccl_mutex);
    nccl_advance(comm->world);
    *result = comm->state;
    pthread_mutex_unlock(&nccl_mutex);
    return ncclSuccess;
}

/* ---- groups -------------------------------------------------------------------------------- */

/* The group that this thread collects, of one communicator. */
static _Thread_local int depth;
static _Thread_local ncclComm_t group_comm;
static _Thread_local cudaStream_t group_stream;
static _Thread_local struct group collected;
static _Thread_local ncclResult_t worst;

/* On its stream: lets other ranks have the group, and waits until it is done. */
static void take_part(void *context) {
    struct ncclComm *comm = context;
    pthread_mutex_lock(&nccl_mutex);
    unsigned long own = ++comm->reached;
    nccl_advance(comm->world);
    while (comm->done < own && comm->state == ncclInProgress && !comm->aborted) {
        (void)pthread_cond_wait(&nccl_changed, &nccl_mutex);
    }
    comm->waiting--;
    (void)pthread_cond_broadcast(&nccl_changed);
    pthread_mutex_unlock(&nccl_mutex);
}

static ncclResult_t begin(ncclComm_t comm) {
    if (comm->state != ncclSuccess) {
        (void)snprintf(comm->text, sizeof comm->text, "another group is under way");
        return ncclInvalidUsage;
    }
    free(comm->group.operations);
    comm->group = collected;
    collected = (struct group){0};
    comm->state = ncclInProgress;
    comm->begun++;
    comm->waiting++;
    if (cudaLaunchHostFunc(group_stream, take_part, comm) != cudaSuccess) {
        comm->waiting--;
        return comm->state = ncclSystemError;
    }
    return ncclInProgress;
}

static ncclResult_t begin_collected(void) {
    ncclResult_t result = worst;
    pthread_mutex_lock(&nccl_mutex);
    if (result == ncclSuccess && group_comm != NULL) {
        result = begin(group_comm);
    }
    pthread_mutex_unlock(&nccl_mutex);
    free(collected.operations);
    collected = (struct group){0};
    group_comm = NULL;
    worst = ncclSuccess;
    return result;
}

ncclResult_t ncclGroupStart(void) {
    depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) {
    if (depth == 0) {
        return ncclInvalidUsage;
    }
    return --depth == 0 ? begin_collected() : ncclSuccess;
}

static ncclResult_t collect(ncclComm_t comm, cudaStream_t stream,
                            const struct operation *operation) {
    if (group_comm != NULL && (group_comm != comm || group_stream != stream)) {
        return ncclInvalidUsage;
    }
    if (collected.count == collected.capacity) {
        size_t capacity = 2 * collected.capacity + 4;
        struct operation *grown = realloc(collected.operations, capacity * sizeof *grown);
        if (grown == NULL) {
            return ncclSystemError;
        }
        collected.operations = grown;
        collected.capacity = capacity;
    }
    group_comm = comm;
    group_stream = stream;
    collected.operations[collected.count++] = *operation;
    return ncclSuccess;
}

/* Outside of a group, one by itself. */
static ncclResult_t add(ncclComm_t comm, ncclDataType_t type, cudaStream_t stream,
                        struct operation operation) {
    bool good = comm != NULL && stream != NULL && operation.other >= 0 &&
                operation.other < comm->world->size;
    operation.bytes *= bytes_of(type);
    operation.type = type;
    (void)ncclGroupStart();
    ncclResult_t result = good ? collect(comm, stream, &operation) : ncclInvalidArgument;
    worst = worst == ncclSuccess ? result : worst;
    ncclResult_t ended = ncclGroupEnd();
    return result == ncclSuccess ? ended : result;
}

ncclResult_t ncclAllGather(const void *send, void *receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
    return add(
        comm, type, stream,
        (struct operation){.what = ALL_GATHER, .send = send, .receive = receive, .bytes = count});
}

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
    return operation != ncclSum || type == ncclChar
               ? ncclInvalidArgument
               : add(comm, type, stream,
                     (struct operation){
                         .what = ALL_REDUCE, .send = send, .receive = receive, .bytes = count});
}

ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
    return add(
        comm, type, stream,
        (struct operation){
            .what = BROADCAST, .send = send, .receive = receive, .bytes = count, .other = root});
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t stream) {
    return add(comm, type, stream,
               (struct operation){.what = SEND, .send = send, .bytes = count, .other = to});
}

ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t stream) {
    return add(
        comm, type, stream,
        (struct operation){.what = RECEIVE, .receive = receive, .bytes = count, .other = from});
}
