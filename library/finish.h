/* How errors leave the library; private to this room. */
#ifndef GW_LIBRARY_FINISH_H
#define GW_LIBRARY_FINISH_H

#include <stdio.h>

#include "core/core.h"
#include "library/gradweave.h"

/* Copies the message, if there is one and somewhere to put it; returns the status. */
static inline enum gradweave_status
gw_library_finish(enum gw_status status, const struct gw_error *from, struct gradweave_error *to) {
    if (status != GW_OK && to != NULL) {
        snprintf(to->message, sizeof to->message, "%s", from->message);
    }
    return (enum gradweave_status)status;
}

#endif
