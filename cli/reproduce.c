/* Compares papers' tables with gradweave's predictions. */
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
     .help = "A published table or figure: a file, or the name of one that ships; or all of these",
     .names = GW_NAMES_TABLES},
    {.kind = GW_INCLUDE, .offset = IN(output), .table = gw_reading_table},
    {0},
};

static const struct gw_option_rule rules[] = {
    {NULL, GW_NEEDS, "TABLE",
     "expected a TABLE, such as omgs-table6 (gradweave list tables), or all"},
    {0}};

/* ---- tables ---------------------------------------------------------------------------------- */

static enum gw_status print_tables(const struct options *options,
                                   const struct gw_reproduction *found, size_t count,
                                   struct gw_error *error) {
    if (options->output.json) {
        return gw_print_reproductions(found, count,
                                      count == 1 ? found[0].table.name : options->table, error);
    }
    for (size_t i = 0; i < count; i++) {
        gw_print("%s", i == 0 ? "" : "\n\n");
        gw_print_reproduction(&found[i]);
    }
    return GW_OK;
}

static enum gw_status answer_reproduce(void *values, struct gw_error *error) {
    const struct options *options = values;
    bool all = strcmp(options->table, "all") == 0;
    char **names = NULL;
    size_t count = 1;
    GW_TRY(all ? gw_data_list(GW_DATA_TABLES, &names, &count, error) : GW_OK);
    struct gw_reproduction *found = calloc(count, sizeof *found);
    enum gw_status status = found == NULL ? gw_fail_memory(error, "reproducing tables") : GW_OK;
    for (size_t i = 0; i < count && status == GW_OK; i++) {
        status = gw_reproduce(all ? names[i] : options->table, &found[i], error);
    }
    status = status == GW_OK ? print_tables(options, found, count, error) : status;
    for (size_t i = 0; i < count; i++) {
        if (found != NULL) {
            gw_reproduction_free(&found[i]);
        }
        free(all ? names[i] : NULL);
    }
    free(found);
    free(names);
    return status;
}

static struct options options;

const struct gw_verb gw_verb_reproduce = {
    .name = "reproduce",
    .title = "compares published tables with gradweave's numbers",
    .usage = "TABLE\nall",
    .about = "Shows published numbers beside gradweave's from the same inputs, their difference, "
             "and the source of each input.\v"
             "A number to which an input was fitted does not count as reproduced.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one TABLE, got also",
    .values = &options,
    .answer = answer_reproduce,
};
