/* What core/file.c, core/folder.c and core/outputs.c share; private to them. */
#ifndef GW_CORE_FILE_PARTS_H
#define GW_CORE_FILE_PARTS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "core/status.h"

/* That `path` cannot be written, for a reason that errno has. */
enum gw_status gw_file_unwritable(const char *path, int cause, struct gw_error *error);

/* How much of `path` names its folder, with the slash. */
int gw_folder_length(const char *path);

enum { GW_FOLDER_SIZE = 4096 };
/* The folder of `path`: "." where that has no slash. */
void gw_folder_name(const char *path, char folder[GW_FOLDER_SIZE]);

/* Whether outputs are only prepared, and whether mistakes are meant; whether that was read. */
bool gw_outputs_are_held(void);
bool gw_outputs_are_forced(void);
bool gw_outputs_has_input(const struct stat *about);

/*
 * Puts the file of the temporary name in place of the target, or has it put there with all others;
 * takes both names over, and the file if it fails.
 */
enum gw_status gw_outputs_take(char *temporary, char *target, struct gw_error *error);

#endif
