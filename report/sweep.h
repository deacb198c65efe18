/* Output of sweeps: rows and files of a grid's points, tables, documents, pictures. */
#ifndef GW_REPORT_SWEEP_H
#define GW_REPORT_SWEEP_H

#include "report/report.h"
#include "study/axes.h"
#include "study/crossovers.h"
#include "study/grid.h"
#include "study/plan_sweep.h"

/* ---- a grid's files (sweep_files.c) ---------------------------------------------------------- */

/*
 * While a sweep runs, rows are appended to FILE.partial in the order of the points, below a line
 * that says which sweep this is. At the end FILE is put in place, without that line.
 */
enum { GW_SWEEP_MAX_FILES = 8 };

struct gw_sweep_format;

struct gw_sweep_file {
    const char *path;
    const struct gw_sweep_format *format;
    char *partial;       /* its name */
    char *prelude;       /* the line that says which sweep this is, and the format's heading */
    size_t title_length; /* of that line */
    FILE *stream;
    bool created;    /* now, and not by an earlier sweep */
    double synced_s; /* when it was last written to the disk */
    uint64_t rows, infeasible;
};

struct gw_sweep_files {
    size_t count;
    struct gw_sweep_file files[GW_SWEEP_MAX_FILES];
    uint64_t done, infeasible; /* points that all files have, and how many of them have no answer */
};

/*
 * Begins the files, or goes on where an interrupted sweep of the same grid ended. Refuses names
 * that say no format, and files that cannot be written.
 */
enum gw_status gw_sweep_files_open(const char *const *paths, size_t count,
                                   const struct gw_grid *grid, bool resume,
                                   struct gw_sweep_files *out, struct gw_error *error);

/* A point's row as a file of that name has it. */
enum gw_status gw_sweep_put_row(FILE *stream, const char *path, const struct gw_grid *grid,
                                const struct gw_point *point,
                                const struct gw_prediction *prediction, struct gw_error *error);

/*
 * Writes the next point's rows of gw_sweep_put_row, which follow each other with these lengths, to
 * the files; `now`: flushes rows that were kept in memory.
 */
enum gw_status gw_sweep_files_append(struct gw_sweep_files *files, const char *rows,
                                     const size_t *lengths, bool now, struct gw_error *error);

/* Puts the complete files in place. */
enum gw_status gw_sweep_files_finish(struct gw_sweep_files *files, struct gw_error *error);

/* Frees the files; partial files stay. */
void gw_sweep_files_close(struct gw_sweep_files *files);

/* A document "gradweave/result@1", or "gradweave/infeasible@1", with the point; the caller's. */
enum gw_status gw_sweep_document(const struct gw_grid *grid, const struct gw_point *point,
                                 const struct gw_prediction *prediction, cJSON **out,
                                 struct gw_error *error);

/* ---- a grid's answers (sweep.c) -------------------------------------------------------------- */

/* A table for a person, with a column for every axis of several values. */
struct gw_sweep_table {
    struct gw_table *table;
    char alignment[GW_AXES + 8];
    struct gw_result notes; /* of the first points that have any */
    uint64_t infeasible;
    char reason[480];
};

/* Rank 0 opens it; other ranks only encode. */
struct gw_sweep_output {
    const struct gw_grid *grid;
    const char *const *paths; /* of files; without any, a table or (json) documents are printed */
    size_t path_count;
    bool json;
    uint64_t done; /* points that an earlier sweep has left in the files, as rank 0 sees them */
    /* Used by rank 0 alone. */
    struct gw_sweep_files files;
    struct gw_sweep_table table;
    cJSON *points;
    uint64_t infeasible;
};

/* A point's answer on its way to rank 0: its rows in the files, or its prediction. */
enum gw_status gw_sweep_encode(const struct gw_sweep_output *output, const struct gw_point *point,
                               const struct gw_prediction *prediction, FILE *stream,
                               struct gw_error *error);

/* Opens files, table or list of documents; a struct of zeros but for the first four members may be
 * closed. */
enum gw_status gw_sweep_output_open(struct gw_sweep_output *output, bool resume,
                                    struct gw_error *error);

/* Takes an encoded answer, in the order of the points; `last`: of a round (gw_shared_points). */
enum gw_status gw_sweep_output_take(struct gw_sweep_output *output, uint64_t number,
                                    const char *text, size_t length, bool last,
                                    struct gw_error *error);

/* Finishes the files and prints the answers, after all are taken; `seconds`: duration. */
enum gw_status gw_sweep_output_print(struct gw_sweep_output *output, double seconds,
                                     struct gw_error *error);
void gw_sweep_output_close(struct gw_sweep_output *output);

/* ---- plans along an axis (plan_sweep.c) ------------------------------------------------------ */

/* Prints tables, findings and notes; or (json) the document "gradweave/sweep@1". */
enum gw_status gw_plan_sweep_print(const struct gw_plan_sweep *sweep, bool json,
                                   struct gw_error *error);

/* Writes a table, document or picture, by the end of the name; gw_plan_sweep_check_out refuses
 * others before any work. */
enum gw_status gw_plan_sweep_check_out(const char *path, struct gw_error *error);
enum gw_status gw_plan_sweep_write(const struct gw_plan_sweep *sweep, const char *path,
                                   struct gw_error *error);

/* ---- crossovers along an axis (crossovers.c) ------------------------------------------------- */

/* Describes what bandwidths refer to on the cluster; "" without any. Returns `out`. */
const char *gw_bandwidth_note(const struct gw_axis_values *bandwidths,
                              char out[GW_RESULT_NOTE_SIZE]);

/* Prints crossovers; or (json) the document "gradweave/crossovers@1". */
enum gw_status gw_crossovers_print(const struct gw_crossovers *crossovers, bool json,
                                   struct gw_error *error);

/* Draws the picture and writes its table; either path may be NULL. */
enum gw_status gw_crossovers_draw(const struct gw_crossovers *crossovers, const char *path,
                                  const char *data_path, struct gw_error *error);

#endif
