#include "core/json_writer.h"

#include <math.h>

#include "core/json.h"

void gw_writer_begin(struct gw_json_writer *writer) {
    gw_writer_begin_with(writer, cJSON_CreateObject());
    writer->replacing = false;
}

void gw_writer_begin_with(struct gw_json_writer *writer, cJSON *document) {
    *writer = (struct gw_json_writer){
        .open = {document}, .depth = 1, .replacing = true, .failed = document == NULL};
}

static cJSON *open_one(const struct gw_json_writer *writer) {
    return writer->depth == 0 || writer->failed ? NULL : writer->open[writer->depth - 1];
}

void gw_writer_part(struct gw_json_writer *writer, const char *key, cJSON *part) {
    cJSON *open = open_one(writer);
    bool added = part != NULL && open != NULL && (key == NULL) == cJSON_IsArray(open);
    if (added && key == NULL) {
        added = cJSON_AddItemToArray(open, part);
    } else if (added) {
        bool old = writer->replacing && cJSON_GetObjectItemCaseSensitive(open, key) != NULL;
        added = old ? cJSON_ReplaceItemInObjectCaseSensitive(open, key, part)
                    : cJSON_AddItemToObject(open, key, part);
    }
    if (!added) {
        cJSON_Delete(part);
        writer->failed = true;
    }
}

void gw_writer_drop(struct gw_json_writer *writer, const char *key) {
    cJSON *open = open_one(writer);
    while (open != NULL && cJSON_GetObjectItemCaseSensitive(open, key) != NULL) {
        cJSON_DeleteItemFromObjectCaseSensitive(open, key);
    }
}

void gw_writer_number(struct gw_json_writer *writer, const char *key, double value) {
    gw_writer_part(writer, key, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

void gw_writer_text(struct gw_json_writer *writer, const char *key, const char *value) {
    gw_writer_part(writer, key, cJSON_CreateString(value));
}

void gw_writer_flag(struct gw_json_writer *writer, const char *key, bool value) {
    gw_writer_part(writer, key, cJSON_CreateBool(value));
}

void gw_writer_null(struct gw_json_writer *writer, const char *key) {
    gw_writer_part(writer, key, cJSON_CreateNull());
}

void gw_writer_numbers(struct gw_json_writer *writer, const char *key, const double *values,
                       size_t count) {
    gw_writer_array(writer, key);
    for (size_t i = 0; i < count; i++) {
        gw_writer_number(writer, NULL, values[i]);
    }
    gw_writer_end(writer);
}

void gw_writer_texts(struct gw_json_writer *writer, const char *key, char *const *texts,
                     size_t count) {
    gw_writer_array(writer, key);
    for (size_t i = 0; i < count; i++) {
        gw_writer_text(writer, NULL, texts[i]);
    }
    gw_writer_end(writer);
}

static void enter_part(struct gw_json_writer *writer, cJSON *part) {
    if (writer->depth == GW_WRITER_DEPTH) {
        writer->failed = true;
    }
    if (!writer->failed) {
        writer->open[writer->depth++] = part;
    }
}

void gw_writer_open(struct gw_json_writer *writer, const char *key, cJSON *part) {
    gw_writer_part(writer, key, part);
    enter_part(writer, part);
}

void gw_writer_reopen_object(struct gw_json_writer *writer, const char *key, size_t index) {
    cJSON *open = open_one(writer);
    cJSON *part = key != NULL ? cJSON_GetObjectItemCaseSensitive(open, key)
                              : cJSON_GetArrayItem(open, (int)index);
    if (part != NULL) {
        enter_part(writer, part);
    } else {
        gw_writer_object(writer, key);
    }
}

void gw_writer_reopen_array(struct gw_json_writer *writer, const char *key) {
    cJSON *part = cJSON_GetObjectItemCaseSensitive(open_one(writer), key);
    if (part != NULL) {
        enter_part(writer, part);
    } else {
        gw_writer_array(writer, key);
    }
}

void gw_writer_object(struct gw_json_writer *writer, const char *key) {
    gw_writer_open(writer, key, cJSON_CreateObject());
}

void gw_writer_array(struct gw_json_writer *writer, const char *key) {
    gw_writer_open(writer, key, cJSON_CreateArray());
}

void gw_writer_end(struct gw_json_writer *writer) {
    if (writer->failed) {
        return;
    }
    if (writer->depth <= 1) {
        writer->failed = true;
    } else {
        writer->depth--;
    }
}

enum gw_status gw_writer_finish(struct gw_json_writer *writer, cJSON **document,
                                struct gw_error *error) {
    *document = writer->open[0];
    if (writer->failed || writer->depth != 1) {
        cJSON_Delete(writer->open[0]);
        *document = NULL;
        return gw_fail_memory(error, "building JSON");
    }
    return GW_OK;
}

enum gw_status gw_writer_finish_text(struct gw_json_writer *writer, char **text,
                                     struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_writer_finish(writer, &document, error));
    enum gw_status status = gw_json_print(document, text, error);
    cJSON_Delete(document);
    return status;
}

enum gw_status gw_writer_finish_compact_file(struct gw_json_writer *writer, const char *path,
                                             struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_writer_finish(writer, &document, error));
    enum gw_status status = gw_json_write_compact(document, path, error);
    cJSON_Delete(document);
    return status;
}
