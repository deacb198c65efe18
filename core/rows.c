#include "core/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fingerprint.h"

void gw_frame_make(uint64_t number, const char *row, size_t length, char frame[GW_FRAME_SIZE + 1]) {
    uint64_t sum = gw_fingerprint_add(gw_fingerprint_start, &number, sizeof number);
    sum = gw_fingerprint_add(sum, row, length);
    (void)snprintf(frame, GW_FRAME_SIZE + 1, "%016" PRIx64 " %08zx ", sum, length & 0xffffffffu);
}

size_t gw_frame_length(const char frame[GW_FRAME_SIZE]) {
    char digits[9] = "";
    size_t length = 0;
    memcpy(digits, frame + 17, 8);
    return strspn(digits, "0123456789abcdef") == 8 && sscanf(digits, "%zx", &length) == 1
               ? length
               : SIZE_MAX;
}

int gw_rows_sync(int descriptor, double *synced_s) {
    const double often_s = 5;
    double now_s = gw_clock_now_s();
    if (now_s - *synced_s < often_s) {
        return 0;
    }
    *synced_s = now_s;
    return fdatasync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
}
