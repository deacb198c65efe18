/* Lists of algorithms and their parts, and of the data that ships. */
#include <stdlib.h>
#include <string.h>

#include "collectives/collectives.h"
#include "planner/planner.h"
#include "published/published.h"
#include "report/report.h"

/* ---- rows ---------------------------------------------------------------------------------- */

enum { MOST_COLUMNS = 7 };

/* The columns of each list, which are also the keys of its rows' objects. */
static const char *const columns[GW_LISTS][MOST_COLUMNS + 1] = {
    [GW_LIST_ALGORITHMS] = {"name", "policy", "compressor", "exchange", "overlap", "title",
                            "paper"},
    [GW_LIST_COMPRESSORS] = {"name", "title", "paper"},
    [GW_LIST_EXCHANGES] = {"name", "server", "collectives", "title", "carries", "source"},
    [GW_LIST_POLICIES] = {"name", "title", "paper"},
    [GW_LIST_COLLECTIVES] = {"operation", "name", "title", "source"},
    [GW_LIST_NETWORKS] = {"name", "parameters", "title", "paper"},
    [GW_LIST_GPUS] = {"name", "title", "intra", "source"},
    [GW_LIST_LINKS] = {"name", "where", "title", "source"},
    [GW_LIST_MODELS] = {"name", "title"},
    [GW_LIST_CLUSTERS] = {"name", "title"},
    [GW_LIST_TABLES] = {"name", "title"}};

static void write_row(struct gw_json_writer *writer, enum gw_list kind,
                      const char *const values[MOST_COLUMNS]) {
    gw_writer_object(writer, NULL);
    for (size_t i = 0; columns[kind][i] != NULL; i++) {
        gw_writer_text(writer, columns[kind][i], values[i]);
    }
    gw_writer_end(writer);
}

static void write_algorithms(struct gw_json_writer *writer) {
    for (const struct gw_algorithm *row = gw_algorithms; row->name != NULL; row++) {
        const char *overlap = gw_algorithm_overlaps(row) ? "yes" : "no";
        write_row(writer, GW_LIST_ALGORITHMS,
                  (const char *[MOST_COLUMNS]){row->name, row->policy, row->compressor->name,
                                               row->exchange->name, overlap, row->title,
                                               row->paper});
    }
}

static void write_compressors(struct gw_json_writer *writer) {
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        const struct gw_compressor *row = gw_compressors[i];
        write_row(writer, GW_LIST_COMPRESSORS,
                  (const char *[MOST_COLUMNS]){row->name, row->title, row->paper});
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
        write_row(writer, GW_LIST_EXCHANGES,
                  (const char *[MOST_COLUMNS]){row->name, row->server ? "yes" : "no", collectives,
                                               row->title, row->needed, row->source});
    }
}

static void write_policies(struct gw_json_writer *writer) {
    for (size_t i = 0; gw_policies[i].name != NULL; i++) {
        const struct gw_policy *row = &gw_policies[i];
        char form[GW_POLICY_FORM_SIZE];
        write_row(writer, GW_LIST_POLICIES,
                  (const char *[MOST_COLUMNS]){gw_policy_form(row, form), row->title, row->paper});
    }
}

static void write_collectives(struct gw_json_writer *writer) {
    for (size_t i = 0; gw_collectives[i] != NULL; i++) {
        const struct gw_collective *row = gw_collectives[i];
        write_row(writer, GW_LIST_COLLECTIVES,
                  (const char *[MOST_COLUMNS]){row->operation, row->name, row->title, row->source});
    }
}

static void write_networks(struct gw_json_writer *writer) {
    for (const struct gw_architecture *row = gw_architectures; row->name != NULL; row++) {
        char parameters[GW_UNITS_SIZE];
        gw_format_count((double)row->parameters, parameters);
        write_row(writer, GW_LIST_NETWORKS,
                  (const char *[MOST_COLUMNS]){row->name, parameters, row->title, row->paper});
    }
}

static void write_gpus(struct gw_json_writer *writer) {
    for (const struct gw_published_gpu *row = gw_published_gpus; row->name != NULL; row++) {
        write_row(writer, GW_LIST_GPUS,
                  (const char *[MOST_COLUMNS]){
                      row->name, row->title, row->within == NULL ? "" : row->within, row->source});
    }
}

static void write_links(struct gw_json_writer *writer) {
    for (const struct gw_link *row = gw_links; row->name != NULL; row++) {
        write_row(writer, GW_LIST_LINKS,
                  (const char *[MOST_COLUMNS]){row->name,
                                               row->within ? "within a node" : "between nodes",
                                               row->title, row->source});
    }
}

static enum gw_status describe_model(const char *name, char *out, size_t size,
                                     struct gw_error *error) {
    struct gw_model model;
    GW_TRY(gw_data_open(GW_DATA_MODELS, name, &model, error));
    snprintf(out, size, "%s, %s elements, compute %s", GW_COUNTED(model.tensor_count, "tensor"),
             GW_NUMBER(gw_model_elements(&model)),
             GW_SECONDS(model.forward_s + gw_model_backward_s(&model)));
    gw_model_free(&model);
    return GW_OK;
}

static enum gw_status describe_cluster(const char *name, char *out, size_t size,
                                       struct gw_error *error) {
    struct gw_cluster cluster;
    GW_TRY(gw_data_open(GW_DATA_CLUSTERS, name, &cluster, error));
    snprintf(out, size, "%s, %zu per node, %s%s", GW_COUNTED(cluster.workers, "worker"),
             cluster.workers_per_node, gw_cluster_origin(&cluster),
             cluster.network == NULL ? "" : ", with a network");
    gw_cluster_free(&cluster);
    return GW_OK;
}

static enum gw_status describe_table(const char *name, char *out, size_t size,
                                     struct gw_error *error) {
    struct gw_paper_table table;
    GW_TRY(gw_data_open(GW_DATA_TABLES, name, &table, error));
    snprintf(out, size, "%s", table.title);
    gw_paper_table_free(&table);
    return GW_OK;
}

/* Lists of data files; `describe` gets each file's title. */
static const struct {
    enum gw_list list;
    enum gw_data_kind kind;
    enum gw_status (*describe)(const char *name, char *out, size_t size, struct gw_error *error);
} data_lists[] = {{GW_LIST_MODELS, GW_DATA_MODELS, describe_model},
                  {GW_LIST_CLUSTERS, GW_DATA_CLUSTERS, describe_cluster},
                  {GW_LIST_TABLES, GW_DATA_TABLES, describe_table}};

static enum gw_status write_data(struct gw_json_writer *writer, size_t number,
                                 struct gw_error *error) {
    char **names = NULL;
    size_t count = 0;
    GW_TRY(gw_data_list(data_lists[number].kind, &names, &count, error));
    enum gw_status status = GW_OK;
    for (size_t i = 0; i < count; i++) {
        char title[96] = "";
        if (status == GW_OK) {
            status = data_lists[number].describe(names[i], title, sizeof title, error);
        }
        write_row(writer, data_lists[number].list, (const char *[MOST_COLUMNS]){names[i], title});
        free(names[i]);
    }
    free(names);
    return status;
}

static enum gw_status write_list(struct gw_json_writer *writer, enum gw_list list,
                                 struct gw_error *error) {
    static void (*const write[])(struct gw_json_writer *
                                 writer) = {[GW_LIST_ALGORITHMS] = write_algorithms,
                                            [GW_LIST_COMPRESSORS] = write_compressors,
                                            [GW_LIST_EXCHANGES] = write_exchanges,
                                            [GW_LIST_POLICIES] = write_policies,
                                            [GW_LIST_COLLECTIVES] = write_collectives,
                                            [GW_LIST_NETWORKS] = write_networks,
                                            [GW_LIST_GPUS] = write_gpus,
                                            [GW_LIST_LINKS] = write_links};
    for (size_t i = 0; i < sizeof data_lists / sizeof *data_lists; i++) {
        if (data_lists[i].list == list) {
            return write_data(writer, i, error);
        }
    }
    write[list](writer);
    return GW_OK;
}

const char *const gw_list_names[] = {[GW_LIST_ALGORITHMS] = "algorithms",
                                     [GW_LIST_COMPRESSORS] = "compressors",
                                     [GW_LIST_EXCHANGES] = "exchanges",
                                     [GW_LIST_POLICIES] = "policies",
                                     [GW_LIST_COLLECTIVES] = "collectives",
                                     [GW_LIST_NETWORKS] = "networks",
                                     [GW_LIST_GPUS] = "gpus",
                                     [GW_LIST_LINKS] = "links",
                                     [GW_LIST_MODELS] = "models",
                                     [GW_LIST_CLUSTERS] = "clusters",
                                     [GW_LIST_TABLES] = "tables",
                                     [GW_LISTS] = NULL};

/* ---- printing ------------------------------------------------------------------------------ */

static void print_table(enum gw_list list, const cJSON *array) {
    static const char alignment[] = "lllllll";
    size_t count = 1;
    while (columns[list][count] != NULL) {
        count++;
    }
    struct gw_table *table =
        gw_table_open(alignment + MOST_COLUMNS - count, "%s", columns[list][0]);
    for (size_t i = 1; i < count; i++) {
        gw_table_cells(table, "%s", columns[list][i]);
    }
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, array) {
        for (size_t i = 0; i < count; i++) {
            const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, columns[list][i]);
            gw_table_cells(table, "%s", cJSON_GetStringValue(value));
        }
    }
    gw_table_print_and_close(table);
}

/* Prints the document's lists, under headings if it has all. */
static void print_text(const cJSON *document, bool all) {
    for (enum gw_list list = 0; list < GW_LISTS; list++) {
        const cJSON *array = cJSON_GetObjectItemCaseSensitive(document, gw_list_names[list]);
        if (all) {
            if (list > 0) {
                gw_print("\n");
            }
            gw_print("%s:\n", gw_list_names[list]);
        }
        if (array != NULL) {
            print_table(list, array);
        }
    }
}

/* Builds the whole document before printing, so that a failure prints nothing. */
enum gw_status gw_print_list(enum gw_list what, bool json, struct gw_error *error) {
    struct gw_json_writer writer;
    cJSON *document = NULL;
    enum gw_status status = GW_OK;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", "gradweave/list@1");
    for (enum gw_list list = 0; list < GW_LISTS && status == GW_OK; list++) {
        if (what == GW_LISTS || what == list) {
            gw_writer_array(&writer, gw_list_names[list]);
            status = write_list(&writer, list, error);
            gw_writer_end(&writer);
        }
    }
    struct gw_error unwritten;
    enum gw_status written =
        gw_writer_finish(&writer, &document, status == GW_OK ? error : &unwritten);
    if (status == GW_OK && written == GW_OK && json) {
        return gw_print_document(document, error);
    }
    if (status == GW_OK && written == GW_OK) {
        print_text(document, what == GW_LISTS);
    }
    cJSON_Delete(document);
    return status == GW_OK ? written : status;
}
