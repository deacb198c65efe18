/* Chooses the passes over memory that this processor supports. */
#include "kernels/cpu/scan.h"

static const struct gw_scan *const scans[] = {/* fastest first */
#if defined(__x86_64__)
                                              &gw_scan_avx512, &gw_scan_avx2,
#endif
                                              &gw_scan_portable};
enum { SCANS = sizeof scans / sizeof *scans };

static const struct gw_scan *forced; /* set by gw_force_instruction_set() */

const struct gw_scan *gw_scan(void) {
    size_t i = 0;
    while (i + 1 < SCANS && !scans[i]->is_supported()) { /* the last is portable */
        i++;
    }
    return forced != NULL ? forced : scans[i];
}

bool gw_force_instruction_set(const char *name) {
    for (size_t i = 0; i < SCANS; i++) {
        if (strcmp(scans[i]->name, name) == 0 && scans[i]->is_supported()) {
            forced = scans[i];
            return true;
        }
    }
    return false;
}

float gw_read_pass(const float *u, size_t n) {
    return gw_scan()->read(u, n);
}

const char *gw_instruction_set(void) {
    return gw_scan()->name;
}
