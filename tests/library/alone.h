/* Ranks and inputs of the tests of trainers: a network of three tensors, and a rank that is alone
 * or, inside an MPI job, its processes. */
#ifndef GW_TESTS_LIBRARY_ALONE_H
#define GW_TESTS_LIBRARY_ALONE_H

#include <stdlib.h>
#include <string.h>

#include "tests/library/library_support.h"

enum { LAYERS = 3, MOST_LAYER = 500, ELEMENTS = 820 };
static const uint64_t layers[LAYERS] = {500, 20, 300};

static int sum_alone(void *context, int type, const void *send, void *receive, size_t count) {
    memcpy(receive, send, count * (type == GRADWEAVE_FLOAT ? sizeof(float) : sizeof(uint16_t)));
    return context != NULL;
}

static int gather_alone(void *context, const void *send, size_t bytes, void *receive) {
    memcpy(receive, send, bytes);
    return context != NULL;
}

static int broadcast_alone(void *context, int root, void *data, size_t bytes) {
    return context != NULL || root != 0 || data == NULL || bytes == 0;
}

static int open_first_alone(void *context, int size, void **part) {
    return context != NULL || size != 1 || *part != NULL;
}

static const struct gradweave_process_group alone_group = {.size = 1,
                                                           .allreduce = sum_alone,
                                                           .allgather = gather_alone,
                                                           .broadcast = broadcast_alone,
                                                           .alltoall = gather_alone,
                                                           .open_first = open_first_alone};

static struct gradweave_ranks *ranks; /* of all tests: MPI is left once */

static int join_ranks(void **state) {
    (void)state;
    return (getenv("OMPI_COMM_WORLD_SIZE") != NULL
                ? gradweave_join_mpi(&ranks, &error)
                : gradweave_join_group(&alone_group, &ranks, &error)) == GRADWEAVE_OK
               ? 0
               : -1;
}

static int leave_ranks(void **state) {
    (void)state;
    gradweave_leave(ranks);
    return 0;
}
FIXTURES(join_ranks, leave_ranks)

#endif
