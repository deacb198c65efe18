#include "core/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/names.h"

/* ---- the table ----------------------------------------------------------------------------- */

enum { MOST_KEYS = 24 };

/*
 * The keys of the objects at a path of a schema's documents. In paths "*" stands for any key, which
 * is what the shape {"*"} allows, and "[]" for the items of an array. Behind "*" are the names that
 * such a key may have; with "**" in its place it may also be one that is not near to any of them.
 */
struct shape {
    const char *schema, *path;
    const char *keys[MOST_KEYS];
};

#define MODEL "gradweave/model@1"
#define CLUSTER "gradweave/cluster@1"
#define PLAN "gradweave/plan@1"
#define COUNTS "gradweave/counts@1"
#define NOISE "gradweave/noise@1"
#define ACCURACY "gradweave/accuracy@1"
#define GRADIENTS "gradweave/gradients@1"
#define VALIDATION "gradweave/validation@1"
#define SWEEP_JOB "gradweave/sweep-job@1"

#define LOGGP                                                                                      \
    {                                                                                              \
        "latency_s", "overhead_s", "gap_s", "gap_s_per_byte", "overhead_s_per_byte", "raw", "fit", \
            "ranks", "source"                                                                      \
    }
#define TOGETHER                                                                                   \
    { "fixed_s", "per_element_s", "per_nlog2n_s", "points", "raw", "fit", "uncertainty", "source" }
#define KERNEL                                                                                     \
    {                                                                                              \
        "fixed_s", "per_element_s", "per_nlog2n_s", "points", "together", "denser", "raw", "fit",  \
            "uncertainty", "source"                                                                \
    }
#define DENSER                                                                                     \
    {                                                                                              \
        "densities", "fixed_s", "per_element_s", "per_nlog2n_s", "points", "together", "raw",      \
            "fit", "uncertainty", "source"                                                         \
    }
#define FACTOR                                                                                     \
    { "factor", "low", "high" }
#define SIDE                                                                                       \
    {                                                                                              \
        "iteration_s", "breakdown", "comm_s", "iteration_sd_s", "bytes_per_worker", "counts",      \
            "actual_density", "padding", "selected_ratio", "iteration_min_s", "iteration_max_s",   \
            "iteration_percentiles_s", "iteration_mean_ci95_s", "uncertainty", "iteration_low_s",  \
            "iteration_high_s", "disturbance"                                                      \
    }
#define BREAKDOWN                                                                                  \
    { "forward_s", "backward_s", "compress_s", "exposed_comm_s", "other_s" }

/* Those that are measured or made up of what is. */
#define COLLECTIVES                                                                                \
    {                                                                                              \
        "*", "allgather", "allgatherv", "allreduce", "broadcast", "reduce", "gather", "scatter",   \
            "sendrecv", "gtopk", "sketch", "push", "pull"                                          \
    }
/* As methods has them; a cluster may have others of its own, which plans are made for. */
#define COMPRESSORS                                                                                \
    {                                                                                              \
        "**", "topk", "randk", "dgc", "redsync", "gaussiank", "count-sketch", "layer-drop",        \
            "hard-threshold", "sidco", "exdyna", "exdyna-trend", "exdyna-static"                   \
    }
#define AGGREGATORS                                                                                \
    { "*", "scatter-add", "merge", "give-back", "take-and-put", "sum", "heavymix" }

static const struct shape shapes[] = {
    {MODEL,
     "",
     {"schema", "name", "batch_size", "bytes_per_element", "forward_s", "update_s", "uncertainty",
      "source", "tensors"}},
    {MODEL,
     "tensors[]",
     {"name", "elements", "backward_s", "backward_low_s", "backward_high_s", "shape"}},

    {CLUSTER,
     "",
     {"schema", "name", "workers", "workers_per_node", "collectives", "compressors", "aggregation",
      "sharing", "network", "overlap", "passes", "growth", "source"}},
    {CLUSTER, "collectives", COLLECTIVES},
    {CLUSTER,
     "collectives.*[]",
     {"workers", "alpha_s", "beta_s_per_byte", "points", "raw", "fit", "skew", "uncertainty",
      "source"}},
    {CLUSTER, "compressors", COMPRESSORS},
    {CLUSTER, "compressors.*", KERNEL},
    {CLUSTER, "compressors.*.together", TOGETHER},
    {CLUSTER, "compressors.*.denser", DENSER},
    {CLUSTER, "compressors.*.denser.together", TOGETHER},
    {CLUSTER, "aggregation", AGGREGATORS},
    {CLUSTER, "aggregation.*", KERNEL},
    {CLUSTER, "aggregation.*.together", TOGETHER},
    {CLUSTER, "aggregation.*.denser", DENSER},
    {CLUSTER, "aggregation.*.denser.together", TOGETHER},
    {CLUSTER, "sharing", {"ranks", "processors", "together", "source"}},
    {CLUSTER, "network", {"within", "between", "nodes_per_switch", "oversubscription", "source"}},
    {CLUSTER, "network.within", LOGGP},
    {CLUSTER, "network.between", LOGGP},
    {CLUSTER,
     "overlap",
     {"workers", "factors", "elements", "waiting", "backward_s", "session_s", "source"}},
    {CLUSTER, "passes", {"uncertainty", "source"}},
    {CLUSTER, "overlap.factors", {"*"}},
    {CLUSTER, "overlap.factors.*", {"*"}},
    {CLUSTER, "overlap.factors.*.*[]", {"bytes", "compute", "communication"}},
    {CLUSTER, "overlap.factors.*.*[].compute", FACTOR},
    {CLUSTER, "overlap.factors.*.*[].communication", FACTOR},

    {PLAN,
     "",
     {"schema", "model", "policy", "compressor", "density", "workers", "groups", "iteration_s",
      "lower_bound_s", "notes", "explanation"}},

    {COUNTS,
     "",
     {"schema", "model", "algorithm", "compressor", "density", "workers", "source", "groups",
      "iterations"}},
    {COUNTS, "groups[]", {"tensors", "elements"}},
    {COUNTS, "iterations[]", {"selected", "distinct"}},

    {NOISE, "", {"schema", "model", "compute_s", "source", "factors"}},

    {ACCURACY, "", {"schema", "model", "goal", "judged_every", "source", "trainings"}},
    {ACCURACY, "trainings[]", {"algorithm", "density", "workers", "iterations"}},

    {GRADIENTS, "", {"schema", "model", "source", "tensors", "scales", "values"}},
    {GRADIENTS, "tensors[]", {"name", "elements", "sampled"}},

    {VALIDATION,
     "",
     {"schema", "model", "cluster", "workers", "density", "iterations", "complete", "mean_error",
      "largest_error", "results", "infeasible", "unpredicted", "tolerance", "beyond_tolerance",
      "device", "compression", "notes", "noise_iterations"}},
    {VALIDATION,
     "results[]",
     {"algorithm", "groups", "iterations", "predicted", "measured", "error", "changed", "settling",
      "explanation"}},
    {VALIDATION,
     "results[].explanation",
     {"path", "difference_s", "waited_s", "elsewhere_s", "parameters", "largest", "shown",
      "operations"}},
    {VALIDATION,
     "results[].explanation.parameters[]",
     {"parameter", "operations", "contribution_s"}},
    {VALIDATION,
     "results[].explanation.shown",
     {"iteration", "worker", "predicted_s", "measured_s"}},
    {VALIDATION,
     "results[].explanation.operations[]",
     {"stream", "activity", "label", "group", "parameter", "detail", "worst_worker", "predicted_s",
      "measured_s", "predicted_wait_s", "measured_wait_s", "on_path", "contribution_s",
      "shown_predicted_s", "shown_measured_s", "on_predicted_path", "on_measured_path"}},
    {VALIDATION, "results[].predicted", SIDE},
    {VALIDATION, "results[].measured", SIDE},
    {VALIDATION, "results[].predicted.breakdown", BREAKDOWN},
    {VALIDATION, "results[].measured.breakdown", BREAKDOWN},
    {VALIDATION, "infeasible[]", {"algorithm", "reason"}},
    {VALIDATION, "unpredicted[]", {"name", "iteration_s", "iteration_percentiles_s"}},

    {SWEEP_JOB,
     "",
     {"schema", "models", "clusters", "algorithms", "workers", "density", "bandwidth", "straggler",
      "noise", "accumulate", "iterations", "seed"}},

    {0},
};

static const struct shape *find_shape(const char *schema, const char *path) {
    for (const struct shape *shape = shapes; shape->schema != NULL; shape++) {
        if (strcmp(shape->path, path) == 0 && strcmp(shape->schema, schema) == 0) {
            return shape;
        }
    }
    return NULL;
}

bool gw_json_knows_schema(const char *schema) {
    return find_shape(schema, "") != NULL;
}

/* What follows "gradweave/", which all have alike. */
static const char *kind_of(const char *schema) {
    const char *slash = strchr(schema, '/');
    return slash == NULL ? schema : slash + 1;
}

const char *gw_json_nearest_schema(const char *schema) {
    enum { MOST_SCHEMAS = 16 };
    const char *kinds[MOST_SCHEMAS] = {NULL};
    const char *schemas[MOST_SCHEMAS] = {NULL};
    size_t count = 0;
    for (const struct shape *shape = shapes; shape->schema != NULL; shape++) {
        if (shape->path[0] == '\0' && count + 1 < MOST_SCHEMAS) {
            schemas[count] = shape->schema;
            kinds[count++] = kind_of(shape->schema);
        }
    }
    const char *nearest = gw_find_nearest(kind_of(schema), kinds);
    for (size_t i = 0; i < count; i++) {
        if (kinds[i] == nearest) {
            return schemas[i];
        }
    }
    return NULL;
}

/* ---- places -------------------------------------------------------------------------------- */

enum { PATH_SIZE = 160 };

/* The way to an object from the document's root, link by link. */
struct link {
    const struct link *before; /* NULL: the root */
    const char *key;           /* NULL: an item of an array */
    size_t index;
};

/* A path too long for `out` is cut: it only serves messages. Returns its length. */
static size_t write_path(const struct link *link, char out[PATH_SIZE]) {
    size_t length = link->before == NULL ? 0 : write_path(link->before, out);
    if (link->before == NULL || length + 1 >= PATH_SIZE) {
        out[length] = '\0';
        return length;
    }
    size_t room = PATH_SIZE - length;
    int more = link->key == NULL ? snprintf(out + length, room, "[%zu]", link->index)
                                 : snprintf(out + length, room, "%s%.*s", length == 0 ? "" : ".",
                                            PATH_SIZE, link->key);
    return more < 0 || (size_t)more >= room ? PATH_SIZE - 1 : length + (size_t)more;
}

/* ---- keys of any object -------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum gw_status refuse_key(const struct link *at, const char *key, const char *file,
                                 struct gw_error *error) {
    char path[PATH_SIZE];
    (void)write_path(at, path);
    const char *colon = path[0] == '\0' ? "" : ": ";
    return strlen(key) > GW_JSON_MOST_TEXT
               ? gw_fail(error, GW_BAD_INPUT,
                         "%s: %s%sexpected keys of at most %d bytes, got \"%.40s...\"", file, path,
                         colon, GW_JSON_MOST_TEXT, key)
               : gw_fail(error, GW_BAD_INPUT, "%s: %s%sexpected each key once, got \"%.60s\" twice",
                         file, path, colon, key);
}

/* Of few keys each pair is looked at; many are sorted. */
static enum gw_status check_object(const cJSON *object, const struct link *at, const char *file,
                                   struct gw_error *error) {
    enum { FEW = 12 };
    const char *few[FEW];
    size_t count = (size_t)cJSON_GetArraySize(object);
    const char **keys = count <= FEW ? few : calloc(count, sizeof *keys);
    const char *odd = NULL;
    size_t next = 0;
    const cJSON *child = NULL;
    if (keys == NULL) {
        return gw_fail_memory(error, "reading JSON");
    }
    cJSON_ArrayForEach(child, object) {
        keys[next++] = child->string;
        odd = strlen(child->string) > GW_JSON_MOST_TEXT ? child->string : odd;
    }
    qsort(keys, count, sizeof *keys, by_name);
    for (size_t i = 1; i < count && odd == NULL; i++) {
        odd = strcmp(keys[i - 1], keys[i]) == 0 ? keys[i] : NULL;
    }
    if (keys != few) {
        free(keys);
    }
    return odd == NULL ? GW_OK : refuse_key(at, odd, file, error);
}

/* As deep as the parser lets documents be. */
static enum gw_status check_below(const cJSON *node, const struct link *at, const char *file,
                                  struct gw_error *error) {
    struct link below = {.before = at};
    const cJSON *child = NULL;
    if (cJSON_IsObject(node)) {
        GW_TRY(check_object(node, at, file, error));
    }
    cJSON_ArrayForEach(child, node) {
        below.key = child->string;
        if (child->child != NULL) {
            GW_TRY(check_below(child, &below, file, error));
        }
        below.index++;
    }
    return GW_OK;
}

enum gw_status gw_json_check_keys_of_all(const cJSON *document, const char *file,
                                         struct gw_error *error) {
    static const struct link root = {0};
    return check_below(document, &root, file, error);
}

/* ---- unknown keys -------------------------------------------------------------------------- */

struct gw_key_rules gw_key_rules;

/* A document on its way through the table. */
struct walk {
    const char *file, *schema;
    size_t unknown;
};

/* Whether the shape's keys stand in paths as "*". */
static bool has_names(const struct shape *shape) {
    return shape->keys[0][0] == '*';
}

static const char *const *known_keys(const struct shape *shape) {
    return shape->keys + has_names(shape);
}

static bool allows_others(const struct shape *shape) {
    return strcmp(shape->keys[0], "**") == 0;
}

static bool is_known(const struct shape *shape, const char *key) {
    const char *const *keys = known_keys(shape);
    for (const char *const *known = keys; *known != NULL; known++) {
        if (strcmp(*known, key) == 0) {
            return true;
        }
    }
    return *keys == NULL || (allows_others(shape) && gw_find_nearest(key, keys) == NULL);
}

static enum gw_status report(struct walk *walk, const struct link *at, const struct shape *shape,
                             const char *key, struct gw_error *error) {
    char path[PATH_SIZE];
    char message[512];
    const char *nearest = gw_find_nearest(key, known_keys(shape));
    const char *hint[] = {nearest == NULL ? "" : "; did you mean \"",
                          nearest == NULL ? "" : nearest, nearest == NULL ? "" : "\"?"};
    (void)write_path(at, path);
    const char *colon = path[0] == '\0' ? "" : ": ";
    walk->unknown++;
    if (gw_key_rules.strict) {
        return gw_fail(error, GW_BAD_INPUT, "%s: %s%sexpected a known key, got \"%.60s\"%s%s%s",
                       walk->file, path, colon, key, hint[0], hint[1], hint[2]);
    }
    if (gw_key_rules.warn != NULL && (gw_key_rules.all || walk->unknown <= GW_MOST_KEY_WARNINGS)) {
        (void)snprintf(message, sizeof message, "%s: %s%snothing reads the key \"%.60s\"%s%s%s",
                       walk->file, path, colon, key, hint[0], hint[1], hint[2]);
        gw_key_rules.warn(message, gw_key_rules.context);
    }
    return GW_OK;
}

static enum gw_status walk_object(struct walk *walk, const cJSON *object, const struct shape *shape,
                                  const struct link *at, struct gw_error *error);

static enum gw_status walk_array(struct walk *walk, const cJSON *array, const struct shape *shape,
                                 const struct link *at, struct gw_error *error) {
    struct link item = {.before = at};
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, array) {
        if (cJSON_IsObject(node)) {
            GW_TRY(walk_object(walk, node, shape, &item, error));
        }
        item.index++;
    }
    return GW_OK;
}

static enum gw_status walk_object(struct walk *walk, const cJSON *object, const struct shape *shape,
                                  const struct link *at, struct gw_error *error) {
    bool named = has_names(shape);
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, object) {
        if (!is_known(shape, node->string)) {
            GW_TRY(report(walk, at, shape, node->string, error));
        } else if (node->child != NULL) {
            char path[PATH_SIZE];
            const struct link below = {.before = at, .key = node->string};
            (void)snprintf(path, sizeof path, "%s%s%s%s", shape->path,
                           shape->path[0] == '\0' ? "" : ".", named ? "*" : node->string,
                           cJSON_IsArray(node) ? "[]" : "");
            const struct shape *known = find_shape(walk->schema, path);
            if (known != NULL && cJSON_IsArray(node)) {
                GW_TRY(walk_array(walk, node, known, &below, error));
            } else if (known != NULL) {
                GW_TRY(walk_object(walk, node, known, &below, error));
            }
        }
    }
    return GW_OK;
}

enum gw_status gw_json_check_keys(const cJSON *document, const char *file, const char *schema,
                                  struct gw_error *error) {
    static const struct link root = {0};
    struct walk walk = {.file = file, .schema = schema};
    const struct shape *shape = find_shape(schema, "");
    if (shape == NULL || !cJSON_IsObject(document)) {
        return GW_OK;
    }
    GW_TRY(walk_object(&walk, document, shape, &root, error));
    if (walk.unknown > GW_MOST_KEY_WARNINGS && gw_key_rules.warn != NULL && !gw_key_rules.all) {
        char message[512];
        (void)snprintf(message, sizeof message,
                       "%s: and %zu more keys that nothing reads (gradweave check lists all)", file,
                       walk.unknown - GW_MOST_KEY_WARNINGS);
        gw_key_rules.warn(message, gw_key_rules.context);
    }
    return GW_OK;
}
