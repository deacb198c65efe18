#include "core/json_writer.h"

#include <string.h>

#include "core/json.h"

void gw_writer_begin(struct gw_json_writer *writer) {
    memset(writer, 0, sizeof *writer);
    writer->open[0] = cJSON_CreateObject();
    writer->depth = 1;
    writer->failed = writer->open[0] == NULL;
}

void gw_writer_part(struct gw_json_writer *writer, const char *key, cJSON *part) {
    cJSON *open = writer->depth == 0 ? NULL : writer->open[writer->depth - 1];
    bool added =
        part != NULL && !writer->failed && open != NULL && (key == NULL) == cJSON_IsArray(open) &&
        (key == NULL ? cJSON_AddItemToArray(open, part) : cJSON_AddItemToObject(open, key, part));
    if (!added) {
        cJSON_Delete(part);
        writer->failed = true;
    }
}

void gw_writer_number(struct gw_json_writer *writer, const char *key, double value) {
    gw_writer_part(writer, key, cJSON_CreateNumber(value));
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

static void open_part(struct gw_json_writer *writer, const char *key, cJSON *part) {
    gw_writer_part(writer, key, part);
    if (writer->depth == GW_WRITER_DEPTH) {
        writer->failed = true;
    }
    if (!writer->failed) {
        writer->open[writer->depth++] = part;
    }
}

void gw_writer_object(struct gw_json_writer *writer, const char *key) {
    open_part(writer, key, cJSON_CreateObject());
}

void gw_writer_array(struct gw_json_writer *writer, const char *key) {
    open_part(writer, key, cJSON_CreateArray());
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

enum gw_status gw_writer_finish_file(struct gw_json_writer *writer, const char *path,
                                     struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_writer_finish(writer, &document, error));
    enum gw_status status = gw_json_write(document, path, error);
    cJSON_Delete(document);
    return status;
}
