/* Sets of processors, as Linux numbers and lists them ("0-3,8"); private to this room. */
#ifndef GW_CALIBRATE_CPUS_H
#define GW_CALIBRATE_CPUS_H

#include <stdbool.h>
#include <stddef.h>

enum { GW_MOST_CPUS = 8192, GW_CPUS_TEXT_SIZE = 256 };

struct gw_cpus {
    unsigned char has[GW_MOST_CPUS];
};

/* False, and the set is empty, if the text is no list of processors below GW_MOST_CPUS. */
bool gw_cpus_parse(const char *text, struct gw_cpus *out);

/* Ends in "..." if there is no room for the whole list. */
void gw_cpus_print(const struct gw_cpus *cpus, char text[GW_CPUS_TEXT_SIZE]);

size_t gw_cpus_count(const struct gw_cpus *cpus);
bool gw_cpus_contain(const struct gw_cpus *outer, const struct gw_cpus *inner);

/* Those that the calling thread may run on. */
void gw_cpus_usable(struct gw_cpus *out);

#endif
