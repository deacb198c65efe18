/* A transport between threads of one process, as which tests run the ranks of a job. */
#ifndef GW_TESTS_LOCAL_TRANSPORT_H
#define GW_TESTS_LOCAL_TRANSPORT_H

#include "transport/transport.h"

/* Makes the communicators of `size` ranks; each is used by one thread. Close all of them. */
enum gw_status gw_communicators_open_local(int size, struct gw_communicator *out,
                                           struct gw_error *error);

#endif
