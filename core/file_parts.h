/* Common functions of core/file.c and core/outputs.c; private to them. */
#ifndef GW_CORE_FILE_PARTS_H
#define GW_CORE_FILE_PARTS_H

#include <stdbool.h>

#include "core/status.h"

/* Reports that `path` cannot be written, with the reason in errno. */
enum gw_status gw_file_unwritable(const char *path, int cause, struct gw_error *error);

bool gw_outputs_are_held(void); /* whether outputs are only prepared */

/* Renames a temporary file to its target, or has that done together with all others; takes both
 * names over, and on failure the file. */
enum gw_status gw_outputs_take(char *temporary, char *target, struct gw_error *error);

#endif
