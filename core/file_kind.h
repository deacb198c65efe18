/* Kinds of files, by how they begin: a file is only replaced by one of the same kind. */
#ifndef GW_CORE_FILE_KIND_H
#define GW_CORE_FILE_KIND_H

#include <stddef.h>

enum { GW_FILE_KIND_SIZE = 64 };

/* Names the kind, and returns the name; "" for an empty file, which any file may replace. */
const char *gw_file_name_kind(const char *start, size_t length, char kind[GW_FILE_KIND_SIZE]);

#endif
