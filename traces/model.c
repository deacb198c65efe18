#include "traces/model.h"

#include <stdio.h>
#include <stdlib.h>

/* Reads a list of positive numbers whose product is `elements`, which was read before. */
static enum gw_status read_shape(const struct gw_json *place, void *out, struct gw_error *error) {
    struct gw_tensor *tensor = out;
    char expected[80];
    GW_TRY(gw_json_array(place, error));
    tensor->dimensions = (size_t)cJSON_GetArraySize(place->node);
    tensor->shape = calloc(tensor->dimensions + 1, sizeof *tensor->shape);
    if (tensor->shape == NULL) {
        return gw_fail_memory(error, "reading a tensor's shape");
    }
    uint64_t rest = tensor->elements;
    bool divides = true;
    const cJSON *node = place->node->child;
    for (size_t i = 0; i < tensor->dimensions; i++, node = node->next) {
        struct gw_json item = gw_json_item(place, node, i);
        GW_TRY(gw_json_integer(&item, 1, &tensor->shape[i], error));
        divides = divides && rest % tensor->shape[i] == 0;
        rest /= tensor->shape[i];
    }
    (void)snprintf(expected, sizeof expected, "numbers whose product is %llu, the elements",
                   (unsigned long long)tensor->elements);
    return divides && rest == 1 ? GW_OK : gw_json_expected(place, expected, error);
}

static void write_shape(const void *from, const char *key, struct gw_json_writer *writer) {
    const struct gw_tensor *tensor = from;
    if (tensor->shape != NULL) {
        gw_writer_array(writer, key);
        for (size_t i = 0; i < tensor->dimensions; i++) {
            gw_writer_number(writer, NULL, (double)tensor->shape[i]);
        }
        gw_writer_end(writer);
    }
}

static const struct gw_field tensor_rows[] = {
    {"name", GW_AS_TEXT, .at = offsetof(struct gw_tensor, name), .text = "of the parameter"},
    {"elements", GW_AS_COUNT, .at = offsetof(struct gw_tensor, elements),
     .text = "of its gradient"},
    {"backward_s", GW_AS_SECONDS, .at = offsetof(struct gw_tensor, backward_s),
     .text = "from the previous gradient being ready to this one being ready"},
    {"backward_low_s", .text = "of a recorded one: the 5th percentile of `backward_s`"},
    {"backward_high_s", .text = "the 95th percentile"},
    {"shape", GW_AS_BLOCK, .at = offsetof(struct gw_tensor, shape), .optional = true,
     .depends = true, .read = read_shape, .write = write_shape,
     .text = "numbers whose product is `elements`"},
    {0}};

static const struct gw_fields tensor_fields = {sizeof(struct gw_tensor), .rows = tensor_rows};

static const struct gw_field source_rows[] = {
    {"device", GW_AS_TEXT, .at = offsetof(struct gw_model, device), .optional = true,
     .text = "that computed: `cpu`, or the name of a GPU"},
    {"precision", GW_AS_TEXT, .at = offsetof(struct gw_model, precision), .optional = true,
     .text = "of its products, such as `tf32`"},
    {"kind", GW_AS_TEXT, .at = offsetof(struct gw_model, kind), .optional = true,
     .text = "`measured`, `imported`, `assumed` or `given`"},
    {0}};

static const struct gw_fields source_fields = {sizeof(struct gw_model), .rows = source_rows,
                                               .others = true};

/* Limits the elements and bytes of all tensors together. */
static enum gw_status check_model(const struct gw_json *root, void *out, struct gw_error *error) {
    const struct gw_model *model = out;
    struct gw_json tensors = gw_json_member(root, "tensors");
    struct gw_json bytes_per_element = gw_json_member(root, "bytes_per_element");
    uint64_t total = 0;
    for (size_t i = 0; i < model->tensor_count; i++) {
        total += model->tensors[i].elements;
        if (total > (uint64_t)1 << 53) {
            struct gw_json tensor =
                gw_json_item(&tensors, cJSON_GetArrayItem(tensors.node, (int)i), i);
            struct gw_json elements = gw_json_member(&tensor, "elements");
            return gw_json_expected(&elements, "at most 2^53 elements in all tensors", error);
        }
    }
    return (double)model->bytes_per_element * (double)total >= 18446744073709551616.0
               ? gw_json_expected(&bytes_per_element, "fewer than 2^64 bytes in all tensors", error)
               : GW_OK;
}

static const struct gw_field model_rows[] = {
    {"name", GW_AS_TEXT, .at = offsetof(struct gw_model, name), .text = "of the network"},
    {"batch_size", GW_AS_SIZE, .at = offsetof(struct gw_model, batch_size), .optional = true,
     .text = "samples of a worker"},
    {"bytes_per_element", GW_AS_COUNT, .at = offsetof(struct gw_model, bytes_per_element),
     .optional = true, .otherwise = 4, .text = "of a gradient, in dense exchange"},
    {"forward_s", GW_AS_SECONDS, .at = offsetof(struct gw_model, forward_s),
     .text = "the forward pass"},
    {"update_s", GW_AS_SECONDS, .at = offsetof(struct gw_model, update_s), .optional = true,
     .text = "the update of the parameters"},
    {"uncertainty", GW_AS_NOT_NEGATIVE, .at = offsetof(struct gw_model, uncertainty),
     .optional = true,
     .text = "of all times together, relative: in 95% of cases they are between 1 / (1 + it) and "
             "1 + it times as long"},
    {"source", GW_AS_OBJECT, .optional = true, .of = &source_fields,
     .text = "of the numbers; free but for the keys below"},
    {"tensors", GW_AS_LIST, .at = offsetof(struct gw_model, tensors),
     .count_at = offsetof(struct gw_model, tensor_count), .expected = "at least one tensor",
     .of = &tensor_fields,
     .text = "in forward order; the backward pass goes from the last one to the first"},
    {0}};

const struct gw_fields gw_model_fields = {sizeof(struct gw_model), .rows = model_rows,
                                          .schema = "gradweave/model@1", .check = check_model};

uint64_t gw_model_elements(const struct gw_model *model) {
    uint64_t total = 0;
    for (size_t i = 0; i < model->tensor_count; i++) {
        total += model->tensors[i].elements;
    }
    return total;
}

uint64_t gw_model_smallest(const struct gw_model *model) {
    uint64_t smallest = UINT64_MAX;
    for (size_t i = 0; i < model->tensor_count; i++) {
        smallest = model->tensors[i].elements < smallest ? model->tensors[i].elements : smallest;
    }
    return smallest;
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
