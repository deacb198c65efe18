/* Numbers as a user lists them: "0.001,0.01,0.1", or a range with both of its ends,
 * "1e-4:1e-1:log20" or "1:20:lin20"; if the rule allows it, also "2:256" or "2:256:2". */
#ifndef GW_CORE_VALUES_H
#define GW_CORE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

enum { GW_MAX_VALUES = 10000 };

struct gw_values_unit {
    const char *name;
    double size;
};

/* The rule of the numbers. */
struct gw_values_rule {
    double minimum;      /* 0: any above 0 */
    double maximum;      /* they are above 0 and at most this, which is finite */
    bool zero;           /* 0 is allowed too, but not in logarithmic ranges */
    bool whole;          /* only integers; those of a range are rounded */
    const char *suffix;  /* follows each number ("x": "0.5x,1x"), or "" */
    const char *example; /* an allowed range, for messages */
    /* Instead of the suffix, one of these units follows each number, in any case; ended by one
     * without a name. NULL: none. */
    const struct gw_values_unit *units;
    bool rates; /* a rate's unit (gw_rate_unit) replaces the suffix; numbers are bits a second */
    /*
     * An example of FROM:TO alone, which doubles from value to value if numbers are whole, for
     * which FROM:TO:STEP is allowed too, and takes five values to a decade otherwise. NULL: not
     * allowed.
     */
    const char *plain;
};

/* The range of factors by which a user stretches times and bandwidths. */
#define GW_MIN_FACTOR 1e-6
#define GW_MAX_FACTOR 1e6

/* Parses the values in ascending order, each once, 1 to GW_MAX_VALUES of them; the caller frees
 * them. A message says what is expected; callers put the option's name before it. */
enum gw_status gw_values_parse(const char *text, const struct gw_values_rule *rule, double **values,
                               size_t *count, struct gw_error *error);

/* ---- rates and sizes, wherever a user writes one -------------------------------------------- */

/* "gbit", "Gbit/s", "gbps", "Gb/s", and Ethernet's "G", "Gb", "GbE": in bits a second; "GB/s",
 * "GBps", "GiB/s": 8 times as many. */
bool gw_rate_unit(const char *text, size_t length, double *bit_per_s);

/* "4096", "64k", "25MB", "25MiB", "1.5GiB": a whole number of bytes from 1 to 2^53. */
bool gw_parse_size(const char *text, double *bytes);

/* "45ms", "0.3us", "1.5s", in s, ms, us or ns: a time above 0 and up to 1e6 s. */
bool gw_parse_seconds(const char *text, double *seconds);

/* Parse a whole number, such as 1000, 1e3, 8k or 8Ki; and any finite number. False: it is none. */
bool gw_parse_count(const char *text, uint64_t *out);
bool gw_parse_number(const char *text, double *out);

#endif
