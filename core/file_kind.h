/* What kind of file something is, by how it begins: what may replace it is of the same. */
#ifndef GW_CORE_FILE_KIND_H
#define GW_CORE_FILE_KIND_H

#include <stddef.h>

enum { GW_FILE_KIND_SIZE = 64 };

/* In words, which it also returns; "" of an empty file, which anything may replace. */
const char *gw_file_name_kind(const char *start, size_t length, char kind[GW_FILE_KIND_SIZE]);

#endif
