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

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

/* A larger file is no document: what never ends, such as /dev/zero, is refused here. */
enum { GW_FILE_MOST_BYTES = 256 << 20 };

/* Reads all of `path`, or fails with GW_BAD_INPUT. *text ends in a zero; the caller frees it. */
enum gw_status gw_file_read(const char *path, char **text, size_t *length, struct gw_error *error);

enum gw_status gw_file_write(const char *path, const char *text, size_t length,
                             struct gw_error *error);

/*
 * The same for files that another program writes. gw_file_temporary makes an empty file beside the
 * one to be replaced; its name (the caller's to free) is short and keeps the ending. Once written,
 * gw_file_replace puts it in place, or gw_file_discard removes it. For a device or a pipe the name
 * is `path` itself, and there is nothing to put in place or to remove.
 */
enum gw_status gw_file_temporary(const char *path, char **temporary, struct gw_error *error);
enum gw_status gw_file_replace(const char *temporary, const char *path, struct gw_error *error);
void gw_file_discard(const char *temporary);

/*
 * Fails early, before long work, where gw_file_write to `path` would fail; `like` is how what will
 * be written begins, such as "{\"schema\":\"gradweave/plan@1\"", or NULL if that is not known.
 */
enum gw_status gw_file_check_target(const char *path, const char *like, struct gw_error *error);

/* Removes a file that has been used up, such as the journal of what is written whole by now. */
void gw_file_remove(const char *path);

/* A power failure after this leaves the names in the folder of `path` as they are now. */
enum gw_status gw_file_sync_folder(const char *path, struct gw_error *error);

/* Whether a file or folder of that name can be read. */
int gw_file_exists(const char *path);

/* ---- all files of a program -------------------------------------------------------------------
 */

/*
 * A program that ends badly leaves nothing new. Between gw_outputs_hold and gw_outputs_release
 * files are only prepared by what is above; the latter puts all of them in place, or none, and
 * removes what gw_file_remove was told to. gw_outputs_discard forgets them.
 *
 * From gw_outputs_hold on, two mistakes are refused, unless gw_outputs_force was called: to replace
 * a file of another kind than what is written (a model by a plan, say), and to replace what was
 * read, but where gw_file_forget_input says that the output is made of it.
 */
void gw_outputs_hold(void);
enum gw_status gw_outputs_release(struct gw_error *error);
void gw_outputs_discard(void);

void gw_outputs_force(void);

/* For readers that open their file themselves. */
void gw_file_note_input(int descriptor);
void gw_file_forget_input(const char *path);

/* ---- fingerprints ---------------------------------------------------------------------------- */

/* A short number that tells contents apart, when nobody makes them to deceive it. */

/* Of nothing. */
extern const uint64_t gw_fingerprint_start;

/*
 * The fingerprint of what `so_far` is of, and these bytes behind it (FNV-1a, 64 bits). A text goes
 * in with its final zero, so that "ab", "c" differs from "a", "bc".
 */
uint64_t gw_fingerprint_add(uint64_t so_far, const void *bytes, size_t length);
uint64_t gw_fingerprint_add_text(uint64_t so_far, const char *text);

#endif
