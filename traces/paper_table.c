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

/* Reads a quantity; a ratio's columns are found once all are known. */
static enum gw_status read_quantity(const struct gw_json *column, void *out,
                                    struct gw_error *error) {
    enum gw_quantity *quantity = &((struct gw_paper_column *)out)->quantity;
    struct gw_json place = gw_json_member(column, "quantity");
    struct gw_json algorithm = gw_json_member(column, "algorithm");
    const char *name = "";
    *quantity = GW_QUANTITY_RATIO;
    if (gw_json_member(column, "ratio").node != NULL) {
        return GW_OK;
    }
    GW_TRY(gw_json_text(&place, &name, error));
    for (*quantity = 0; strcmp(quantity_names[*quantity], name) != 0; ++*quantity) {
        if (*quantity + 1 == GW_QUANTITY_RATIO) {
            return gw_json_expected(&place,
                                    "groups, iteration_s, compute_s, compress_s, exposed_comm_s, "
                                    "comm_s, samples_per_s, density or padding",
                                    error);
        }
    }
    return algorithm.node != NULL ? GW_OK : gw_json_expected(&algorithm, "a string", error);
}

static const struct gw_field column_rows[] = {
    {"name", GW_AS_TEXT, .at = offsetof(struct gw_paper_column, name)},
    {"algorithm", GW_AS_TEXT, .at = offsetof(struct gw_paper_column, algorithm), .optional = true},
    {"policy", GW_AS_TEXT, .at = offsetof(struct gw_paper_column, policy), .optional = true},
    {"compressor", GW_AS_TEXT, .at = offsetof(struct gw_paper_column, compressor),
     .optional = true},
    {0}};

static const struct gw_fields column_fields = {sizeof(struct gw_paper_column), .rows = column_rows,
                                               .check = read_quantity,
                                               .unread = GW_KEYS("quantity", "ratio")};

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct gw_field cell_rows[] = {
    {"published", GW_AS_NOT_NEGATIVE, .at = offsetof(struct gw_paper_cell, published),
     .optional = true, .otherwise = NAN},
    {"least", GW_AS_NOT_NEGATIVE, .at = offsetof(struct gw_paper_cell, least), .optional = true,
     .otherwise = NAN},
    {"most", GW_AS_NOT_NEGATIVE, .at = offsetof(struct gw_paper_cell, most), .optional = true,
     .otherwise = NAN},
    {"fitted", GW_AS_TEXT, .at = offsetof(struct gw_paper_cell, fitted), .optional = true},
    {0}};

static const struct gw_fields cell_fields = {sizeof(struct gw_paper_cell), .rows = cell_rows};

static enum gw_status read_cells(const struct gw_json *cells, const struct gw_paper_table *table,
                                 struct gw_paper_row *row, struct gw_error *error) {
    const cJSON *node = NULL;
    row->cells = calloc(table->column_count + 1, sizeof *row->cells);
    if (row->cells == NULL) {
        return gw_fail_memory(error, "reading a table");
    }
    row->cell_count = table->column_count;
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
        row->cells[column].is_there = true;
        GW_TRY(gw_json_object(&cell, error));
        GW_TRY(gw_fields_read(&cell_fields, &cell, &row->cells[column], error));
    }
    return GW_OK;
}

/* "emulation": {"elements": 32000, "warm_up": 300, "iterations": 1653, "decay": 1160} */
static enum gw_status check_emulation(const struct gw_json *place, void *out,
                                      struct gw_error *error) {
    const struct gw_paper_row *row = out;
    return row->elements > 0 && row->iterations > 0
               ? GW_OK
               : gw_json_expected(place, "elements and iterations", error);
}

#define COUNT(key, member)                                                                         \
    {                                                                                              \
        key, GW_AS_COUNT, .at = offsetof(struct gw_paper_row, member), .optional = true,           \
                          .maximum = 1 << 24, .expected = "at most 2^24"                           \
    }

static const struct gw_field emulation_rows[] = {COUNT("elements", elements),
                                                 COUNT("warm_up", warm_up),
                                                 COUNT("iterations", iterations),
                                                 COUNT("decay", decay),
                                                 {0}};

static const struct gw_fields emulation_fields = {sizeof(struct gw_paper_row),
                                                  .rows = emulation_rows, .check = check_emulation};

/* Reads a name, of a model or cluster in the table itself or of one that ships. */
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

static const struct gw_field row_rows[] = {
    {"name", GW_AS_TEXT, .at = offsetof(struct gw_paper_row, name)},
    {"density", GW_AS_POSITIVE, .at = offsetof(struct gw_paper_row, density), .maximum = 1,
     .expected = "at most 1"},
    {"samples", GW_AS_NOT_NEGATIVE, .at = offsetof(struct gw_paper_row, samples), .optional = true,
     .otherwise = NAN},
    COUNT("workers", workers),
    {"emulation", GW_AS_OBJECT, .optional = true, .of = &emulation_fields},
    {"", GW_AS_LIST, .at = offsetof(struct gw_paper_row, cells),
     .count_at = offsetof(struct gw_paper_row, cell_count), .optional = true, .of = &cell_fields},
    {0}};

static const struct gw_fields row_fields = {sizeof(struct gw_paper_row), .rows = row_rows,
                                            .unread = GW_KEYS("model", "cluster", "cells")};

/* ---- the table ------------------------------------------------------------------------------- */

static enum gw_status check_input(const struct gw_json *place, void *out, struct gw_error *error) {
    const struct gw_paper_input *input = out;
    struct gw_json origin = gw_json_member(place, "origin");
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        if (strcmp(origins[i], input->origin) == 0) {
            return GW_OK;
        }
    }
    return gw_json_expected(&origin, "published, released, measured, fitted or assumed", error);
}

static const struct gw_field input_rows[] = {
    {"what", GW_AS_TEXT, .at = offsetof(struct gw_paper_input, what)},
    {"origin", GW_AS_TEXT, .at = offsetof(struct gw_paper_input, origin)},
    {0}};

static const struct gw_fields input_fields = {sizeof(struct gw_paper_input), .rows = input_rows,
                                              .check = check_input};

/* Reads references to columns, and to the table's own models and clusters. */
static enum gw_status read_references(const struct gw_json *place, void *out,
                                      struct gw_error *error) {
    struct gw_paper_table *table = out;
    struct gw_json root = {.node = table->document, .file = table->path};
    struct gw_json columns = gw_json_member(&root, "columns");
    struct gw_json rows = gw_json_member(&root, "rows");
    (void)place;
    for (size_t i = 0; i < table->column_count; i++) {
        struct gw_json column = gw_json_item(&columns, cJSON_GetArrayItem(columns.node, (int)i), i);
        struct gw_json ratio = gw_json_member(&column, "ratio"); /* ["TopK", "OMGS"] */
        if (ratio.node == NULL) {
            continue;
        }
        struct gw_json over = gw_json_item(&ratio, cJSON_GetArrayItem(ratio.node, 0), 0);
        struct gw_json under = gw_json_item(&ratio, cJSON_GetArrayItem(ratio.node, 1), 1);
        GW_TRY(gw_json_array(&ratio, error));
        if (cJSON_GetArraySize(ratio.node) != 2) {
            return gw_json_expected(&ratio, "two columns", error);
        }
        GW_TRY(find_column(table, &over, i, &table->columns[i].over, error));
        GW_TRY(find_column(table, &under, i, &table->columns[i].under, error));
    }
    for (size_t i = 0; i < table->row_count; i++) {
        struct gw_paper_row *row = &table->rows[i];
        struct gw_json at = gw_json_item(&rows, cJSON_GetArrayItem(rows.node, (int)i), i);
        struct gw_json cells = gw_json_member(&at, "cells");
        row->decay = row->decay == 0 ? SIZE_MAX : row->decay;
        GW_TRY(read_named(&root, &at, "model", "models", &row->model, error));
        GW_TRY(read_named(&root, &at, "cluster", "clusters", &row->cluster, error));
        GW_TRY(read_cells(&cells, table, row, error));
    }
    return GW_OK;
}

static const struct gw_field table_rows[] = {
    {"", GW_AS_FILE_NAME, .at = offsetof(struct gw_paper_table, path)},
    {"", GW_AS_KEPT, .at = offsetof(struct gw_paper_table, document)},
    {"name", GW_AS_TEXT, .at = offsetof(struct gw_paper_table, name)},
    {"title", GW_AS_TEXT, .at = offsetof(struct gw_paper_table, title)},
    {"source", GW_AS_TEXT, .at = offsetof(struct gw_paper_table, source)},
    {"unit", GW_AS_TEXT, .at = offsetof(struct gw_paper_table, unit)},
    {"inputs", GW_AS_LIST, .at = offsetof(struct gw_paper_table, inputs),
     .count_at = offsetof(struct gw_paper_table, input_count), .of = &input_fields},
    {"notes", GW_AS_TEXTS, .at = offsetof(struct gw_paper_table, notes),
     .count_at = offsetof(struct gw_paper_table, note_count)},
    {"columns", GW_AS_LIST, .at = offsetof(struct gw_paper_table, columns),
     .count_at = offsetof(struct gw_paper_table, column_count), .of = &column_fields},
    {"rows", GW_AS_LIST, .at = offsetof(struct gw_paper_table, rows),
     .count_at = offsetof(struct gw_paper_table, row_count), .of = &row_fields},
    {0}};

const struct gw_fields gw_paper_table_fields = {
    sizeof(struct gw_paper_table), .rows = table_rows, .schema = "gradweave/table@1",
    .check = read_references, .unread = GW_KEYS("models", "clusters")};
