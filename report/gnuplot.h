/* Draws tables as pictures through gnuplot. */
#ifndef GW_REPORT_GNUPLOT_H
#define GW_REPORT_GNUPLOT_H

#include <stdio.h>

#include "core/core.h"

/* A picture that is being made; both streams are to be filled between open and finish. */
struct gw_drawing {
    FILE *table;    /* comma-separated rows, the script's data */
    FILE *settings; /* further variables of the script, as assignments for gnuplot's -e */
    struct gw_text texts[2];
};

enum gw_status gw_drawing_open(struct gw_drawing *out, struct gw_error *error);

/*
 * Draws the picture by a script that ships ("lines.gp"), unless `path` is NULL, then writes the
 * table, unless `data_path` is NULL. Closes the drawing in any case.
 */
enum gw_status gw_drawing_finish(struct gw_drawing *drawing, const char *script, const char *title,
                                 const char *path, const char *data_path, struct gw_error *error);

/* Closes the drawing, of which nothing is drawn. */
void gw_drawing_drop(struct gw_drawing *drawing);

/* Writes 'text' as a gnuplot string, quotes in it doubled. */
void gw_draw_quoted(FILE *stream, const char *text);

/* Writes the assignment "name='value'; ". */
void gw_draw_setting(FILE *stream, const char *name, const char *value);

#endif
