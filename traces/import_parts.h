/* Declarations that the importers share; private to this room. */
#ifndef GW_TRACES_IMPORT_PARTS_H
#define GW_TRACES_IMPORT_PARTS_H

#include "traces/imports.h"

/* ---- text, line by line ---------------------------------------------------------------------- */

/*
 * Tells whether a line that no other program prints begins at this place of a line. A launcher or a
 * container may have put a prefix before it: "[1,0]<stdout>:" before "# nThread 1 ...".
 */
typedef bool gw_import_header(const char *at);

/* Bytes of the longest prefix, and a zero. */
enum { GW_IMPORT_MAX_PREFIX = 256 };

struct gw_import_text {
    const char *path;
    gw_import_header *is_header; /* NULL: no line has a prefix */
    char *text, *next;           /* owned; the text from the next line on */
    size_t length;
    char prefix[GW_IMPORT_MAX_PREFIX]; /* of the last header */
    char *line;                        /* the current one, without its end and its prefix */
    size_t number;                     /* from 1; 0 before the first one */
    struct gw_cluster *cluster;        /* NULL: it takes none */
    bool is_useless;                   /* a part that is passed over, for a reason that was kept */
};

enum gw_status gw_import_open(const char *path, gw_import_header *is_header,
                              struct gw_import_text *out, struct gw_error *error);
void gw_import_close(struct gw_import_text *text);

/*
 * Goes on to the next line; false: no line is left. The text before a header is the prefix of the
 * lines that follow: each loses a prefix with the same marks around other numbers and words.
 */
bool gw_import_next_line(struct gw_import_text *text);

/* Tells whether no lines but empty ones follow the current one. */
bool gw_import_is_last(const struct gw_import_text *text);

/* Tells whether just so much of the line has the shape of the prefix. */
bool gw_import_is_prefix(const char *prefix, const char *line, size_t length);

/* Finds the next place in a line that has the shape of the prefix, and its length; NULL: none. */
char *gw_import_next_prefix(const struct gw_import_text *text, char *from, size_t *length);

/* Fails with bad input at the current line: "FILE:LINE: ...". */
enum gw_status gw_import_bad(const struct gw_import_text *text, struct gw_error *error,
                             const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Splits a line at its blanks, in place, keeps the first `most` words, and counts all. */
size_t gw_import_words(char *line, char **words, size_t most);

/* Skips "# ", which pages of Markdown lose. */
const char *gw_import_behind_mark(const char *line);

/* Tells whether a line looks like a row of a table: its first word is a number, or "1024K". */
bool gw_import_is_row(const char *line);

/* Tells whether a line begins so. */
bool gw_import_begins(const char *line, const char *with);

#define GW_IMPORT_MAX_EXACT 9007199254740992.0 /* 2^53 */

/* Parse a word as an integer up to 2^53, and as a finite number that is not negative. */
bool gw_import_integer(const char *word, double *out);
bool gw_import_number(const char *word, double *out);

/* ---- tables ---------------------------------------------------------------------------------- */

/* Settings of a table: two tables that differ in one have no mean. "": not known. */
enum gw_import_setting {
    GW_IMPORT_LAYOUT,    /* ranks of each node */
    GW_IMPORT_PROCESSES, /* threads, and GPUs of each */
    GW_IMPORT_DEVICE,
    GW_IMPORT_TYPE,
    GW_IMPORT_OPERATION,
    GW_IMPORT_REPEATS,  /* graphs, and calls that are timed as one: "graph=8", ... */
    GW_IMPORT_BLOCKING, /* what is waited for between calls; "no": nothing */
    GW_IMPORT_BUILD,    /* versions of the program and its library: "version=2.17.6", ... */
    GW_IMPORT_COMMAND,  /* variables of the library in the command or all of its environment */
    GW_IMPORT_LOGGED,   /* variables that the library has logged */
    GW_IMPORT_SETTINGS
};
enum { GW_IMPORT_MAX_SETTING = 1000 };

/* Contents of a table, collected row by row; all zero at first. */
struct gw_import_table {
    const char *tool, *collective;
    size_t workers;
    size_t workers_per_node;    /* 0: not known */
    size_t line;                /* where it stands; 0: a whole file */
    char version[32], date[32]; /* "": not known */
    char settings[GW_IMPORT_SETTINGS][GW_IMPORT_MAX_SETTING];
    struct gw_raw raw; /* means of rows in any order; owned */
};

/* An entry's source; NULL: it was not imported. */
cJSON *gw_import_source(const struct gw_collective_cost *cost);

/* Adds a file's name to the object's "files", unless it is there. */
enum gw_status gw_import_put_file(cJSON *source, const char *file, struct gw_error *error);

/* Puts a word into a setting, in the order of the alphabet, unless it is there or has no room. */
void gw_import_put_word(char setting[GW_IMPORT_MAX_SETTING], const char *word);

/* Writes "FILE:LINE" of a table, or the file alone. */
void gw_import_print_place(const struct gw_import_table *table, const char *path, char *out,
                           size_t size);

/*
 * Adds the mean time of `rows` rows, of bytes that one worker contributes; rows of zero bytes or
 * zero time are skipped.
 */
enum gw_status gw_import_point(struct gw_raw *raw, double bytes, double time_us, double rows,
                               struct gw_error *error);

/*
 * Adds a table's points, which stand in the files `paths`, to the cluster's curve, and forgets
 * them. A table without rows, or of a single rank, is passed over.
 */
enum gw_status gw_import_add(struct gw_import_table *table, const struct gw_import_paths *paths,
                             struct gw_cluster *cluster, struct gw_error *error);

/* ---- what is passed over --------------------------------------------------------------------- */

/*
 * Keeps in the cluster the reason why a part of a file is not imported. The first reasons are kept,
 * further ones counted. gw_import_finish fails with the first one if nothing at all was imported.
 */
enum gw_status gw_import_pass_over(struct gw_cluster *cluster, struct gw_error *error,
                                   const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Passes over what follows in the text, until its is_useless is false; keeps the first reason. */
enum gw_status gw_import_pass_over_part(struct gw_import_text *text, struct gw_error *error,
                                        const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- names ----------------------------------------------------------------------------------- */

/* Names with their numbers, in the order in which they came; all zero at first. */
struct gw_import_names {
    void *tree; /* owned */
    size_t count;
};

/* Finds the number of a name, from 0 on; a new name gets the next number. */
enum gw_status gw_import_find_name(struct gw_import_names *names, const char *text, size_t *number,
                                   struct gw_error *error);
void gw_import_free_names(struct gw_import_names *names);

/* Ranks that a benchmark may have, as many as a made cluster. */
enum { GW_IMPORT_MAX_RANKS = 1 << 24 };

/* Microseconds that a time may have. */
#define GW_IMPORT_MAX_US (GW_MAX_SECONDS * 1e6)

#endif
