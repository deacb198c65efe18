/* A transport between threads of one process, as which tests run the ranks of a job. */
#ifndef GW_TESTS_LOCAL_TRANSPORT_H
#define GW_TESTS_LOCAL_TRANSPORT_H

#include "transport/transport.h"

/* Makes the communicators of `size` ranks; each is used by one thread. Close all of them. */
enum gw_status gw_communicators_open_local(int size, struct gw_communicator *out,
                                           struct gw_error *error);

/*
 * A job of `size` ranks: calls `run` on a thread for each, with its communicator, which is closed
 * afterwards, and its context, one of `each` bytes in `contexts`. Ends the program if it cannot.
 */
void run_local_ranks(int size, void (*run)(struct gw_communicator *communicator, void *context),
                     void *contexts, size_t each);

#endif
