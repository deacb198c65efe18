/* Parameters in a list, and the lines that name them; private to this room. */
#ifndef GW_TRACES_IMPORT_SHAPES_H
#define GW_TRACES_IMPORT_SHAPES_H

#include "traces/import_parts.h"

/* Commas between digits: those of thousands, or those between dimensions. */
enum gw_import_commas {
    GW_IMPORT_NO_COMMAS,
    GW_IMPORT_THOUSANDS,
    GW_IMPORT_DIMENSIONS,
    GW_IMPORT_EITHER
};

struct gw_import_parameter {
    char *name;      /* owned */
    double elements; /* the product of its numbers */
    double digits;   /* all digits as one number: the elements where commas are of thousands */
    enum gw_import_commas commas;
    size_t line;
    bool is_mask;     /* its shape is 1 1 N N */
    bool is_left_out; /* it has no gradient, or was listed before */
};

/*
 * Finds the first word that a shape follows, at most a prefix's length into the line. A word behind
 * others is a name if they have a mark that no name has. The name, *length bytes, lies in the line
 * itself; *out has all else but line and name. False: the line has no parameter.
 */
bool gw_import_find_parameter(const char *line, const char **name, size_t *length,
                              struct gw_import_parameter *out);

#endif
