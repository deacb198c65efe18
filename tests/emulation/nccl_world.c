#include "nccl_world.h"

#include <stdio.h>
#include <string.h>

pthread_mutex_t nccl_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t nccl_changed = PTHREAD_COND_INITIALIZER;

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

static void sum(struct operation *const *all, int size, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float total = 0;
        for (int rank = 0; rank < size; rank++) {
            total += ((const float *)all[rank]->send)[i];
        }
        for (int rank = 0; rank < size; rank++) {
            ((float *)all[rank]->receive)[i] = total;
        }
    }
}

static void do_together(struct operation *const *all, int size) {
    size_t bytes = all[0]->bytes;
    int root = all[0]->other;
    if (all[0]->what == ALL_REDUCE) {
        sum(all, size, bytes / sizeof(float));
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
               all[rank]->other == all[0]->other;
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

/* ---- all ----------------------------------------------------------------------------------- */

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

void nccl_advance(struct world *world) {
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
