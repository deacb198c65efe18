/*
 * Streams into memory. Unlike those of open_memstream they remember that memory ran out: that one
 * drops what does not fit, takes what comes after it, and says nothing.
 */
#ifndef GW_CORE_TEXT_H
#define GW_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/status.h"

struct gw_text {
    char *text; /* once closed: ends in a zero; the caller's to free, in any case */
    size_t length, capacity;
    bool is_cut; /* memory ran out */
    FILE *stream;
};

/* The stream to print to; NULL if memory ran out, which gw_text_close says too. */
FILE *gw_text_open(struct gw_text *text);

/* Fails, with no text, if any of what was printed is missing; `what` as gw_fail_memory has it. */
enum gw_status gw_text_close(struct gw_text *text, const char *what, struct gw_error *error);

#endif
