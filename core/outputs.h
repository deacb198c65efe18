/*
 * The files that a program reads and writes. A program that fails leaves no new file: after
 * gw_outputs_hold, core/file.h only prepares files. gw_outputs_place puts all of them in place, or
 * none, and can be undone: gw_outputs_discard restores the old files; gw_outputs_keep keeps the new
 * ones, and removes the files of gw_outputs_remove.
 *
 * After gw_outputs_hold, replacing a file of another kind (a model by a plan, say) is refused,
 * unless gw_outputs_forced is set.
 */
#ifndef GW_CORE_OUTPUTS_H
#define GW_CORE_OUTPUTS_H

#include <stdbool.h>

#include "core/status.h"

void gw_outputs_hold(void);
extern bool gw_outputs_forced;
enum gw_status gw_outputs_place(struct gw_error *error);
void gw_outputs_keep(void);
void gw_outputs_discard(void);

/* Removes a file that is used up, such as the journal of a complete result. */
void gw_outputs_remove(const char *path);

/* The first file of gw_outputs_remove, which stays if the program fails; or NULL. */
const char *gw_outputs_unfinished(void);

/* ---- for core/file.c ------------------------------------------------------------------------- */

/* Reports that `path` cannot be written, with the reason in errno. */
enum gw_status gw_file_unwritable(const char *path, int cause, struct gw_error *error);

/* The length of the folder's name in `path`, with the slash. */
int gw_folder_length(const char *path);

enum { GW_FOLDER_SIZE = 4096 };
/* The folder of `path`: "." if it has no slash. */
void gw_folder_name(const char *path, char folder[GW_FOLDER_SIZE]);

bool gw_outputs_are_held(void); /* whether outputs are only prepared */

/* Renames a temporary file to its target, or has that done together with all others; takes both
 * names over, and on failure the file. */
enum gw_status gw_outputs_take(char *temporary, char *target, struct gw_error *error);

/* Makes sure that the names in the folder of `path` survive a power failure. */
enum gw_status gw_file_sync_folder(const char *path, struct gw_error *error);

#endif
