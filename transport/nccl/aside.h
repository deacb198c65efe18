/*
 * Calls of NCCL's that wait for other ranks, without end if one is lost: each has a thread of its
 * own, which is left behind if it must be. Private to transport/.
 */
#ifndef GW_TRANSPORT_NCCL_ASIDE_H
#define GW_TRANSPORT_NCCL_ASIDE_H

#include <stdbool.h>

#include "core/core.h"

struct gw_nccl_aside;

/*
 * Has call(context) made on another thread, for this thread's GPU; if it is left behind, also
 * dispose(context) afterwards.
 */
enum gw_status gw_nccl_aside_start(struct gw_nccl_aside **out, void (*call)(void *context),
                                   void (*dispose)(void *context), void *context,
                                   struct gw_error *error);

bool gw_nccl_aside_is_done(struct gw_nccl_aside *aside);

/* Whether the call is done, and the context the caller's again; otherwise it is left behind. */
bool gw_nccl_aside_end(struct gw_nccl_aside *aside);

#endif
