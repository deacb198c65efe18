/* What every communicator for memory of GPUs is held to; after cmocka.h. */
#ifndef GW_TESTS_TRANSPORT_GPU_CHECKS_H
#define GW_TESTS_TRANSPORT_GPU_CHECKS_H

#include "tests/transport_gpu_support.h"

extern uint64_t gpu_seed;           /* the same on all ranks */
extern check *const gpu_promises[]; /* ended by NULL */

#endif
