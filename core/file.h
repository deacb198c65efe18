/*
 * Files read whole and written whole: no reader sees half a file, and no failed run leaves one.
 *
 * What `path` means to a writer: a regular file, or none yet, is replaced in one step by a whole
 * new one, which keeps its mode and owner. Of a link, the file it points to is replaced, and the
 * link stays. A device or a pipe is written through: there is nothing to replace. What is read-only
 * stays.
 */
#ifndef GW_CORE_FILE_H
#define GW_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

/* A larger file is no document: what never ends, such as /dev/zero, is refused here. */
enum { GW_FILE_MOST_BYTES = 256 << 20 };

/*
 * That `path` cannot be read, for a reason that errno has: bad input, unless what fails is this
 * program (which has no memory or no descriptor left) or the disk.
 */
enum gw_status gw_file_unreadable(const char *path, int reason, struct gw_error *error);

/* Reads all of `path`, or fails with GW_BAD_INPUT. *text ends in a zero; the caller frees it. */
enum gw_status gw_file_read(const char *path, char **text, size_t *length, struct gw_error *error);

enum gw_status gw_file_write(const char *path, const char *text, size_t length,
                             struct gw_error *error);

/* All of the text to a descriptor; what errno has for why not, or 0. */
int gw_write_all(int descriptor, const char *text, size_t length);

/*
 * gw_file_write for files that another program writes. gw_file_temporary makes an empty file beside
 * the one to be replaced; its name (the caller's to free) is short and keeps the ending. Once
 * written, gw_file_replace puts it in place, or gw_file_discard removes it. For a device or a pipe
 * the name is `path` itself, and there is nothing to put in place or to remove.
 */
enum gw_status gw_file_temporary(const char *path, char **temporary, struct gw_error *error);
enum gw_status gw_file_replace(const char *temporary, const char *path, struct gw_error *error);
void gw_file_discard(const char *temporary);

/*
 * Fails early, before long work, where gw_file_write to `path` would fail; `like` is how what will
 * be written begins, such as "{\"schema\":\"gradweave/plan@1\"", or NULL if that is not known.
 */
enum gw_status gw_file_check_target(const char *path, const char *like, struct gw_error *error);

/* Whether both names are of one file, there already or not. */
bool gw_file_is_same(const char *a, const char *b);

/*
 * Fails if what is at `path` is of another kind than what begins like `like`; `by` is what replaces
 * it all the same, "--force". For programs that do not hold their outputs; others are refused it by
 * all that is above.
 */
enum gw_status gw_file_check_kind(const char *path, const char *like, const char *by,
                                  struct gw_error *error);

/* A power failure after this leaves the names in the folder of `path` as they are now. */
enum gw_status gw_file_sync_folder(const char *path, struct gw_error *error);

/*
 * Opens what an interrupted run left, or a new file (*created), to append to, by one process at a
 * time: bad input while another one has it. `run` is what it is of, such as "sweep".
 */
enum gw_status gw_file_open_partial(const char *path, const char *run, bool *created,
                                    int *descriptor, struct gw_error *error);

/*
 * Lets others have it, before it is closed: closing alone does so later where anyone else holds the
 * descriptor, be it for as long as a look into /proc/PID/fd takes.
 */
void gw_file_let_go(int descriptor);

/* Whether a file or folder of that name can be read. */
int gw_file_exists(const char *path);

#endif
