#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "collectives/collectives.h"
#include "kernels/kernels.h"

enum list_kind { ALGORITHMS, COMPRESSORS, EXCHANGES, POLICIES, COLLECTIVES, MODELS, CLUSTERS, ALL };

struct options {
    struct gw_output_options output;
    enum list_kind what; /* or ALL */
};

/* ---- what there is ------------------------------------------------------------------------- */

enum { MOST_COLUMNS = 7 };

/* The columns of each list; its rows are objects that have them as keys. */
static const char *const columns[ALL][MOST_COLUMNS + 1] = {
    [ALGORITHMS] = {"name", "policy", "compressor", "exchange", "overlap", "title", "paper"},
    [COMPRESSORS] = {"name", "title", "paper"},
    [EXCHANGES] = {"name", "server", "collectives", "title", "carries", "source"},
    [POLICIES] = {"name", "title", "paper"},
    [COLLECTIVES] = {"operation", "name", "title", "source"},
    [MODELS] = {"name", "title"},
    [CLUSTERS] = {"name", "title"}};

static void write_row(struct gw_json_writer *writer, enum list_kind kind,
                      const char *const *values) {
    gw_writer_object(writer, NULL);
    for (size_t i = 0; columns[kind][i] != NULL; i++) {
        gw_writer_text(writer, columns[kind][i], values[i]);
    }
    gw_writer_end(writer);
}

static void write_algorithms(struct gw_json_writer *writer) {
    for (const struct gw_algorithm *row = gw_algorithms; row->name != NULL; row++) {
        const char *overlap = gw_algorithm_overlaps(row) ? "yes" : "no";
        write_row(writer, ALGORITHMS,
                  (const char *[]){row->name, row->policy, row->compressor->name,
                                   row->exchange->name, overlap, row->title, row->paper});
    }
}

static void write_compressors(struct gw_json_writer *writer) {
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        const struct gw_compressor *row = gw_compressors[i];
        write_row(writer, COMPRESSORS, (const char *[]){row->name, row->title, row->paper});
    }
}

static void write_exchanges(struct gw_json_writer *writer) {
    for (size_t i = 0; gw_exchange_kinds[i] != NULL; i++) {
        const struct gw_exchange_kind *row = gw_exchange_kinds[i];
        char collectives[128] = "";
        for (size_t leg = 0, used = 0; leg < row->leg_count && used < sizeof collectives; leg++) {
            used += (size_t)snprintf(collectives + used, sizeof collectives - used, "%s%s",
                                     leg == 0 ? "" : ", ", row->legs[leg].collective);
        }
        write_row(writer, EXCHANGES,
                  (const char *[]){row->name, row->server ? "yes" : "no", collectives, row->title,
                                   row->needed, row->source});
    }
}

static void write_policies(struct gw_json_writer *writer) {
    for (size_t i = 0; gw_policies[i].name != NULL; i++) {
        const struct gw_policy *row = &gw_policies[i];
        char name[64];
        snprintf(name, sizeof name, "%s%s%s", row->name, row->argument == NULL ? "" : ":",
                 row->argument == NULL ? "" : row->argument);
        write_row(writer, POLICIES, (const char *[]){name, row->title, row->paper});
    }
}

static void write_collectives(struct gw_json_writer *writer) {
    for (size_t i = 0; gw_collectives[i] != NULL; i++) {
        const struct gw_collective *row = gw_collectives[i];
        write_row(writer, COLLECTIVES,
                  (const char *[]){row->operation, row->name, row->title, row->source});
    }
}

static enum gw_status describe_model(const char *name, char *out, size_t size,
                                     struct gw_error *error) {
    char *path = NULL;
    struct gw_model model;
    char elements[GW_UNITS_SIZE];
    char compute[GW_UNITS_SIZE];
    GW_TRY(gw_data_resolve(GW_DATA_MODELS, name, &path, error));
    enum gw_status status = gw_model_read(path, &model, error);
    free(path);
    GW_TRY(status);
    snprintf(out, size, "%zu tensors, %s elements, compute %s", model.tensor_count,
             gw_format_count((double)gw_model_elements(&model), elements),
             gw_format_seconds(model.forward_s + gw_model_backward_s(&model), compute));
    gw_model_free(&model);
    return GW_OK;
}

static enum gw_status describe_cluster(const char *name, char *out, size_t size,
                                       struct gw_error *error) {
    char *path = NULL;
    struct gw_cluster cluster;
    GW_TRY(gw_data_resolve(GW_DATA_CLUSTERS, name, &path, error));
    enum gw_status status = gw_cluster_read(path, &cluster, error);
    free(path);
    GW_TRY(status);
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(cluster.kept, "source");
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(source, "kind");
    snprintf(out, size, "%zu workers, %zu per node, %s%s", cluster.workers,
             cluster.workers_per_node,
             cJSON_IsString(kind) ? kind->valuestring : "of unknown origin",
             cluster.network == NULL ? "" : ", with a network");
    gw_cluster_free(&cluster);
    return GW_OK;
}

static enum gw_status write_data(struct gw_json_writer *writer, enum list_kind list,
                                 struct gw_error *error) {
    char **names = NULL;
    size_t count = 0;
    GW_TRY(gw_data_list(list == MODELS ? GW_DATA_MODELS : GW_DATA_CLUSTERS, &names, &count, error));
    enum gw_status status = GW_OK;
    for (size_t i = 0; i < count; i++) {
        char title[96] = "";
        if (status == GW_OK) {
            status = list == MODELS ? describe_model(names[i], title, sizeof title, error)
                                    : describe_cluster(names[i], title, sizeof title, error);
        }
        write_row(writer, list, (const char *[]){names[i], title});
        free(names[i]);
    }
    free(names);
    return status;
}

static enum gw_status write_list(struct gw_json_writer *writer, enum list_kind list,
                                 struct gw_error *error) {
    static void (*const write[])(struct gw_json_writer *
                                 writer) = {[ALGORITHMS] = write_algorithms,
                                            [COMPRESSORS] = write_compressors,
                                            [EXCHANGES] = write_exchanges,
                                            [POLICIES] = write_policies,
                                            [COLLECTIVES] = write_collectives};
    if (list == MODELS || list == CLUSTERS) {
        return write_data(writer, list, error);
    }
    write[list](writer);
    return GW_OK;
}

static const char *const list_names[] = {
    [ALGORITHMS] = "algorithms",   [COMPRESSORS] = "compressors",
    [EXCHANGES] = "exchanges",     [POLICIES] = "policies",
    [COLLECTIVES] = "collectives", [MODELS] = "models",
    [CLUSTERS] = "clusters",       [ALL] = NULL};

/* ---- printing ------------------------------------------------------------------------------ */

static void print_table(enum list_kind list, const cJSON *array) {
    static const char alignment[] = "lllllll";
    size_t count = 0;
    while (columns[list][count] != NULL) {
        count++;
    }
    struct gw_table *table = gw_table_open(columns[list], alignment + MOST_COLUMNS - count);
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, array) {
        for (size_t i = 0; i < count; i++) {
            const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, columns[list][i]);
            gw_table_cell(table, "%s", cJSON_GetStringValue(value));
        }
    }
    gw_table_print_and_close(table);
}

/* The lists that the document has, under their names if that is all of them. */
static void print_text(const cJSON *document, bool all) {
    for (enum list_kind list = 0; list < ALL; list++) {
        const cJSON *array = cJSON_GetObjectItemCaseSensitive(document, list_names[list]);
        if (all) {
            printf("%s%s:\n", list == 0 ? "" : "\n", list_names[list]);
        }
        if (array != NULL) {
            print_table(list, array);
        }
    }
}

/* ---- the verb ------------------------------------------------------------------------------ */

static const struct gw_option option_table[] = {
    {NULL, 0, "WHAT", GW_CHOICE, offsetof(struct options, what), .help = "What to list",
     .otherwise = "everything", .choices = list_names,
     .expected = "expected one of algorithms, compressors, exchanges, policies, collectives, "
                 "models, clusters; got"},
    {.kind = GW_INCLUDE, .offset = offsetof(struct options, output), .table = gw_output_table},
    {0},
};

/* Nothing is printed before the whole document is there. */
static enum gw_status answer(const struct options *options, struct gw_error *error) {
    struct gw_json_writer writer;
    cJSON *document = NULL;
    enum gw_status status = GW_OK;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/list@1");
    for (enum list_kind list = 0; list < ALL && status == GW_OK; list++) {
        if (options->what == ALL || options->what == list) {
            gw_writer_array(&writer, list_names[list]);
            status = write_list(&writer, list, error);
            gw_writer_end(&writer);
        }
    }
    struct gw_error unwritten;
    enum gw_status written =
        gw_writer_finish(&writer, &document, status == GW_OK ? error : &unwritten);
    if (status == GW_OK && written == GW_OK && options->output.json) {
        return gw_print_document(document, error);
    }
    if (status == GW_OK && written == GW_OK) {
        print_text(document, options->what == ALL);
    }
    cJSON_Delete(document);
    return status == GW_OK ? written : status;
}

static int run(int argc, char **argv) {
    struct options options = {.what = ALL};
    struct gw_error error = {0};
    gw_parse_options(&gw_verb_list, argc, argv, &options);
    return answer(&options, &error) == GW_OK ? GW_OK : gw_cli_fail(&error);
}

const struct gw_verb gw_verb_list = {
    .name = "list",
    .title = "algorithms, compressors, exchanges, policies, collectives, models, clusters",
    .usage = "[algorithms|compressors|exchanges|policies|collectives|models|clusters]",
    .about = "Lists what there is.",
    .options = option_table,
    .surplus = "expected one of algorithms, compressors, exchanges, policies, collectives, "
               "models, clusters; got",
    .run = run,
};
