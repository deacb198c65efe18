/*
 * Files that grow row by row, so that long work can go on after an interruption. A row stands
 * behind its frame: a checksum of its number and its text, and the text's length, both hexadecimal.
 * So what a disk or a person has changed is found, and what comes after it is not relied on either.
 */
#ifndef GW_CORE_ROWS_H
#define GW_CORE_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum { GW_FRAME_SIZE = 16 + 1 + 8 + 1 };

/* Of a row that is shorter than 4 GiB. */
void gw_frame_make(uint64_t number, const char *row, size_t length, char frame[GW_FRAME_SIZE + 1]);

/* The length that a frame claims; SIZE_MAX if it is none. */
size_t gw_frame_length(const char frame[GW_FRAME_SIZE]);

/* On the disk too if that was last done (*synced_s) a while ago: it takes a while itself. What
 * errno has for why not, or 0. */
int gw_rows_sync(int descriptor, double *synced_s);

#endif
