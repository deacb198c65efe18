/* What answers look like: tables for people, documents for programs. */
#ifndef GW_REPORT_REPORT_H
#define GW_REPORT_REPORT_H

#include "core/core.h"
#include "goal/goal.h"
#include "study/study.h"
#include "traces/traces.h"

/* ---- printing ------------------------------------------------------------------------------ */

/* Prints a document on stdout and frees it. */
enum gw_status gw_print_document(cJSON *document, struct gw_error *error);

/* The same of a document that is being written. */
enum gw_status gw_print_written(struct gw_json_writer *writer, struct gw_error *error);

/*
 * A table with aligned columns, whose cells are added row by row. `alignment`, which lives longer,
 * has a character for each column: 'l' or 'r'.
 */
struct gw_table;
struct gw_table *gw_table_open(const char *const *headings, const char *alignment);
void gw_table_cell(struct gw_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "188.4 ms to 213.7 ms"; a low_s of NAN: it is not known. */
void gw_table_interval(struct gw_table *table, double low_s, double high_s);
void gw_table_print_and_close(struct gw_table *table);
void gw_table_close(struct gw_table *table);

/* "resnet50, 16 workers, density 0.001, cluster p102-1gbe-16" */
/* "dense" instead of the density where nothing is compressed. */
void gw_print_heading(const struct gw_question *question, bool dense);

/* " with policy optimal, compressor dgc"; "" where nothing was changed. Returns `out`. */
enum { GW_CHANGES_SIZE = 128 };
const char *gw_changes_text(const struct gw_choice_changes *changes, char out[GW_CHANGES_SIZE]);
const char *gw_result_changes_text(const struct gw_result *result, char out[GW_CHANGES_SIZE]);

/* "all with policy optimal", a paragraph below a heading; nothing where nothing was changed. */
void gw_print_changes(const struct gw_choice_changes *changes);

/* A paragraph that begins with `first`, "note: ", and is as wide as the terminal. */
void gw_print_note(const char *first, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void gw_print_notes(const char *const *notes, size_t count);
void gw_print_result_notes(const struct gw_result *result);

/* Of several results: what was derived is one note, with the worst of each collective. */
void gw_print_collected_notes(const struct gw_result *all);

/* ---- plans and predictions ----------------------------------------------------------------- */

/*
 * Plans for a person; or (json) the only one's document, or that of all (ranking). With an
 * explanation of the first, or NULL; `exchange` as it was asked for, or NULL.
 */
enum gw_status gw_print_plans(const struct gw_question *question, const struct gw_plans *plans,
                              bool ranking, const char *exchange, const struct gw_explanation *best,
                              bool json, struct gw_error *error);

/* The two streams as a picture: .png, .svg or .pdf. */
enum gw_status gw_draw_explanation(const struct gw_explanation *explanation, const char *path,
                                   struct gw_error *error);

/* How far off it may be: "+-12%", "within a factor of 2.3", or "+12.0%" where it only makes
 * iterations longer. */
const char *gw_format_uncertainty(const struct gw_result_uncertainty *uncertainty, int decimals,
                                  char out[GW_UNITS_SIZE]);

/* A prediction of the algorithm for a person, or as its document. */
enum gw_status gw_print_prediction(const struct gw_question *question,
                                   const struct gw_algorithm *algorithm,
                                   const struct gw_result *result, bool json,
                                   struct gw_error *error);

/* When the ranks of a GOAL schedule finish. */
enum gw_status gw_print_goal(const struct gw_goal_answer *answer, bool json,
                             struct gw_error *error);

/* That a pipeline was exported, and for which parameters. */
enum gw_status gw_print_export(const struct gw_goal_export *export, bool json,
                               struct gw_error *error);

/* ---- rankings ------------------------------------------------------------------------------ */

/* A ranking for a person; or (json) the document "gradweave/comparison@1" on stdout. */
enum gw_status gw_print_ranking(const struct gw_ranking *ranking, bool json,
                                struct gw_error *error);

/* Why the first is the fastest, in a sentence or two, in the arena; "": there is no other. */
enum gw_status gw_ranking_explain(const struct gw_ranking *ranking, struct gw_arena *arena,
                                  const char **out, struct gw_error *error);

/* The names of pipelines that select what gradients let them; zero-initialise. */
struct gw_counts_note {
    char names[GW_RESULT_NOTE_SIZE];
};

/* Adds a pipeline that is compared if, with the comparison's changes, it is one of them. */
void gw_counts_note_add(struct gw_counts_note *note, const struct gw_comparison *comparison,
                        const char *algorithm);

/* Says for a person whose counts are as asked, or trained, if there are any. */
void gw_counts_note_print(const struct gw_counts_note *note,
                          const struct gw_comparison *comparison);

/* ---- what there is ------------------------------------------------------------------------- */

enum gw_list {
    GW_LIST_ALGORITHMS,
    GW_LIST_COMPRESSORS,
    GW_LIST_EXCHANGES,
    GW_LIST_POLICIES,
    GW_LIST_COLLECTIVES,
    GW_LIST_NETWORKS,
    GW_LIST_GPUS,
    GW_LIST_LINKS,
    GW_LIST_MODELS,
    GW_LIST_CLUSTERS,
    GW_LIST_TABLES,
    GW_LISTS
};
extern const char *const gw_list_names[]; /* ended by NULL */

/* One list, or (GW_LISTS) all, for a person or as the document "gradweave/list@1". */
enum gw_status gw_print_list(enum gw_list what, bool json, struct gw_error *error);

/* ---- validation ---------------------------------------------------------------------------- */

enum gw_status gw_validation_write(const struct gw_validation *validation, const char *path,
                                   struct gw_error *error);

/* For a person or (json) as a document on stdout, which also goes to the file (or NULL). */
enum gw_status gw_print_validation(const struct gw_validation *validation, const char *path,
                                   bool json, struct gw_error *error);

#endif
