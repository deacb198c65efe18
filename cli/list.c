#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "collectives/collectives.h"
#include "kernels/kernels.h"

struct options {
    struct gw_output_options output;
    const char *what;
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
    for (size_t i = 0; gw_algorithms[i] != NULL; i++) {
        const struct gw_algorithm *a = gw_algorithms[i];
        const char *values[] = {
            a->name,  a->policy, a->compressor, a->exchange, a->overlap ? "yes" : "no",
            a->title, a->paper};
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
    for (size_t i = 0; gw_policies[i] != NULL; i++) {
        const struct gw_policy *policy = gw_policies[i];
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

static const struct list {
    const char *name;
    const char *const *keys; /* the columns of its table, ended by NULL ... */
    const char *alignment;   /* ... and one character for each */
    enum gw_status (*fill)(cJSON *array, struct gw_error *error);
} lists[] = {{"algorithms", algorithm_keys, "lllllll", list_algorithms},
             {"compressors", method_keys, "lll", list_compressors},
             {"exchanges", exchange_keys, "llllll", list_exchanges},
             {"policies", method_keys, "lll", list_policies},
             {"collectives", collective_keys, "llll", list_collectives},
             {"models", data_keys, "ll", list_models},
             {"clusters", data_keys, "ll", list_clusters}};

enum { LIST_COUNT = sizeof lists / sizeof *lists };

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
    for (size_t i = 0; i < LIST_COUNT; i++) {
        const cJSON *array = cJSON_GetObjectItemCaseSensitive(document, lists[i].name);
        if (all) {
            printf("%s%s:\n", i == 0 ? "" : "\n", lists[i].name);
        }
        if (array != NULL) {
            print_table(&lists[i], array);
        }
    }
}

/* ---- the verb ------------------------------------------------------------------------------ */

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->output;
        return 0;
    case ARGP_KEY_ARG:
        for (size_t i = 0; i < LIST_COUNT; i++) {
            if (options->what == NULL && strcmp(lists[i].name, argument) == 0) {
                options->what = argument;
                return 0;
            }
        }
        argp_error(state,
                   "expected one of algorithms, compressors, exchanges, policies, collectives, "
                   "models, clusters; got \"%s\"",
                   argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&gw_output_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .parser = parse,
    .args_doc = "[algorithms|compressors|exchanges|policies|collectives|models|clusters]",
    .doc = "Lists what there is.",
    .children = children,
};

/* Fills the document with the list called `what`, or all of them if it is NULL. */
static enum gw_status fill(const char *what, cJSON *document, struct gw_error *error) {
    GW_TRY(gw_json_put_text(document, "schema", "gradweave/list@1", error));
    for (size_t i = 0; i < LIST_COUNT; i++) {
        if (what == NULL || strcmp(what, lists[i].name) == 0) {
            cJSON *array = cJSON_CreateArray();
            GW_TRY(gw_json_put(document, lists[i].name, array, error));
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
        print_text(document, options->what == NULL);
    }
    cJSON_Delete(document);
    return status;
}

static int run(int argc, char **argv) {
    struct options options = {0};
    struct gw_error error = {0};
    gw_cli_parse(&argp, "list", argc, argv, &options);
    return answer(&options, &error) == GW_OK ? GW_OK : gw_cli_fail(&error);
}

const struct gw_verb gw_verb_list = {
    .name = "list",
    .title = "algorithms, compressors, exchanges, policies, collectives, models, clusters",
    .run = run};
