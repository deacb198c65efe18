/* What is asked of a grid, on the command line and in a job file. */
#include <stdlib.h>
#include <string.h>

#include "cli/grid.h"

/* ---- items --------------------------------------------------------------------------------- */

static enum gw_status add_item(struct gw_axis_items *items, const char *text, size_t length,
                               struct gw_error *error) {
    char **texts = realloc(items->texts, (items->count + 1) * sizeof *texts);
    items->texts = texts == NULL ? items->texts : texts;
    char *copy = texts == NULL ? NULL : strndup(text, length);
    if (copy == NULL) {
        return gw_fail_memory(error, "reading what to sweep");
    }
    texts[items->count++] = copy;
    return GW_OK;
}

/* "a,b" as the names a and b; numbers are left as they are written. */
static enum gw_status add_text(const struct gw_axis_kind *kind, struct gw_axis_items *items,
                               const char *text, struct gw_error *error) {
    if (kind->rule != NULL) {
        return add_item(items, text, strlen(text), error);
    }
    for (const char *item = text; item != NULL;) {
        size_t length = strcspn(item, ",");
        GW_TRY(add_item(items, item, length, error));
        item = item[length] == ',' ? item + length + 1 : NULL;
    }
    return GW_OK;
}

/* ---- the job file -------------------------------------------------------------------------- */

/* A number as the command line has it, with the axis' suffix. */
static enum gw_status add_number(const struct gw_axis_kind *kind, struct gw_axis_items *items,
                                 double number, struct gw_error *error) {
    char digits[GW_UNITS_SIZE];
    char text[2 * GW_UNITS_SIZE];
    int length =
        snprintf(text, sizeof text, "%s%s", gw_format_exactly(number, digits), kind->rule->suffix);
    return add_item(items, text, (size_t)length, error);
}

/* A string is taken as it is written on the command line if it stands for the whole axis. */
static enum gw_status add_node(const struct gw_axis_kind *kind, struct gw_axis_items *items,
                               const struct gw_json *place, bool whole, struct gw_error *error) {
    if (kind->rule != NULL && cJSON_IsNumber(place->node)) {
        return add_number(kind, items, place->node->valuedouble, error);
    }
    if (!cJSON_IsString(place->node)) {
        return gw_json_expected(
            place, kind->rule == NULL ? "a name" : "a number, or text such as on the command line",
            error);
    }
    const char *text = place->node->valuestring;
    return whole ? add_text(kind, items, text, error) : add_item(items, text, strlen(text), error);
}

static enum gw_status add_array(const struct gw_axis_kind *kind, struct gw_axis_items *items,
                                const struct gw_json *array, struct gw_error *error) {
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, array->node) {
        struct gw_json place = gw_json_item(array, node, index++);
        if (index > GW_MOST_VALUES) {
            return gw_fail(error, GW_BAD_INPUT, "%s: expected at most %d values, got more",
                           items->place, GW_MOST_VALUES);
        }
        GW_TRY(add_node(kind, items, &place, false, error));
    }
    return index > 0 ? GW_OK : gw_json_expected(array, "at least one value", error);
}

static enum gw_status read_axis(const struct gw_axis_kind *kind, const struct gw_json *root,
                                struct gw_axis_items *items, struct gw_error *error) {
    struct gw_json place = gw_json_member(root, kind->key);
    snprintf(items->place, sizeof items->place, "%.100s: %s", root->file, kind->key);
    if (place.node == NULL) {
        return GW_OK;
    }
    return cJSON_IsArray(place.node) ? add_array(kind, items, &place, error)
                                     : add_node(kind, items, &place, true, error);
}

static enum gw_status read_numbers(const struct gw_grid_request *request,
                                   const struct gw_json *root, struct gw_grid_items *out,
                                   struct gw_error *error) {
    struct gw_json iterations = gw_json_member(root, "iterations");
    struct gw_json seed = gw_json_member(root, "seed");
    uint64_t count = out->iterations;
    uint64_t start = out->seed;
    if (iterations.node != NULL) {
        GW_TRY(gw_json_integer(&iterations, 1, &count, error));
    }
    if (seed.node != NULL) {
        GW_TRY(gw_json_integer(&seed, 0, &start, error));
    }
    out->iterations = request->iterations > 0 ? request->iterations : (size_t)count;
    out->seed = request->seeded ? request->seed : start;
    return GW_OK;
}

static enum gw_status read_job(const struct gw_grid_request *request, const cJSON *document,
                               struct gw_grid_items *out, struct gw_error *error) {
    struct gw_json root;
    GW_TRY(gw_json_root(document, request->job, "gradweave/sweep-job@1", &root, error));
    for (size_t i = 0; i < GW_AXES; i++) {
        if (request->texts[i] == NULL) {
            GW_TRY(read_axis(&gw_axis_kinds[i], &root, &out->axes[i], error));
        }
    }
    return read_numbers(request, &root, out, error);
}

/* ---- both ---------------------------------------------------------------------------------- */

static enum gw_status fill(const struct gw_grid_request *request, struct gw_grid_items *out,
                           struct gw_error *error) {
    for (size_t i = 0; i < GW_AXES; i++) {
        snprintf(out->axes[i].place, sizeof out->axes[i].place, "--%s", gw_axis_kinds[i].option);
        if (request->texts[i] != NULL) {
            GW_TRY(add_text(&gw_axis_kinds[i], &out->axes[i], request->texts[i], error));
        }
    }
    if (request->job == NULL) {
        return GW_OK;
    }
    cJSON *document = NULL;
    GW_TRY(gw_json_read(request->job, &document, error));
    enum gw_status status = read_job(request, document, out, error);
    cJSON_Delete(document);
    return status;
}

enum gw_status gw_grid_items_open(const struct gw_grid_request *request, struct gw_grid_items *out,
                                  struct gw_error *error) {
    *out = (struct gw_grid_items){.iterations = request->iterations > 0 ? request->iterations : 1,
                                  .seed = request->seeded ? request->seed : 1};
    enum gw_status status = fill(request, out, error);
    if (status != GW_OK) {
        gw_grid_items_close(out);
    }
    return status;
}

void gw_grid_items_close(struct gw_grid_items *items) {
    for (size_t i = 0; i < GW_AXES; i++) {
        for (size_t t = 0; t < items->axes[i].count; t++) {
            free(items->axes[i].texts[t]);
        }
        free(items->axes[i].texts);
        items->axes[i] = (struct gw_axis_items){0};
    }
}
