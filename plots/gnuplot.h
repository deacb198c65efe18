/* How a table becomes a picture; private to this room. */
#ifndef GW_PLOTS_GNUPLOT_H
#define GW_PLOTS_GNUPLOT_H

#include <stdio.h>

#include "core/core.h"

struct gw_drawing {
    const char *script; /* "breakdown.gp": one of those that ship */
    const char *title;
    const void *subject;                                    /* what the two print */
    void (*print_table)(const void *subject, FILE *stream); /* the script's data */
    /* What else the script wants to know, as gnuplot's -e takes it. */
    void (*print_settings)(const void *subject, FILE *stream);
};

/* 'text' for gnuplot, with quotes in it doubled. */
void gw_draw_quoted(FILE *stream, const char *text);

/* The picture, unless path is NULL, and the table, unless data_path is NULL. */
enum gw_status gw_draw(const struct gw_drawing *drawing, const char *path, const char *data_path,
                       struct gw_error *error);

#endif
