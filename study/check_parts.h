/* Parts that checks of files share; private to study/check*.c. */
#ifndef GW_STUDY_CHECK_PARTS_H
#define GW_STUDY_CHECK_PARTS_H

#include <stdarg.h>
#include <stdio.h>

#include "core/arena.h"
#include "study/check.h"
#include "traces/cluster.h"

/* A file that is being checked. */
struct gw_checking {
    struct gw_file_check *out;
    struct gw_arena *arena;
};

/* Adds a text, cut at a readable length. */
static inline void __attribute__((format(printf, 3, 4)))
gw_check_add(struct gw_checking *check, struct gw_findings *findings, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it began on the line above */
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (findings->count < GW_MAX_FINDINGS) {
        const char *copy = gw_arena_format(check->arena, "%s", text);
        findings->texts[findings->count] = copy;
        findings->count += copy != NULL;
    }
}

#define ODD(check, ...) gw_check_add((check), &(check)->out->odd, __VA_ARGS__)
#define NOTE(check, ...) gw_check_add((check), &(check)->out->notes, __VA_ARGS__)

void gw_check_cluster(struct gw_checking *check, const void *read);

#endif
