/*
 * Text, piece by piece: blanks, comments, words and numbers, and messages that say where they stand
 * and what stands there instead.
 */
#ifndef GW_GOAL_SCANNER_H
#define GW_GOAL_SCANNER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/core.h"

enum { GW_LONGEST_WORD = 255 };

struct gw_scanner {
    const char *at;    /* the next byte; zeros follow the last */
    const char *whole; /* where `at` is not behind this, the next token is in memory as a whole */
    const char *end;   /* of what is in memory */
    uint64_t line;     /* where `at` is, from 1 */
    const char *name;  /* the file's, for messages */

    FILE *stream;     /* NULL: the text is in memory, and so much of it is still to come */
    const char *rest; /* belongs to the caller */
    size_t rest_length;
    bool last; /* no text follows `end` */
    char *piece;
};

struct gw_word {
    uint32_t hash, length;
    char bytes[GW_LONGEST_WORD + 1]; /* no zero at the end */
};

enum gw_status gw_scanner_open(struct gw_scanner *out, const char *path, struct gw_error *error);
/* Over text that must stay where it is; `name` is what messages call it. */
enum gw_status gw_scanner_open_text(struct gw_scanner *out, const char *text, size_t length,
                                    const char *name, struct gw_error *error);
void gw_scanner_close(struct gw_scanner *scanner);

/* How long the text is, or 0 where only reading it tells. */
uint64_t gw_scanner_length(const struct gw_scanner *scanner);

/* "<name>:<line>: expected <format...>" */
enum gw_status gw_scanner_fail(const struct gw_scanner *scanner, uint64_t line,
                               struct gw_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* GW_BAD_INPUT, "<name>:<line>: expected <format...>, got <what stands there>" */
enum gw_status gw_scanner_expected(const struct gw_scanner *scanner, struct gw_error *error,
                                   const char *format, ...) __attribute__((format(printf, 3, 4)));

static inline bool gw_scanner_at_end(const struct gw_scanner *scanner) {
    return scanner->at == scanner->end && scanner->last;
}

/* Skips blanks and comments, and with `lines` ends of lines. Before every token. */
enum gw_status gw_scanner_skip_all(struct gw_scanner *scanner, bool lines, struct gw_error *error);

/* The same in a line, where mostly a single blank or none stands before the next token. */
static inline enum gw_status gw_scanner_skip(struct gw_scanner *scanner, struct gw_error *error) {
    scanner->at += *scanner->at == ' ' ? 1 : 0;
    bool at_token = *scanner->at > '/' && scanner->at <= scanner->whole;
    return at_token ? GW_OK : gw_scanner_skip_all(scanner, false, error);
}

/* Whether these bytes stand there; then they are passed. `text` is short. */
static inline bool gw_scanner_take(struct gw_scanner *scanner, const char *text) {
    size_t length = strlen(text);
    bool there = memcmp(scanner->at, text, length) == 0;
    scanner->at += there ? length : 0;
    return there;
}

static inline bool gw_is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

static inline bool gw_is_letter(char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static inline bool gw_is_of_word(char byte) {
    return gw_is_letter(byte) || gw_is_digit(byte) || byte == '_';
}

/* A letter, then letters, digits and underscores; `what` it should be, for messages. */
enum gw_status gw_scanner_word(struct gw_scanner *scanner, const char *what, struct gw_word *out,
                               struct gw_error *error);

static inline bool gw_word_is(const struct gw_word *word, const char *text) {
    return word->length == strlen(text) && memcmp(word->bytes, text, word->length) == 0;
}

struct gw_number {
    const char *what; /* for messages */
    uint64_t least, most;
    bool any; /* -1 may stand there, which reads as UINT32_MAX */
};

enum gw_status gw_scanner_number(struct gw_scanner *scanner, const struct gw_number *expected,
                                 uint64_t *out, struct gw_error *error);

#endif
