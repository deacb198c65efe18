#include "cli/grid.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct gw_values_rule straggler_rule = {
    .maximum = 1e6, .suffix = "", .example = "1,1.5,2"};
static const struct gw_values_rule noise_rule = {
    .maximum = 10, .zero = true, .suffix = "", .example = "0,0.05,0.1"};

const struct gw_axis_kind gw_axis_kinds[GW_AXES] = {
    [GW_AXIS_MODEL] = {.option = "model", .key = "models", .name = "model"},
    [GW_AXIS_CLUSTER] = {.option = "cluster", .key = "clusters", .name = "cluster"},
    [GW_AXIS_WORKERS] = {.option = "workers",
                         .key = "workers",
                         .name = "workers",
                         .rule = &gw_workers_rule},
    [GW_AXIS_DENSITY] = {.option = "density",
                         .key = "density",
                         .name = "density",
                         .rule = &gw_density_rule,
                         .fallback = 0.001},
    [GW_AXIS_BANDWIDTH] = {.option = "bandwidth",
                           .key = "bandwidth",
                           .name = "bandwidth",
                           .rule = &gw_bandwidth_rule,
                           .fallback = 1},
    [GW_AXIS_STRAGGLER] = {.option = "straggler",
                           .key = "straggler",
                           .name = "straggler",
                           .rule = &straggler_rule,
                           .fallback = 1},
    [GW_AXIS_NOISE] =
        {.option = "noise", .key = "noise", .name = "noise", .rule = &noise_rule, .fallback = 0},
    [GW_AXIS_ALGORITHM] = {.option = "algo", .key = "algorithms", .name = "algorithm"},
};

/* ---- names --------------------------------------------------------------------------------- */

static enum gw_status check_names(const struct gw_axis_items *items, struct gw_error *error) {
    for (size_t i = 0; i < items->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(items->texts[i], items->texts[j]) == 0) {
                return gw_fail(error, GW_BAD_INPUT, "%s: expected each once, got \"%.60s\" twice",
                               items->place, items->texts[i]);
            }
        }
    }
    return items->count > 0
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: expected at least one: a file, or the name of one that ships",
                         items->place);
}

/* The file for a name; its contents go into the grid's fingerprint. */
static enum gw_status read_input(struct gw_grid *grid, enum gw_data_kind kind, const char *name,
                                 char **path, char **text, size_t *length, struct gw_error *error) {
    GW_TRY(gw_data_resolve(kind, name, path, error));
    gw_log(GW_LOG_VERBOSE, "reading %s", *path);
    enum gw_status status = gw_file_read(*path, text, length, error);
    if (status != GW_OK) {
        free(*path);
        return status;
    }
    grid->inputs_fingerprint = gw_fingerprint_add(
        gw_fingerprint_add(grid->inputs_fingerprint, length, sizeof *length), *text, *length);
    return GW_OK;
}

static enum gw_status read_model(struct gw_grid *grid, const char *name, struct gw_model *out,
                                 struct gw_error *error) {
    char *path = NULL;
    char *text = NULL;
    size_t length = 0;
    GW_TRY(read_input(grid, GW_DATA_MODELS, name, &path, &text, &length, error));
    enum gw_status status = gw_model_parse(text, length, path, out, error);
    free(text);
    free(path);
    return status;
}

static enum gw_status read_cluster(struct gw_grid *grid, const char *name, struct gw_cluster *out,
                                   struct gw_error *error) {
    char *path = NULL;
    char *text = NULL;
    size_t length = 0;
    GW_TRY(read_input(grid, GW_DATA_CLUSTERS, name, &path, &text, &length, error));
    enum gw_status status = gw_cluster_parse(text, length, path, out, error);
    free(text);
    free(path);
    return status;
}

static enum gw_status read_inputs(struct gw_grid *grid, struct gw_error *error) {
    const struct gw_axis_items *models = &grid->items.axes[GW_AXIS_MODEL];
    const struct gw_axis_items *clusters = &grid->items.axes[GW_AXIS_CLUSTER];
    GW_TRY(check_names(models, error));
    GW_TRY(check_names(clusters, error));
    grid->models = calloc(models->count, sizeof *grid->models);
    grid->clusters = calloc(clusters->count, sizeof *grid->clusters);
    if (grid->models == NULL || grid->clusters == NULL) {
        return gw_fail_memory(error, "reading what to sweep");
    }
    grid->inputs_fingerprint = gw_fingerprint_start;
    for (size_t i = 0; i < models->count; i++) {
        GW_TRY(read_model(grid, models->texts[i], &grid->models[i], error));
        grid->counts[GW_AXIS_MODEL]++;
    }
    for (size_t i = 0; i < clusters->count; i++) {
        GW_TRY(read_cluster(grid, clusters->texts[i], &grid->clusters[i], error));
        grid->counts[GW_AXIS_CLUSTER]++;
    }
    return GW_OK;
}

/* The texts with commas between; the caller's. */
static enum gw_status join(const struct gw_axis_items *items, char **out, struct gw_error *error) {
    size_t length = 0;
    FILE *stream = open_memstream(out, &length);
    for (size_t i = 0; i < items->count && stream != NULL; i++) {
        (void)fprintf(stream, "%s%s", i == 0 ? "" : ",", items->texts[i]);
    }
    return stream != NULL && fclose(stream) == 0 ? GW_OK
                                                 : gw_fail_memory(error, "reading what to sweep");
}

static enum gw_status find_algorithms(struct gw_grid *grid, struct gw_error *error) {
    const struct gw_axis_items *items = &grid->items.axes[GW_AXIS_ALGORITHM];
    char *text = NULL;
    if (items->count == 0) {
        return gw_algorithms_parse("all", &grid->algorithms, &grid->counts[GW_AXIS_ALGORITHM],
                                   error);
    }
    GW_TRY(check_names(items, error));
    GW_TRY(join(items, &text, error));
    enum gw_status status =
        gw_algorithms_parse(text, &grid->algorithms, &grid->counts[GW_AXIS_ALGORITHM], error);
    free(text);
    if (status != GW_OK) {
        gw_error_prefix(error, items->place);
    }
    return status;
}

/* The same changes in all of them; one that does not allow them refuses the sweep. */
static enum gw_status change_algorithms(struct gw_grid *grid,
                                        const struct gw_choice_changes *changes,
                                        struct gw_error *error) {
    size_t count = grid->counts[GW_AXIS_ALGORITHM];
    grid->changed = calloc(count, sizeof *grid->changed);
    if (grid->changed == NULL) {
        return gw_fail_memory(error, "reading what to sweep");
    }
    for (size_t i = 0; i < count; i++) {
        enum gw_status status =
            gw_algorithm_change(grid->algorithms[i], changes, &grid->changed[i], error);
        if (status != GW_OK) {
            gw_error_prefix(error, grid->algorithms[i]->name);
            return status;
        }
        grid->algorithms[i] = &grid->changed[i];
    }
    return GW_OK;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static enum gw_status read_values(struct gw_grid *grid, enum gw_axis axis, struct gw_error *error) {
    const struct gw_axis_kind *kind = &gw_axis_kinds[axis];
    const struct gw_axis_items *items = &grid->items.axes[axis];
    if (items->count == 0) {
        grid->counts[axis] = 1;
        grid->values[axis] = malloc(sizeof *grid->values[axis]);
        if (grid->values[axis] == NULL) {
            return gw_fail_memory(error, "reading what to sweep");
        }
        grid->values[axis][0] = kind->fallback;
        return GW_OK;
    }
    char *text = NULL;
    GW_TRY(join(items, &text, error));
    enum gw_status status =
        gw_values_parse(text, kind->rule, &grid->values[axis], &grid->counts[axis], error);
    free(text);
    if (status != GW_OK) {
        gw_error_prefix(error, items->place);
    }
    return status;
}

/* ---- the grid ------------------------------------------------------------------------------ */

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

static uint64_t fingerprint(const struct gw_grid *grid) {
    uint64_t sum = gw_fingerprint_add_text(gw_fingerprint_start, GW_VERSION);
    sum = gw_fingerprint_add(sum, &grid->iterations, sizeof grid->iterations);
    sum = gw_fingerprint_add(sum, &grid->seed, sizeof grid->seed);
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        sum = gw_fingerprint_add(sum, &grid->counts[axis], sizeof grid->counts[axis]);
        for (size_t i = 0; i < grid->counts[axis]; i++) {
            struct gw_point point = {0};
            point.at[axis] = i;
            if (gw_axis_kinds[axis].rule == NULL) {
                sum = gw_fingerprint_add_text(sum, gw_point_name(grid, &point, (enum gw_axis)axis));
            } else {
                sum = gw_fingerprint_add(sum, &grid->values[axis][i], sizeof(double));
            }
        }
    }
    for (size_t i = 0; i < grid->counts[GW_AXIS_ALGORITHM]; i++) {
        sum = gw_fingerprint_add_text(sum, grid->changed[i].policy);
        sum = gw_fingerprint_add_text(sum, grid->changed[i].compressor->name);
        sum = gw_fingerprint_add_text(sum, grid->changed[i].exchange->name);
    }
    return sum;
}

static enum gw_status fill(struct gw_grid *grid, const struct gw_choice_changes *changes,
                           struct gw_error *error) {
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        if (gw_axis_kinds[axis].rule != NULL) {
            GW_TRY(read_values(grid, (enum gw_axis)axis, error));
        }
    }
    GW_TRY(find_algorithms(grid, error));
    GW_TRY(change_algorithms(grid, changes, error));
    GW_TRY(read_inputs(grid, error));
    GW_TRY(count_points(grid, error));
    grid->request_fingerprint = fingerprint(grid);
    return GW_OK;
}

enum gw_status gw_grid_open(const struct gw_grid_request *request, struct gw_grid *out,
                            struct gw_error *error) {
    *out = (struct gw_grid){0};
    GW_TRY(gw_grid_items_open(request, &out->items, error));
    out->iterations = out->items.iterations;
    out->seed = out->items.seed;
    enum gw_status status = fill(out, &request->changes, error);
    if (status != GW_OK) {
        gw_grid_close(out);
    }
    return status;
}

void gw_grid_close(struct gw_grid *grid) {
    for (size_t i = 0; i < grid->counts[GW_AXIS_MODEL]; i++) {
        gw_model_free(&grid->models[i]);
    }
    for (size_t i = 0; i < grid->counts[GW_AXIS_CLUSTER]; i++) {
        gw_cluster_free(&grid->clusters[i]);
    }
    for (size_t axis = 0; axis < GW_AXES; axis++) {
        free(grid->values[axis]);
    }
    free(grid->models);
    free(grid->clusters);
    free(grid->algorithms);
    free(grid->changed);
    gw_grid_items_close(&grid->items);
    *grid = (struct gw_grid){0};
}

/* ---- points -------------------------------------------------------------------------------- */

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
    size_t at = point->at[axis];
    return axis == GW_AXIS_ALGORITHM ? grid->algorithms[at]->name
                                     : grid->items.axes[axis].texts[at];
}

double gw_point_value(const struct gw_grid *grid, const struct gw_point *point, enum gw_axis axis) {
    double value = grid->values[axis][point->at[axis]];
    bool clusters_own = axis == GW_AXIS_WORKERS && value == 0;
    return clusters_own ? (double)grid->clusters[point->at[GW_AXIS_CLUSTER]].workers : value;
}
