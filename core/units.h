/* Numbers as a person would quote them: three or four digits and a unit. */
#ifndef GW_CORE_UNITS_H
#define GW_CORE_UNITS_H

/* Room for any formatted number. The functions return `out`. */
enum { GW_UNITS_SIZE = 32 };

const char *gw_format_seconds(double seconds, char out[GW_UNITS_SIZE]); /* "12.3 ms" */
const char *gw_format_bytes(double bytes, char out[GW_UNITS_SIZE]);     /* "1.5 MiB" */
const char *gw_format_count(double count, char out[GW_UNITS_SIZE]);     /* "25,557,032" */
const char *gw_format_percent(double share, char out[GW_UNITS_SIZE]);   /* 0.021: "+2.1%" */

#endif
