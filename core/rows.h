/*
 * Files that grow row by row, so that long work can continue after an interruption. In a journal
 * of measurements a row follows its frame: a checksum of its number and its text, and the text's
 * length, both hexadecimal. So damage by a disk or a person is found, and later rows are not used
 * either.
 */
#ifndef GW_CORE_ROWS_H
#define GW_CORE_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum { GW_FRAME_SIZE = 16 + 1 + 8 + 1 };

/* Makes the frame of a row that is shorter than 4 GiB. */
void gw_frame_make(uint64_t number, const char *row, size_t length, char frame[GW_FRAME_SIZE + 1]);

/* The length in a frame; SIZE_MAX if it is none. */
size_t gw_frame_length(const char frame[GW_FRAME_SIZE]);

/* Writes to the disk too if that was last done (*synced_s) a while ago, as it takes time. Returns
 * errno, or 0. */
int gw_rows_sync(int descriptor, double *synced_s);

#endif
