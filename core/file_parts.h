/* Functions of core/outputs.c for core/file.c. */
#ifndef GW_CORE_FILE_PARTS_H
#define GW_CORE_FILE_PARTS_H

#include <stdbool.h>

#include "core/status.h"

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

#endif
