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

/* Appends an object; the keys are ended by NULL, and each has its value. */
static enum gw_status add_row(cJSON *array, const char *const *keys, const char *const *values,
                              struct gw_error *error) {
    cJSON *row = cJSON_CreateObject();
    GW_TRY(gw_json_append(array, row, error));
    for (size_t i = 0; keys[i] != NULL; i++) {
        GW_TRY(gw_json_put_text(row, keys[i], values[i], error));
    }
    return GW_OK;
}

static const char *const algorithm_keys[] = {"name",    "policy", "compressor", "exchange",
                                             "overlap", "title",  "paper",      NULL};
static const char *const exchange_keys[] = {"name",    "server", "collectives", "title",
                                            "carries", "source", NULL};
static const char *const method_keys[] = {"name", "title", "paper", NULL};
static const char *const collective_keys[] = {"operation", "name", "title", "source", NULL};
static const char *const data_keys[] = {"name", "title", NULL};

static enum gw_status list_algorithms(cJSON *array, struct gw_error *error) {
    for (const struct gw_algorithm *row = gw_algorithms; row->name != NULL; row++) {
        const char *values[] = {row->name,
                                row->policy,
                                row->compressor->name,
                                row->exchange->name,
                                gw_algorithm_overlaps(row) ? "yes" : "no",
                                row->title,
                                row->paper};
        GW_TRY(add_row(array, algorithm_keys, values, error));
    }
    return GW_OK;
}

static enum gw_status list_exchanges(cJSON *array, struct gw_error *error) {
    for (size_t i = 0; gw_exchange_kinds[i] != NULL; i++) {
        const struct gw_exchange_kind *kind = gw_exchange_kinds[i];
        char collectives[128] = "";
        for (size_t leg = 0, used = 0; leg < kind->leg_count && used < sizeof collectives; leg++) {
            used += (size_t)snprintf(collectives + used, sizeof collectives - used, "%s%s",
                                     leg == 0 ? "" : ", ", kind->legs[leg].collective);
        }
        const char *values[] = {kind->name,   kind->server ? "yes" : "no",
                                collectives,  kind->title,
                                kind->needed, kind->source};
        GW_TRY(add_row(array, exchange_keys, values, error));
    }
    return GW_OK;
}

static enum gw_status list_compressors(cJSON *array, struct gw_error *error) {
    for (size_t i = 0; gw_compressors[i] != NULL; i++) {
        const char *values[] = {gw_compressors[i]->name, gw_compressors[i]->title,
                                gw_compressors[i]->paper};
        GW_TRY(add_row(array, method_keys, values, error));
    }
    return GW_OK;
}

static enum gw_status list_policies(cJSON *array, struct gw_error *error) {
    for (size_t i = 0; gw_policies[i].name != NULL; i++) {
        const struct gw_policy *policy = &gw_policies[i];
        char name[64];
        snprintf(name, sizeof name, "%s%s%s", policy->name, policy->argument == NULL ? "" : ":",
                 policy->argument == NULL ? "" : policy->argument);
        const char *values[] = {name, policy->title, policy->paper};
        GW_TRY(add_row(array, method_keys, values, error));
    }
    return GW_OK;
}

static enum gw_status list_collectives(cJSON *array, struct gw_error *error) {
    for (size_t i = 0; gw_collectives[i] != NULL; i++) {
        const char *values[] = {gw_collectives[i]->operation, gw_collectives[i]->name,
                                gw_collectives[i]->title, gw_collectives[i]->source};
        GW_TRY(add_row(array, collective_keys, values, error));
    }
    return GW_OK;
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

typedef enum gw_status describe(const char *name, char *out, size_t size, struct gw_error *error);

static enum gw_status list_data(enum gw_data_kind kind, describe *describe_one, cJSON *array,
                                struct gw_error *error) {
    char **names = NULL;
    size_t count = 0;
    GW_TRY(gw_data_list(kind, &names, &count, error));
    enum gw_status status = GW_OK;
    for (size_t i = 0; i < count; i++) {
        char title[96];
        const char *values[] = {names[i], title};
        if (status == GW_OK) {
            status = describe_one(names[i], title, sizeof title, error);
        }
        if (status == GW_OK) {
            status = add_row(array, data_keys, values, error);
        }
        free(names[i]);
    }
    free(names);
    return status;
}

static enum gw_status list_models(cJSON *array, struct gw_error *error) {
    return list_data(GW_DATA_MODELS, describe_model, array, error);
}

static enum gw_status list_clusters(cJSON *array, struct gw_error *error) {
    return list_data(GW_DATA_CLUSTERS, describe_cluster, array, error);
}

static const char *const list_names[] = {
    [ALGORITHMS] = "algorithms",   [COMPRESSORS] = "compressors",
    [EXCHANGES] = "exchanges",     [POLICIES] = "policies",
    [COLLECTIVES] = "collectives", [MODELS] = "models",
    [CLUSTERS] = "clusters",       [ALL] = NULL};

static const struct list {
    const char *const *keys; /* the columns of its table, ended by NULL ... */
    const char *alignment;   /* ... and one character for each */
    enum gw_status (*fill)(cJSON *array, struct gw_error *error);
} lists[] = {[ALGORITHMS] = {algorithm_keys, "lllllll", list_algorithms},
             [COMPRESSORS] = {method_keys, "lll", list_compressors},
             [EXCHANGES] = {exchange_keys, "llllll", list_exchanges},
             [POLICIES] = {method_keys, "lll", list_policies},
             [COLLECTIVES] = {collective_keys, "llll", list_collectives},
             [MODELS] = {data_keys, "ll", list_models},
             [CLUSTERS] = {data_keys, "ll", list_clusters}};

/* ---- printing ------------------------------------------------------------------------------ */

static void print_table(const struct list *list, const cJSON *array) {
    struct gw_table *table = gw_table_open(list->keys, list->alignment);
    const cJSON *row = NULL;
    cJSON_ArrayForEach(row, array) {
        for (size_t i = 0; list->keys[i] != NULL; i++) {
            const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, list->keys[i]);
            gw_table_cell(table, "%s", cJSON_GetStringValue(value));
        }
    }
    gw_table_print_and_close(table);
}

/* The lists that the document has, under their names if that is all of them. */
static void print_text(const cJSON *document, bool all) {
    for (size_t i = 0; i < ALL; i++) {
        const cJSON *array = cJSON_GetObjectItemCaseSensitive(document, list_names[i]);
        if (all) {
            printf("%s%s:\n", i == 0 ? "" : "\n", list_names[i]);
        }
        if (array != NULL) {
            print_table(&lists[i], array);
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

/* Fills the document with one list, or ALL of them. */
static enum gw_status fill(enum list_kind what, cJSON *document, struct gw_error *error) {
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/list@1", error));
    for (size_t i = 0; i < ALL; i++) {
        if (what == ALL || what == i) {
            cJSON *array = cJSON_CreateArray();
            GW_TRY(gw_json_put(document, list_names[i], array, error));
            GW_TRY(lists[i].fill(array, error));
        }
    }
    return GW_OK;
}

/* Nothing is printed before the whole document is there. */
static enum gw_status answer(const struct options *options, struct gw_error *error) {
    cJSON *document = cJSON_CreateObject();
    enum gw_status status = fill(options->what, document, error);
    if (status == GW_OK && options->output.json) {
        return gw_print_document(document, error);
    }
    if (status == GW_OK) {
        print_text(document, options->what == ALL);
    }
    cJSON_Delete(document);
    return status;
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
