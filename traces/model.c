#include "traces/model.h"

#include <stdlib.h>
#include <string.h>

#include "traces/parts.h"

static const char *const schema = "gradweave/model@1";

static enum gw_status read_tensor(const struct gw_json *place, struct gw_tensor *tensor,
                                  size_t *bad, struct gw_error *error) {
    GW_TRY(gw_json_object(place, error));
    struct gw_json elements = gw_json_member(place, "elements");
    struct gw_json backward = gw_json_member(place, "backward_s");
    GW_TRY(gw_read_on(gw_json_copy_text(place, "name", &tensor->name, error), bad, error));
    GW_TRY(gw_read_on(gw_json_integer(&elements, 1, &tensor->elements, error), bad, error));
    return gw_json_seconds(&backward, &tensor->backward_s, error);
}

static enum gw_status read_tensors(const struct gw_json *root, struct gw_model *model, size_t *bad,
                                   struct gw_error *error) {
    struct gw_json tensors = gw_json_member(root, "tensors");
    GW_TRY(gw_json_array(&tensors, error));
    size_t count = (size_t)cJSON_GetArraySize(tensors.node);
    if (count == 0) {
        return gw_json_expected(&tensors, "at least one tensor", error);
    }
    model->tensors = calloc(count, sizeof *model->tensors);
    if (model->tensors == NULL) {
        return gw_fail_memory(error, "reading a model");
    }
    model->tensor_count = count;
    uint64_t total = 0;
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, tensors.node) {
        struct gw_json place = gw_json_item(&tensors, node, index);
        GW_TRY(gw_read_on(read_tensor(&place, &model->tensors[index], bad, error), bad, error));
        total += model->tensors[index].elements;
        if (total > (uint64_t)1 << 53) {
            struct gw_json elements = gw_json_member(&place, "elements");
            return gw_json_expected(&elements, "at most 2^53 elements in all tensors", error);
        }
        index++;
    }
    return GW_OK;
}

static enum gw_status read_source(const struct gw_json *root, struct gw_model *model,
                                  struct gw_error *error) {
    struct gw_json source = gw_json_member(root, "source");
    if (source.node == NULL) {
        return GW_OK;
    }
    GW_TRY(gw_json_object(&source, error));
    const struct {
        const char *key;
        char **text;
    } texts[] = {
        {"device", &model->device}, {"precision", &model->precision}, {"kind", &model->kind}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        GW_TRY(gw_json_member(&source, texts[i].key).node == NULL
                   ? GW_OK
                   : gw_json_copy_text(&source, texts[i].key, texts[i].text, error));
    }
    return GW_OK;
}

/* Of all tensors together. */
static enum gw_status check_bytes(const struct gw_json *bytes_per_element,
                                  const struct gw_model *model, struct gw_error *error) {
    double bytes = (double)model->bytes_per_element * (double)gw_model_elements(model);
    return bytes >= 18446744073709551616.0
               ? gw_json_expected(bytes_per_element, "fewer than 2^64 bytes in all tensors", error)
               : GW_OK;
}

static enum gw_status read_members(const struct gw_json *root, struct gw_model *model, size_t *bad,
                                   struct gw_error *error) {
    struct gw_json batch_size = gw_json_member(root, "batch_size");
    struct gw_json bytes_per_element = gw_json_member(root, "bytes_per_element");
    struct gw_json forward = gw_json_member(root, "forward_s");
    struct gw_json update = gw_json_member(root, "update_s");
    struct gw_json uncertainty = gw_json_member(root, "uncertainty");
    model->bytes_per_element = 4;
    GW_TRY(gw_read_on(gw_json_copy_text(root, "name", &model->name, error), bad, error));
    if (batch_size.node != NULL) {
        GW_TRY(gw_read_on(gw_json_size(&batch_size, &model->batch_size, error), bad, error));
    }
    if (bytes_per_element.node != NULL) {
        GW_TRY(gw_read_on(gw_json_integer(&bytes_per_element, 1, &model->bytes_per_element, error),
                          bad, error));
    }
    GW_TRY(gw_read_on(gw_json_seconds(&forward, &model->forward_s, error), bad, error));
    if (update.node != NULL) {
        GW_TRY(gw_read_on(gw_json_seconds(&update, &model->update_s, error), bad, error));
    }
    if (uncertainty.node != NULL) {
        GW_TRY(
            gw_read_on(gw_json_not_negative(&uncertainty, &model->uncertainty, error), bad, error));
    }
    GW_TRY(gw_read_on(read_source(root, model, error), bad, error));
    GW_TRY(gw_read_on(read_tensors(root, model, bad, error), bad, error));
    return gw_read_on(check_bytes(&bytes_per_element, model, error), bad, error);
}

static enum gw_status read_document(struct gw_model *model, const cJSON *document, const char *path,
                                    struct gw_error *error) {
    struct gw_json root;
    size_t bad = 0;
    GW_TRY(gw_json_root(document, path, schema, &root, error));
    GW_TRY(read_members(&root, model, &bad, error));
    return bad == 0 ? GW_OK : GW_BAD_INPUT; /* of which the last is in the error */
}

/* Takes the document. */
static enum gw_status read_and_delete(cJSON *document, const char *path, struct gw_model *out,
                                      struct gw_error *error) {
    enum gw_status status = read_document(out, document, path, error);
    cJSON_Delete(document);
    if (status != GW_OK) {
        gw_model_free(out);
    }
    return status;
}

enum gw_status gw_model_take(cJSON *document, const char *path, struct gw_model *out,
                             struct gw_error *error) {
    *out = (struct gw_model){0};
    return read_and_delete(document, path, out, error);
}

enum gw_status gw_model_parse(const char *text, size_t length, const char *path,
                              struct gw_model *out, struct gw_error *error) {
    cJSON *document = NULL;
    *out = (struct gw_model){0};
    GW_TRY(gw_json_parse(text, length, path, &document, error));
    return read_and_delete(document, path, out, error);
}

enum gw_status gw_model_read(const char *path, struct gw_model *out, struct gw_error *error) {
    cJSON *document = NULL;
    *out = (struct gw_model){0};
    GW_TRY(gw_json_read(path, &document, error));
    return read_and_delete(document, path, out, error);
}

void gw_model_free(struct gw_model *model) {
    for (size_t i = 0; i < model->tensor_count; i++) {
        free(model->tensors[i].name);
    }
    free(model->tensors);
    free(model->name);
    free(model->device);
    free(model->precision);
    free(model->kind);
    *model = (struct gw_model){0};
}

uint64_t gw_model_elements(const struct gw_model *model) {
    uint64_t total = 0;
    for (size_t i = 0; i < model->tensor_count; i++) {
        total += model->tensors[i].elements;
    }
    return total;
}

double gw_model_backward_s(const struct gw_model *model) {
    double total = 0;
    for (size_t i = 0; i < model->tensor_count; i++) {
        total += model->tensors[i].backward_s;
    }
    return total;
}

double gw_model_ahead_s(const struct gw_model *model) {
    double before = model->micro_batches > 1 ? (double)(model->micro_batches - 1) : 0;
    return model->forward_s + before * (model->forward_s + gw_model_backward_s(model));
}

double gw_model_alone_s(const struct gw_model *model) {
    return gw_model_ahead_s(model) + gw_model_backward_s(model) + model->update_s;
}
