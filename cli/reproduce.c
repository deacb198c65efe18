/* Compares papers' tables with gradweave's predictions. */
#include "report/reproduction.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

struct options {
    struct gw_output_options output;
    const char *table;
};

#define IN(member) offsetof(struct options, member)

static const struct gw_option option_table[] = {
    {NULL, 0, "TABLE", GW_TEXT, IN(table),
     .help = "A published table or figure: a file, or the name of one that ships; or all",
     .names = GW_NAMES_TABLES},
    {.kind = GW_INCLUDE, .table = gw_strict_table},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_output_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {NULL, GW_NEEDS, "TABLE",
     "expected a TABLE, such as omgs-table6 (gradweave list tables), or all"},
    {0}};

/* ---- tables ---------------------------------------------------------------------------------- */

/* Tables by name, zero-initialised; close_tables frees it however far it was filled. */
struct tables {
    size_t count;
    char **names;
    struct gw_paper_table *list;
    struct gw_reproduction *found;
};

static void close_tables(struct tables *tables) {
    for (size_t i = 0; i < tables->count; i++) {
        if (tables->found != NULL) {
            gw_reproduction_free(&tables->found[i]);
        }
        if (tables->list != NULL) {
            gw_paper_table_free(&tables->list[i]);
        }
        free(tables->names[i]);
    }
    free(tables->found);
    free(tables->list);
    free(tables->names);
}

static enum gw_status reproduce_table(const char *name, struct tables *tables,
                                      struct gw_error *error) {
    if (strcmp(name, "all") == 0) {
        GW_TRY(gw_data_list(GW_DATA_TABLES, &tables->names, &tables->count, error));
    } else {
        tables->names = calloc(1, sizeof *tables->names);
        tables->count = tables->names != NULL;
        if (tables->names == NULL || (tables->names[0] = strdup(name)) == NULL) {
            return gw_fail_memory(error, "reproducing tables");
        }
    }
    tables->list = calloc(tables->count, sizeof *tables->list);
    tables->found = calloc(tables->count, sizeof *tables->found);
    if (tables->list == NULL || tables->found == NULL) {
        return gw_fail_memory(error, "reproducing tables");
    }
    for (size_t i = 0; i < tables->count; i++) {
        char *path = NULL;
        GW_TRY(gw_data_resolve(GW_DATA_TABLES, tables->names[i], &path, error));
        enum gw_status status = gw_paper_table_read(path, &tables->list[i], error);
        free(path);
        GW_TRY(status);
        GW_TRY(gw_reproduce(&tables->list[i], &tables->found[i], error));
    }
    return GW_OK;
}

static enum gw_status print_tables(const struct options *options, const struct tables *tables,
                                   struct gw_error *error) {
    if (options->output.json) {
        return gw_print_reproductions(tables->found, tables->count,
                                      tables->count == 1 ? tables->list[0].name : options->table,
                                      error);
    }
    for (size_t i = 0; i < tables->count; i++) {
        gw_print("%s", i == 0 ? "" : "\n\n");
        gw_print_reproduction(&tables->found[i]);
    }
    return GW_OK;
}

static enum gw_status answer_reproduce(void *values, struct gw_error *error) {
    const struct options *options = values;
    struct tables tables = {0};
    enum gw_status status = reproduce_table(options->table, &tables, error);
    status = status == GW_OK ? print_tables(options, &tables, error) : status;
    close_tables(&tables);
    return status;
}

static struct options options;

const struct gw_verb gw_verb_reproduce = {
    .name = "reproduce",
    .title = "tables that papers published, and what gradweave comes to",
    .usage = "TABLE\nall",
    .about =
        "Shows what a paper published beside what gradweave comes to from the same inputs, how "
        "far off that is, and where each input is from.\v"
        "A number to which an input was fitted does not count as reproduced.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one TABLE, got also",
    .values = &options,
    .answer = answer_reproduce,
};
