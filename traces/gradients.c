#include "traces/gradients.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/parts.h"

static const char *const schema = "gradweave/gradients@1";
static const double most = 1e30; /* of any magnitude */

/* ---- base64 (RFC 4648, section 4) ----------------------------------------------------------- */

static int digit_of(char letter) {
    return letter >= 'A' && letter <= 'Z'   ? letter - 'A'
           : letter >= 'a' && letter <= 'z' ? letter - 'a' + 26
           : letter >= '0' && letter <= '9' ? letter - '0' + 52
           : letter == '+'                  ? 62
           : letter == '/'                  ? 63
                                            : -1;
}

/* How many bytes such a text stands for, if it is one. */
static size_t decoded_length(const char *text, size_t length) {
    size_t padding = length < 2 ? 0 : (size_t)(text[length - 1] == '=') + (text[length - 2] == '=');
    return length / 4 * 3 - padding;
}

/* Whether it is well-formed; writes `count` bytes, which is its decoded_length(). */
static bool decode(const char *text, size_t length, unsigned char *out, size_t count) {
    size_t letters = length / 4 * 4 - (length / 4 * 3 - count);
    unsigned bits = 0;
    size_t done = 0;
    for (size_t i = 0; i < letters; i++) {
        int digit = digit_of(text[i]);
        if (digit < 0) {
            return false;
        }
        bits = bits << 6 | (unsigned)digit;
        if (i % 4 != 0) {
            out[done++] = (unsigned char)(bits >> (2 * (3 - i % 4)) & 0xff);
        }
    }
    return length % 4 == 0 && done == count;
}

/* ---- reading ------------------------------------------------------------------------------- */

static enum gw_status read_tensor(const struct gw_json *place, size_t room,
                                  struct gw_recorded_gradients *recorded, size_t index,
                                  struct gw_error *error) {
    struct gw_recorded_tensor *tensor = &recorded->tensors[index];
    struct gw_json elements = gw_json_member(place, "elements");
    struct gw_json sampled = gw_json_member(place, "sampled");
    uint64_t count = 0;
    GW_TRY(gw_json_object(place, error));
    GW_TRY(gw_json_copy_text(place, "name", &tensor->name, error));
    GW_TRY(gw_json_integer(&elements, 1, &tensor->elements, error));
    GW_TRY(gw_json_integer(&sampled, 1, &count, error));
    if (count > tensor->elements) {
        return gw_json_expected(&sampled, "at most the tensor's elements", error);
    }
    if (count > room - recorded->sample) {
        return gw_json_expected(&sampled, "no more than there are values for", error);
    }
    tensor->sampled = (size_t)count;
    tensor->first = recorded->sample;
    recorded->sample += (size_t)count;
    return GW_OK;
}

static enum gw_status read_tensors(const struct gw_json *list, size_t room,
                                   struct gw_recorded_gradients *recorded, struct gw_error *error) {
    size_t index = 0;
    const cJSON *node = NULL;
    recorded->tensors = calloc(recorded->tensor_count, sizeof *recorded->tensors);
    if (recorded->tensors == NULL) {
        return gw_fail_memory(error, "reading gradients");
    }
    cJSON_ArrayForEach(node, list->node) {
        struct gw_json place = gw_json_item(list, node, index);
        GW_TRY(read_tensor(&place, room, recorded, index++, error));
    }
    return GW_OK;
}

/* The numbers of one iteration. */
static enum gw_status read_scales(const struct gw_json *list, size_t workers, double *out,
                                  struct gw_error *error) {
    size_t index = 0;
    const cJSON *node = NULL;
    GW_TRY(gw_json_array(list, error));
    if ((size_t)cJSON_GetArraySize(list->node) != workers) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "a list of %zu", workers);
        return gw_json_expected(list, expected, error);
    }
    cJSON_ArrayForEach(node, list->node) {
        struct gw_json place = gw_json_item(list, node, index);
        GW_TRY(gw_json_not_negative(&place, &out[index], error));
        if (out[index++] > most) {
            return gw_json_expected(&place, "at most 1e30", error);
        }
    }
    return GW_OK;
}

static enum gw_status read_all_scales(const struct gw_json *list,
                                      struct gw_recorded_gradients *recorded,
                                      struct gw_error *error) {
    struct gw_json first = gw_json_item(list, list->node->child, 0);
    GW_TRY(gw_json_array(&first, error));
    recorded->workers = (size_t)cJSON_GetArraySize(first.node);
    if (recorded->workers == 0) {
        return gw_json_expected(&first, "a list that is not empty", error);
    }
    recorded->scales =
        calloc(recorded->iteration_count, recorded->workers * sizeof *recorded->scales);
    if (recorded->scales == NULL) {
        return gw_fail_memory(error, "reading gradients");
    }
    size_t iteration = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, list->node) {
        struct gw_json place = gw_json_item(list, node, iteration);
        double *out = recorded->scales + iteration++ * recorded->workers;
        GW_TRY(read_scales(&place, recorded->workers, out, error));
    }
    return GW_OK;
}

/* As many as elements were sampled of all workers in all iterations. */
static enum gw_status read_levels(const struct gw_json *place, const char *text, size_t length,
                                  struct gw_recorded_gradients *recorded, struct gw_error *error) {
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
    return decode(text, length, recorded->levels, count) ? GW_OK
                                                         : gw_json_expected(place, "base64", error);
}

static enum gw_status read_length(const struct gw_json *list, size_t *out, struct gw_error *error) {
    GW_TRY(gw_json_array(list, error));
    *out = (size_t)cJSON_GetArraySize(list->node);
    return *out == 0 ? gw_json_expected(list, "a list that is not empty", error) : GW_OK;
}

static enum gw_status read_document(struct gw_recorded_gradients *recorded, const cJSON *document,
                                    struct gw_error *error) {
    struct gw_json root;
    GW_TRY(gw_json_root(document, recorded->path, schema, &root, error));
    struct gw_json tensors = gw_json_member(&root, "tensors");
    struct gw_json scales = gw_json_member(&root, "scales");
    struct gw_json values = gw_json_member(&root, "values");
    GW_TRY(gw_json_copy_text(&root, "model", &recorded->model, error));
    const char *text = cJSON_GetStringValue(values.node);
    if (text == NULL) {
        return gw_json_expected(&values, "base64", error);
    }
    size_t length = strlen(text);
    GW_TRY(read_length(&tensors, &recorded->tensor_count, error));
    GW_TRY(read_length(&scales, &recorded->iteration_count, error));
    GW_TRY(read_tensors(&tensors, length, recorded, error));
    GW_TRY(read_all_scales(&scales, recorded, error));
    return read_levels(&values, text, length, recorded, error);
}

bool gw_are_recorded_gradients(const cJSON *document) {
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(document, "schema"));
    return kind != NULL && strcmp(kind, schema) == 0;
}

enum gw_status gw_recorded_gradients_take(cJSON *document, const char *path,
                                          struct gw_recorded_gradients *out,
                                          struct gw_error *error) {
    *out = (struct gw_recorded_gradients){.path = strdup(path)};
    enum gw_status status = out->path == NULL ? gw_fail_memory(error, "reading gradients")
                                              : read_document(out, document, error);
    cJSON_Delete(document);
    if (status != GW_OK) {
        gw_recorded_gradients_free(out);
    }
    return status;
}

enum gw_status gw_recorded_gradients_parse(const char *text, size_t length, const char *path,
                                           struct gw_recorded_gradients *out,
                                           struct gw_error *error) {
    cJSON *document = NULL;
    *out = (struct gw_recorded_gradients){0};
    GW_TRY(gw_json_parse(text, length, path, &document, error));
    return gw_recorded_gradients_take(document, path, out, error);
}

void gw_recorded_gradients_free(struct gw_recorded_gradients *recorded) {
    free(recorded->path);
    free(recorded->model);
    for (size_t i = 0; recorded->tensors != NULL && i < recorded->tensor_count; i++) {
        free(recorded->tensors[i].name);
    }
    free(recorded->tensors);
    free(recorded->scales);
    free(recorded->levels);
    *recorded = (struct gw_recorded_gradients){0};
}

/* ---- as they were -------------------------------------------------------------------------- */

size_t gw_recorded_iterations(const struct gw_recorded_gradients *recorded, size_t workers) {
    size_t later = (workers - 1) / recorded->workers;
    return later < recorded->iteration_count ? recorded->iteration_count - later : 0;
}

/* 2^((level - 127) / 8), and 0 of level 0. */
static float magnitude_of(int level) {
    static const float eighths[8] = {1.0F,         1.090507733F, 1.189207115F, 1.296839555F,
                                     1.414213562F, 1.542210825F, 1.681792831F, 1.834008086F};
    return level == 0 ? 0 : ldexpf(eighths[(level + 1) % 8], (level + 1) / 8 - 16);
}

void gw_recorded_gradients_fill(const struct gw_recorded_gradients *recorded, size_t iteration,
                                size_t worker, size_t tensor, float *out) {
    const struct gw_recorded_tensor *of = &recorded->tensors[tensor];
    /* A worker beyond the recorded ones is so in the next iteration's lists. */
    size_t list = iteration * recorded->workers + worker;
    const unsigned char *levels = recorded->levels + list * recorded->sample + of->first;
    float scale = (float)recorded->scales[list];
    for (size_t i = 0; i < of->sampled; i++) {
        float magnitude = scale * magnitude_of(levels[i] & 0x7f);
        out[i] = (levels[i] & 0x80) == 0 ? magnitude : -magnitude;
    }
}
