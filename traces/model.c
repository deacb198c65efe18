#include "traces/model.h"

#include <stdlib.h>
#include <string.h>

static const char *const schema = "gradweave/model@1";

static enum gw_status copy_text(const struct gw_json *place, char **out, struct gw_error *error) {
    const char *text = NULL;
    GW_TRY(gw_json_text(place, &text, error));
    *out = strdup(text);
    return *out == NULL ? gw_fail_memory(error, "reading a model") : GW_OK;
}

static enum gw_status read_tensor(const struct gw_json *place, struct gw_tensor *tensor,
                                  struct gw_error *error) {
    GW_TRY(gw_json_object(place, error));
    struct gw_json name = gw_json_member(place, "name");
    struct gw_json elements = gw_json_member(place, "elements");
    struct gw_json backward = gw_json_member(place, "backward_s");
    GW_TRY(copy_text(&name, &tensor->name, error));
    GW_TRY(gw_json_integer(&elements, 1, &tensor->elements, error));
    return gw_json_not_negative(&backward, &tensor->backward_s, error);
}

static enum gw_status read_tensors(const struct gw_json *root, struct gw_model *model,
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
        GW_TRY(read_tensor(&place, &model->tensors[index], error));
        total += model->tensors[index].elements;
        if (total > (uint64_t)1 << 53) {
            struct gw_json elements = gw_json_member(&place, "elements");
            return gw_json_expected(&elements, "at most 2^53 elements in all tensors", error);
        }
        index++;
    }
    return GW_OK;
}

static enum gw_status read_document(struct gw_model *model, const char *path,
                                    struct gw_error *error) {
    struct gw_json root;
    GW_TRY(gw_json_root(model->kept, path, schema, &root, error));
    struct gw_json name = gw_json_member(&root, "name");
    struct gw_json batch_size = gw_json_member(&root, "batch_size");
    struct gw_json bytes_per_element = gw_json_member(&root, "bytes_per_element");
    struct gw_json forward = gw_json_member(&root, "forward_s");
    struct gw_json update = gw_json_member(&root, "update_s");
    struct gw_json source = gw_json_member(&root, "source");
    GW_TRY(copy_text(&name, &model->name, error));
    model->bytes_per_element = 4;
    if (batch_size.node != NULL) {
        GW_TRY(gw_json_positive(&batch_size, &model->batch_size, error));
    }
    if (bytes_per_element.node != NULL) {
        GW_TRY(gw_json_integer(&bytes_per_element, 1, &model->bytes_per_element, error));
    }
    GW_TRY(gw_json_not_negative(&forward, &model->forward_s, error));
    if (update.node != NULL) {
        GW_TRY(gw_json_not_negative(&update, &model->update_s, error));
    }
    if (source.node != NULL) {
        GW_TRY(gw_json_object(&source, error));
    }
    GW_TRY(read_tensors(&root, model, error));
    double bytes = (double)model->bytes_per_element * (double)gw_model_elements(model);
    if (bytes >= 18446744073709551616.0) {
        return gw_json_expected(&bytes_per_element, "fewer than 2^64 bytes in all tensors", error);
    }
    return GW_OK;
}

enum gw_status gw_model_parse(const char *text, size_t length, const char *path,
                              struct gw_model *out, struct gw_error *error) {
    *out = (struct gw_model){0};
    GW_TRY(gw_json_parse(text, length, path, &out->kept, error));
    enum gw_status status = read_document(out, path, error);
    if (status != GW_OK) {
        gw_model_free(out);
    }
    return status;
}

enum gw_status gw_model_read(const char *path, struct gw_model *out, struct gw_error *error) {
    char *text = NULL;
    size_t length = 0;
    *out = (struct gw_model){0};
    GW_TRY(gw_file_read(path, &text, &length, error));
    enum gw_status status = gw_model_parse(text, length, path, out, error);
    free(text);
    return status;
}

/* The tensors over the ones that were read, so that their unknown keys survive. */
enum gw_status gw_model_write(const struct gw_model *model, const char *path,
                              struct gw_error *error) {
    struct gw_json_writer writer;
    cJSON *document = model->kept != NULL ? cJSON_Duplicate(model->kept, 1) : cJSON_CreateObject();
    cJSON *known = cJSON_DetachItemFromObjectCaseSensitive(document, "tensors");
    gw_writer_begin_with(&writer, document);
    gw_writer_text(&writer, "schema", schema);
    gw_writer_text(&writer, "name", model->name);
    if (model->batch_size > 0) {
        gw_writer_number(&writer, "batch_size", model->batch_size);
    }
    gw_writer_number(&writer, "bytes_per_element", (double)model->bytes_per_element);
    gw_writer_number(&writer, "forward_s", model->forward_s);
    gw_writer_number(&writer, "update_s", model->update_s);
    gw_writer_array(&writer, "tensors");
    for (size_t i = 0; i < model->tensor_count; i++) {
        const struct gw_tensor *tensor = &model->tensors[i];
        cJSON *node = cJSON_DetachItemFromArray(known, 0);
        gw_writer_open(&writer, NULL, node != NULL ? node : cJSON_CreateObject());
        gw_writer_text(&writer, "name", tensor->name);
        gw_writer_number(&writer, "elements", (double)tensor->elements);
        gw_writer_number(&writer, "backward_s", tensor->backward_s);
        gw_writer_end(&writer);
    }
    gw_writer_end(&writer);
    cJSON_Delete(known);
    return gw_writer_finish_file(&writer, path, error);
}

void gw_model_free(struct gw_model *model) {
    for (size_t i = 0; i < model->tensor_count; i++) {
        free(model->tensors[i].name);
    }
    free(model->tensors);
    free(model->name);
    cJSON_Delete(model->kept);
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
