/*
 * Detection of lost ranks. MPI waits without end for a process that is stopped and for a host that
 * is lost. So each rank queries the next one once a second, by datagrams (UDP over IPv4) from a
 * thread of its own, which also answers the previous rank.
 */
#ifndef GW_TRANSPORT_WATCH_H
#define GW_TRANSPORT_WATCH_H

#include "transport/transport.h"

enum { GW_WATCH_HOST_SIZE = 64 };

/* ---- alarms before ranks are connected ------------------------------------------------------- */

struct gw_alarm;

/* Calls `late`, from a thread of its own, unless the alarm is closed within so many seconds: MPI
 * waits without end for a process that is stopped before it has begun. Not collective. */
enum gw_status gw_alarm_open(double seconds, void (*late)(void *context, double seconds),
                             void *context, struct gw_alarm **out, struct gw_error *error);
void gw_alarm_close(struct gw_alarm *alarm);

/* ---- the watch ------------------------------------------------------------------------------ */

/* Called from the watch's thread, at most once. */
typedef void gw_lost(void *context, int rank, const char *host, double silent_s);

struct gw_watch;

/*
 * Collective. Calls `lost` when the next rank, which has once answered, has left queries without an
 * answer for timeout_s; a rank whose datagrams a firewall drops is not watched. Waits up to two
 * seconds for first answers. A job of one rank has no watch (*out is NULL).
 */
enum gw_status gw_watch_open(struct gw_communicator *communicator, double timeout_s, gw_lost *lost,
                             void *context, struct gw_watch **out, struct gw_error *error);

/* Stops answering: call it when all ranks are done. NULL is no watch. */
void gw_watch_close(struct gw_watch *watch);

#endif
