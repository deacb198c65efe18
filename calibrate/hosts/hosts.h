/*
 * How fast hosts are beside each other, in a second or two: not for predictions, but to find those
 * that are unlike the others; private to this room.
 */
#ifndef GW_CALIBRATE_HOSTS_H
#define GW_CALIBRATE_HOSTS_H

#include "calibrate/hosts/host_list.h"
#include "calibrate/hosts/warnings.h"
#include "calibrate/measure/measurement.h"

/* Fixed work of about a millisecond (compute) and a few (memory). */
struct gw_host_work {
    gw_action *compute, *memory;
    void *context;
};

/* All ranks at once, then the first rank of each host while the others sleep. The same on every
 * rank: times[h] of host h. */
enum gw_status gw_time_hosts(struct gw_communicator *communicator, const struct gw_host_list *list,
                             const struct gw_host_work *work, struct gw_host_times *times,
                             struct gw_error *error);

#endif
