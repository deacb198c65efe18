/*
 * Whether the other ranks of a job are still there. MPI waits without end for a process that is
 * stopped and for a host that is lost; so each rank asks the next one once a second, by datagrams
 * (UDP over IPv4) and in a thread of its own, which answers the rank before as well.
 */
#ifndef GW_TRANSPORT_WATCH_H
#define GW_TRANSPORT_WATCH_H

#include "transport/transport.h"

enum { GW_WATCH_HOST_SIZE = 64 };

/* ---- before ranks know each other ------------------------------------------------------------ */

struct gw_alarm;

/*
 * Calls `late`, from a thread of its own, unless it is closed within so many seconds: MPI waits
 * without end for a process that is stopped before it has begun. Not collective.
 */
enum gw_status gw_alarm_open(double seconds, void (*late)(void *context, double seconds),
                             void *context, struct gw_alarm **out, struct gw_error *error);
void gw_alarm_close(struct gw_alarm *alarm);

/* ---- from then on ---------------------------------------------------------------------------- */

/* Called from the watch's thread, at most once. */
typedef void gw_lost(void *context, int rank, const char *host, double silent_s);

struct gw_watch;

/*
 * Collective. `lost` is called once the next rank has not answered for timeout_s, if it ever has:
 * where a firewall swallows datagrams nobody is watched. Two seconds are waited for first answers.
 * A job of one rank has none (*out is NULL).
 */
enum gw_status gw_watch_open(struct gw_communicator *communicator, double timeout_s, gw_lost *lost,
                             void *context, struct gw_watch **out, struct gw_error *error);

/* This rank answers no more: to be called when all ranks are done. NULL is no watch. */
void gw_watch_close(struct gw_watch *watch);

#endif
