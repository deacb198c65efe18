/* Draws pictures of tables through gnuplot; private to this room. */
#ifndef GW_PLOTS_GNUPLOT_H
#define GW_PLOTS_GNUPLOT_H

#include <stdio.h>

#include "core/core.h"

struct gw_drawing {
    const char *script; /* "breakdown.gp": a script that ships */
    const char *title;
    const void *subject;                                    /* argument of the two functions */
    void (*print_table)(const void *subject, FILE *stream); /* the script's data */
    /* Prints further variables for the script, as assignments for gnuplot's -e. */
    void (*print_settings)(const void *subject, FILE *stream);
};

/* Writes 'text' as a gnuplot string, quotes in it doubled. */
void gw_draw_quoted(FILE *stream, const char *text);

/* Draws the picture, unless path is NULL, and writes the table, unless data_path is NULL. */
enum gw_status gw_draw(const struct gw_drawing *drawing, const char *path, const char *data_path,
                       struct gw_error *error);

#endif
