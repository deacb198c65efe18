/* Short numbers that tell contents apart, when nobody makes them to deceive. */
#ifndef GW_CORE_FINGERPRINT_H
#define GW_CORE_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Of nothing. */
static const uint64_t gw_fingerprint_start = 0xcbf29ce484222325u;

/*
 * The fingerprint of what `so_far` is of, and these bytes behind it (FNV-1a, 64 bits). A text goes
 * in with its final zero, so that "ab", "c" differs from "a", "bc".
 */
static inline uint64_t gw_fingerprint_add(uint64_t so_far, const void *bytes, size_t length) {
    const unsigned char *byte = (const unsigned char *)bytes;
    for (size_t i = 0; i < length; i++) {
        so_far = (so_far ^ byte[i]) * 0x100000001b3u;
    }
    return so_far;
}

static inline uint64_t gw_fingerprint_add_text(uint64_t so_far, const char *text) {
    return gw_fingerprint_add(so_far, text, strlen(text) + 1);
}

#endif
