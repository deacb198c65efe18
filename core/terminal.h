/* Text for a person: names from files cannot control the terminal. */
#ifndef GW_CORE_TERMINAL_H
#define GW_CORE_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Print to stdout, or to another stream, with control characters (except the format's own line
 * feeds) as readable escapes: "\x0a" for a line feed in a name, "\x1b" for ESC, "\u009b" for the
 * 8-bit CSI, "\u202e" for a character that turns text round, "\xff" for a byte that is not UTF-8.
 * All text for a person goes through here; documents and tables for programs do not.
 */
void gw_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gw_print_to(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Escapes a text in the same way into `out`; cut if it does not fit. */
void gw_visible(const char *text, char *out, size_t size);

/* The reason why some text was not printed, mostly lack of memory; NULL if all was. */
const char *gw_print_failure(void);

/* Records that text could not be printed, for this reason (NULL: memory). The first one counts. */
void gw_print_lost(const char *why);

/* The number of bytes of the UTF-8 character at `c`; 0 if it is none (RFC 3629). */
size_t gw_utf8_length(const unsigned char *c);

/* The character at `c`, if it controls a terminal (C0, C1, DEL) or misleads readers: turns the
 * direction of text, breaks a line, is invisible. Otherwise 0. */
uint32_t gw_control_at(const unsigned char *c);

/* Columns of the terminal that stdout is; 80 if it is none. */
size_t gw_terminal_width(void);

/* Prints `text` in lines of at most that many columns, broken between words, after `first`; further
 * lines are indented by its length. */
void gw_print_wrapped(const char *first, const char *text, size_t width);

/* True if the terminal that stderr is understands escape sequences (TERM names it). */
bool gw_terminal_erases(void);

#endif
