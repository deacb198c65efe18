/* How what ranks say of themselves becomes provenance; private to this room. */
#ifndef GW_CALIBRATE_PROVENANCE_H
#define GW_CALIBRATE_PROVENANCE_H

#include "calibrate/hosts/gathered.h"
#include "calibrate/hosts/host_list.h"

/*
 * Puts "hosts" (names, in the order of their first ranks), "nodes" (descriptions; those that are
 * alike share one, with their names as "hosts") and "ranks" into `source`. Each rank's text is
 * {"rank": {"rank", "host", ...}, "node": {...}}.
 */
enum gw_status gw_put_hosts(const struct gw_gathered *gathered, const struct gw_host_list *list,
                            int size, cJSON *source, struct gw_error *error);

#endif
