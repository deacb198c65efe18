/* Declarations that the importers share; private to this room. */
#ifndef GW_TRACES_IMPORT_PARTS_H
#define GW_TRACES_IMPORT_PARTS_H

#include "traces/imports.h"

/* ---- text, line by line ---------------------------------------------------------------------- */

/*
 * Finds where a line that no other program prints begins within a line of a file, behind all that a
 * launcher or a container puts before it: "# nThread 1 ..." in "[1,0]<stdout>:# nThread 1 ...".
 * NULL: the line is none of those.
 */
typedef const char *gw_import_header(const char *line);

enum { GW_IMPORT_MOST_PREFIX = 256 };

struct gw_import_text {
    const char *path;
    gw_import_header *find_header; /* NULL: lines have nothing before them */
    char *text, *next;             /* owned; what comes behind the line */
    size_t length;
    char prefix[GW_IMPORT_MOST_PREFIX]; /* of the last header */
    char *line;                         /* the current one, without its end and its prefix */
    size_t number;                      /* from 1; 0 before the first one */
};

enum gw_status gw_import_open(const char *path, gw_import_header *find_header,
                              struct gw_import_text *out, struct gw_error *error);
void gw_import_close(struct gw_import_text *text);

/*
 * False: there is none any more. A header tells what its line begins with; lines behind it lose
 * what has the same shape: the same marks around other numbers and other words.
 */
bool gw_import_next_line(struct gw_import_text *text);

/* Whether so much of the line has the shape of the prefix, and no more or less. */
bool gw_import_is_prefix(const char *prefix, const char *line, size_t length);

/* Finds the next place in a line that has the shape of the prefix, and its length; NULL: none. */
char *gw_import_next_prefix(const struct gw_import_text *text, char *from, size_t *length);

/* Bad input at the current line: "FILE:LINE: ...". */
enum gw_status gw_import_bad(const struct gw_import_text *text, struct gw_error *error,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Splits a line at its blanks, in place; how many words it has, of which `most` are in `words`. */
size_t gw_import_words(char *line, char **words, size_t most);

/* Skips "# ", which pages of Markdown lose. */
const char *gw_import_behind_mark(const char *line);

/* Whether a line looks like a row of a table: its first word is a number, or "1024K". */
bool gw_import_is_row(const char *line);

/* A word as an integer up to 2^53, and as a finite number that is not negative. */
bool gw_import_integer(const char *word, double *out);
bool gw_import_number(const char *word, double *out);

/* ---- tables ---------------------------------------------------------------------------------- */

/* The mean time of so many rows of one size, of which one took least and one most. */
struct gw_import_mean {
    double bytes, mean_s, rows, least_s, most_s;
};

/* Under what a table was measured: two that differ in any of these have no mean. "": not known. */
enum gw_import_setting {
    GW_IMPORT_LAYOUT,    /* ranks of each node */
    GW_IMPORT_PROCESSES, /* threads, and GPUs of each */
    GW_IMPORT_DEVICE,
    GW_IMPORT_TYPE,
    GW_IMPORT_OPERATION,
    GW_IMPORT_REPEATS, /* graphs, and calls that are timed as one */
    GW_IMPORT_BUILD,   /* versions of the program and its library */
    GW_IMPORT_COMMAND, /* variables of the library in the command */
    GW_IMPORT_LOGGED,  /* variables that the library has logged */
    GW_IMPORT_SETTINGS
};
enum { GW_IMPORT_MOST_SETTING = 128 };

/* Contents of a table, collected row by row; all zero at first. */
struct gw_import_table {
    const char *tool, *collective;
    size_t workers;
    size_t workers_per_node;    /* 0: not known */
    size_t line;                /* where it stands; 0: a whole file */
    char version[32], date[32]; /* "": not known */
    char settings[GW_IMPORT_SETTINGS][GW_IMPORT_MOST_SETTING];
    size_t count, capacity;
    struct gw_import_mean *means; /* owned; in any order */
};

/* An entry's source; NULL: it was not imported. */
cJSON *gw_import_source(const struct gw_collective_cost *cost);

/* Adds a file's name to the object's "files", unless it is there. */
enum gw_status gw_import_put_file(cJSON *source, const char *file, struct gw_error *error);

/* Puts a word into a setting, in the order of the alphabet, unless it is there. */
void gw_import_put_word(char setting[GW_IMPORT_MOST_SETTING], const char *word);

/*
 * Adds the mean time of `rows` rows, of bytes that one worker contributes; rows of zero bytes or
 * zero time are skipped.
 */
enum gw_status gw_import_point(struct gw_import_table *table, double bytes, double time_us,
                               double rows, struct gw_error *error);

/*
 * Adds the points to the cluster's curve, and forgets them; `paths` are of the files they are from.
 * A table without rows, or of a single rank, is passed over.
 */
enum gw_status gw_import_add(struct gw_import_table *table, const struct gw_import_paths *paths,
                             struct gw_cluster *cluster, struct gw_error *error);

/*
 * Keeps in the cluster why a part of a file is not imported, unless it keeps many already: whatever
 * else there is is. gw_import_finish refuses by the first of them where there is nothing else.
 */
enum gw_status gw_import_pass_over(struct gw_cluster *cluster, struct gw_error *error,
                                   const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Ranks that a benchmark may have, as many as a made cluster. */
enum { GW_IMPORT_MOST_RANKS = 1 << 24 };

/* Microseconds that a time may have. */
#define GW_IMPORT_MOST_US (GW_MOST_SECONDS * 1e6)

#endif
