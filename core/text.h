/* Streams into memory. Unlike those of open_memstream they remember lack of memory: those drop text
 * that does not fit, accept the text after it, and report nothing. */
#ifndef GW_CORE_TEXT_H
#define GW_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/status.h"

struct gw_text {
    char *text; /* once closed: ends in a zero; the caller frees it, also on failure */
    size_t length, capacity;
    bool is_cut; /* memory ran out */
    FILE *stream;
};

/* The stream to print to; NULL if memory ran out, which gw_text_close reports too. */
FILE *gw_text_open(struct gw_text *text);

/* Fails, without a text, if any printed text is missing; `what` is as for gw_fail_memory. */
enum gw_status gw_text_close(struct gw_text *text, const char *what, struct gw_error *error);

#endif
