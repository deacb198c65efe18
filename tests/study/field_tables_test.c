/*
 * docs/files.md has a table of each document's fields behind a line such as "<!-- fields of
 * gradweave/model@1 -->". GRADWEAVE_UPDATE=1 in the environment writes these tables anew.
 */
#include <string.h>

#include "study/grid.h"
#include "tests/test.h"
#include "traces/traces.h"

static const struct gw_fields *const documents[] = {
    &gw_model_fields,    &gw_cluster_fields,  &gw_plan_fields,
    &gw_counts_fields,   &gw_noise_fields,    &gw_recorded_gradients_fields,
    &gw_accuracy_fields, &gw_sweep_job_fields};

static const char mark[] = "<!-- fields of ";

static const char *const types[] = {
    [GW_AS_TEXT] = "text",       [GW_AS_SECONDS] = "seconds",    [GW_AS_NOT_NEGATIVE] = ">= 0",
    [GW_AS_POSITIVE] = "> 0",    [GW_AS_SIZE] = "> 0",           [GW_AS_FACTOR] = "> 0",
    [GW_AS_INTEGER] = "integer", [GW_AS_COUNT] = "integer >= 1", [GW_AS_TEXTS] = "list of texts",
    [GW_AS_OBJECT] = "object",   [GW_AS_LIST] = "list",          [GW_AS_KEPT] = NULL};

/* Writes a row of the table, in lines of at most 100 columns. */
static void write_cells(FILE *out, const char *head, const char *text) {
    enum { WIDTH = 100 };
    size_t room = WIDTH - strlen(head) - 2;
    while (strlen(text) > room) {
        size_t length = room;
        while (length > 0 && text[length] != ' ') {
            length--;
        }
        assert_true(length > 0);
        (void)fprintf(out, "%s%.*s |\n", head, (int)length, text);
        head = "| | | ";
        text += length + 1;
        room = WIDTH - strlen(head) - 2;
    }
    (void)fprintf(out, "%s%s |\n", head, text);
}

/* Tables of fields that were written: the rows of a second key that has one stand at the first. */
static struct {
    const struct gw_fields *fields[32];
    size_t count;
} written;

static bool is_written(const struct gw_fields *fields) {
    for (size_t i = 0; i < written.count; i++) {
        if (written.fields[i] == fields) {
            return true;
        }
    }
    assert_true(written.count < sizeof written.fields / sizeof *written.fields);
    written.fields[written.count++] = fields;
    return false;
}

static void write_rows(FILE *out, const struct gw_fields *fields, const char *path) {
    for (const struct gw_field *row = fields->rows; row != NULL && row->key != NULL; row++) {
        const char *type = types[row->type] == NULL ? "" : types[row->type];
        char key[128];
        char limit[64] = "";
        char head[256];
        if (row->type < GW_AS_TEXTS && row->maximum > 0) {
            (void)snprintf(limit, sizeof limit, ", at most %.15g", row->maximum);
        }
        if (row->optional && row->otherwise != 0) {
            (void)snprintf(limit + strlen(limit), sizeof limit - strlen(limit), " (%.15g)",
                           row->otherwise);
        } else if (row->optional) {
            (void)snprintf(limit + strlen(limit), sizeof limit - strlen(limit), "%soptional",
                           *type == '\0' ? "" : ", ");
        }
        (void)snprintf(key, sizeof key, "%s%s", path, row->key);
        (void)snprintf(head, sizeof head, "| `%s` | %s%s%s", key, type, limit,
                       *type == '\0' && *limit == '\0' ? "| " : " | ");
        if (row->text != NULL) {
            write_cells(out, head, row->text);
        }
        const struct gw_fields *below = row->of;
        for (; below != NULL && below->each != NULL; below = below->each) {
            (void)snprintf(key + strlen(key), sizeof key - strlen(key), ".NAME");
        }
        (void)snprintf(key + strlen(key), sizeof key - strlen(key), "%s.",
                       row->type == GW_AS_LIST ? "[]" : "");
        if (below != NULL && !is_written(below)) {
            write_rows(out, below, key);
        }
    }
}

static const struct gw_fields *find_fields(const char *schema) {
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        size_t length = strlen(documents[i]->schema);
        if (strncmp(schema, documents[i]->schema, length) == 0 && schema[length] == ' ') {
            return documents[i];
        }
    }
    fail_msg("files.md: %.40s: expected the schema of a document with fields", schema);
    return NULL;
}

/* Copies the page with its tables of fields as they should be. */
static void write_page(FILE *out, const char *page) {
    bool is_in_table = false;
    while (*page != '\0') {
        size_t length = strcspn(page, "\n") + 1;
        is_in_table = is_in_table && *page == '|';
        if (!is_in_table) {
            (void)fprintf(out, "%.*s", (int)length, page);
        }
        if (strncmp(page, mark, strlen(mark)) == 0) {
            (void)fprintf(out, "| key | | meaning |\n| --- | --- | --- |\n");
            written.count = 0;
            write_rows(out, find_fields(page + strlen(mark)), "");
            is_in_table = true;
        }
        page += length;
    }
}

TEST(files_md_has_the_tables_of_fields) {
    static const char path[] = GW_TEST_DATA "/../docs/files.md";
    struct gw_text made;
    char *page = NULL;
    size_t length = 0;
    assert_ok(gw_file_read(path, &page, &length, NULL));
    write_page(gw_text_open(&made), page);
    assert_ok(gw_text_close(&made, "testing", NULL));
    if (getenv("GRADWEAVE_UPDATE") != NULL) {
        assert_ok(gw_file_write(path, made.text, made.length, NULL));
    } else if (strcmp(page, made.text) != 0) {
        fail_msg("docs/files.md: GRADWEAVE_UPDATE=1 of this test writes its tables anew");
    }
    free(page);
    free(made.text);
}
