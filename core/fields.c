#include "core/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/keys.h"

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "GW_AS_COUNT is either");

static void *member_at(void *object, size_t at) {
    return (char *)object + at;
}

static const void *const_member_at(const void *object, size_t at) {
    return (const char *)object + at;
}

static bool is_number(const struct gw_field *row) {
    return row->type >= GW_AS_SECONDS && row->type <= GW_AS_COUNT;
}

static bool is_whole(const struct gw_field *row) {
    return row->type == GW_AS_INTEGER || row->type == GW_AS_COUNT;
}

/* ---- freeing --------------------------------------------------------------------------------- */

static void free_members(const struct gw_fields *fields, void *out) {
    if (fields->free != NULL) {
        fields->free(out);
    }
    for (const struct gw_field *row = fields->rows; row->key != NULL; row++) {
        void *member = member_at(out, row->at);
        void *block = NULL;
        size_t count = 0;
        if (row->type == GW_AS_TEXTS || row->type == GW_AS_LIST) {
            count = *(size_t *)member_at(out, row->count_at);
        }
        if (row->type == GW_AS_OBJECT) {
            free_members(row->of, member);
        } else if (row->type == GW_AS_KEPT) {
            cJSON_Delete(*(cJSON **)member);
        } else if (!is_number(row) && row->type != GW_AS_ANYTHING && row->type != GW_AS_BY_HAND) {
            block = *(void **)member;
        }
        for (size_t i = 0; block != NULL && i < count; i++) {
            if (row->type == GW_AS_LIST) {
                free_members(row->of, member_at(block, i * row->of->size));
            } else {
                free(((char **)block)[i]);
            }
        }
        free(block);
    }
}

void gw_fields_free(const struct gw_fields *fields, void *out) {
    free_members(fields, out);
    memset(out, 0, fields->size);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Number of faults that gw_key_rules.bad has received. */
static _Thread_local size_t faults;

enum gw_status gw_read_on(enum gw_status status, struct gw_error *error) {
    if (status != GW_BAD_INPUT || gw_key_rules.bad == NULL || error == NULL) {
        return status;
    }
    gw_key_rules.bad(error->message, gw_key_rules.context);
    faults++;
    return GW_OK;
}

static enum gw_status read_double(const struct gw_field *row, const struct gw_json *place,
                                  double *out, struct gw_error *error) {
    switch (row->type) {
    case GW_AS_SECONDS:
        return gw_json_seconds(place, out, error);
    case GW_AS_NOT_NEGATIVE:
        return gw_json_not_negative(place, out, error);
    case GW_AS_POSITIVE:
        return gw_json_positive(place, out, error);
    case GW_AS_SIZE:
        return gw_json_size(place, out, error);
    default:
        return gw_json_factor(place, out, error);
    }
}

static enum gw_status read_text(const struct gw_json *place, char **out, struct gw_error *error) {
    const char *text = NULL;
    GW_TRY(gw_json_text(place, &text, error));
    *out = strdup(text);
    return *out == NULL ? gw_fail_memory(error, "reading a document") : GW_OK;
}

static enum gw_status read_object(const struct gw_fields *fields, const struct gw_json *place,
                                  void *out, struct gw_error *error) {
    GW_TRY(gw_json_object(place, error));
    return gw_fields_read(fields, place, out, error);
}

static enum gw_status read_items(const struct gw_field *row, const struct gw_json *place,
                                 void *member, size_t *count, struct gw_error *error) {
    GW_TRY(gw_json_array(place, error));
    size_t most = (size_t)cJSON_GetArraySize(place->node);
    size_t size = row->type == GW_AS_LIST ? row->of->size : sizeof(char *);
    bool is_long = row->maximum > 0 && (double)most > row->maximum;
    if (row->expected != NULL && (most == 0 || is_long)) {
        return gw_json_expected(place, row->expected, error);
    }
    void *items = calloc(most + 1, size);
    if (items == NULL) {
        return gw_fail_memory(error, "reading a document");
    }
    *(void **)member = items;
    *count = most;
    size_t index = 0;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, place->node) {
        struct gw_json item = gw_json_item(place, node, index);
        void *out = member_at(items, size * index++);
        GW_TRY(gw_read_on(row->type == GW_AS_LIST ? read_object(row->of, &item, out, error)
                                                  : read_text(&item, out, error),
                          error));
    }
    return GW_OK;
}

static enum gw_status read_row(const struct gw_field *row, const struct gw_json *place,
                               const struct gw_json *object, void *out, struct gw_error *error) {
    void *member = member_at(out, row->at);
    if (is_number(row)) {
        uint64_t whole = is_whole(row) ? (uint64_t)row->otherwise : 0;
        double number = row->otherwise;
        if (place->node != NULL || !row->optional) {
            GW_TRY(is_whole(row) ? gw_json_integer(place, row->type == GW_AS_COUNT, &whole, error)
                                 : read_double(row, place, &number, error));
            number = is_whole(row) ? (double)whole : number;
            if (row->maximum > 0 && number > row->maximum) {
                return gw_json_expected(place, row->expected, error);
            }
        }
        memcpy(member, is_whole(row) ? (const void *)&whole : (const void *)&number, sizeof number);
        return GW_OK;
    }
    if (row->type == GW_AS_FILE_NAME) {
        *(char **)member = strdup(object->file);
        return *(char **)member == NULL ? gw_fail_memory(error, "reading a document") : GW_OK;
    }
    if (row->type == GW_AS_KEPT) {
        return gw_json_copy(object->node, member, error);
    }
    if (row->optional && place->node == NULL) {
        return GW_OK;
    }
    switch (row->type) {
    case GW_AS_TEXT:
        return read_text(place, member, error);
    case GW_AS_OBJECT:
        return read_object(row->of, place, member, error);
    case GW_AS_TEXTS:
    case GW_AS_LIST:
        return read_items(row, place, member, member_at(out, row->count_at), error);
    default:
        return row->read == NULL ? GW_OK : row->read(place, out, error);
    }
}

enum gw_status gw_fields_read(const struct gw_fields *fields, const struct gw_json *place,
                              void *out, struct gw_error *error) {
    size_t before = faults;
    for (const struct gw_field *row = fields->rows; row->key != NULL; row++) {
        struct gw_json member = gw_json_member(place, row->key);
        if (!row->depends || faults == before) {
            GW_TRY(gw_read_on(read_row(row, &member, place, out, error), error));
        }
    }
    return fields->check == NULL || faults > before
               ? GW_OK
               : gw_read_on(fields->check(place, out, error), error);
}

enum gw_status gw_fields_root(const struct gw_fields *fields, const cJSON *document,
                              const char *file, struct gw_json *root, struct gw_error *error) {
    *root = (struct gw_json){.node = document, .file = file};
    GW_TRY(gw_json_object(root, error));
    struct gw_json place = gw_json_member(root, "schema");
    if (!cJSON_IsString(place.node) || strcmp(place.node->valuestring, fields->schema) != 0) {
        char expected[96];
        (void)snprintf(expected, sizeof expected, "\"%s\"", fields->schema);
        return gw_json_expected(&place, expected, error);
    }
    return gw_json_check_keys(document, file, fields, error);
}

enum gw_status gw_fields_decode(const struct gw_fields *fields, const cJSON *document,
                                const char *file, void *out, struct gw_error *error) {
    struct gw_json root;
    size_t before = faults;
    memset(out, 0, fields->size);
    enum gw_status status = gw_fields_root(fields, document, file, &root, error);
    status = status == GW_OK ? gw_fields_read(fields, &root, out, error) : status;
    status =
        status == GW_OK && faults > before ? GW_BAD_INPUT : status; /* the last one's message */
    if (status != GW_OK) {
        gw_fields_free(fields, out);
    }
    return status;
}

enum gw_status gw_fields_take(const struct gw_fields *fields, cJSON *document, const char *file,
                              void *out, struct gw_error *error) {
    enum gw_status status = gw_fields_decode(fields, document, file, out, error);
    cJSON_Delete(document);
    return status;
}

enum gw_status gw_fields_parse(const struct gw_fields *fields, const char *text, size_t length,
                               const char *file, void *out, struct gw_error *error) {
    cJSON *document = NULL;
    memset(out, 0, fields->size);
    GW_TRY(gw_json_parse(text, length, file, &document, error));
    return gw_fields_take(fields, document, file, out, error);
}

enum gw_status gw_fields_open(const struct gw_fields *fields, const char *path, void *out,
                              struct gw_error *error) {
    cJSON *document = NULL;
    memset(out, 0, fields->size);
    GW_TRY(gw_json_read(path, &document, error));
    return gw_fields_take(fields, document, path, out, error);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Opens the object that the writer continues, or a copy of the one that was read. */
static void write_object(const struct gw_fields *fields, const char *key, size_t index,
                         const void *from, struct gw_json_writer *writer) {
    const struct gw_field *kept = fields->rows;
    while (kept->key != NULL && kept->type != GW_AS_KEPT) {
        kept++;
    }
    const cJSON *copied =
        kept->key == NULL ? NULL : *(cJSON *const *)const_member_at(from, kept->at);
    if (copied == NULL) {
        gw_writer_reopen_object(writer, key, index);
    } else {
        gw_writer_open(writer, key, cJSON_Duplicate(copied, 1));
    }
    gw_fields_write(fields, from, writer);
    gw_writer_end(writer);
}

static void write_row(const struct gw_field *row, const void *from, struct gw_json_writer *writer) {
    const void *member = const_member_at(from, row->at);
    size_t count = 0;
    if (row->type == GW_AS_LIST || row->type == GW_AS_TEXTS) {
        memcpy(&count, const_member_at(from, row->count_at), sizeof count);
    }
    switch (row->type) {
    case GW_AS_ANYTHING:
    case GW_AS_FILE_NAME:
    case GW_AS_KEPT:
        break;
    case GW_AS_TEXT:
        if (!row->optional || *(char *const *)member != NULL) {
            gw_writer_text(writer, row->key, *(char *const *)member);
        }
        break;
    case GW_AS_OBJECT:
        write_object(row->of, row->key, 0, member, writer);
        break;
    case GW_AS_TEXTS:
        if (!row->optional || count > 0) {
            gw_writer_texts(writer, row->key, *(char *const *const *)member, count);
        }
        break;
    case GW_AS_LIST:
        if (row->optional && count == 0) {
            break;
        }
        gw_writer_reopen_array(writer, row->key);
        for (size_t i = 0; i < count; i++) {
            const void *items = *(const void *const *)member;
            write_object(row->of, NULL, i, const_member_at(items, i * row->of->size), writer);
        }
        gw_writer_end(writer);
        break;
    case GW_AS_BY_HAND:
    case GW_AS_BLOCK:
        if (row->write != NULL) {
            row->write(from, row->key, writer);
        }
        break;
    default: {
        uint64_t whole = 0;
        double number = 0;
        memcpy(is_whole(row) ? (void *)&whole : (void *)&number, member, sizeof number);
        if (!row->optional || row->type != GW_AS_POSITIVE || number > 0) {
            gw_writer_number(writer, row->key, is_whole(row) ? (double)whole : number);
        }
    }
    }
}

void gw_fields_write(const struct gw_fields *fields, const void *from,
                     struct gw_json_writer *writer) {
    for (const struct gw_field *row = fields->rows; row->key != NULL; row++) {
        write_row(row, from, writer);
    }
}

enum gw_status gw_fields_document(const struct gw_fields *fields, const void *from, cJSON **out,
                                  struct gw_error *error) {
    struct gw_json_writer writer;
    gw_writer_begin(&writer);
    gw_writer_text(&writer, "schema", fields->schema);
    gw_fields_write(fields, from, &writer);
    return gw_writer_finish(&writer, out, error);
}

enum gw_status gw_fields_save(const struct gw_fields *fields, const void *from, const char *path,
                              struct gw_error *error) {
    cJSON *document = NULL;
    GW_TRY(gw_fields_document(fields, from, &document, error));
    enum gw_status status =
        (fields->compact ? gw_json_write_compact : gw_json_write)(document, path, error);
    cJSON_Delete(document);
    return status;
}
