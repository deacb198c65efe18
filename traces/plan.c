#include "traces/plan.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t sparse_entry_bytes = 8; /* a 4-byte value and a 4-byte index */

enum gw_status gw_plan_create(struct gw_plan *out, const char *model, const char *policy,
                              const char *compressor, double density, size_t workers,
                              struct gw_error *error) {
    *out = (struct gw_plan){.model = strdup(model),
                            .policy = strdup(policy),
                            .compressor = strdup(compressor),
                            .density = density,
                            .workers = workers};
    if (out->model == NULL || out->policy == NULL || out->compressor == NULL) {
        gw_plan_free(out);
        return gw_fail_memory(error, "making a plan");
    }
    return GW_OK;
}

enum gw_status gw_plan_note(struct gw_plan *plan, const char *note, struct gw_error *error) {
    char **larger = realloc(plan->notes, (plan->note_count + 1) * sizeof *plan->notes);
    if (larger == NULL) {
        return gw_fail_memory(error, "noting something in a plan");
    }
    plan->notes = larger;
    larger[plan->note_count] = strdup(note);
    if (larger[plan->note_count] == NULL) {
        return gw_fail_memory(error, "noting something in a plan");
    }
    plan->note_count++;
    return GW_OK;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Checks that the group's tensors descend without gaps. */
static enum gw_status read_group(const struct gw_json *place, struct gw_group *group,
                                 struct gw_error *error) {
    if (!cJSON_IsArray(place->node) || cJSON_GetArraySize(place->node) == 0) {
        return gw_json_expected(place, "an array of tensor indices", error);
    }
    size_t position = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, place->node) {
        struct gw_json at = gw_json_item(place, node, position);
        uint64_t tensor = 0;
        GW_TRY(gw_json_integer(&at, 0, &tensor, error));
        if (position == 0) {
            group->first = (size_t)tensor;
        } else if (tensor + 1 != group->last) {
            return gw_json_expected(&at, "tensor indices that descend without gaps", error);
        }
        group->last = (size_t)tensor;
        position++;
    }
    return GW_OK;
}

static enum gw_status read_groups(const struct gw_json *groups, void *out, struct gw_error *error) {
    struct gw_plan *plan = out;
    GW_TRY(gw_json_array(groups, error));
    size_t count = (size_t)cJSON_GetArraySize(groups->node);
    if (count == 0) {
        return gw_json_expected(groups, "at least one group", error);
    }
    plan->groups = calloc(count, sizeof *plan->groups);
    if (plan->groups == NULL) {
        return gw_fail_memory(error, "reading a plan");
    }
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, groups->node) {
        struct gw_json place = gw_json_item(groups, node, plan->group_count);
        struct gw_group *group = &plan->groups[plan->group_count++];
        GW_TRY(read_group(&place, group, error));
        if (group > plan->groups && group->first + 1 != group[-1].last) {
            return gw_json_expected(&place, "groups that descend without gaps", error);
        }
    }
    return plan->groups[count - 1].last == 0
               ? GW_OK
               : gw_json_expected(groups, "groups that end with tensor 0", error);
}

static void write_groups(const void *from, const char *key, struct gw_json_writer *writer) {
    const struct gw_plan *plan = from;
    gw_writer_array(writer, key);
    for (size_t g = 0; g < plan->group_count; g++) {
        gw_writer_array(writer, NULL);
        for (size_t tensor = plan->groups[g].first + 1; tensor-- > plan->groups[g].last;) {
            gw_writer_number(writer, NULL, (double)tensor);
        }
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
}

static const struct gw_field way_rows[] = {
    {"choice", GW_AS_TEXT, .at = offsetof(struct gw_plan_way, choice),
     .text = "in short: `dense`, `topk:0.01`, `powersgd:8`"},
    {"compressor", GW_AS_TEXT, .at = offsetof(struct gw_plan_way, compressor),
     .text = "`none` for dense exchange"},
    {"exchange", GW_AS_TEXT, .at = offsetof(struct gw_plan_way, exchange),
     .text = "that carries it (`gradweave list exchanges`)"},
    {"density", GW_AS_POSITIVE, .at = offsetof(struct gw_plan_way, density), .maximum = 1,
     .expected = "a density in (0, 1]", .text = "share of the group's elements that is asked for"},
    {"sent_density", GW_AS_POSITIVE, .at = offsetof(struct gw_plan_way, sent_density), .maximum = 1,
     .optional = true, .expected = "a density in (0, 1]",
     .text = "share that is expected to be sent; absent: as asked"},
    {0}};

static const struct gw_fields way_fields = {sizeof(struct gw_plan_way), .rows = way_rows};

static enum gw_status check_ways(const struct gw_json *place, void *out, struct gw_error *error) {
    const struct gw_plan *plan = out;
    struct gw_json ways = gw_json_member(place, "ways");
    return ways.node == NULL || plan->way_count == plan->group_count
               ? GW_OK
               : gw_json_expected(&ways, "a way for each of the groups", error);
}

static const struct gw_field rows[] = {
    {"model", GW_AS_TEXT, .at = offsetof(struct gw_plan, model), .text = "by its name"},
    {"policy", GW_AS_TEXT, .at = offsetof(struct gw_plan, policy), .text = "that made the groups"},
    {"compressor", GW_AS_TEXT, .at = offsetof(struct gw_plan, compressor),
     .text = "`none` for dense exchange, `mixed` if groups have `ways`"},
    {"density", GW_AS_POSITIVE, .at = offsetof(struct gw_plan, density), .maximum = 1,
     .expected = "a density in (0, 1]", .text = "share of the elements that is asked for"},
    {"workers", GW_AS_COUNT, .at = offsetof(struct gw_plan, workers), .text = "that exchange"},
    {"groups", GW_AS_BLOCK, .at = offsetof(struct gw_plan, groups), .read = read_groups,
     .write = write_groups,
     .text = "in the order of their exchange, each the numbers of its tensors from the last to the "
             "first, without gaps"},
    {"ways", GW_AS_LIST, .at = offsetof(struct gw_plan, ways),
     .count_at = offsetof(struct gw_plan, way_count), .optional = true, .of = &way_fields,
     .text = "of a mixed plan: how each of the groups travels"},
    {"iteration_s", GW_AS_NOT_NEGATIVE, .at = offsetof(struct gw_plan, iteration_s),
     .text = "as predicted"},
    {"lower_bound_s", GW_AS_NOT_NEGATIVE, .at = offsetof(struct gw_plan, lower_bound_s),
     .text = "of the fastest of all plans"},
    {"notes", GW_AS_TEXTS, .at = offsetof(struct gw_plan, notes),
     .count_at = offsetof(struct gw_plan, note_count), .optional = true,
     .text = "such as curves that were derived"},
    {"explanation", .text = "of a printed plan, by `--explain`"},
    {0}};

const struct gw_fields gw_plan_fields = {sizeof(struct gw_plan), .rows = rows,
                                         .schema = "gradweave/plan@1", .check = check_ways};

enum gw_status gw_plan_check(const struct gw_plan *plan, const struct gw_model *model,
                             const char *path, struct gw_error *error) {
    if (strcmp(plan->model, model->name) != 0) {
        return gw_fail(error, GW_BAD_INPUT, "%s: model: expected \"%s\", got \"%s\"", path,
                       model->name, plan->model);
    }
    if (plan->groups[0].first + 1 == model->tensor_count) {
        return GW_OK;
    }
    return gw_fail(
        error, GW_BAD_INPUT,
        "%s: groups[0]: expected to begin with tensor %zu, the last of model %s, got %zu", path,
        model->tensor_count - 1, model->name, plan->groups[0].first);
}

/* ---- arithmetic that a plan fixes ---------------------------------------------------------- */

uint64_t gw_group_elements(const struct gw_group *group, const struct gw_model *model) {
    uint64_t total = 0;
    for (size_t tensor = group->last; tensor <= group->first; tensor++) {
        total += model->tensors[tensor].elements;
    }
    return total;
}

uint64_t gw_exchange_bytes(bool sparse, uint64_t bytes_per_element, uint64_t n, double density) {
    return sparse ? sparse_entry_bytes * gw_elements_kept(n, density) : bytes_per_element * n;
}
