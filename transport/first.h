/* What all transports ask of a communicator of the first ranks; private to transport/. */
#ifndef GW_TRANSPORT_FIRST_H
#define GW_TRANSPORT_FIRST_H

#include "transport/transport.h"

static inline enum gw_status gw_check_first(const struct gw_communicator *parent, int size,
                                            struct gw_error *error) {
    return size >= 1 && size <= parent->size
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "a communicator of the first ranks: expected 1 to %d of them, got %d",
                         parent->size, size);
}

#endif
