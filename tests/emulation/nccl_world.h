/* Current operations of ranks of the emulated NCCL. */
#ifndef GW_EMULATION_NCCL_WORLD_H
#define GW_EMULATION_NCCL_WORLD_H

#include <nccl.h>
#include <pthread.h>
#include <stdbool.h>

enum { MOST_RANKS = 64 };

enum what { ALL_GATHER, ALL_REDUCE, BROADCAST, SEND, RECEIVE };

struct operation {
    enum what what;
    const char *send;
    char *receive;
    size_t bytes;
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

extern pthread_mutex_t nccl_mutex; /* of all of this */
extern pthread_cond_t nccl_changed;

/* Does what can be done now; called with the mutex. */
void nccl_advance(struct world *world);

#endif
