/* Schedules that tests have as texts in memory. */
#ifndef GW_TESTS_GOAL_TEXT_H
#define GW_TESTS_GOAL_TEXT_H

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "goal/goal.h"

/* gw_goal_read of a file in memory that has this text; messages call it `name`. */
static inline enum gw_status read_goal_text(const char *text, size_t length, const char *name,
                                            struct gw_goal *out, struct gw_error *error) {
    char path[32];
    struct gw_error found = {0};
    static int file = -1; /* one for all texts */
    file = file < 0 ? memfd_create("goal", MFD_CLOEXEC) : file;
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, text, length, 0) != (ssize_t)length) {
        return gw_fail(error, GW_FAILED, "expected a file in memory, got none");
    }
    size_t prefix = (size_t)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    enum gw_status status = gw_goal_read(path, out, &found);
    if (status != GW_OK) {
        gw_error_set(error, status, "%s%s", name, found.message + prefix);
    }
    return status;
}

#endif
