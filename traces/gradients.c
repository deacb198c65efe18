#include "traces/gradients.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double most = 1e30; /* of any magnitude */

/* ---- base64 (RFC 4648, section 4) ----------------------------------------------------------- */

/* Returns the number of bytes that the text encodes, if it is well-formed. */
static size_t decoded_length(const char *text, size_t length) {
    size_t padding = length < 2 ? 0 : (size_t)(text[length - 1] == '=') + (text[length - 2] == '=');
    return length / 4 * 3 - padding;
}

/* Decodes `count` bytes, the text's decoded_length(); false: it is not base64. */
static bool decode_base64(const char *text, size_t length, unsigned char *out, size_t count) {
    size_t letters = length / 4 * 4 - (length / 4 * 3 - count);
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0;
    size_t done = 0;
    for (size_t i = 0; i < letters; i++) {
        const char *digit = text[i] == '\0' ? NULL : strchr(digits, text[i]);
        if (digit == NULL) {
            return false;
        }
        bits = bits << 6 | (unsigned)(digit - digits);
        if (i % 4 != 0) {
            out[done++] = (unsigned char)(bits >> (2 * (3 - i % 4)) & 0xff);
        }
    }
    return length % 4 == 0 && done == count;
}

/* ---- reading ------------------------------------------------------------------------------- */

static enum gw_status check_tensor(const struct gw_json *place, void *out, struct gw_error *error) {
    const struct gw_recorded_tensor *tensor = out;
    struct gw_json sampled = gw_json_member(place, "sampled");
    return tensor->sampled > tensor->elements
               ? gw_json_expected(&sampled, "at most the tensor's elements", error)
               : GW_OK;
}

/* Reads the scales of one iteration. */
static enum gw_status read_scales(const struct gw_json *list, size_t workers, double *out,
                                  struct gw_error *error) {
    size_t index = 0;
    const cJSON *node = NULL;
    size_t length = 0;
    GW_TRY(gw_json_length(list, workers, &length, error));
    cJSON_ArrayForEach(node, list->node) {
        struct gw_json place = gw_json_item(list, node, index);
        GW_TRY(gw_json_not_negative(&place, &out[index], error));
        if (out[index++] > most) {
            return gw_json_expected(&place, "at most 1e30", error);
        }
    }
    return GW_OK;
}

static enum gw_status read_all_scales(const struct gw_json *list, void *out,
                                      struct gw_error *error) {
    struct gw_recorded_gradients *recorded = out;
    GW_TRY(gw_json_length(list, 0, &recorded->iteration_count, error));
    struct gw_json first = gw_json_item(list, list->node->child, 0);
    GW_TRY(gw_json_length(&first, 0, &recorded->workers, error));
    recorded->scales =
        calloc(recorded->iteration_count, recorded->workers * sizeof *recorded->scales);
    if (recorded->scales == NULL) {
        return gw_fail_memory(error, "reading gradients");
    }
    size_t iteration = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, list->node) {
        struct gw_json place = gw_json_item(list, node, iteration);
        double *scales = recorded->scales + iteration++ * recorded->workers;
        GW_TRY(read_scales(&place, recorded->workers, scales, error));
    }
    return GW_OK;
}

/* Decodes the levels of all sampled elements, workers and iterations. */
static enum gw_status read_levels(const struct gw_json *place,
                                  struct gw_recorded_gradients *recorded, struct gw_error *error) {
    const char *text = place->node->valuestring;
    size_t length = strlen(text);
    size_t count = decoded_length(text, length);
    size_t lists = recorded->iteration_count * recorded->workers;
    if (count == 0 ||
        count != lists * recorded->sample) { /* neither is more than a file has bytes */
        char expected[96];
        (void)snprintf(expected, sizeof expected, "%zu bytes in base64 for each of %zu lists",
                       recorded->sample, lists);
        return gw_json_expected(place, expected, error);
    }
    recorded->levels = malloc(count);
    if (recorded->levels == NULL) {
        return gw_fail_memory(error, "reading gradients");
    }
    return decode_base64(text, length, recorded->levels, count)
               ? GW_OK
               : gw_json_expected(place, "base64", error);
}

/* Places the tensors' samples one after another, and reads their levels. */
static enum gw_status check_gradients(const struct gw_json *root, void *out,
                                      struct gw_error *error) {
    struct gw_recorded_gradients *recorded = out;
    struct gw_json tensors = gw_json_member(root, "tensors");
    struct gw_json values = gw_json_member(root, "values");
    size_t room = strlen(values.node->valuestring);
    for (size_t i = 0; i < recorded->tensor_count; i++) {
        struct gw_recorded_tensor *tensor = &recorded->tensors[i];
        if (tensor->sampled > room - recorded->sample) {
            struct gw_json place =
                gw_json_item(&tensors, cJSON_GetArrayItem(tensors.node, (int)i), i);
            struct gw_json sampled = gw_json_member(&place, "sampled");
            return gw_json_expected(&sampled, "no more than there are values for", error);
        }
        tensor->first = recorded->sample;
        recorded->sample += tensor->sampled;
    }
    return read_levels(&values, recorded, error);
}

/* Checks the values' type; the text, longer than others, is read once the numbers are known. */
static enum gw_status check_values(const struct gw_json *place, void *out, struct gw_error *error) {
    (void)out;
    return cJSON_IsString(place->node) ? GW_OK : gw_json_expected(place, "base64", error);
}

static const struct gw_field tensor_rows[] = {
    {"name", GW_AS_TEXT, .at = offsetof(struct gw_recorded_tensor, name),
     .text = "as the model has it"},
    {"elements", GW_AS_COUNT, .at = offsetof(struct gw_recorded_tensor, elements),
     .text = "as the model has them"},
    {"sampled", GW_AS_COUNT, .at = offsetof(struct gw_recorded_tensor, sampled),
     .text = "how many of them were sampled"},
    {0}};

static const struct gw_fields tensor_fields = {sizeof(struct gw_recorded_tensor),
                                               .rows = tensor_rows, .check = check_tensor};

static const struct gw_field rows[] = {
    {"", GW_AS_FILE_NAME, .at = offsetof(struct gw_recorded_gradients, path)},
    {"model", GW_AS_TEXT, .at = offsetof(struct gw_recorded_gradients, model),
     .text = "that trained, by its name"},
    {"source", .optional = true, .text = "free"},
    {"values", GW_AS_BLOCK, .at = offsetof(struct gw_recorded_gradients, levels),
     .read = check_values,
     .text =
         "base64 with a byte for each sampled element, tensor by tensor, of the first worker in "
         "the first iteration, then of the next worker, and so on"},
    {"tensors", GW_AS_LIST, .at = offsetof(struct gw_recorded_gradients, tensors),
     .count_at = offsetof(struct gw_recorded_gradients, tensor_count),
     .expected = "a list that is not empty", .of = &tensor_fields, .text = "in any order"},
    {"scales", GW_AS_BLOCK, .at = offsetof(struct gw_recorded_gradients, scales),
     .read = read_all_scales,
     .text = "a list for each iteration, and in it the largest magnitude of each worker's sample"},
    {0}};

const struct gw_fields gw_recorded_gradients_fields = {
    sizeof(struct gw_recorded_gradients), .rows = rows, .schema = "gradweave/gradients@1",
    .check = check_gradients};

bool gw_are_recorded_gradients(const cJSON *document) {
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(document, "schema"));
    return kind != NULL && strcmp(kind, gw_recorded_gradients_fields.schema) == 0;
}

/* ---- replaying ----------------------------------------------------------------------------- */

size_t gw_recorded_iterations(const struct gw_recorded_gradients *recorded, size_t workers) {
    size_t later = (workers - 1) / recorded->workers;
    return later < recorded->iteration_count ? recorded->iteration_count - later : 0;
}

/* Returns 2^((level - 127) / 8), or 0 for level 0. */
static float magnitude_of(int level) {
    static const float eighths[8] = {1.0F,         1.090507733F, 1.189207115F, 1.296839555F,
                                     1.414213562F, 1.542210825F, 1.681792831F, 1.834008086F};
    return level == 0 ? 0 : ldexpf(eighths[(level + 1) % 8], (level + 1) / 8 - 16);
}

void gw_recorded_gradients_fill(const struct gw_recorded_gradients *recorded, size_t iteration,
                                size_t worker, size_t tensor, float *out) {
    const struct gw_recorded_tensor *of = &recorded->tensors[tensor];
    /* Workers beyond the recorded ones use the next iteration's lists. */
    size_t list = iteration * recorded->workers + worker;
    const unsigned char *levels = recorded->levels + list * recorded->sample + of->first;
    float scale = (float)recorded->scales[list];
    for (size_t i = 0; i < of->sampled; i++) {
        float magnitude = scale * magnitude_of(levels[i] & 0x7f);
        out[i] = (levels[i] & 0x80) == 0 ? magnitude : -magnitude;
    }
}
