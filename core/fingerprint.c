#include "core/fingerprint.h"

#include <string.h>

const uint64_t gw_fingerprint_start = 0xcbf29ce484222325u;

uint64_t gw_fingerprint_add(uint64_t so_far, const void *bytes, size_t length) {
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++) {
        so_far = (so_far ^ byte[i]) * 0x100000001b3u;
    }
    return so_far;
}

uint64_t gw_fingerprint_add_text(uint64_t so_far, const char *text) {
    return gw_fingerprint_add(so_far, text, strlen(text) + 1);
}
