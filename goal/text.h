/*
 * GOAL as text: bytes, words and numbers, and messages that say where they stand and what stands
 * there instead; what they mean, one statement at a time; and operations as they are written.
 * Private to this room.
 */
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
    const char *at;    /* the next byte; zeros follow the last */
    const char *whole; /* where `at` is not behind this, the next token is in memory as a whole */
    const char *end;   /* of what is in memory */
    uint64_t bytes, bytes_before; /* that were read; and when the statement was begun */
    uint64_t line;                /* where `at` is, from 1 */
    const char *name;             /* the file's, for messages */

    FILE *stream;     /* NULL: the text is in memory, and so much of it is still to come */
    const char *rest; /* belongs to the caller */
    size_t rest_length;
    bool last; /* no text follows `end` */
    char *piece;
    char loggp[GW_GOAL_LOGGP_SIZE]; /* as in struct gw_goal */
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

/* ---- statements ------------------------------------------------------------------------------ */

enum gw_statement_kind {
    GW_STATEMENT_NUM_RANKS,  /* number */
    GW_STATEMENT_RANK,       /* rank `number` {, below num_ranks */
    GW_STATEMENT_CLOSE,      /* } */
    GW_STATEMENT_OPERATION,  /* operation, and label (length 0: none) */
    GW_STATEMENT_DEPENDENCY, /* label requires (at_start: irequires) other */
    GW_STATEMENT_END,        /* of the file, after at least num_ranks */
};

struct gw_statement {
    enum gw_statement_kind kind;
    uint64_t line; /* on which it begins */
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

/*
 * The next statement. Ranks do not nest, peers are ranks, numbers fit; that each rank is there once
 * and labels name operations is for the caller to check.
 */
enum gw_status gw_statement_read(struct gw_goal_text *text, struct gw_statement *out,
                                 struct gw_error *error);

/* ---- writing --------------------------------------------------------------------------------- */

/* "recv 18446744073709551615b from 4294967295 tag 4294967295 cpu 255 nic 255", and a zero */
enum { GW_OPERATION_TEXT_SIZE = 80 };

/* "send 8b to 3 tag 0"; cpu and nic (of messages) only where they are not 0. Returns the length. */
size_t gw_operation_format(const struct gw_goal_operation *operation,
                           char out[GW_OPERATION_TEXT_SIZE]);

#endif
