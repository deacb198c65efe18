/* Prints answers: tables for people, documents for programs. */
#ifndef GW_REPORT_REPORT_H
#define GW_REPORT_REPORT_H

#include "core/core.h"
#include "goal/goal.h"
#include "study/advice.h"
#include "study/axes.h"
#include "study/check.h"
#include "study/difference.h"
#include "study/reproduction.h"
#include "study/study.h"
#include "traces/traces.h"

/* ---- printing ------------------------------------------------------------------------------ */

/* Prints a document on stdout and frees it. */
enum gw_status gw_print_document(cJSON *document, struct gw_error *error);

/* Writes a document to a file and frees it. */
enum gw_status gw_save_document(cJSON *document, const char *path, struct gw_error *error);

/* Finishes the document that is being written, and prints it on stdout. */
enum gw_status gw_print_written(struct gw_json_writer *writer, struct gw_error *error);

/*
 * A table with aligned columns, whose cells are added row by row. `alignment` outlives the table
 * and has a character for each column, 'l' or 'r'; headings have tabs between them.
 */
struct gw_table;
struct gw_table *gw_table_open(const char *alignment, const char *headings, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds one or more cells of a row, with tabs between them: "%s\t%zu". */
void gw_table_cells(struct gw_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds the cell "188.4 ms to 213.7 ms"; low_s = NAN: the interval is unknown. */
void gw_table_interval(struct gw_table *table, double low_s, double high_s);
void gw_table_print_and_close(struct gw_table *table);
void gw_table_close(struct gw_table *table);

/* Prints "resnet50 (161 tensors), 16 workers, cluster p102-1gbe-16, density 0.001", or `sends`
 * unless NULL, such as "dense", in place of the density; and the `values` (or NULL) of an axis. */
void gw_print_heading(const struct gw_scenario *scenario, const char *sends,
                      const struct gw_axis_values *values);

/* Names in a heading, in place of a density: "mixed", "dense" or NULL. */
const char *gw_algorithm_sends(const struct gw_algorithm *algorithm);

/* Formats " with policy optimal, compressor dgc"; "" without changes. Returns `out`. */
enum { GW_CHANGES_SIZE = 128 };
const char *gw_changes_text(const struct gw_choice_changes *changes, char out[GW_CHANGES_SIZE]);
const char *gw_result_changes_text(const struct gw_result *result, char out[GW_CHANGES_SIZE]);

/* Prints the paragraph "all with policy optimal"; without changes prints no paragraph. */
void gw_print_changes(const struct gw_choice_changes *changes);

/* Print a paragraph as wide as the terminal, beginning with `first` ("note: "), a note after an
 * empty line. */
void gw_print_paragraph(const char *first, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void gw_print_note(const char *first, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void gw_print_notes(const char *const *notes, size_t count);
void gw_print_axis_notes(const struct gw_axis_notes *notes, const struct gw_axis_values *values,
                         size_t most);
void gw_print_result_notes(const struct gw_result *result);

/* Writes the notes as items of the open array. */
void gw_write_axis_notes(const struct gw_axis_notes *notes, const struct gw_axis_values *values,
                         struct gw_json_writer *writer);

/* Prints several results' notes, with one note for all derived collectives. */
void gw_print_collected_notes(const struct gw_result *all);

/* ---- plans and predictions ----------------------------------------------------------------- */

/*
 * Prints plans as text or (json) as documents: the only plan's, or (ranking) that of all. `best`
 * explains the first plan, or is NULL; `exchange` is the one asked for, or NULL.
 */
enum gw_status gw_print_plans(const struct gw_scenario *scenario, const struct gw_plans *plans,
                              bool ranking, const char *exchange, const struct gw_explanation *best,
                              bool json, struct gw_error *error);

/* Draws the two streams as .png, .svg or .pdf. */
enum gw_status gw_draw_explanation(const struct gw_explanation *explanation, const char *path,
                                   struct gw_error *error);

/* Formats "+-12%", "within a factor of 2.3", or "+12.0%" if iterations can only get longer. */
const char *gw_format_uncertainty(const struct gw_result_uncertainty *uncertainty, int decimals,
                                  char out[GW_UNITS_SIZE]);

/* Prints the algorithm's prediction as text or (json) as its document. */
enum gw_status gw_print_prediction(const struct gw_scenario *scenario,
                                   const struct gw_algorithm *algorithm,
                                   const struct gw_result *result, bool json,
                                   struct gw_error *error);

/* Prints when the ranks of a GOAL schedule finish. */
enum gw_status gw_print_goal(const struct gw_goal_answer *answer, bool json,
                             struct gw_error *error);

/* Prints the parameters for which a pipeline was exported. */
enum gw_status gw_print_export(const struct gw_goal_export *export, bool json,
                               struct gw_error *error);

/* ---- rankings ------------------------------------------------------------------------------ */

/* Prints a ranking as text or (json) as the document "gradweave/comparison@1" on stdout. */
enum gw_status gw_print_ranking(const struct gw_ranking *ranking, bool json,
                                struct gw_error *error);

/* Explains why the first is the fastest; *out is the arena's, "" if it is the only one. */
enum gw_status gw_ranking_explain(const struct gw_ranking *ranking, struct gw_arena *arena,
                                  const char **out, struct gw_error *error);

/* The names of compared pipelines whose counts depend on gradients; zero-initialise. */
struct gw_counts_note {
    char names[GW_RESULT_NOTE_SIZE];
};

/* Adds the pipeline if, with the comparison's changes, its counts depend on gradients. */
void gw_counts_note_add(struct gw_counts_note *note, const struct gw_comparison *comparison,
                        const char *algorithm);

/* Prints which pipelines' counts are as asked, or trained; without any prints no line. */
void gw_counts_note_print(const struct gw_counts_note *note,
                          const struct gw_comparison *comparison);

/* ---- lists --------------------------------------------------------------------------------- */

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

/* Prints one list, or (GW_LISTS) all, as text or (json) as the document "gradweave/list@1". */
enum gw_status gw_print_list(enum gw_list what, bool json, struct gw_error *error);

/* ---- validation ---------------------------------------------------------------------------- */

enum gw_status gw_validation_write(const struct gw_validation *validation, const char *path,
                                   struct gw_error *error);

/* Prints text, or (json) the document, which also goes to `path` (or NULL). */
enum gw_status gw_print_validation(const struct gw_validation *validation, const char *path,
                                   bool json, struct gw_error *error);

/* Prints the operations that contribute most to a pair's error, and the files' entries that
 * determine them. */
void gw_difference_print(const struct gw_difference *difference, const char *algorithm);

/* Writes the object "explanation" with all operations. */
void gw_difference_write(const struct gw_difference *difference, struct gw_json_writer *writer);

/* ---- advice -------------------------------------------------------------------------------- */

/* Prints text, or (json) the document "gradweave/advice@1"; `price`: of a worker's hour, or 0. */
enum gw_status gw_print_advice(const struct gw_advice *advice, double price, bool json,
                               struct gw_error *error);

/* Formats a place's pipeline with its policy if that was changed. Returns `out`. */
enum { GW_ADVICE_NAME_SIZE = 96 };
const char *gw_advice_name(const struct gw_advice *advice, size_t place,
                           char out[GW_ADVICE_NAME_SIZE]);

/* Returns the cost of a million iterations of all workers, in the unit of `price`. */
double gw_advice_cost(const struct gw_advice *advice, const struct gw_result *result, double price);

/* Says how the costs of the cluster's compressors came to be: "measured", "assumed". */
const char *gw_advice_compressors_origin(const struct gw_advice *advice);

/* Finds the first group whose exchange ends after the last gradient is compressed. */
size_t gw_advice_first_exposed(const struct gw_advice *advice);

/* Writes the members of the advice document into the writer's open object. */
void gw_advice_write(const struct gw_advice *advice, double price, struct gw_json_writer *writer);

/* ---- models, clusters, files --------------------------------------------------------------- */

/* Prints the model's times and its largest tensors. */
void gw_print_model(const struct gw_model *model);

/* Prints the times of the cluster's collectives and compressors, with their margins. */
void gw_print_cluster(const struct gw_cluster *cluster);

/* Prints the findings as text or (json) as the document "gradweave/check@1". */
enum gw_status gw_print_checks(const struct gw_file_check *checks, size_t count, bool json,
                               struct gw_error *error);

/* ---- published tables ---------------------------------------------------------------------- */

/* Prints the reproduction as text. */
void gw_print_reproduction(const struct gw_reproduction *reproduction);

/* Prints the cells of one or several as "gradweave/reproduction@1" with this `name`. */
enum gw_status gw_print_reproductions(const struct gw_reproduction *reproductions, size_t count,
                                      const char *name, struct gw_error *error);

#endif
