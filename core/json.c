#include "core/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/curve.h"
#include "core/file.h"
#include "core/keys.h"
#include "core/terminal.h"
#include "core/units.h"

static const double largest_exact_integer = 9007199254740992.0; /* 2^53 */

/* ---- reading ------------------------------------------------------------------------------- */

static enum gw_status check_utf8(const char *text, const char *file, struct gw_error *error) {
    const unsigned char *start = (const unsigned char *)text;
    for (const unsigned char *c = start; *c != '\0';) {
        size_t length = gw_utf8_length(c);
        if (length == 0) {
            return gw_fail(error, GW_BAD_INPUT, "%s: byte %td: expected UTF-8, got 0x%02x", file,
                           c - start, *c);
        }
        c += length;
    }
    return GW_OK;
}

/* The number of arrays and objects that are open at `end`. */
static size_t find_depth(const char *text, const char *end) {
    size_t depth = 0;
    bool quoted = false;
    for (const char *c = text; c < end && *c != '\0'; c++) {
        if (quoted && *c == '\\') {
            c++;
        } else if (*c == '"') {
            quoted = !quoted;
        } else if (!quoted) {
            depth += *c == '[' || *c == '{';
            depth -= depth > 0 && (*c == ']' || *c == '}');
        }
    }
    return depth;
}

static const char *skip_digits(const char *c) {
    while (*c >= '0' && *c <= '9') {
        c++;
    }
    return c;
}

/* Skips a number as JSON writes it (RFC 8259); NULL: it is written otherwise. */
static const char *skip_number(const char *c) {
    c += *c == '-';
    const char *end = skip_digits(c);
    bool is_number = end == c + 1 || (end > c && *c != '0');
    if (is_number && *end == '.') {
        c = end + 1;
        end = skip_digits(c);
        is_number = end > c;
    }
    if (is_number && (*end == 'e' || *end == 'E')) {
        c = end + 1;
        c += *c == '+' || *c == '-';
        end = skip_digits(c);
        is_number = end > c;
    }
    return is_number ? end : NULL;
}

/* Finds the closing quote of the string whose opening one `c` is, or a zero character in it. */
static const char *find_end_of_string(const char *c) {
    for (c++; *c != '"'; c++) {
        if (*c == '\\' && strncmp(c, "\\u0000", 6) == 0) {
            return c;
        }
        c += *c == '\\';
    }
    return c;
}

/* Finds, in a text that cJSON has accepted, the first number that is not in JSON's notation, or the
 * first zero character, at which the text of a key or value would end; or NULL. */
static const char *find_lenience(const char *text) {
    for (const char *c = text; *c != '\0'; c++) {
        const char *start = c;
        if (*c == '"') {
            c = find_end_of_string(c);
            if (*c != '"') {
                return c;
            }
        } else if (*c == '-' || (*c >= '0' && *c <= '9')) {
            c = skip_number(c);
            if (c == NULL) {
                return start;
            }
            c--;
        }
    }
    return NULL;
}

/* cJSON returns NULL for text that is not JSON, and for lack of memory: its allocator tells the two
 * apart. */
static _Thread_local bool memory_ran_out;

static void *allocate(size_t size) {
    void *memory = malloc(size);
    memory_ran_out = memory_ran_out || memory == NULL;
    return memory;
}

__attribute__((constructor)) static void watch_memory(void) {
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = allocate, .free_fn = free});
}

static void find_place(const char *text, const char *at, size_t *line, size_t *column) {
    *line = 1;
    *column = 1;
    for (const char *c = text; at != NULL && c < at && *c != '\0'; c++) {
        *column = *c == '\n' ? 1 : *column + 1;
        *line += *c == '\n';
    }
}

static enum gw_status check_lenience(const char *text, const char *file, struct gw_error *error) {
    const char *found = find_lenience(text);
    size_t line = 0;
    size_t column = 0;
    if (found == NULL) {
        return GW_OK;
    }
    find_place(text, found, &line, &column);
    return *found == '\\'
               ? gw_fail(error, GW_BAD_INPUT,
                         "%s: line %zu, column %zu: expected text without zero characters, got "
                         "\\u0000",
                         file, line, column)
               : gw_fail(error, GW_BAD_INPUT,
                         "%s: line %zu, column %zu: expected a number as JSON writes it, got "
                         "%.*s",
                         file, line, column, (int)strspn(found, "0123456789+-.eE"), found);
}

enum gw_status gw_json_parse(const char *text, size_t length, const char *file, cJSON **document,
                             struct gw_error *error) {
    const char *end = NULL;
    if (strlen(text) != length) {
        return gw_fail(error, GW_BAD_INPUT, "%s: expected JSON text, found a zero byte", file);
    }
    GW_TRY(check_utf8(text, file, error));
    /* Limit the number of values, each of which takes some 64 bytes, however short its text is. */
    size_t values = 1;
    for (const char *c = text; *c != '\0'; c++) {
        values += *c == ',' || *c == '[' || *c == '{';
    }
    GW_TRY(values <= GW_JSON_MAX_VALUES
               ? GW_OK
               : gw_fail(error, GW_BAD_INPUT, "%s: expected at most %d values, got more", file,
                         GW_JSON_MAX_VALUES));
    memory_ran_out = false;
    *document = cJSON_ParseWithOpts(text, &end, 1);
    if (*document != NULL) {
        enum gw_status status = check_lenience(text, file, error);
        if (status == GW_OK) {
            status = gw_json_check_keys_of_all(*document, file, error);
        }
        if (status != GW_OK) {
            cJSON_Delete(*document);
            *document = NULL;
        }
        return status;
    }
    if (memory_ran_out) {
        return gw_fail(error, GW_FAILED, "%s: out of memory while reading", file);
    }
    size_t line = 0;
    size_t column = 0;
    find_place(text, end, &line, &column);
    if (end != NULL && find_depth(text, end) >= CJSON_NESTING_LIMIT) {
        return gw_fail(
            error, GW_BAD_INPUT,
            "%s: line %zu, column %zu: expected at most %d arrays and objects within each "
            "other, got more",
            file, line, column, CJSON_NESTING_LIMIT);
    }
    return gw_fail(error, GW_BAD_INPUT, "%s: line %zu, column %zu: expected valid JSON", file, line,
                   column);
}

enum gw_status gw_json_parse_line(const char *text, size_t length, cJSON **line,
                                  struct gw_error *error) {
    memory_ran_out = false;
    *line = cJSON_ParseWithLength(text, length);
    return memory_ran_out ? gw_fail_memory(error, "reading a line") : GW_OK;
}

enum gw_status gw_json_read(const char *path, cJSON **document, struct gw_error *error) {
    char *text = NULL;
    size_t length = 0;
    GW_TRY(gw_file_read(path, &text, &length, error));
    enum gw_status status = gw_json_parse(text, length, path, document, error);
    free(text);
    return status;
}

static void set_path(struct gw_json *place, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets the path, cut if it is too long for its field: it only serves messages. */
static void set_path(struct gw_json *place, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(place->path, sizeof place->path, format, arguments);
    va_end(arguments);
}

static struct gw_json member_at(const struct gw_json *object, const cJSON *node, const char *key) {
    struct gw_json place = {.node = node, .file = object->file};
    set_path(&place, "%s%s%s", object->path, object->path[0] == '\0' ? "" : ".", key);
    return place;
}

struct gw_json gw_json_member(const struct gw_json *object, const char *key) {
    return member_at(object, cJSON_GetObjectItemCaseSensitive(object->node, key), key);
}

struct gw_json gw_json_child(const struct gw_json *object, const cJSON *node) {
    return member_at(object, node, node->string);
}

struct gw_json gw_json_item(const struct gw_json *array, const cJSON *node, size_t index) {
    struct gw_json place = {.node = node, .file = array->file};
    set_path(&place, "%s[%zu]", array->path, index);
    return place;
}

/* ---- checking ------------------------------------------------------------------------------ */

static void describe_node(const cJSON *node, char *out, size_t size) {
    if (node == NULL) {
        snprintf(out, size, "nothing");
    } else if (cJSON_IsNumber(node)) {
        char number[GW_UNITS_SIZE];
        snprintf(out, size, "%s", gw_format_exactly(node->valuedouble, number));
    } else if (cJSON_IsString(node)) {
        snprintf(out, size, "\"%.40s%s\"", node->valuestring,
                 strlen(node->valuestring) > 40 ? "..." : "");
    } else if (cJSON_IsArray(node)) {
        snprintf(out, size, cJSON_GetArraySize(node) == 0 ? "an empty array" : "an array");
    } else if (cJSON_IsObject(node)) {
        snprintf(out, size, "an object");
    } else {
        snprintf(out, size, "%s",
                 cJSON_IsNull(node)   ? "null"
                 : cJSON_IsTrue(node) ? "true"
                                      : "false");
    }
}

enum gw_status gw_json_expected(const struct gw_json *place, const char *expected,
                                struct gw_error *error) {
    char got[64];
    describe_node(place->node, got, sizeof got);
    return gw_fail(error, GW_BAD_INPUT, "%s: %s%sexpected %s, got %s", place->file, place->path,
                   place->path[0] == '\0' ? "" : ": ", expected, got);
}

enum gw_status gw_json_text(const struct gw_json *place, const char **out, struct gw_error *error) {
    if (!cJSON_IsString(place->node)) {
        return gw_json_expected(place, "a string", error);
    }
    *out = place->node->valuestring;
    if (strlen(*out) > GW_JSON_MAX_TEXT) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "at most %d bytes of text", GW_JSON_MAX_TEXT);
        return gw_json_expected(place, expected, error);
    }
    return GW_OK;
}

enum gw_status gw_json_object(const struct gw_json *place, struct gw_error *error) {
    return cJSON_IsObject(place->node) ? GW_OK : gw_json_expected(place, "an object", error);
}

enum gw_status gw_json_array(const struct gw_json *place, struct gw_error *error) {
    return cJSON_IsArray(place->node) ? GW_OK : gw_json_expected(place, "an array", error);
}

enum gw_status gw_json_length(const struct gw_json *place, size_t expected, size_t *out,
                              struct gw_error *error) {
    GW_TRY(gw_json_array(place, error));
    *out = (size_t)cJSON_GetArraySize(place->node);
    if (*out == 0 || (expected > 0 && *out != expected)) {
        char text[64];
        (void)snprintf(text, sizeof text, "a list of %zu", expected);
        return gw_json_expected(place, expected > 0 ? text : "a list that is not empty", error);
    }
    return GW_OK;
}

static enum gw_status finite_number(const struct gw_json *place, bool zero, double *out,
                                    struct gw_error *error) {
    double value = cJSON_IsNumber(place->node) ? place->node->valuedouble : -1;
    if (!isfinite(value) || value < 0 || (value == 0 && !zero)) {
        return gw_json_expected(place, zero ? "a finite number >= 0" : "a finite number > 0",
                                error);
    }
    *out = value;
    return GW_OK;
}

enum gw_status gw_json_not_negative(const struct gw_json *place, double *out,
                                    struct gw_error *error) {
    return finite_number(place, true, out, error);
}

enum gw_status gw_json_positive(const struct gw_json *place, double *out, struct gw_error *error) {
    return finite_number(place, false, out, error);
}

static enum gw_status limited_number(const struct gw_json *place, bool zero, double maximum,
                                     const char *expected, double *out, struct gw_error *error) {
    double value = 0;
    GW_TRY(finite_number(place, zero, &value, error));
    if (value > maximum) {
        return gw_json_expected(place, expected, error);
    }
    *out = value;
    return GW_OK;
}

enum gw_status gw_json_seconds(const struct gw_json *place, double *out, struct gw_error *error) {
    GW_TRY(limited_number(place, true, GW_MAX_SECONDS, "at most 1e6 seconds", out, error));
    *out = *out < GW_MIN_SECONDS ? 0 : *out;
    return GW_OK;
}

enum gw_status gw_json_size(const struct gw_json *place, double *out, struct gw_error *error) {
    return limited_number(place, false, largest_exact_integer, "at most 2^53", out, error);
}

enum gw_status gw_json_factor(const struct gw_json *place, double *out, struct gw_error *error) {
    return limited_number(place, false, 1e6, "at most 1e6", out, error);
}

enum gw_status gw_json_integer(const struct gw_json *place, uint64_t minimum, uint64_t *out,
                               struct gw_error *error) {
    double value = cJSON_IsNumber(place->node) ? place->node->valuedouble : -1;
    if (!(value >= (double)minimum) || value > largest_exact_integer || floor(value) != value) {
        char expected[48];
        (void)snprintf(expected, sizeof expected,
                       minimum == 1 ? "a positive integer" : "an integer >= %" PRIu64, minimum);
        return gw_json_expected(place, expected, error);
    }
    *out = (uint64_t)value;
    return GW_OK;
}

/* ---- writing ------------------------------------------------------------------------------- */

enum gw_status gw_json_copy(const cJSON *node, cJSON **out, struct gw_error *error) {
    *out = node == NULL ? NULL : cJSON_Duplicate(node, 1);
    return node != NULL && *out == NULL ? gw_fail_memory(error, "copying JSON") : GW_OK;
}

enum gw_status gw_json_put(cJSON *object, const char *key, cJSON *value, struct gw_error *error) {
    if (value == NULL) {
        return gw_fail_memory(error, "building JSON");
    }
    cJSON_bool done = cJSON_GetObjectItemCaseSensitive(object, key) != NULL
                          ? cJSON_ReplaceItemInObjectCaseSensitive(object, key, value)
                          : cJSON_AddItemToObject(object, key, value);
    if (!done) {
        cJSON_Delete(value);
        return gw_fail_memory(error, "building JSON");
    }
    return GW_OK;
}

enum gw_status gw_json_put_number(cJSON *object, const char *key, double value,
                                  struct gw_error *error) {
    return gw_json_put(object, key, cJSON_CreateNumber(value), error);
}

enum gw_status gw_json_put_text(cJSON *object, const char *key, const char *value,
                                struct gw_error *error) {
    return gw_json_put(object, key, cJSON_CreateString(value), error);
}

enum gw_status gw_json_append(cJSON *array, cJSON *value, struct gw_error *error) {
    if (value == NULL || !cJSON_AddItemToArray(array, value)) {
        cJSON_Delete(value);
        return gw_fail_memory(error, "building JSON");
    }
    return GW_OK;
}

/* Replaces numbers for which cJSON's 15 digits miss one rounding by their exact text. */
static bool make_exact(cJSON *node) {
    if (cJSON_IsNumber(node) && isfinite(node->valuedouble)) {
        char shortest[GW_UNITS_SIZE];
        char fifteen[GW_UNITS_SIZE];
        gw_format_exactly(node->valuedouble, shortest);
        snprintf(fifteen, sizeof fifteen, "%.15g", node->valuedouble);
        if (strcmp(shortest, fifteen) != 0) {
            node->valuestring = cJSON_malloc(sizeof shortest);
            if (node->valuestring == NULL) {
                return false;
            }
            memcpy(node->valuestring, shortest, sizeof shortest);
            node->type = cJSON_Raw;
        }
    }
    cJSON *child = NULL;
    cJSON_ArrayForEach(child, node) {
        if (!make_exact(child)) {
            return false;
        }
    }
    return true;
}

/* Finds a control character that cJSON did not escape, as it does those of C0; 0: none. */
static uint32_t control_character_at(const unsigned char *c) {
    return *c == '\n' || *c == '\t' ? 0 : gw_control_at(c);
}

/* Copies a text, adds a line feed, and escapes characters that a terminal would not show. */
static enum gw_status end_text(const char *printed, char **out, struct gw_error *error) {
    enum { escape = 12 }; /* of two halves, "\udb40\udc01" */
    size_t controls = 0;
    for (const char *c = printed; *c != '\0'; c++) {
        controls += control_character_at((const unsigned char *)c) != 0;
    }
    char *text = malloc(strlen(printed) + escape * controls + 2);
    if (text == NULL) {
        return gw_fail_memory(error, "printing JSON");
    }
    *out = text;
    for (const unsigned char *c = (const unsigned char *)printed; *c != '\0'; c++) {
        uint32_t control = control_character_at(c);
        if (control == 0) {
            *text++ = (char)*c;
            continue;
        }
        uint32_t beyond = control - 0x10000;
        text += control < 0x10000 ? sprintf(text, "\\u%04" PRIx32, control)
                                  : sprintf(text, "\\u%04" PRIx32 "\\u%04" PRIx32,
                                            0xd800 + (beyond >> 10), 0xdc00 + (beyond & 0x3ff));
        c += gw_utf8_length(c) - 1;
    }
    memcpy(text, "\n", 2);
    return GW_OK;
}

static enum gw_status print_json(const cJSON *document, bool compact, char **text,
                                 struct gw_error *error) {
    cJSON *copy = cJSON_Duplicate(document, 1);
    char *printed = NULL;
    if (copy != NULL && make_exact(copy)) {
        printed = compact ? cJSON_PrintUnformatted(copy) : cJSON_Print(copy);
    }
    cJSON_Delete(copy);
    enum gw_status status =
        printed == NULL ? gw_fail_memory(error, "printing JSON") : end_text(printed, text, error);
    cJSON_free(printed);
    return status;
}

static enum gw_status write_printed(const cJSON *document, bool compact, const char *path,
                                    struct gw_error *error) {
    char *text = NULL;
    GW_TRY(print_json(document, compact, &text, error));
    enum gw_status status = gw_file_write(path, text, strlen(text), error);
    free(text);
    return status;
}

enum gw_status gw_json_print(const cJSON *document, char **text, struct gw_error *error) {
    return print_json(document, false, text, error);
}

enum gw_status gw_json_print_compact(const cJSON *document, char **text, struct gw_error *error) {
    return print_json(document, true, text, error);
}

enum gw_status gw_json_write(const cJSON *document, const char *path, struct gw_error *error) {
    return write_printed(document, false, path, error);
}

enum gw_status gw_json_write_compact(const cJSON *document, const char *path,
                                     struct gw_error *error) {
    return write_printed(document, true, path, error);
}
