/* What stands in a GOAL text, one statement at a time. */
#ifndef GW_GOAL_STATEMENT_H
#define GW_GOAL_STATEMENT_H

#include "goal/goal.h"
#include "goal/scanner.h"

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

#endif
