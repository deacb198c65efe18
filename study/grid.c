/* Reads a grid from the command line and a job file, and finds its points. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "study/grid.h"
#include "study/points.h"

/* ---- the request ---------------------------------------------------------------------------- */

/* An axis as it was asked for: names, or texts that make a list of numbers with commas between. */
struct items {
    char place[160]; /* for messages: "--workers", "job.json: workers" */
    size_t count;
    const char **texts; /* the arena's */
};

/* A grid that is being read. */
struct reader {
    const struct gw_grid_request *request;
    struct gw_grid *grid;
    struct items axes[GW_AXES];
};

static const char reading[] = "reading what to sweep";

static enum gw_status fail_memory(struct gw_error *error) {
    return gw_fail_memory(error, reading);
}

/* Makes room for `count` items of an axis. */
static enum gw_status make_room(struct reader *reader, enum gw_axis axis, size_t count,
                                struct gw_error *error) {
    const char ***texts = &reader->axes[axis].texts;
    *texts = gw_arena_zeros(&reader->grid->arena, count, sizeof **texts);
    return *texts == NULL ? fail_memory(error) : GW_OK;
}

static enum gw_status add_item(struct reader *reader, enum gw_axis axis, const char *text,
                               size_t length, struct gw_error *error) {
    struct items *items = &reader->axes[axis];
    if (items->count == GW_MAX_VALUES) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected at most %d values, got more",
                       items->place, GW_MAX_VALUES);
    }
    const char *copy = gw_arena_format(&reader->grid->arena, "%.*s", (int)length, text);
    items->texts[items->count++] = copy;
    return copy == NULL ? fail_memory(error) : GW_OK;
}

/* Splits "a,b" into the names a and b; numbers are left as they are written. */
static enum gw_status add_text(struct reader *reader, enum gw_axis axis, const char *text,
                               struct gw_error *error) {
    if (gw_axis_kinds[axis].rule != NULL) {
        return add_item(reader, axis, text, strlen(text), error);
    }
    for (const char *item = text; item != NULL;) {
        size_t length = strcspn(item, ",");
        GW_TRY(add_item(reader, axis, item, length, error));
        item = item[length] == ',' ? item + length + 1 : NULL;
    }
    return GW_OK;
}

/* Adds a value of the job file to an axis; a string for the whole axis is read as on the command
 * line. */
static enum gw_status add_node(struct reader *reader, enum gw_axis axis,
                               const struct gw_json *place, bool whole, struct gw_error *error) {
    const struct gw_values_rule *rule = gw_axis_kinds[axis].rule;
    char digits[GW_UNITS_SIZE];
    char number[2 * GW_UNITS_SIZE];
    if (rule != NULL && cJSON_IsNumber(place->node)) {
        int length = snprintf(number, sizeof number, "%s%s",
                              gw_format_exactly(place->node->valuedouble, digits), rule->suffix);
        return add_item(reader, axis, number, (size_t)length, error);
    }
    if (!cJSON_IsString(place->node)) {
        return gw_json_expected(
            place, rule == NULL ? "a name" : "a number, or text such as on the command line",
            error);
    }
    const char *text = place->node->valuestring;
    return whole ? add_text(reader, axis, text, error)
                 : add_item(reader, axis, text, strlen(text), error);
}

static enum gw_status add_array(struct reader *reader, enum gw_axis axis,
                                const struct gw_json *array, struct gw_error *error) {
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, array->node) {
        struct gw_json place = gw_json_item(array, node, index++);
        GW_TRY(add_node(reader, axis, &place, false, error));
    }
    return index > 0 ? GW_OK : gw_json_expected(array, "at least one value", error);
}

static enum gw_status read_axis(struct reader *reader, enum gw_axis axis,
                                const struct gw_json *root, struct gw_error *error) {
    struct gw_json place = gw_json_member(root, gw_axis_kinds[axis].key);
    snprintf(reader->axes[axis].place, sizeof reader->axes[axis].place, "%.100s: %s", root->file,
             gw_axis_kinds[axis].key);
    if (place.node == NULL) {
        return GW_OK;
    }
    const char *text = cJSON_GetStringValue(place.node);
    if (cJSON_IsArray(place.node)) {
        GW_TRY(make_room(reader, axis, (size_t)cJSON_GetArraySize(place.node) + 1, error));
        return add_array(reader, axis, &place, error);
    }
    GW_TRY(make_room(reader, axis, text == NULL ? 1 : strlen(text) + 1, error));
    return add_node(reader, axis, &place, true, error);
}

static const struct gw_field job_rows[] = {
    {"models", .text = "names, a list or a string with commas, as on the command line"},
    {"clusters", .text = "likewise"},
    {"algorithms", .optional = true, .text = "likewise"},
    {"workers", .optional = true, .text = "a number, a list or a string likewise"},
    {"density", .optional = true, .text = "likewise"},
    {"bandwidth", .optional = true, .text = "likewise"},
    {"straggler", .optional = true, .text = "likewise"},
    {"noise", .optional = true, .text = "likewise"},
    {"accumulate", GW_AS_COUNT, .at = offsetof(struct gw_sweep_job, micro_batches),
     .optional = true, .otherwise = 1, .maximum = GW_MAX_MICRO_BATCHES,
     .expected = "at most 4096 micro-batches", .text = "micro-batches of an iteration"},
    {"iterations", GW_AS_COUNT, .at = offsetof(struct gw_sweep_job, iterations), .optional = true,
     .otherwise = 1, .text = "of each point"},
    {"seed", GW_AS_INTEGER, .at = offsetof(struct gw_sweep_job, seed), .optional = true,
     .otherwise = 1, .text = "of what is drawn"},
    {0}};

const struct gw_fields gw_sweep_job_fields = {sizeof(struct gw_sweep_job), .rows = job_rows,
                                              .schema = "gradweave/sweep-job@1"};

static enum gw_status read_job(struct reader *reader, const cJSON *document,
                               struct gw_error *error) {
    const struct gw_grid_request *request = reader->request;
    struct gw_json root;
    struct gw_sweep_job job;
    GW_TRY(gw_fields_root(&gw_sweep_job_fields, document, request->job, &root, error));
    for (size_t i = 0; i < GW_AXES; i++) {
        if (request->texts[i] == NULL) {
            GW_TRY(read_axis(reader, (enum gw_axis)i, &root, error));
        }
    }
    GW_TRY(gw_fields_read(&gw_sweep_job_fields, &root, &job, error));
    struct gw_grid *grid = reader->grid;
    grid->micro_batches = request->micro_batches > 0 ? request->micro_batches : job.micro_batches;
    grid->iterations = request->iterations > 0 ? request->iterations : job.iterations;
    grid->seed = request->seeded ? request->seed : job.seed;
    return GW_OK;
}

/* Reads the command line's axes, and then the job file's. */
static enum gw_status read_request(struct reader *reader, struct gw_error *error) {
    const struct gw_grid_request *request = reader->request;
    reader->grid->interference = request->interference;
    reader->grid->micro_batches = request->micro_batches > 0 ? request->micro_batches : 1;
    reader->grid->iterations = request->iterations > 0 ? request->iterations : 1;
    reader->grid->seed = request->seeded ? request->seed : 1;
    for (size_t i = 0; i < GW_AXES; i++) {
        snprintf(reader->axes[i].place, sizeof reader->axes[i].place, "--%s",
                 gw_axis_kinds[i].option);
        if (request->texts[i] != NULL) {
            GW_TRY(make_room(reader, (enum gw_axis)i, strlen(request->texts[i]) + 1, error));
            GW_TRY(add_text(reader, (enum gw_axis)i, request->texts[i], error));
        }
    }
    if (request->job == NULL) {
        return GW_OK;
    }
    cJSON *document = NULL;
    GW_TRY(gw_json_read(request->job, &document, error));
    enum gw_status status = read_job(reader, document, error);
    cJSON_Delete(document);
    return status;
}

/* Joins the texts with commas between. */
static const char *join_values(struct reader *reader, enum gw_axis axis) {
    const struct items *items = &reader->axes[axis];
    size_t size = 1;
    for (size_t i = 0; i < items->count; i++) {
        size += strlen(items->texts[i]) + 1;
    }
    char *text = gw_arena_zeros(&reader->grid->arena, size, 1);
    char *end = text;
    for (size_t i = 0; i < items->count && text != NULL; i++) {
        end +=
            snprintf(end, size - (size_t)(end - text), "%s%s", i == 0 ? "" : ",", items->texts[i]);
    }
    return text;
}

/* ---- models and clusters -------------------------------------------------------------------- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names that are there, each once. */
static enum gw_status check_names(struct reader *reader, enum gw_axis axis,
                                  struct gw_error *error) {
    const struct items *items = &reader->axes[axis];
    const char **sorted = gw_arena_zeros(&reader->grid->arena, items->count + 1, sizeof *sorted);
    if (sorted == NULL) {
        return fail_memory(error);
    }
    if (items->count == 0) {
        return gw_fail(error, GW_BAD_INPUT,
                       "%s: expected at least one: a file, or the name of one that ships",
                       items->place);
    }
    memcpy(sorted, items->texts, items->count * sizeof *sorted);
    qsort(sorted, items->count, sizeof *sorted, by_text);
    for (size_t i = 1; i < items->count; i++) {
        if (strcmp(sorted[i - 1], sorted[i]) == 0) {
            return gw_fail(error, GW_BAD_INPUT, "%s: expected each once, got \"%.60s\" twice",
                           items->place, sorted[i]);
        }
    }
    return GW_OK;
}

static enum gw_status parse_input(enum gw_axis axis, struct gw_grid *grid, size_t at,
                                  const char *text, size_t length, const char *path,
                                  struct gw_error *error) {
    return axis == GW_AXIS_MODEL ? gw_model_parse(text, length, path, &grid->models[at], error)
                                 : gw_cluster_parse(text, length, path, &grid->clusters[at], error);
}

/* Finds the text of a made document, or of a file; the caller's, as is the path. */
static enum gw_status read_text(const struct gw_grid_request *request, enum gw_axis axis,
                                const char *name, char **path, char **text,
                                struct gw_error *error) {
    cJSON *document = NULL;
    size_t length = 0;
    GW_TRY(request->make == NULL ? GW_OK
                                 : request->make(request->making, axis, name, &document, error));
    if (document != NULL) {
        enum gw_status status = gw_json_print_compact(document, text, error);
        cJSON_Delete(document);
        *path = strdup(name);
        return status != GW_OK || *path != NULL ? status : fail_memory(error);
    }
    GW_TRY(gw_data_resolve(axis == GW_AXIS_MODEL ? GW_DATA_MODELS : GW_DATA_CLUSTERS, name, path,
                           error));
    gw_log(GW_LOG_VERBOSE, "reading %s", *path);
    return gw_file_read(*path, text, &length, error);
}

/* Reads a model or cluster by its name; its text goes into the grid's fingerprint. */
static enum gw_status read_input(const struct gw_grid_request *request, enum gw_axis axis,
                                 const char *name, struct gw_grid *grid, struct gw_error *error) {
    char *path = NULL;
    char *text = NULL;
    enum gw_status status = read_text(request, axis, name, &path, &text, error);
    if (status == GW_OK) {
        size_t length = strlen(text);
        grid->inputs_fingerprint = gw_fingerprint_add(
            gw_fingerprint_add(grid->inputs_fingerprint, &length, sizeof length), text, length);
        status = parse_input(axis, grid, grid->counts[axis], text, length, path, error);
        grid->counts[axis] += status == GW_OK;
    }
    free(text);
    free(path);
    return status;
}

static enum gw_status read_inputs(struct reader *reader, struct gw_error *error) {
    static const enum gw_axis axes[] = {GW_AXIS_MODEL, GW_AXIS_CLUSTER};
    struct gw_grid *grid = reader->grid;
    const struct items *models = &reader->axes[GW_AXIS_MODEL];
    const struct items *clusters = &reader->axes[GW_AXIS_CLUSTER];
    GW_TRY(check_names(reader, GW_AXIS_MODEL, error));
    GW_TRY(check_names(reader, GW_AXIS_CLUSTER, error));
    grid->models = gw_arena_zeros(&grid->arena, models->count, sizeof *grid->models);
    grid->clusters = gw_arena_zeros(&grid->arena, clusters->count, sizeof *grid->clusters);
    GW_TRY(gw_arena_check(&grid->arena, reading, error));
    grid->inputs_fingerprint = gw_fingerprint_start;
    for (size_t a = 0; a < sizeof axes / sizeof *axes; a++) {
        const struct items *items = &reader->axes[axes[a]];
        for (size_t i = 0; i < items->count; i++) {
            GW_TRY(read_input(reader->request, axes[a], items->texts[i], grid, error));
        }
    }
    for (size_t i = 0; i < grid->counts[GW_AXIS_MODEL]; i++) {
        grid->models[i].micro_batches = grid->micro_batches;
    }
    for (size_t i = 0; i < grid->counts[GW_AXIS_CLUSTER]; i++) {
        GW_TRY(gw_interference_check(grid->interference, &grid->clusters[i], error));
    }
    return GW_OK;
}

/* ---- algorithms ----------------------------------------------------------------------------- */

static enum gw_status find_algorithms(struct reader *reader,
                                      const struct gw_algorithm ***algorithms, size_t *count,
                                      struct gw_error *error) {
    const struct items *items = &reader->axes[GW_AXIS_ALGORITHM];
    if (items->count == 0) {
        return gw_algorithms_parse("all", &reader->grid->arena, algorithms, count, error);
    }
    GW_TRY(check_names(reader, GW_AXIS_ALGORITHM, error));
    const char *text = join_values(reader, GW_AXIS_ALGORITHM);
    enum gw_status status =
        text == NULL ? fail_memory(error)
                     : gw_algorithms_parse(text, &reader->grid->arena, algorithms, count, error);
    if (status == GW_BAD_INPUT) {
        gw_error_prefix(error, items->place);
    }
    return status;
}

/* Reads algorithms and changes the same choices of all; fails if one does not allow that. */
static enum gw_status read_algorithms(struct reader *reader, struct gw_error *error) {
    struct gw_grid *grid = reader->grid;
    const struct gw_algorithm **presets = NULL;
    size_t count = 0;
    GW_TRY(find_algorithms(reader, &presets, &count, error));
    grid->algorithms = gw_arena_zeros(&grid->arena, count, sizeof *grid->algorithms);
    const char **names = gw_arena_zeros(&grid->arena, count, sizeof *names);
    GW_TRY(gw_arena_check(&grid->arena, reading, error));
    for (size_t i = 0; i < count; i++) {
        enum gw_status status =
            gw_algorithm_change(presets[i], &reader->request->changes, &grid->algorithms[i], error);
        names[i] = presets[i]->name;
        if (status != GW_OK) {
            gw_error_prefix(error, names[i]);
            return status;
        }
    }
    grid->counts[GW_AXIS_ALGORITHM] = count;
    grid->names[GW_AXIS_ALGORITHM] = names;
    return GW_OK;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* Finds each cluster's own bandwidth, by which rates become its factors. */
static enum gw_status find_own_bandwidths(struct gw_grid *grid, struct gw_error *error) {
    size_t count = grid->counts[GW_AXIS_CLUSTER];
    grid->own_bit_per_s = gw_arena_zeros(&grid->arena, count, sizeof *grid->own_bit_per_s);
    GW_TRY(gw_arena_check(&grid->arena, reading, error));
    for (size_t i = 0; i < count; i++) {
        struct gw_axis_values own;
        GW_TRY(gw_axis_find_own_bandwidth(&grid->clusters[i], &own, error));
        grid->own_bit_per_s[i] = own.own_bit_per_s;
    }
    return GW_OK;
}

static enum gw_status read_values(struct reader *reader, enum gw_axis axis,
                                  struct gw_error *error) {
    struct gw_grid *grid = reader->grid;
    struct gw_axis_values *values = &grid->axes[axis];
    if (reader->axes[axis].count == 0) {
        *values = (struct gw_axis_values){
            .kind = &gw_axis_kinds[axis],
            .digits = 4,
            .count = 1,
            .values = gw_arena_zeros(&grid->arena, 1, sizeof *values->values)};
        if (values->values == NULL) {
            return fail_memory(error);
        }
        values->values[0] = gw_axis_kinds[axis].fallback;
    } else {
        const char *text = join_values(reader, axis);
        GW_TRY(text == NULL ? fail_memory(error)
                            : gw_axis_parse(axis, text, reader->axes[axis].place, grid->clusters,
                                            values, error));
        if (gw_arena_own(&grid->arena, values->values, free) == NULL) {
            return fail_memory(error);
        }
    }
    grid->counts[axis] = values->count;
    return values->own_bit_per_s > 0 ? find_own_bandwidths(grid, error) : GW_OK;
}

/* ---- the grid ------------------------------------------------------------------------------- */

static enum gw_status count_points(struct gw_grid *grid, struct gw_error *error) {
    const uint64_t most = 1000000000;
    grid->point_count = 1;
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        if (grid->counts[axis] > most / grid->point_count) {
            return gw_fail(error, GW_BAD_INPUT,
                           "expected at most %" PRIu64 " points in a sweep, got more", most);
        }
        grid->point_count *= grid->counts[axis];
    }
    return GW_OK;
}

static uint64_t grid_fingerprint(const struct gw_grid *grid) {
    uint64_t sum = gw_fingerprint_add_text(gw_fingerprint_start, GW_VERSION);
    sum = gw_fingerprint_add(sum, &grid->interference, sizeof grid->interference);
    sum = gw_fingerprint_add(sum, &grid->micro_batches, sizeof grid->micro_batches);
    sum = gw_fingerprint_add(sum, &grid->iterations, sizeof grid->iterations);
    sum = gw_fingerprint_add(sum, &grid->seed, sizeof grid->seed);
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        sum = gw_fingerprint_add(sum, &grid->counts[axis], sizeof grid->counts[axis]);
        for (size_t i = 0; i < grid->counts[axis]; i++) {
            sum = gw_axis_kinds[axis].rule == NULL
                      ? gw_fingerprint_add_text(sum, grid->names[axis][i])
                      : gw_fingerprint_add(sum, &grid->axes[axis].values[i], sizeof(double));
        }
    }
    for (size_t i = 0; i < grid->counts[GW_AXIS_ALGORITHM]; i++) {
        sum = gw_fingerprint_add_text(sum, grid->algorithms[i].policy);
        sum = gw_fingerprint_add_text(sum, grid->algorithms[i].compressor->name);
        sum = gw_fingerprint_add_text(sum, grid->algorithms[i].exchange->name);
    }
    return sum;
}

static enum gw_status read_grid(struct reader *reader, struct gw_error *error) {
    struct gw_grid *grid = reader->grid;
    GW_TRY(read_request(reader, error));
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        if (gw_axis_kinds[axis].rule != NULL && axis != GW_AXIS_BANDWIDTH) {
            GW_TRY(read_values(reader, (enum gw_axis)axis, error));
        }
    }
    GW_TRY(read_algorithms(reader, error));
    GW_TRY(read_inputs(reader, error));
    GW_TRY(read_values(reader, GW_AXIS_BANDWIDTH, error)); /* rates are to clusters' own */
    grid->names[GW_AXIS_MODEL] = reader->axes[GW_AXIS_MODEL].texts;
    grid->names[GW_AXIS_CLUSTER] = reader->axes[GW_AXIS_CLUSTER].texts;
    GW_TRY(count_points(grid, error));
    grid->request_fingerprint = grid_fingerprint(grid);
    return GW_OK;
}

enum gw_status gw_grid_open(const struct gw_grid_request *request, struct gw_grid *out,
                            struct gw_error *error) {
    struct reader reader = {.request = request, .grid = out};
    *out = (struct gw_grid){0};
    out->curves = gw_arena_zeros(&out->arena, 1, sizeof *out->curves);
    if (out->curves == NULL) {
        return fail_memory(error);
    }
    *out->curves = (struct gw_compressor_curves){.mutex = PTHREAD_MUTEX_INITIALIZER};
    return read_grid(&reader, error);
}

void gw_grid_close(struct gw_grid *grid) {
    for (size_t i = 0; i < grid->counts[GW_AXIS_MODEL]; i++) {
        gw_model_free(&grid->models[i]);
    }
    for (size_t i = 0; i < grid->counts[GW_AXIS_CLUSTER]; i++) {
        gw_cluster_free(&grid->clusters[i]);
    }
    if (grid->curves != NULL) {
        gw_compressor_curves_free(grid->curves);
    }
    gw_arena_free(&grid->arena);
    *grid = (struct gw_grid){0};
}

/* ---- points --------------------------------------------------------------------------------- */

struct gw_point gw_grid_point(const struct gw_grid *grid, uint64_t number) {
    struct gw_point point = {.number = number};
    for (size_t axis = GW_AXES; axis-- > 0;) {
        point.at[axis] = (size_t)(number % grid->counts[axis]);
        number /= grid->counts[axis];
    }
    return point;
}

const char *gw_point_name(const struct gw_grid *grid, const struct gw_point *point,
                          enum gw_axis axis) {
    return grid->names[axis][point->at[axis]];
}

double gw_point_value(const struct gw_grid *grid, const struct gw_point *point, enum gw_axis axis) {
    double value = grid->axes[axis].values[point->at[axis]];
    bool clusters_own = axis == GW_AXIS_WORKERS && value == 0;
    return clusters_own ? (double)grid->clusters[point->at[GW_AXIS_CLUSTER]].workers : value;
}

void gw_point_predict(const struct gw_grid *grid, const struct gw_point *point,
                      struct gw_prediction *out) {
    struct gw_scenario scenario = gw_scenario_of(&grid->models[point->at[GW_AXIS_MODEL]],
                                                 &grid->clusters[point->at[GW_AXIS_CLUSTER]]);
    scenario.interference = grid->interference;
    scenario.curves = grid->curves;
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        if (gw_axis_kinds[axis].rule != NULL) {
            double value = gw_point_value(grid, point, (enum gw_axis)axis);
            if (axis == GW_AXIS_BANDWIDTH && grid->own_bit_per_s != NULL) {
                value /= grid->own_bit_per_s[point->at[GW_AXIS_CLUSTER]];
            }
            gw_scenario_change(&scenario, (enum gw_axis)axis, value);
        }
    }
    const struct gw_prediction_options options = {.simulation = {.seed = grid->seed},
                                                  .iterations = grid->iterations};
    gw_answer_scenario(&scenario, &grid->algorithms[point->at[GW_AXIS_ALGORITHM]], options, out);
}

enum gw_status gw_grid_require_alike(const struct gw_grid *grid,
                                     struct gw_communicator *communicator, struct gw_error *error) {
    enum { parts = 2 };
    const uint64_t own[parts] = {grid->request_fingerprint, grid->inputs_fingerprint};
    void *all = NULL;
    GW_TRY(gw_gather_all(communicator, own, sizeof own, "comparing ranks", &all, error));
    enum gw_status status = GW_OK;
    for (int rank = 1; rank < communicator->size && status == GW_OK; rank++) {
        if (memcmp(all, (const uint64_t *)all + parts * rank, sizeof own) != 0) {
            status = gw_fail(error, GW_BAD_INPUT,
                             "rank %d: expected the models, clusters and options that rank 0 has, "
                             "got others",
                             rank);
        }
    }
    free(all);
    return status;
}
