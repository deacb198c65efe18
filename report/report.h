/* What answers look like: tables for people, documents for programs. */
#ifndef GW_REPORT_REPORT_H
#define GW_REPORT_REPORT_H

#include "core/core.h"
#include "study/study.h"
#include "traces/traces.h"

/* ---- printing ------------------------------------------------------------------------------ */

/* Prints a document on stdout and frees it. */
enum gw_status gw_print_document(cJSON *document, struct gw_error *error);

/* The same of a document that was filled with that status; otherwise frees it and fails so too. */
enum gw_status gw_print_filled(cJSON *document, enum gw_status filled, struct gw_error *error);

/*
 * A table with aligned columns, whose cells are added row by row. `alignment`, which lives longer,
 * has a character for each column: 'l' or 'r'.
 */
struct gw_table;
struct gw_table *gw_table_open(const char *const *headings, const char *alignment);
void gw_table_cell(struct gw_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void gw_table_print_and_close(struct gw_table *table);
void gw_table_close(struct gw_table *table);

/* "resnet50, 16 workers, density 0.001, cluster p102-1gbe-16" */
void gw_print_heading(const struct gw_question *question);

/* " with policy optimal, compressor dgc"; "" where nothing was changed. Returns `out`. */
enum { GW_CHANGES_SIZE = 128 };
const char *gw_changes_text(const struct gw_choice_changes *changes, char out[GW_CHANGES_SIZE]);
const char *gw_result_changes_text(const struct gw_result *result, char out[GW_CHANGES_SIZE]);

void gw_print_notes(const char *const *notes, size_t count);
void gw_print_result_notes(const struct gw_result *result);

/* Whether they differ in nothing but their numbers. */
bool gw_notes_are_alike(const char *a, const char *b);

/* Adds a result's notes to those of `all`, each once. */
void gw_collect_notes(struct gw_result *all, const struct gw_result *result);

#endif
