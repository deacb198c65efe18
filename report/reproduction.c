/* Prints and writes published tables beside gradweave's results. */
#include "report/report.h"

#include <math.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------ */

static void add_number(struct gw_table *table, double value) {
    if (isnan(value)) {
        gw_table_cells(table, "%s", "");
    } else {
        gw_table_cells(table, "%.4g", value);
    }
}

/* Adds the published value or its range: "2 or more", "1 at most", "1.5 to 2.5". */
static void add_claim(struct gw_table *table, const struct gw_paper_cell *cell) {
    bool least = !isnan(cell->least);
    if (!isnan(cell->published)) {
        add_number(table, cell->published);
    } else if (least && !isnan(cell->most)) {
        gw_table_cells(table, "%.4g to %.4g", cell->least, cell->most);
    } else if (least || !isnan(cell->most)) {
        gw_table_cells(table, least ? "%.4g or more" : "%.4g at most",
                       least ? cell->least : cell->most);
    } else {
        gw_table_cells(table, "only drawn");
    }
}

static void print_cells(const struct gw_reproduction *found) {
    const struct gw_paper_table *table = &found->table;
    struct gw_table *out =
        gw_table_open("llrrrl", "row\tcolumn\tpublished\tgradweave\toff\tfitted to it");
    for (size_t i = 0; i < table->row_count; i++) {
        for (size_t k = 0; k < table->column_count; k++) {
            const struct gw_reproduced_cell *cell = &found->cells[i * table->column_count + k];
            if (table->rows[i].cells[k].is_there) {
                gw_table_cells(out, "%s\t%s", table->rows[i].name, table->columns[k].name);
                add_claim(out, &table->rows[i].cells[k]);
                add_number(out, cell->value);
                if (isnan(cell->error)) {
                    gw_table_cells(out, "%s",
                                   !cell->claimed ? ""
                                   : cell->holds  ? "holds"
                                                  : "does not hold");
                } else {
                    gw_table_cells(out, "%+.1f%%", 100 * cell->error);
                }
                gw_table_cells(out, "%s",
                               table->rows[i].cells[k].fitted != NULL
                                   ? table->rows[i].cells[k].fitted
                               : cell->fitted ? "of fitted ones"
                                              : "");
            }
        }
    }
    gw_table_print_and_close(out);
}

static void print_summary(const struct gw_reproduction *found) {
    gw_print("\n");
    if (found->unfitted > 0) {
        gw_print("Of %zu numbers that nothing was fitted to, %zu are within 10%%, %zu within 20%%; "
                 "mean error %.1f%%, largest %.1f%%.\n",
                 found->unfitted, found->within_10, found->within_20, 100 * found->mean_error,
                 100 * found->largest_error);
    }
    if (found->pairs > 0) {
        gw_print("Of %zu pairs of them in a row, %zu are in the published order.\n", found->pairs,
                 found->ordered);
    }
    if (found->claims > 0) {
        gw_print("Of %zu claims, %zu hold.\n", found->claims, found->holding);
    }
    if (found->unfitted == 0 && found->claims == 0) {
        gw_print("No number is reproduced: all are fitted or only drawn.\n");
    }
}

void gw_print_reproduction(const struct gw_reproduction *reproduction) {
    const struct gw_paper_table *table = &reproduction->table;
    gw_print("%s: %s, in %s\n(%s)\n\n", table->name, table->title, table->unit, table->source);
    print_cells(reproduction);
    print_summary(reproduction);
    gw_print("\n");
    for (size_t i = 0; i < table->input_count; i++) {
        gw_print("%-10s %s\n", table->inputs[i].origin, table->inputs[i].what);
    }
    for (size_t i = 0; i < table->note_count; i++) {
        gw_print_note("", "%s", table->notes[i]);
    }
}

/* ---- document -------------------------------------------------------------------------------- */

static void write_cells(const struct gw_reproduction *found, struct gw_json_writer *writer) {
    const struct gw_paper_table *table = &found->table;
    for (size_t i = 0; i < table->row_count * table->column_count; i++) {
        const struct gw_paper_row *row = &table->rows[i / table->column_count];
        const struct gw_paper_cell *published = &row->cells[i % table->column_count];
        const struct gw_reproduced_cell *cell = &found->cells[i];
        if (!published->is_there) {
            continue;
        }
        gw_writer_object(writer, NULL);
        gw_writer_text(writer, "table", table->name);
        gw_writer_text(writer, "row", row->name);
        gw_writer_text(writer, "column", table->columns[i % table->column_count].name);
        gw_writer_text(writer, "unit", table->unit);
        gw_writer_number(writer, "published", published->published);
        gw_writer_number(writer, "gradweave", cell->value);
        gw_writer_number(writer, "error", cell->error);
        gw_writer_flag(writer, "fitted", cell->fitted);
        if (cell->claimed) {
            gw_writer_flag(writer, "claim_holds", cell->holds);
        }
        gw_writer_end(writer);
    }
}

static void write_summary(const struct gw_reproduction *found, struct gw_json_writer *writer) {
    gw_writer_object(writer, NULL);
    gw_writer_text(writer, "table", found->table.name);
    gw_writer_text(writer, "title", found->table.title);
    gw_writer_text(writer, "source", found->table.source);
    gw_writer_number(writer, "unfitted", (double)found->unfitted);
    gw_writer_number(writer, "within_10_percent", (double)found->within_10);
    gw_writer_number(writer, "within_20_percent", (double)found->within_20);
    gw_writer_number(writer, "mean_error", found->mean_error);
    gw_writer_number(writer, "largest_error", found->largest_error);
    gw_writer_number(writer, "pairs", (double)found->pairs);
    gw_writer_number(writer, "ordered", (double)found->ordered);
    gw_writer_number(writer, "claims", (double)found->claims);
    gw_writer_number(writer, "holding", (double)found->holding);
    gw_writer_end(writer);
}

enum gw_status gw_print_reproductions(const struct gw_reproduction *reproductions, size_t count,
                                      const char *name, struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/reproduction@1");
    gw_writer_text(&writer, "table", name);
    gw_writer_array(&writer, "cells");
    for (size_t i = 0; i < count; i++) {
        write_cells(&reproductions[i], &writer);
    }
    gw_writer_end(&writer);
    gw_writer_array(&writer, "inputs");
    for (size_t i = 0; i < count; i++) {
        const struct gw_paper_table *table = &reproductions[i].table;
        for (size_t k = 0; k < table->input_count; k++) {
            gw_writer_object(&writer, NULL);
            gw_writer_text(&writer, "table", table->name);
            gw_writer_text(&writer, "origin", table->inputs[k].origin);
            gw_writer_text(&writer, "what", table->inputs[k].what);
            gw_writer_end(&writer);
        }
    }
    gw_writer_end(&writer);
    gw_writer_array(&writer, "summaries");
    for (size_t i = 0; i < count; i++) {
        write_summary(&reproductions[i], &writer);
    }
    gw_writer_end(&writer);
    return gw_print_written(&writer, error);
}
