/* Parameters in a list, and the lines that name them; private to this room. */
#ifndef GW_TRACES_IMPORT_SHAPES_H
#define GW_TRACES_IMPORT_SHAPES_H

#include "traces/import_parts.h"

/* Commas between digits: of thousands, between dimensions, or possibly either. */
enum gw_import_commas {
    GW_IMPORT_NO_COMMAS = 0,
    GW_IMPORT_THOUSANDS = 1,
    GW_IMPORT_DIMENSIONS = 2,
    GW_IMPORT_EITHER = 3
};

enum { GW_IMPORT_MOST_DIMENSIONS = 8 }; /* that are kept */

struct gw_import_parameter {
    char *name;      /* owned */
    double elements; /* the product of its numbers */
    double digits;   /* the same where commas are of thousands */
    double last;     /* its last number, where no brackets enclose the shape */
    size_t numbers;  /* in the shape */
    double dimensions[GW_IMPORT_MOST_DIMENSIONS]; /* the first of these numbers */
    bool is_counted;                              /* the last number is the product of the others */
    bool has_count; /* and can hardly be a dimension: it is larger than each of the others */
    enum gw_import_commas commas;
    size_t line;
    bool is_mask;     /* its shape is 1 1 N N */
    bool is_total;    /* it is no parameter, but has the sum of others */
    bool is_left_out; /* it is a total, has no gradient, or was listed before */
};

/*
 * Finds the first word that a shape follows, at most a prefix's length into the line. A word behind
 * others is a name if they have a mark that no name has. The name, *length bytes, lies in the line
 * itself; *out has all else but line and name. False: the line has no parameter.
 */
bool gw_import_find_parameter(const char *line, const char **name, size_t *length,
                              struct gw_import_parameter *out);

#endif
