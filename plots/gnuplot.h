/* How a table becomes a picture; private to this room. */
#ifndef GW_PLOTS_GNUPLOT_H
#define GW_PLOTS_GNUPLOT_H

#include <stdio.h>

#include "core/core.h"

struct gw_drawing {
    const char *script; /* "breakdown.gp": one of those that ship */
    const char *title;
    const char *settings; /* what else the script wants to know, as gnuplot's -e takes it */
    const char *table;    /* the script's data */
    size_t length;
};

/* 'text' for gnuplot, with quotes in it doubled. */
void gw_draw_quoted(FILE *stream, const char *text);

enum gw_status gw_draw(const struct gw_drawing *drawing, const char *path, struct gw_error *error);

#endif
