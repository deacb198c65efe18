/* Files read whole and written whole: a reader never sees, and a failed run never leaves, half a
 * file. */
#ifndef GW_CORE_FILE_H
#define GW_CORE_FILE_H

#include <stddef.h>

#include "core/status.h"

/* Reads all of `path`; *text is zero-terminated and the caller's to free. GW_BAD_INPUT if
 * unreadable. */
enum gw_status gw_file_read(const char *path, char **text, size_t *length, struct gw_error *error);

/* Writes beside `path` and renames, so that `path` is either the old file or the whole new one. */
enum gw_status gw_file_write(const char *path, const char *text, size_t length,
                             struct gw_error *error);

/*
 * The same for files that another program writes: a name beside `path` that keeps its ending (the
 * caller's to free), then the rename; gw_file_discard removes what was written if it is not wanted.
 */
enum gw_status gw_file_temporary(const char *path, char **temporary, struct gw_error *error);
enum gw_status gw_file_replace(const char *temporary, const char *path, struct gw_error *error);
void gw_file_discard(const char *temporary);

/* Fails early, before long work, where gw_file_write to `path` would fail. */
enum gw_status gw_file_check_target(const char *path, struct gw_error *error);

/* Whether a file or folder of that name can be read. */
int gw_file_exists(const char *path);

#endif
