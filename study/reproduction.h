/*
 * Predictions of numbers that papers published. Numbers to which an input was fitted, and ratios of
 * such numbers, do not count as reproduced.
 */
#ifndef GW_STUDY_REPRODUCTION_H
#define GW_STUDY_REPRODUCTION_H

#include "traces/paper_table.h"

struct gw_reproduced_cell {
    double value; /* NAN: no such cell */
    double error; /* relative to the published number; NAN: there is none */
    bool fitted;  /* an input was fitted to it, or to a number that it is a ratio of */
    bool claimed; /* the text claims something of it, in place of a number ... */
    bool holds;   /* ... which is so */
};

struct gw_reproduction {
    struct gw_paper_table table;
    struct gw_reproduced_cell *cells;      /* [row][column] */
    size_t unfitted, within_10, within_20; /* numbers that nothing was fitted to, and how far off */
    double mean_error, largest_error;      /* of those */
    size_t claims, holding;
    /* Two numbers of one quantity in a row, neither of them fitted, of which one was published to
     * be larger; and those of which it is. */
    size_t pairs, ordered;
    struct gw_arena arena;
};

/* Reads a table, by its name or path, and predicts its numbers; gw_reproduction_free in any case.
 */
enum gw_status gw_reproduce(const char *name, struct gw_reproduction *out, struct gw_error *error);
void gw_reproduction_free(struct gw_reproduction *reproduction);

#endif
