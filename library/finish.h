/* How errors leave the library; private to this room. */
#ifndef GW_LIBRARY_FINISH_H
#define GW_LIBRARY_FINISH_H

#include "core/core.h"
#include "library/gradweave.h"

/* Copies the message, if there is one and somewhere to put it; returns the status. */
enum gradweave_status gw_library_finish(enum gw_status status, const struct gw_error *from,
                                        struct gradweave_error *to);

#endif
