#include "traces/paper_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const quantity_names[GW_QUANTITIES] = {
    [GW_QUANTITY_GROUPS] = "groups",
    [GW_QUANTITY_ITERATION_S] = "iteration_s",
    [GW_QUANTITY_COMPUTE_S] = "compute_s",
    [GW_QUANTITY_COMPRESS_S] = "compress_s",
    [GW_QUANTITY_EXPOSED_S] = "exposed_comm_s",
    [GW_QUANTITY_COMMUNICATION_S] = "comm_s",
    [GW_QUANTITY_SAMPLES_PER_S] = "samples_per_s",
    [GW_QUANTITY_DENSITY] = "density",
    [GW_QUANTITY_PADDING] = "padding",
    [GW_QUANTITY_RATIO] = "ratio",
};

static const char *const origins[] = {"published", "released", "measured", "fitted", "assumed"};

/* ---- members --------------------------------------------------------------------------------- */

static enum gw_status read_text(const struct gw_json *object, const char *key, bool needed,
                                const char **out, struct gw_error *error) {
    struct gw_json place = gw_json_member(object, key);
    return !needed && place.node == NULL ? GW_OK : gw_json_text(&place, out, error);
}

/* NAN where it is absent. */
static enum gw_status read_number(const struct gw_json *object, const char *key, double *out,
                                  struct gw_error *error) {
    struct gw_json place = gw_json_member(object, key);
    *out = NAN;
    return place.node == NULL ? GW_OK : gw_json_not_negative(&place, out, error);
}

static enum gw_status read_count(const struct gw_json *object, const char *key, size_t *out,
                                 struct gw_error *error) {
    enum { MOST = 1 << 24 };
    struct gw_json place = gw_json_member(object, key);
    uint64_t count = 0;
    if (place.node == NULL) {
        return GW_OK;
    }
    GW_TRY(gw_json_integer(&place, 1, &count, error));
    *out = (size_t)count;
    return count <= MOST ? GW_OK : gw_json_expected(&place, "at most 2^24", error);
}

/* How many items a list has, and room for them. */
static enum gw_status open_list(const struct gw_json *root, const char *key, struct gw_json *list,
                                size_t size, struct gw_arena *arena, void *items, size_t *count,
                                struct gw_error *error) {
    *list = gw_json_member(root, key);
    GW_TRY(gw_json_array(list, error));
    *count = (size_t)cJSON_GetArraySize(list->node);
    *(void **)items = gw_arena_zeros(arena, *count + 1, size);
    return gw_arena_check(arena, "reading a table", error);
}

/* ---- columns --------------------------------------------------------------------------------- */

static enum gw_status find_column(const struct gw_paper_table *table, const struct gw_json *place,
                                  size_t count, size_t *out, struct gw_error *error) {
    const char *name = "";
    GW_TRY(gw_json_text(place, &name, error));
    for (*out = 0; *out < count; ++*out) {
        if (strcmp(table->columns[*out].name, name) == 0) {
            return GW_OK;
        }
    }
    return gw_json_expected(place, "a column before this one", error);
}

/* "ratio": ["TopK", "OMGS"], of two columns that come before. */
static enum gw_status read_ratio(const struct gw_paper_table *table, const struct gw_json *ratio,
                                 size_t count, struct gw_paper_column *out,
                                 struct gw_error *error) {
    struct gw_json over = gw_json_item(ratio, cJSON_GetArrayItem(ratio->node, 0), 0);
    struct gw_json under = gw_json_item(ratio, cJSON_GetArrayItem(ratio->node, 1), 1);
    GW_TRY(gw_json_array(ratio, error));
    if (cJSON_GetArraySize(ratio->node) != 2) {
        return gw_json_expected(ratio, "two columns", error);
    }
    out->quantity = GW_QUANTITY_RATIO;
    GW_TRY(find_column(table, &over, count, &out->over, error));
    return find_column(table, &under, count, &out->under, error);
}

static enum gw_status read_quantity(const struct gw_json *column, enum gw_quantity *out,
                                    struct gw_error *error) {
    struct gw_json place = gw_json_member(column, "quantity");
    const char *name = "";
    GW_TRY(gw_json_text(&place, &name, error));
    for (enum gw_quantity quantity = 0; quantity < GW_QUANTITY_RATIO; quantity++) {
        if (strcmp(quantity_names[quantity], name) == 0) {
            *out = quantity;
            return GW_OK;
        }
    }
    return gw_json_expected(&place,
                            "groups, iteration_s, compute_s, compress_s, exposed_comm_s, comm_s, "
                            "samples_per_s, density or padding",
                            error);
}

static enum gw_status read_columns(const struct gw_json *root, struct gw_paper_table *table,
                                   struct gw_error *error) {
    struct gw_json columns;
    const cJSON *node = NULL;
    size_t index = 0;
    GW_TRY(open_list(root, "columns", &columns, sizeof *table->columns, &table->arena,
                     &table->columns, &table->column_count, error));
    cJSON_ArrayForEach(node, columns.node) {
        struct gw_json column = gw_json_item(&columns, node, index);
        struct gw_json ratio = gw_json_member(&column, "ratio");
        struct gw_paper_column *out = &table->columns[index];
        GW_TRY(gw_json_object(&column, error));
        GW_TRY(read_text(&column, "name", true, &out->name, error));
        if (ratio.node != NULL) {
            GW_TRY(read_ratio(table, &ratio, index, out, error));
        } else {
            GW_TRY(read_quantity(&column, &out->quantity, error));
            GW_TRY(read_text(&column, "algorithm", true, &out->algorithm, error));
            GW_TRY(read_text(&column, "policy", false, &out->policy, error));
            GW_TRY(read_text(&column, "compressor", false, &out->compressor, error));
        }
        index++;
    }
    return GW_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static enum gw_status read_cell(const struct gw_json *cell, struct gw_paper_cell *out,
                                struct gw_error *error) {
    out->is_there = true;
    GW_TRY(gw_json_object(cell, error));
    GW_TRY(read_number(cell, "published", &out->published, error));
    GW_TRY(read_number(cell, "least", &out->least, error));
    GW_TRY(read_number(cell, "most", &out->most, error));
    return read_text(cell, "fitted", false, &out->fitted, error);
}

static enum gw_status read_cells(const struct gw_json *cells, const struct gw_paper_table *table,
                                 struct gw_paper_row *row, struct gw_error *error) {
    const cJSON *node = NULL;
    GW_TRY(gw_json_object(cells, error));
    cJSON_ArrayForEach(node, cells->node) {
        struct gw_json cell = gw_json_child(cells, node);
        size_t column = 0;
        while (column < table->column_count &&
               strcmp(table->columns[column].name, node->string) != 0) {
            column++;
        }
        if (column == table->column_count) {
            return gw_json_expected(&cell, "the name of a column", error);
        }
        GW_TRY(read_cell(&cell, &row->cells[column], error));
    }
    return GW_OK;
}

/* "emulation": {"elements": 32000, "warm_up": 300, "iterations": 1653, "decay": 1160} */
static enum gw_status read_emulation(const struct gw_json *place, struct gw_paper_row *row,
                                     struct gw_error *error) {
    row->decay = SIZE_MAX;
    if (place->node == NULL) {
        return GW_OK;
    }
    GW_TRY(gw_json_object(place, error));
    GW_TRY(read_count(place, "elements", &row->elements, error));
    GW_TRY(read_count(place, "warm_up", &row->warm_up, error));
    GW_TRY(read_count(place, "iterations", &row->iterations, error));
    GW_TRY(read_count(place, "decay", &row->decay, error));
    return row->elements > 0 && row->iterations > 0
               ? GW_OK
               : gw_json_expected(place, "elements and iterations", error);
}

/* A name: of what the table itself has under it, or else of what ships. */
static enum gw_status read_named(const struct gw_json *root, const struct gw_json *row,
                                 const char *key, const char *own_key, struct gw_json *out,
                                 struct gw_error *error) {
    struct gw_json own = gw_json_member(root, own_key);
    struct gw_json place = gw_json_member(row, key);
    const char *name = "";
    GW_TRY(gw_json_text(&place, &name, error));
    *out = gw_json_member(&own, name);
    if (out->node == NULL) {
        *out = place;
        return GW_OK;
    }
    return gw_json_object(out, error);
}

static enum gw_status read_row(const struct gw_json *root, const struct gw_json *place,
                               struct gw_paper_table *table, struct gw_paper_row *row,
                               struct gw_error *error) {
    struct gw_json cells = gw_json_member(place, "cells");
    struct gw_json emulation = gw_json_member(place, "emulation");
    struct gw_json density = gw_json_member(place, "density");
    row->cells = gw_arena_zeros(&table->arena, table->column_count + 1, sizeof *row->cells);
    GW_TRY(gw_arena_check(&table->arena, "reading a table", error));
    GW_TRY(gw_json_object(place, error));
    GW_TRY(read_text(place, "name", true, &row->name, error));
    GW_TRY(read_named(root, place, "model", "models", &row->model, error));
    GW_TRY(read_named(root, place, "cluster", "clusters", &row->cluster, error));
    GW_TRY(gw_json_positive(&density, &row->density, error));
    if (row->density > 1) {
        return gw_json_expected(&density, "at most 1", error);
    }
    GW_TRY(read_number(place, "samples", &row->samples, error));
    GW_TRY(read_count(place, "workers", &row->workers, error));
    GW_TRY(read_emulation(&emulation, row, error));
    return read_cells(&cells, table, row, error);
}

static enum gw_status read_rows(const struct gw_json *root, struct gw_paper_table *table,
                                struct gw_error *error) {
    struct gw_json rows;
    const cJSON *node = NULL;
    size_t index = 0;
    GW_TRY(open_list(root, "rows", &rows, sizeof *table->rows, &table->arena, &table->rows,
                     &table->row_count, error));
    cJSON_ArrayForEach(node, rows.node) {
        struct gw_json place = gw_json_item(&rows, node, index);
        GW_TRY(read_row(root, &place, table, &table->rows[index++], error));
    }
    return GW_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum gw_status read_inputs(const struct gw_json *root, struct gw_paper_table *table,
                                  struct gw_error *error) {
    struct gw_json inputs;
    const cJSON *node = NULL;
    size_t index = 0;
    GW_TRY(open_list(root, "inputs", &inputs, sizeof *table->inputs, &table->arena, &table->inputs,
                     &table->input_count, error));
    cJSON_ArrayForEach(node, inputs.node) {
        struct gw_json input = gw_json_item(&inputs, node, index);
        struct gw_json origin = gw_json_member(&input, "origin");
        struct gw_paper_input *out = &table->inputs[index++];
        bool known = false;
        GW_TRY(gw_json_object(&input, error));
        GW_TRY(read_text(&input, "what", true, &out->what, error));
        GW_TRY(gw_json_text(&origin, &out->origin, error));
        for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
            known = known || strcmp(origins[i], out->origin) == 0;
        }
        if (!known) {
            return gw_json_expected(&origin, "published, released, measured, fitted or assumed",
                                    error);
        }
    }
    return GW_OK;
}

static enum gw_status read_notes(const struct gw_json *root, struct gw_paper_table *table,
                                 struct gw_error *error) {
    struct gw_json notes;
    const cJSON *node = NULL;
    size_t index = 0;
    GW_TRY(open_list(root, "notes", &notes, sizeof *table->notes, &table->arena, &table->notes,
                     &table->note_count, error));
    cJSON_ArrayForEach(node, notes.node) {
        struct gw_json note = gw_json_item(&notes, node, index);
        GW_TRY(gw_json_text(&note, &table->notes[index++], error));
    }
    return GW_OK;
}

static enum gw_status read_document(struct gw_paper_table *table, struct gw_error *error) {
    struct gw_json root;
    GW_TRY(gw_json_root(table->document, table->path, "gradweave/table@1", &root, error));
    GW_TRY(read_text(&root, "name", true, &table->name, error));
    GW_TRY(read_text(&root, "title", true, &table->title, error));
    GW_TRY(read_text(&root, "source", true, &table->source, error));
    GW_TRY(read_text(&root, "unit", true, &table->unit, error));
    GW_TRY(read_inputs(&root, table, error));
    GW_TRY(read_notes(&root, table, error));
    GW_TRY(read_columns(&root, table, error));
    return read_rows(&root, table, error);
}

/* Takes the document. */
static enum gw_status read_and_keep(cJSON *document, const char *path, struct gw_paper_table *out,
                                    struct gw_error *error) {
    out->document = document;
    out->path = strdup(path);
    enum gw_status status =
        out->path == NULL ? gw_fail_memory(error, "reading a table") : read_document(out, error);
    if (status != GW_OK) {
        gw_paper_table_free(out);
    }
    return status;
}

enum gw_status gw_paper_table_read(const char *path, struct gw_paper_table *out,
                                   struct gw_error *error) {
    cJSON *document = NULL;
    *out = (struct gw_paper_table){0};
    GW_TRY(gw_json_read(path, &document, error));
    return read_and_keep(document, path, out, error);
}

enum gw_status gw_paper_table_parse(const char *text, size_t length, const char *path,
                                    struct gw_paper_table *out, struct gw_error *error) {
    cJSON *document = NULL;
    *out = (struct gw_paper_table){0};
    GW_TRY(gw_json_parse(text, length, path, &document, error));
    return read_and_keep(document, path, out, error);
}

void gw_paper_table_free(struct gw_paper_table *table) {
    gw_arena_free(&table->arena);
    cJSON_Delete(table->document);
    free(table->path);
    *table = (struct gw_paper_table){0};
}
