#include "traces/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/parts.h"

static const char *const schema = "gradweave/plan@1";
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

void gw_plan_free(struct gw_plan *plan) {
    free(plan->model);
    free(plan->policy);
    free(plan->compressor);
    free(plan->groups);
    for (size_t i = 0; i < plan->note_count; i++) {
        free(plan->notes[i]);
    }
    free(plan->notes);
    *plan = (struct gw_plan){0};
}

/* ---- reading ------------------------------------------------------------------------------- */

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

static enum gw_status read_groups(const struct gw_json *root, struct gw_plan *plan,
                                  struct gw_error *error) {
    struct gw_json groups = gw_json_member(root, "groups");
    GW_TRY(gw_json_array(&groups, error));
    size_t count = (size_t)cJSON_GetArraySize(groups.node);
    if (count == 0) {
        return gw_json_expected(&groups, "at least one group", error);
    }
    plan->groups = calloc(count, sizeof *plan->groups);
    if (plan->groups == NULL) {
        return gw_fail_memory(error, "reading a plan");
    }
    plan->group_count = count;
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, groups.node) {
        struct gw_json place = gw_json_item(&groups, node, index);
        struct gw_group *group = &plan->groups[index];
        GW_TRY(read_group(&place, group, error));
        if (index > 0 && group->first + 1 != plan->groups[index - 1].last) {
            return gw_json_expected(&place, "groups that descend without gaps", error);
        }
        index++;
    }
    if (plan->groups[count - 1].last != 0) {
        return gw_json_expected(&groups, "groups that end with tensor 0", error);
    }
    return GW_OK;
}

static enum gw_status read_notes(const struct gw_json *root, struct gw_plan *plan,
                                 struct gw_error *error) {
    struct gw_json notes = gw_json_member(root, "notes");
    if (notes.node == NULL) {
        return GW_OK;
    }
    GW_TRY(gw_json_array(&notes, error));
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, notes.node) {
        struct gw_json place = gw_json_item(&notes, node, index++);
        const char *text = NULL;
        GW_TRY(gw_json_text(&place, &text, error));
        GW_TRY(gw_plan_note(plan, text, error));
    }
    return GW_OK;
}

enum gw_status gw_read_density_and_workers(const struct gw_json *root, double *density,
                                           size_t *workers, struct gw_error *error) {
    struct gw_json density_place = gw_json_member(root, "density");
    struct gw_json workers_place = gw_json_member(root, "workers");
    uint64_t count = 0;
    GW_TRY(gw_json_positive(&density_place, density, error));
    if (*density > 1) {
        return gw_json_expected(&density_place, "a density in (0, 1]", error);
    }
    GW_TRY(gw_json_integer(&workers_place, 1, &count, error));
    *workers = (size_t)count;
    return GW_OK;
}

static enum gw_status read_document(struct gw_plan *plan, const cJSON *document, const char *path,
                                    struct gw_error *error) {
    struct gw_json root;
    GW_TRY(gw_json_root(document, path, schema, &root, error));
    GW_TRY(gw_json_copy_text(&root, "model", &plan->model, error));
    GW_TRY(gw_json_copy_text(&root, "policy", &plan->policy, error));
    GW_TRY(gw_json_copy_text(&root, "compressor", &plan->compressor, error));
    struct gw_json iteration = gw_json_member(&root, "iteration_s");
    struct gw_json lower_bound = gw_json_member(&root, "lower_bound_s");
    GW_TRY(gw_read_density_and_workers(&root, &plan->density, &plan->workers, error));
    GW_TRY(read_groups(&root, plan, error));
    GW_TRY(gw_json_not_negative(&iteration, &plan->iteration_s, error));
    GW_TRY(gw_json_not_negative(&lower_bound, &plan->lower_bound_s, error));
    return read_notes(&root, plan, error);
}

/* Takes the document. */
static enum gw_status read_and_delete(cJSON *document, const char *path, struct gw_plan *out,
                                      struct gw_error *error) {
    enum gw_status status = read_document(out, document, path, error);
    cJSON_Delete(document);
    if (status != GW_OK) {
        gw_plan_free(out);
    }
    return status;
}

enum gw_status gw_plan_parse(const char *text, size_t length, const char *path, struct gw_plan *out,
                             struct gw_error *error) {
    cJSON *document = NULL;
    *out = (struct gw_plan){0};
    GW_TRY(gw_json_parse(text, length, path, &document, error));
    return read_and_delete(document, path, out, error);
}

enum gw_status gw_plan_read(const char *path, struct gw_plan *out, struct gw_error *error) {
    cJSON *document = NULL;
    *out = (struct gw_plan){0};
    GW_TRY(gw_json_read(path, &document, error));
    return read_and_delete(document, path, out, error);
}

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

/* ---- writing ------------------------------------------------------------------------------- */

static void write_groups(const struct gw_plan *plan, struct gw_json_writer *writer) {
    gw_writer_array(writer, "groups");
    for (size_t g = 0; g < plan->group_count; g++) {
        gw_writer_array(writer, NULL);
        for (size_t tensor = plan->groups[g].first + 1; tensor-- > plan->groups[g].last;) {
            gw_writer_number(writer, NULL, (double)tensor);
        }
        gw_writer_end(writer);
    }
    gw_writer_end(writer);
}

enum gw_status gw_plan_document(const struct gw_plan *plan, cJSON **out, struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", schema);
    gw_writer_text(&writer, "model", plan->model);
    gw_writer_text(&writer, "policy", plan->policy);
    gw_writer_text(&writer, "compressor", plan->compressor);
    gw_writer_number(&writer, "density", plan->density);
    gw_writer_number(&writer, "workers", (double)plan->workers);
    write_groups(plan, &writer);
    gw_writer_number(&writer, "iteration_s", plan->iteration_s);
    gw_writer_number(&writer, "lower_bound_s", plan->lower_bound_s);
    if (plan->note_count > 0) {
        gw_writer_texts(&writer, "notes", plan->notes, plan->note_count);
    }
    return gw_writer_finish(&writer, out, error);
}

enum gw_status gw_plan_write(const struct gw_plan *plan, const char *path, struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_plan_document(plan, &document, error));
    enum gw_status status = gw_json_write(document, path, error);
    cJSON_Delete(document);
    return status;
}

/* ---- arithmetic that a plan fixes ---------------------------------------------------------- */

uint64_t gw_group_elements(const struct gw_group *group, const struct gw_model *model) {
    uint64_t total = 0;
    for (size_t tensor = group->last; tensor <= group->first; tensor++) {
        total += model->tensors[tensor].elements;
    }
    return total;
}

uint64_t gw_elements_kept(uint64_t n, double density) {
    double kept = floor(density * (double)n);
    return kept < 1 ? 1 : (uint64_t)kept;
}

uint64_t gw_exchange_bytes(bool sparse, uint64_t bytes_per_element, uint64_t n, double density) {
    return sparse ? sparse_entry_bytes * gw_elements_kept(n, density) : bytes_per_element * n;
}
