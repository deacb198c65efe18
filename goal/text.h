/* GOAL as text: the scanner of bytes, words and numbers with its error messages; the reader of
 * statements; and the format of operations. Private to this room. */
#ifndef GW_GOAL_TEXT_H
#define GW_GOAL_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "goal/goal.h"

/* ---- a scanner ------------------------------------------------------------------------------- */

enum { GW_LONGEST_WORD = 255 };

struct gw_scanner {
    const char *at;               /* the next byte; zeros follow the last */
    const char *whole;            /* up to here, the token at `at` is wholly in memory */
    const char *end;              /* end of the text in memory */
    uint64_t bytes, bytes_before; /* read so far; and when the statement began */
    uint64_t line;                /* of `at`, from 1 */
    const char *name;             /* the file's, for messages */

    FILE *stream;
    bool last; /* no text follows `end` */
    char *piece;
    char loggp[GW_GOAL_LOGGP_SIZE]; /* as in struct gw_goal */
};

struct gw_word {
    uint32_t hash, length;
    char bytes[GW_LONGEST_WORD + 1]; /* no zero at the end */
};

enum gw_status gw_scanner_open(struct gw_scanner *out, const char *path, struct gw_error *error);
void gw_scanner_close(struct gw_scanner *scanner);

/* The length of the text, or 0 if it is unknown before the end. */
uint64_t gw_scanner_length(const struct gw_scanner *scanner);

/* Fails with "<name>:<line>: expected <format...>". */
enum gw_status gw_scanner_fail(const struct gw_scanner *scanner, uint64_t line,
                               struct gw_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fails with GW_BAD_INPUT and "<name>:<line>: expected <format...>, got <the next token>". */
enum gw_status gw_scanner_expected(const struct gw_scanner *scanner, struct gw_error *error,
                                   const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- statements ------------------------------------------------------------------------------ */

enum gw_statement_kind {
    GW_STATEMENT_NUM_RANKS,  /* number */
    GW_STATEMENT_RANK,       /* rank `number` {, below num_ranks */
    GW_STATEMENT_CLOSE,      /* } */
    GW_STATEMENT_OPERATION,  /* operation, and label (length 0: none) */
    GW_STATEMENT_DEPENDENCY, /* label requires (at_start: irequires) other */
    GW_STATEMENT_END,        /* end of the file, after at least num_ranks */
};

struct gw_statement {
    enum gw_statement_kind kind;
    uint64_t line; /* of its first token */
    uint32_t number;
    bool at_start;
    struct gw_goal_operation operation;
    struct gw_word label, other;
};

struct gw_goal_text {
    struct gw_scanner scanner;
    uint32_t rank_count; /* 0 before num_ranks */
    bool in_rank;
};

/* Reads the next statement. Ranks do not nest, peers are ranks, and numbers fit; the caller checks
 * that each rank occurs once and that labels name operations. */
enum gw_status gw_statement_read(struct gw_goal_text *text, struct gw_statement *out,
                                 struct gw_error *error);

/* ---- writing --------------------------------------------------------------------------------- */

/* "recv 18446744073709551615b from 4294967295 tag 4294967295 cpu 255 nic 255", and a zero */
enum { GW_OPERATION_TEXT_SIZE = 80 };

/* Formats "send 8b to 3 tag 0", with cpu and nic (of messages) where they are not 0. Returns the
 * length. */
size_t gw_operation_format(const struct gw_goal_operation *operation,
                           char out[GW_OPERATION_TEXT_SIZE]);

#endif
