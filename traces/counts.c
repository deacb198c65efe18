#include "traces/counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/parts.h"

static const char *const schema = "gradweave/counts@1";

/* ---- making -------------------------------------------------------------------------------- */

static enum gw_status allocate(struct gw_counts *counts, bool has_distinct,
                               struct gw_error *error) {
    counts->iteration_capacity = counts->iteration_count > 0 ? counts->iteration_count : 1;
    size_t lists = counts->iteration_capacity * counts->group_count;
    counts->groups = calloc(counts->group_count, sizeof *counts->groups);
    counts->selected = calloc(lists, counts->workers * sizeof *counts->selected);
    counts->distinct = has_distinct ? calloc(lists, sizeof *counts->distinct) : NULL;
    return counts->groups == NULL || counts->selected == NULL ||
                   (has_distinct && counts->distinct == NULL)
               ? gw_fail_memory(error, "counting")
               : GW_OK;
}

enum gw_status gw_counts_create(struct gw_counts *out, const struct gw_counts_about *about,
                                bool has_distinct, struct gw_error *error) {
    *out = (struct gw_counts){.model = strdup(about->model),
                              .algorithm = strdup(about->algorithm),
                              .compressor = strdup(about->compressor),
                              .source = strdup(about->source),
                              .density = about->density,
                              .workers = about->workers,
                              .group_count = about->group_count,
                              .iteration_count = about->iteration_count};
    enum gw_status status = out->model == NULL || out->algorithm == NULL ||
                                    out->compressor == NULL || out->source == NULL
                                ? gw_fail_memory(error, "counting")
                                : allocate(out, has_distinct, error);
    if (status != GW_OK) {
        gw_counts_free(out);
    }
    return status;
}

void gw_counts_free(struct gw_counts *counts) {
    free(counts->model);
    free(counts->algorithm);
    free(counts->compressor);
    free(counts->source);
    free(counts->groups);
    free(counts->selected);
    free(counts->distinct);
    *counts = (struct gw_counts){0};
}

/* Twice as much room each time: O(1) for an iteration. */
static enum gw_status grow(struct gw_counts *counts, struct gw_error *error) {
    size_t capacity = 2 * counts->iteration_capacity;
    size_t lists = capacity * counts->group_count;
    uint64_t *selected =
        realloc(counts->selected, lists * counts->workers * sizeof *counts->selected);
    if (selected == NULL) {
        return gw_fail_memory(error, "counting");
    }
    counts->selected = selected;
    if (counts->distinct != NULL) {
        uint64_t *distinct = realloc(counts->distinct, lists * sizeof *counts->distinct);
        if (distinct == NULL) {
            return gw_fail_memory(error, "counting");
        }
        counts->distinct = distinct;
    }
    counts->iteration_capacity = capacity;
    return GW_OK;
}

enum gw_status gw_counts_append(struct gw_counts *counts, const uint64_t *selected,
                                const uint64_t *distinct, struct gw_error *error) {
    if (counts->iteration_count == counts->iteration_capacity) {
        GW_TRY(grow(counts, error));
    }
    size_t lists = counts->group_count;
    size_t first = counts->iteration_count++ * lists;
    memcpy(counts->selected + first * counts->workers, selected,
           lists * counts->workers * sizeof *selected);
    if (counts->distinct != NULL) {
        memcpy(counts->distinct + first, distinct, lists * sizeof *distinct);
    }
    return GW_OK;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* An array that is not empty, or just as long as `expected` if that is not 0. */
static enum gw_status read_length(const struct gw_json *place, size_t expected, size_t *out,
                                  struct gw_error *error) {
    GW_TRY(gw_json_array(place, error));
    size_t length = (size_t)cJSON_GetArraySize(place->node);
    if (length == 0 || (expected > 0 && length != expected)) {
        char text[64];
        (void)snprintf(text, sizeof text, "a list of %zu", expected);
        return gw_json_expected(place, expected > 0 ? text : "a list that is not empty", error);
    }
    *out = length;
    return GW_OK;
}

static enum gw_status read_groups(const struct gw_json *groups, struct gw_counts *counts,
                                  struct gw_error *error) {
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, groups->node) {
        struct gw_json place = gw_json_item(groups, node, index);
        struct gw_json tensors = gw_json_member(&place, "tensors");
        struct gw_json elements = gw_json_member(&place, "elements");
        GW_TRY(gw_json_integer(&tensors, 1, &counts->groups[index].tensors, error));
        GW_TRY(gw_json_integer(&elements, 1, &counts->groups[index].elements, error));
        index++;
    }
    return GW_OK;
}

/* A number of a group's elements, at least `least`. */
static enum gw_status read_count(const struct gw_json *place, const struct gw_counts *counts,
                                 size_t group, uint64_t least, uint64_t *out,
                                 struct gw_error *error) {
    GW_TRY(gw_json_integer(place, least, out, error));
    return *out > counts->groups[group].elements
               ? gw_json_expected(place, "at most the group's elements", error)
               : GW_OK;
}

static enum gw_status read_workers(const struct gw_json *place, size_t group,
                                   struct gw_counts *counts, uint64_t *out,
                                   struct gw_error *error) {
    size_t length = 0;
    size_t worker = 0;
    const cJSON *node = NULL;
    GW_TRY(read_length(place, counts->workers, &length, error));
    cJSON_ArrayForEach(node, place->node) {
        struct gw_json at = gw_json_item(place, node, worker);
        GW_TRY(read_count(&at, counts, group, 0, &out[worker++], error));
    }
    return GW_OK;
}

static uint64_t most_of(const uint64_t *selected, size_t workers) {
    uint64_t most = 0;
    for (size_t w = 0; w < workers; w++) {
        most = selected[w] > most ? selected[w] : most;
    }
    return most;
}

/* Not fewer than any worker selected. */
static enum gw_status read_distinct(const struct gw_json *place, size_t iteration,
                                    struct gw_counts *counts, struct gw_error *error) {
    size_t length = 0;
    size_t group = 0;
    const cJSON *node = NULL;
    GW_TRY(read_length(place, counts->group_count, &length, error));
    cJSON_ArrayForEach(node, place->node) {
        struct gw_json at = gw_json_item(place, node, group);
        uint64_t least = most_of(gw_counts_at(counts, iteration, group), counts->workers);
        uint64_t *out = &counts->distinct[iteration * counts->group_count + group];
        GW_TRY(read_count(&at, counts, group, least, out, error));
        group++;
    }
    return GW_OK;
}

static enum gw_status read_iteration(const struct gw_json *place, size_t iteration,
                                     struct gw_counts *counts, struct gw_error *error) {
    struct gw_json selected = gw_json_member(place, "selected");
    size_t length = 0;
    size_t group = 0;
    const cJSON *node = NULL;
    GW_TRY(gw_json_object(place, error));
    GW_TRY(read_length(&selected, counts->group_count, &length, error));
    cJSON_ArrayForEach(node, selected.node) {
        struct gw_json at = gw_json_item(&selected, node, group);
        size_t first = (iteration * counts->group_count + group) * counts->workers;
        GW_TRY(read_workers(&at, group, counts, counts->selected + first, error));
        group++;
    }
    if (counts->distinct == NULL) {
        return GW_OK;
    }
    struct gw_json distinct = gw_json_member(place, "distinct");
    return read_distinct(&distinct, iteration, counts, error);
}

static enum gw_status read_iterations(const struct gw_json *iterations, struct gw_counts *counts,
                                      struct gw_error *error) {
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, iterations->node) {
        struct gw_json place = gw_json_item(iterations, node, index);
        GW_TRY(read_iteration(&place, index++, counts, error));
    }
    return GW_OK;
}

/* Before room is made for so many: the document has as many numbers as it says. */
static enum gw_status check_first(const struct gw_json *iterations, const struct gw_counts *counts,
                                  struct gw_error *error) {
    size_t length = 0;
    struct gw_json first = gw_json_item(iterations, iterations->node->child, 0);
    GW_TRY(gw_json_object(&first, error));
    struct gw_json selected = gw_json_member(&first, "selected");
    GW_TRY(read_length(&selected, counts->group_count, &length, error));
    struct gw_json workers = gw_json_item(&selected, selected.node->child, 0);
    return read_length(&workers, counts->workers, &length, error);
}

static enum gw_status read_document(struct gw_counts *counts, const cJSON *document,
                                    const char *path, struct gw_error *error) {
    struct gw_json root;
    GW_TRY(gw_json_root(document, path, schema, &root, error));
    GW_TRY(gw_json_copy_text(&root, "model", &counts->model, error));
    GW_TRY(gw_json_copy_text(&root, "algorithm", &counts->algorithm, error));
    GW_TRY(gw_json_copy_text(&root, "compressor", &counts->compressor, error));
    GW_TRY(gw_json_copy_text(&root, "source", &counts->source, error));
    struct gw_json groups = gw_json_member(&root, "groups");
    struct gw_json iterations = gw_json_member(&root, "iterations");
    GW_TRY(gw_read_density_and_workers(&root, &counts->density, &counts->workers, error));
    GW_TRY(read_length(&groups, 0, &counts->group_count, error));
    GW_TRY(read_length(&iterations, 0, &counts->iteration_count, error));
    GW_TRY(check_first(&iterations, counts, error));
    bool has_distinct =
        cJSON_GetObjectItemCaseSensitive(iterations.node->child, "distinct") != NULL;
    GW_TRY(allocate(counts, has_distinct, error));
    GW_TRY(read_groups(&groups, counts, error));
    return read_iterations(&iterations, counts, error);
}

enum gw_status gw_counts_take(cJSON *document, const char *path, struct gw_counts *out,
                              struct gw_error *error) {
    *out = (struct gw_counts){0};
    enum gw_status status = read_document(out, document, path, error);
    cJSON_Delete(document);
    if (status != GW_OK) {
        gw_counts_free(out);
    }
    return status;
}

enum gw_status gw_counts_parse(const char *text, size_t length, const char *path,
                               struct gw_counts *out, struct gw_error *error) {
    cJSON *document = NULL;
    *out = (struct gw_counts){0};
    GW_TRY(gw_json_parse(text, length, path, &document, error));
    return gw_counts_take(document, path, out, error);
}

enum gw_status gw_counts_read(const char *path, struct gw_counts *out, struct gw_error *error) {
    cJSON *document = NULL;
    *out = (struct gw_counts){0};
    GW_TRY(gw_json_read(path, &document, error));
    return gw_counts_take(document, path, out, error);
}

/* ---- writing ------------------------------------------------------------------------------- */

static void write_numbers(struct gw_json_writer *writer, const char *key, const uint64_t *numbers,
                          size_t count) {
    gw_writer_array(writer, key);
    for (size_t i = 0; i < count; i++) {
        gw_writer_number(writer, NULL, (double)numbers[i]);
    }
    gw_writer_end(writer);
}

static void write_iteration(const struct gw_counts *counts, size_t iteration,
                            struct gw_json_writer *writer) {
    gw_writer_object(writer, NULL);
    gw_writer_array(writer, "selected");
    for (size_t g = 0; g < counts->group_count; g++) {
        write_numbers(writer, NULL, gw_counts_at(counts, iteration, g), counts->workers);
    }
    gw_writer_end(writer);
    if (counts->distinct != NULL) {
        write_numbers(writer, "distinct", counts->distinct + iteration * counts->group_count,
                      counts->group_count);
    }
    gw_writer_end(writer);
}

enum gw_status gw_counts_write(const struct gw_counts *counts, const char *path,
                               struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", schema);
    gw_writer_text(&writer, "model", counts->model);
    gw_writer_text(&writer, "algorithm", counts->algorithm);
    gw_writer_text(&writer, "compressor", counts->compressor);
    gw_writer_number(&writer, "density", counts->density);
    gw_writer_number(&writer, "workers", (double)counts->workers);
    gw_writer_text(&writer, "source", counts->source);
    gw_writer_array(&writer, "groups");
    for (size_t g = 0; g < counts->group_count; g++) {
        gw_writer_object(&writer, NULL);
        gw_writer_number(&writer, "tensors", (double)counts->groups[g].tensors);
        gw_writer_number(&writer, "elements", (double)counts->groups[g].elements);
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    gw_writer_array(&writer, "iterations");
    for (size_t i = 0; i < counts->iteration_count; i++) {
        write_iteration(counts, i, &writer);
    }
    gw_writer_end(&writer);
    return gw_writer_finish_compact_file(&writer, path, error);
}

/* ---- what follows from counts -------------------------------------------------------------- */

const uint64_t *gw_counts_at(const struct gw_counts *counts, size_t iteration, size_t group) {
    return counts->selected + (iteration * counts->group_count + group) * counts->workers;
}

double gw_counts_density(const struct gw_counts *counts, size_t iteration) {
    double distinct = 0;
    double elements = 0;
    for (size_t g = 0; g < counts->group_count && counts->distinct != NULL; g++) {
        distinct += (double)counts->distinct[iteration * counts->group_count + g];
        elements += (double)counts->groups[g].elements;
    }
    return counts->distinct == NULL ? NAN : distinct / elements;
}

double gw_counts_padding(const struct gw_counts *counts, size_t iteration) {
    double padded = 0;
    double selected = 0;
    for (size_t g = 0; g < counts->group_count; g++) {
        const uint64_t *each = gw_counts_at(counts, iteration, g);
        padded += (double)counts->workers * (double)most_of(each, counts->workers);
        for (size_t w = 0; w < counts->workers; w++) {
            selected += (double)each[w];
        }
    }
    return selected > 0 ? padded / selected : 1;
}
