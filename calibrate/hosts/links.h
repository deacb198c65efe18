/* How fast the links between hosts are; private to this room. */
#ifndef GW_CALIBRATE_LINKS_H
#define GW_CALIBRATE_LINKS_H

#include "calibrate/hosts/host_list.h"
#include "calibrate/hosts/warnings.h"

/*
 * The links from each host to the next one and back, the last one's next being the first: rates[2
 * h] from host h, rates[2 h + 1] back; of two hosts there are 2, of one none. The same on every
 * rank.
 */
size_t gw_link_count(const struct gw_host_list *list);
enum gw_status gw_time_links(struct gw_communicator *communicator, const struct gw_host_list *list,
                             struct gw_link_rate *rates, struct gw_error *error);

#endif
