#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

enum gw_status gw_print_document(cJSON *document, struct gw_error *error) {
    char *text = NULL;
    enum gw_status status = gw_json_print(document, &text, error);
    cJSON_Delete(document);
    if (status == GW_OK) {
        (void)fputs(text, stdout);
    }
    free(text);
    return status;
}

enum gw_status gw_save_document(cJSON *document, const char *path, struct gw_error *error) {
    enum gw_status status = gw_json_write(document, path, error);
    cJSON_Delete(document);
    return status;
}

enum gw_status gw_print_written(struct gw_json_writer *writer, struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_writer_finish(writer, &document, error));
    return gw_print_document(document, error);
}

/* ---- tables -------------------------------------------------------------------------------- */

enum { MOST_COLUMNS = 16, CELL_SIZE = 96 };

struct gw_table {
    bool is_cut; /* memory ran out for a cell */
    size_t columns, cells, capacity;
    const char *alignment; /* one character a column: 'l' or 'r' */
    char (*texts)[CELL_SIZE];
};

/* Adds a cell; a longer text ends in "...". */
static void add_cell(struct gw_table *table, const char *text) {
    if (table->cells == table->capacity) {
        char(*texts)[CELL_SIZE] =
            gw_grow(table->texts, table->cells + 1, &table->capacity, sizeof *texts);
        if (texts == NULL) {
            table->is_cut = true;
            gw_print_lost(NULL);
            return;
        }
        table->texts = texts;
    }
    char *cell = table->texts[table->cells++];
    gw_visible(text, cell, CELL_SIZE);
    if (strlen(text) >= CELL_SIZE) {
        memcpy(cell + CELL_SIZE - sizeof "...", "...", sizeof "...");
    }
}

enum { ROW_SIZE = MOST_COLUMNS * CELL_SIZE };

/* Adds as many cells as the format has; further tabs, in values, stay in the last one. */
static void add_cells(struct gw_table *table, const char *format, char *text) {
    for (const char *tab = strchr(format, '\t'); tab != NULL; tab = strchr(tab + 1, '\t')) {
        add_cell(table, text == NULL ? "" : strsep(&text, "\t"));
    }
    add_cell(table, text == NULL ? "" : text);
}

struct gw_table *gw_table_open(const char *alignment, const char *headings, ...) {
    struct gw_table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        gw_print_lost(NULL);
        return NULL;
    }
    table->columns = strlen(alignment);
    table->alignment = alignment;
    char text[ROW_SIZE];
    va_list arguments;
    va_start(arguments, headings);
    vsnprintf(text, sizeof text, headings, arguments);
    va_end(arguments);
    add_cells(table, headings, text);
    return table;
}

void gw_table_cells(struct gw_table *table, const char *format, ...) {
    char text[ROW_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (table != NULL) {
        add_cells(table, format, text);
    }
}

void gw_table_interval(struct gw_table *table, double low_s, double high_s) {
    if (isnan(low_s)) {
        gw_table_cells(table, "not known");
    } else {
        gw_table_cells(table, "%s to %s", GW_SECONDS(low_s), GW_SECONDS(high_s));
    }
}

void gw_table_print_and_close(struct gw_table *table) {
    if (table == NULL || table->is_cut) {
        gw_table_close(table);
        return;
    }
    size_t widths[MOST_COLUMNS] = {0};
    for (size_t i = 0; i < table->cells; i++) {
        size_t width = strlen(table->texts[i]);
        size_t *widest = &widths[i % table->columns];
        *widest = width > *widest ? width : *widest;
    }
    for (size_t i = 0; i < table->cells; i++) {
        size_t column = i % table->columns;
        bool last = column + 1 == table->columns;
        int width = (int)widths[column];
        if (table->alignment[column] == 'r') {
            gw_print("%s%*s", column == 0 ? "" : "  ", width, table->texts[i]);
        } else if (last) {
            gw_print("%s%s", column == 0 ? "" : "  ", table->texts[i]);
        } else {
            gw_print("%s%-*s", column == 0 ? "" : "  ", width, table->texts[i]);
        }
        if (last) {
            gw_print("\n");
        }
    }
    gw_table_close(table);
}

void gw_table_close(struct gw_table *table) {
    if (table != NULL) {
        free(table->texts);
        free(table);
    }
}

/* ---- headings and notes -------------------------------------------------------------------- */

const char *gw_algorithm_sends(const struct gw_algorithm *algorithm) {
    return strcmp(algorithm->name, GW_MIXED) == 0 ? GW_MIXED
           : gw_algorithm_selects(algorithm)      ? NULL
                                                  : "dense";
}

void gw_print_heading(const struct gw_scenario *scenario, const char *sends,
                      const struct gw_axis_values *values) {
    gw_print("%s (%s, %s elements)", scenario->model->name,
             GW_COUNTED(scenario->model->tensor_count, "tensor"),
             GW_NUMBER(gw_model_elements(scenario->model)));
    if (!gw_axis_varies(values, GW_AXIS_WORKERS)) {
        gw_print(", %s", GW_COUNTED(scenario->workers, "worker"));
    }
    gw_print(", cluster %s", scenario->cluster->name);
    if (sends != NULL) {
        gw_print(", %s", sends);
    } else if (!gw_axis_varies(values, GW_AXIS_DENSITY)) {
        gw_print(", density %g", scenario->density);
    }
    if (values != NULL) {
        char texts[2][GW_UNITS_SIZE];
        gw_axis_text(values, values->values[0], texts[0]);
        gw_axis_text(values, values->values[values->count - 1], texts[1]);
        gw_print("; %s %s%s%s%s", values->kind->name, values->count == 1 ? "" : "from ", texts[0],
                 values->count == 1 ? "" : " to ", values->count == 1 ? "" : texts[1]);
    }
    if (scenario->model->micro_batches > 1) {
        gw_print("\n%zu micro-batches an iteration", scenario->model->micro_batches);
    }
    gw_print("\n\n");
}

const char *gw_changes_text(const struct gw_choice_changes *changes, char out[GW_CHANGES_SIZE]) {
    const char *const names[] = {"policy", "compressor", "exchange"};
    const char *const values[] = {changes->policy, changes->compressor, changes->exchange};
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (values[i] != NULL && used < GW_CHANGES_SIZE) {
            used += (size_t)snprintf(out + used, GW_CHANGES_SIZE - used, "%s %s %s",
                                     used == 0 ? " with" : ",", names[i], values[i]);
        }
    }
    return out;
}

void gw_print_changes(const struct gw_choice_changes *changes) {
    char text[GW_CHANGES_SIZE];
    if (gw_changes_text(changes, text)[0] != '\0') {
        gw_print("all%s\n\n", text);
    }
}

const char *gw_result_changes_text(const struct gw_result *result, char out[GW_CHANGES_SIZE]) {
    const struct gw_choice_changes changes = {
        .policy = result->policy, .compressor = result->compressor, .exchange = result->exchange};
    return gw_changes_text(&changes, out);
}

static void print_wrapped_arguments(const char *first, const char *format, va_list arguments) {
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) {
        gw_print_lost(NULL);
        return;
    }
    gw_print_wrapped(first, text, gw_terminal_width());
    free(text);
}

void gw_print_paragraph(const char *first, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_wrapped_arguments(first, format, arguments);
    va_end(arguments);
}

void gw_print_note(const char *first, const char *format, ...) {
    va_list arguments;
    gw_print("\n");
    va_start(arguments, format);
    print_wrapped_arguments(first, format, arguments);
    va_end(arguments);
}

void gw_print_notes(const char *const *notes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        gw_print_note("note: ", "%s", notes[i]);
    }
}

void gw_print_axis_notes(const struct gw_axis_notes *notes, const struct gw_axis_values *values,
                         size_t most) {
    char text[GW_AXIS_NOTE_SIZE];
    for (size_t i = 0; i < notes->count && i < most; i++) {
        gw_print_note("note: ", "%s", gw_axis_note_text(&notes->notes[i], values, text));
    }
}

void gw_write_axis_notes(const struct gw_axis_notes *notes, const struct gw_axis_values *values,
                         struct gw_json_writer *writer) {
    char text[GW_AXIS_NOTE_SIZE];
    for (size_t i = 0; i < notes->count; i++) {
        gw_writer_text(writer, NULL, gw_axis_note_text(&notes->notes[i], values, text));
    }
}

void gw_print_result_notes(const struct gw_result *result) {
    for (size_t i = 0; i < result->note_count; i++) {
        const char *note = result->notes[i];
        gw_print_notes(&note, 1);
    }
}

/* Prints one note for all derived collectives, each with its margin. */
static void print_derived(const struct gw_result *all) {
    struct gw_text text;
    FILE *stream = gw_text_open(&text);
    for (size_t i = 0; i < all->derived_count && stream != NULL; i++) {
        (void)fprintf(stream, "%s%s", i == 0 ? "" : ", ", all->derived[i]);
        for (size_t u = 0; u < all->uncertainty_count; u++) {
            const struct gw_result_uncertainty *one = &all->uncertainties[u];
            if (strcmp(one->name, all->derived[i]) == 0) {
                char half[GW_UNITS_SIZE];
                (void)fprintf(stream, " %s",
                              isnan(one->relative) ? "(how far off is not known)"
                                                   : gw_format_margin(one->relative, 1, half));
            }
        }
    }
    if (gw_text_close(&text, "noting", NULL) != GW_OK) {
        gw_print_lost(NULL);
        return;
    }
    gw_print_note(
        "note: ",
        "exchanges that were not measured among so many workers, but derived or made up of "
        "others: %s; simulate --algo A says of a pipeline how",
        text.text);
    free(text.text);
}

void gw_print_collected_notes(const struct gw_result *all) {
    bool several = all->derived_count > 1;
    if (several) {
        print_derived(all);
    }
    for (size_t i = several ? all->derived_count : 0; i < all->note_count; i++) {
        gw_print_note("note: ", "%s", all->notes[i]);
    }
}
