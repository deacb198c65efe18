/* Short numbers that tell contents apart, when nobody makes them to deceive. */
#ifndef GW_CORE_FINGERPRINT_H
#define GW_CORE_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

/* Of nothing. */
extern const uint64_t gw_fingerprint_start;

/*
 * The fingerprint of what `so_far` is of, and these bytes behind it (FNV-1a, 64 bits). A text goes
 * in with its final zero, so that "ab", "c" differs from "a", "bc".
 */
uint64_t gw_fingerprint_add(uint64_t so_far, const void *bytes, size_t length);
uint64_t gw_fingerprint_add_text(uint64_t so_far, const char *text);

#endif
