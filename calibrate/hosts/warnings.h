/* What makes a calibration doubtful, in words that say what to do about it; private to this room.
 */
#ifndef GW_CALIBRATE_WARNINGS_H
#define GW_CALIBRATE_WARNINGS_H

#include "transport/transport.h"

/* Appends to "warnings" of the cluster's source, once each. */
enum gw_status gw_put_warning(cJSON *source, struct gw_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* From "nodes" and "ranks" (provenance.h): clock rates that vary, cores with several ranks. */
enum gw_status gw_warn_of_nodes(cJSON *source, struct gw_error *error);

/* What fixed work took on a host, in seconds; of its first rank where not said otherwise. */
struct gw_host_times {
    double compute_s, memory_s;           /* medians, with the other ranks asleep */
    double compute_low_s, compute_high_s; /* quartiles */
    double together_s;   /* compute's mean while all ranks do it: the slowest rank's */
    double clock_s;      /* reading the clock: the slowest rank's */
    double clock_step_s; /* smallest step of the clock; below 0: it went back */
};

/* Hosts that are slower than the median one, or unsteady, or whose ranks or clocks hinder. */
enum gw_status gw_warn_of_times(const struct gw_host_times *times, char (*hosts)[GW_HOST_SIZE],
                                size_t count, cJSON *source, struct gw_error *error);

/* One direction between two hosts. */
struct gw_link_rate {
    const char *from, *to;
    double bytes_per_s;
};

/* Links that carry less than the median one. */
enum gw_status gw_warn_of_links(const struct gw_link_rate *links, size_t count, cJSON *source,
                                struct gw_error *error);

#endif
