#include "traces/counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- making -------------------------------------------------------------------------------- */

static enum gw_status allocate_counts(struct gw_counts *counts, bool has_distinct,
                                      struct gw_error *error) {
    counts->iteration_capacity = counts->iteration_count > 0 ? counts->iteration_count : 1;
    size_t lists = counts->iteration_capacity * counts->group_count;
    counts->selected = calloc(lists, counts->workers * sizeof *counts->selected);
    counts->distinct = has_distinct ? calloc(lists, sizeof *counts->distinct) : NULL;
    return counts->selected == NULL || (has_distinct && counts->distinct == NULL)
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
                              .groups = calloc(about->group_count, sizeof *out->groups),
                              .iteration_count = about->iteration_count};
    enum gw_status status = out->model == NULL || out->algorithm == NULL ||
                                    out->compressor == NULL || out->source == NULL ||
                                    out->groups == NULL
                                ? gw_fail_memory(error, "counting")
                                : allocate_counts(out, has_distinct, error);
    if (status != GW_OK) {
        gw_counts_free(out);
    }
    return status;
}

/* Doubles the capacity, for amortised O(1) per iteration. */
static enum gw_status grow_rows(struct gw_counts *counts, struct gw_error *error) {
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
        GW_TRY(grow_rows(counts, error));
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

/* Reads a count of a group's elements, at least `least`. */
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
    GW_TRY(gw_json_length(place, counts->workers, &length, error));
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

/* Reads a group's distinct count, at least each worker's count. */
static enum gw_status read_distinct(const struct gw_json *place, size_t iteration,
                                    struct gw_counts *counts, struct gw_error *error) {
    size_t length = 0;
    size_t group = 0;
    const cJSON *node = NULL;
    GW_TRY(gw_json_length(place, counts->group_count, &length, error));
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
    GW_TRY(gw_json_length(&selected, counts->group_count, &length, error));
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

static enum gw_status read_iterations(const struct gw_json *iterations, void *out,
                                      struct gw_error *error) {
    struct gw_counts *counts = out;
    size_t index = 0;
    size_t length = 0;
    const cJSON *node = NULL;
    GW_TRY(gw_json_length(iterations, 0, &counts->iteration_count, error));
    /* Checks the first iteration before allocating, so that the counts have the stated size. */
    struct gw_json first = gw_json_item(iterations, iterations->node->child, 0);
    GW_TRY(gw_json_object(&first, error));
    struct gw_json selected = gw_json_member(&first, "selected");
    GW_TRY(gw_json_length(&selected, counts->group_count, &length, error));
    struct gw_json workers = gw_json_item(&selected, selected.node->child, 0);
    GW_TRY(gw_json_length(&workers, counts->workers, &length, error));
    bool has_distinct =
        cJSON_GetObjectItemCaseSensitive(iterations->node->child, "distinct") != NULL;
    GW_TRY(allocate_counts(counts, has_distinct, error));
    cJSON_ArrayForEach(node, iterations->node) {
        struct gw_json place = gw_json_item(iterations, node, index);
        GW_TRY(read_iteration(&place, index++, counts, error));
    }
    return GW_OK;
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

static void write_iterations(const void *from, const char *key, struct gw_json_writer *writer) {
    const struct gw_counts *counts = from;
    gw_writer_array(writer, key);
    for (size_t i = 0; i < counts->iteration_count; i++) {
        write_iteration(counts, i, writer);
    }
    gw_writer_end(writer);
}

static const struct gw_field group_rows[] = {
    {"tensors", GW_AS_COUNT, .at = offsetof(struct gw_counts_group, tensors),
     .text = "of the group"},
    {"elements", GW_AS_COUNT, .at = offsetof(struct gw_counts_group, elements),
     .text = "of its tensors"},
    {0}};

static const struct gw_fields group_fields = {sizeof(struct gw_counts_group), .rows = group_rows};

/* The rows below an iteration, which dedicated functions read. */
static const struct gw_field iteration_rows[] = {
    {"selected", .text = "a list for each group with a number for each worker"},
    {"distinct", .optional = true, .text = "how many elements of each group some worker selected"},
    {0}};

static const struct gw_fields iteration_fields = {.rows = iteration_rows};

static const struct gw_field rows[] = {
    {"model", GW_AS_TEXT, .at = offsetof(struct gw_counts, model), .text = "by its name"},
    {"algorithm", GW_AS_TEXT, .at = offsetof(struct gw_counts, algorithm), .text = "that selected"},
    {"compressor", GW_AS_TEXT, .at = offsetof(struct gw_counts, compressor),
     .text = "of the algorithm"},
    {"density", GW_AS_POSITIVE, .at = offsetof(struct gw_counts, density), .maximum = 1,
     .expected = "a density in (0, 1]", .text = "that was asked for"},
    {"workers", GW_AS_COUNT, .at = offsetof(struct gw_counts, workers), .text = "that selected"},
    {"source", GW_AS_TEXT, .at = offsetof(struct gw_counts, source), .text = "free text"},
    {"groups", GW_AS_LIST, .at = offsetof(struct gw_counts, groups),
     .count_at = offsetof(struct gw_counts, group_count), .expected = "a list that is not empty",
     .of = &group_fields, .text = "in the order of exchange"},
    {"iterations", GW_AS_BLOCK, .at = offsetof(struct gw_counts, selected), .of = &iteration_fields,
     .depends = true, .read = read_iterations, .write = write_iterations, .text = "in their order"},
    {"", GW_AS_BLOCK, .at = offsetof(struct gw_counts, distinct)},
    {0}};

const struct gw_fields gw_counts_fields = {sizeof(struct gw_counts), .rows = rows,
                                           .schema = "gradweave/counts@1", .compact = true};

/* ---- density and padding ------------------------------------------------------------------- */

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
