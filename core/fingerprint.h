/* Short numbers that tell contents apart; not against deliberate collisions. */
#ifndef GW_CORE_FINGERPRINT_H
#define GW_CORE_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The fingerprint of no bytes. */
static const uint64_t gw_fingerprint_start = 0xcbf29ce484222325u;

/* Extends a fingerprint by these bytes (FNV-1a, 64 bits). Add a text with its final zero, so that
 * "ab", "c" differs from "a", "bc". */
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
