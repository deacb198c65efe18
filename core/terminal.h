/* Text for a person: what names from files bring along never commands the terminal. */
#ifndef GW_CORE_TERMINAL_H
#define GW_CORE_TERMINAL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * To stdout, or to another stream, with control characters (but the format's own line feeds) as
 * escapes that can be read: "\x0a" for a line feed in a name, "\x1b" for ESC, "\u009b" for the CSI
 * of eight bits, "\u202e" for what turns text round, "\xff" for a byte that is no UTF-8. All text
 * for a person goes through here; documents and tables for programs do not.
 */
void gw_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gw_print_to(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));
void gw_vprint_to(FILE *stream, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* A text like that into `out`; cut where there is no room. */
void gw_visible(const char *text, char *out, size_t size);

/* Why some of it has not been printed: mostly since memory ran out. NULL if all has. */
const char *gw_print_failure(void);

/* For who cannot print, for a reason that NULL has if it is memory. The first one counts. */
void gw_print_lost(const char *why);

/* How many bytes the UTF-8 character at `c` has; 0 if it is none (RFC 3629). */
size_t gw_utf8_length(const unsigned char *c);

/*
 * The character that begins at `c`, if it is one that controls a terminal (of C0 or C1, DEL) or
 * misleads who reads: turns the direction of text, breaks a line, is not to be seen. Otherwise 0.
 */
uint32_t gw_control_at(const unsigned char *c);

/* Columns of the terminal that stdout is; 80 where it is none. */
size_t gw_terminal_width(void);

/*
 * `text` in lines of at most that many columns, broken between words, behind `first`, under which
 * all further lines begin.
 */
void gw_print_wrapped(const char *first, const char *text, size_t width);

/* Whether the terminal that stderr is understands escape sequences (TERM says which it is). */
bool gw_terminal_erases(void);

#endif
