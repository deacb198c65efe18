/* `sweep`: what a point turned out to be, and where that is written. */
#ifndef GW_CLI_SWEEP_H
#define GW_CLI_SWEEP_H

#include "cli/grid.h"

/* What became of a point. */
struct gw_outcome {
    enum gw_status status; /* GW_OK: the result holds; GW_BAD_INPUT: the point is infeasible */
    struct gw_result result;
    struct gw_error why;
};

/* ---- rows ---------------------------------------------------------------------------------- */

void gw_sweep_put_csv_heading(FILE *stream);
void gw_sweep_put_csv(FILE *stream, const struct gw_grid *grid, const struct gw_point *point,
                      const struct gw_outcome *outcome);

/* A document "gradweave/result@1", or "gradweave/infeasible@1", with the point; the caller's. */
enum gw_status gw_sweep_row_document(const struct gw_grid *grid, const struct gw_point *point,
                                     const struct gw_outcome *outcome, cJSON **out,
                                     struct gw_error *error);

/* ---- for a person ---------------------------------------------------------------------------- */

struct gw_sweep_table {
    struct gw_table *table;
    char alignment[GW_AXES + 8];
    struct gw_result notes; /* of the first points that have any */
    uint64_t infeasible;
    char reason[480];
};

void gw_sweep_table_open(struct gw_sweep_table *table, const struct gw_grid *grid);
void gw_sweep_table_add(struct gw_sweep_table *table, const struct gw_grid *grid,
                        const struct gw_point *point, const struct gw_outcome *outcome);
void gw_sweep_table_print(struct gw_sweep_table *table, const struct gw_grid *grid);

/* ---- files --------------------------------------------------------------------------------- */

/*
 * While a sweep runs, rows are appended to FILE.partial, whole lines in order of the points, below
 * a line that says which sweep this is. At the end FILE is put in place.
 */
enum { GW_SWEEP_MOST_FILES = 8 };

struct gw_sweep_format;

struct gw_sweep_file {
    const char *path;
    const struct gw_sweep_format *format;
    char *partial;       /* its name */
    char *prelude;       /* the line that says which sweep this is, and the format's heading */
    size_t title_length; /* of that line */
    FILE *stream;
    bool created; /* now, and not by an earlier sweep */
    uint64_t rows, infeasible;
};

struct gw_sweep_files {
    size_t count;
    struct gw_sweep_file files[GW_SWEEP_MOST_FILES];
    uint64_t done, infeasible; /* points that all files have, and how many of them have no answer */
};

/* Refuses names that say no format, and files that cannot be written. */
enum gw_status gw_sweep_files_check(const char *const *paths, size_t count, struct gw_error *error);

/* Begins the files, or goes on where an interrupted sweep of the same grid ended. */
enum gw_status gw_sweep_files_open(const char *const *paths, size_t count,
                                   const struct gw_grid *grid, bool resume,
                                   struct gw_sweep_files *out, struct gw_error *error);

/* A point's row as a file of that name has it. */
enum gw_status gw_sweep_put_row(FILE *stream, const char *path, const struct gw_grid *grid,
                                const struct gw_point *point, const struct gw_outcome *outcome,
                                struct gw_error *error);

/*
 * Writes the next point's rows to the files, as gw_sweep_put_row gives them, behind each other with
 * these lengths; `now`: and what rows were kept until now.
 */
enum gw_status gw_sweep_files_append(const struct gw_sweep_files *files, const char *rows,
                                     const size_t *lengths, bool now, struct gw_error *error);

/* Puts the complete files in place. */
enum gw_status gw_sweep_files_finish(struct gw_sweep_files *files, struct gw_error *error);

/* Frees; what is partial stays. */
void gw_sweep_files_close(struct gw_sweep_files *files);

#endif
