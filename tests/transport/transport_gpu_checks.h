/* What every communicator for memory of GPUs is held to; after cmocka.h. */
#ifndef GW_TESTS_TRANSPORT_GPU_CHECKS_H
#define GW_TESTS_TRANSPORT_GPU_CHECKS_H

#include "tests/transport/transport_gpu_support.h"
#include "transport/staged/staged.h"

extern uint64_t gpu_seed;           /* the same on all ranks */
extern check *const gpu_promises[]; /* ended by NULL */

/* ---- what ranks send (transport_gpu_data.c) ------------------------------------------------ */

/* Of sizes; later ones are random. */
enum { GPU_ROUNDS = 7 };

/* What rank `rank` contributes in a round: bytes, or small integers whose sums are exact. */
unsigned char *gpu_bytes_of(uint64_t round, int rank, size_t bytes);
float *gpu_numbers_of(uint64_t round, int rank, size_t count);

/* Nothing, one byte, a stage that is just filled, two and a bit, and random sizes. */
size_t gpu_size_of(size_t stage, uint64_t round, size_t unit);

/* Of a stage, with a part for each rank. */
size_t gpu_part_size(const struct gw_communicator *communicator, uint64_t round);

/* ---- collectives (transport_gpu_collectives.c) --------------------------------------------- */

enum gathering { GATHER_EQUAL, GATHER_UNEQUAL, GATHER_TO_ROOT };

bool gpu_gathers(struct gw_communicator *communicator, enum gathering how, uint64_t round,
                 int root);

/* To all, or to a root; a negative one is none. */
bool gpu_sums(struct gw_communicator *communicator, uint64_t round, int root);

check gpu_collectives_are_right;

/* ---- messages (transport_gpu_messages.c) --------------------------------------------------- */

/* Around a ring, one at a time: each waits for the rank before it. */
check gpu_messages_go_around;

check gpu_messages_arrive;

#endif
