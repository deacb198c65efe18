/*
 * Files are read whole and written whole: no reader sees half a file, and no failed run leaves one.
 *
 * A writer replaces a regular file, or none, in one step by a complete new one with the old one's
 * mode and owner. If `path` is a link, the file that it points to is replaced, and the link stays.
 * A device or a pipe is written through. A read-only file is not replaced.
 */
#ifndef GW_CORE_FILE_H
#define GW_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

/* Larger files are refused, endless ones such as /dev/zero among them. */
enum { GW_FILE_MAX_BYTES = 256 << 20 };

/* Reports that `path` cannot be read, with the reason in errno: bad input, unless the failure is
 * this program's (no memory or no descriptor left) or the disk's. */
enum gw_status gw_file_unreadable(const char *path, int reason, struct gw_error *error);

/* Reads all of `path`, or fails with GW_BAD_INPUT. *text ends in a zero; the caller frees it. */
enum gw_status gw_file_read(const char *path, char **text, size_t *length, struct gw_error *error);

enum gw_status gw_file_write(const char *path, const char *text, size_t length,
                             struct gw_error *error);

/* Writes the whole text to a descriptor; returns errno, or 0. */
int gw_write_all(int descriptor, const char *text, size_t length);

/*
 * The steps of gw_file_write, for files that another program writes. gw_file_temporary makes an
 * empty file beside the one to be replaced; its name (the caller frees it) is short and keeps the
 * suffix. Then gw_file_replace puts it in place, or gw_file_discard removes it. For a device or a
 * pipe the name is `path` itself, and the other functions do nothing.
 */
enum gw_status gw_file_temporary(const char *path, char **temporary, struct gw_error *error);
enum gw_status gw_file_replace(const char *temporary, const char *path, struct gw_error *error);
void gw_file_discard(const char *temporary);

/* Fails early, before long work, if gw_file_write to `path` would fail; `like` is the start of the
 * file to be written, such as "{\"schema\":\"gradweave/plan@1\"", or NULL if it is unknown. */
enum gw_status gw_file_check_target(const char *path, const char *like, struct gw_error *error);

/* True if both names are of one file, which need not exist. */
bool gw_file_is_same(const char *a, const char *b);

/*
 * Fails if `path` is of another kind than files that begin like `like`; `by` is the option that
 * replaces it all the same, "--force". For programs that do not hold their outputs; the functions
 * above check others.
 */
enum gw_status gw_file_check_kind(const char *path, const char *like, const char *by,
                                  struct gw_error *error);

/*
 * Writes a file that grows to the disk, unless that was done (*synced_s) less than 5 s ago: it
 * takes a while. Returns 0, or errno.
 */
int gw_file_sync_often(int descriptor, double *synced_s);

/*
 * Opens the partial file of an interrupted run, or a new one (*created), to append to, by one
 * process at a time: bad input while another one has it. `run` is the kind of run, such as "sweep".
 */
enum gw_status gw_file_open_partial(const char *path, const char *run, bool *created,
                                    int *descriptor, struct gw_error *error);

/* Releases the file to other processes, before it is closed: closing alone releases it later if
 * another process holds the descriptor, for example while it looks into /proc/PID/fd. */
void gw_file_unlock(int descriptor);

/* True if a file or folder of that name can be read. */
int gw_file_exists(const char *path);

#endif
