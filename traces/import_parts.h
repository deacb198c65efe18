/* What the importers share; private to this room. */
#ifndef GW_TRACES_IMPORT_PARTS_H
#define GW_TRACES_IMPORT_PARTS_H

#include "traces/imports.h"

/* ---- text, line by line ---------------------------------------------------------------------- */

struct gw_import_text {
    const char *path;
    char *text, *next; /* owned; what comes behind the line */
    size_t length;
    char *line;    /* the current one, without its end and the tag that mpirun puts before it */
    size_t number; /* from 1; 0 before the first one */
};

enum gw_status gw_import_open(const char *path, struct gw_import_text *out, struct gw_error *error);
void gw_import_close(struct gw_import_text *text);

/* False: there is none any more. */
bool gw_import_next_line(struct gw_import_text *text);

/* Bad input at the current line: "FILE:LINE: ...". */
enum gw_status gw_import_bad(const struct gw_import_text *text, struct gw_error *error,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Splits a line at its blanks, in place; how many words it has, of which `most` are in `words`. */
size_t gw_import_words(char *line, char **words, size_t most);

/* Whether a line looks like a row of a table: its first word is a number, or "1024K". */
bool gw_import_is_row(const char *line);

/* A word as an integer up to 2^53, and as a finite number that is not negative. */
bool gw_import_integer(const char *word, double *out);
bool gw_import_number(const char *word, double *out);

/* ---- tables ---------------------------------------------------------------------------------- */

/* The mean time of so many rows of one size. */
struct gw_import_mean {
    double bytes, mean_s, rows;
};

/* What a table says, collected row by row; all zero at first. */
struct gw_import_table {
    const char *tool, *collective;
    size_t workers;
    size_t workers_per_node;    /* 0: not known */
    char version[32], date[32]; /* "": not known */
    size_t count, capacity;
    struct gw_import_mean *means; /* owned; in any order */
};

/*
 * What `rows` of them took, of bytes that one worker contributes; nothing of zero bytes or zero
 * time is added.
 */
enum gw_status gw_import_point(struct gw_import_table *table, double bytes, double time_us,
                               double rows, struct gw_error *error);

/* Adds the points to the cluster's curve, and forgets them. `paths` are of the files they are from.
 */
enum gw_status gw_import_add(struct gw_import_table *table, const struct gw_import_paths *paths,
                             struct gw_cluster *cluster, struct gw_error *error);

/* Ranks that a benchmark may have, as many as a made cluster. */
enum { GW_IMPORT_MOST_RANKS = 1 << 24 };

/* Microseconds that a time may have. */
#define GW_IMPORT_MOST_US (GW_MOST_SECONDS * 1e6)

#endif
