/* Numbers as a person would quote them: three or four digits and a unit; or exactly. */
#ifndef GW_CORE_UNITS_H
#define GW_CORE_UNITS_H

#include <stdio.h>

/* The size of any formatted number. The functions return `out`. */
enum { GW_UNITS_SIZE = 32 };

const char *gw_format_seconds(double seconds, char out[GW_UNITS_SIZE]); /* "12.3 ms" */
const char *gw_format_bytes(double bytes, char out[GW_UNITS_SIZE]);     /* "1.5 MiB" */
const char *gw_format_count(double count, char out[GW_UNITS_SIZE]);     /* "25,557,032" */
const char *gw_format_percent(double share, char out[GW_UNITS_SIZE]);   /* 0.021: "+2.1%" */
/* "1 tensor", "2 tensors" */
const char *gw_format_counted(size_t count, const char *noun, char out[GW_UNITS_SIZE]);
/* Half of an interval, relative: 0.203: "+-20.3%"; from 1 on: "within a factor of 2.3". */
const char *gw_format_margin(double relative, int decimals, char out[GW_UNITS_SIZE]);

/* The same as arguments of a call that prints them: their texts live as long as the block. */
#define GW_UNITS_TEXT ((char[GW_UNITS_SIZE]){""})
#define GW_SECONDS(seconds) gw_format_seconds(seconds, GW_UNITS_TEXT)
#define GW_BYTES(bytes) gw_format_bytes(bytes, GW_UNITS_TEXT)
#define GW_NUMBER(count) gw_format_count((double)(count), GW_UNITS_TEXT)
#define GW_COUNTED(count, noun) gw_format_counted(count, noun, GW_UNITS_TEXT)
#define GW_PERCENT(share) gw_format_percent(share, GW_UNITS_TEXT)

/* A remaining time: "42 s", "3 min 20 s", "5 h 12 min", "2 d 7 h". */
const char *gw_format_duration(double seconds, char out[GW_UNITS_SIZE]);

/* With the fewest digits that read back as the same number; at least 15, as cJSON prints. */
const char *gw_format_exactly(double value, char out[GW_UNITS_SIZE]);

/* ---- cells of comma-separated tables, as RFC 4180 has them ---------------------------------- */

/*
 * Prints as many digits as it takes to read the same number back, and no more than a person wrote.
 */
void gw_csv_number(FILE *stream, double number);

/* Quotes a text that a reader could otherwise split. */
void gw_csv_text(FILE *stream, const char *text);

#endif
