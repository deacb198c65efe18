/*
 * Reading JSON with errors that name the file and the place in it, over cJSON:
 *     resnet50.json: tensors[12].elements: expected a positive integer, got -3
 */
#ifndef GW_CORE_JSON_H
#define GW_CORE_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

/* A value and its place: the file's name and the path from the document's root ("" there). */
struct gw_json {
    const cJSON *node; /* NULL: absent */
    const char *file;
    char path[160];
};

/* Limits of documents (docs/files.md, "Rules"). */
enum { GW_JSON_MAX_VALUES = 1 << 24, GW_JSON_MAX_TEXT = 1024 };

/* Parses `text`, whose `length` bytes are followed by a zero; messages call it `file`. An object
 * with a key twice is bad input. The caller frees *document with cJSON_Delete. */
enum gw_status gw_json_parse(const char *text, size_t length, const char *file, cJSON **document,
                             struct gw_error *error);

/* Parses a line that a program wrote for itself: *line is NULL if the text is no JSON. */
enum gw_status gw_json_parse_line(const char *text, size_t length, cJSON **line,
                                  struct gw_error *error);

/* Reads and parses the file at `path`. */
enum gw_status gw_json_read(const char *path, cJSON **document, struct gw_error *error);

struct gw_json gw_json_member(const struct gw_json *object, const char *key);
/* The member that `node` is: for loops over all members, where searching for keys takes long. */
struct gw_json gw_json_child(const struct gw_json *object, const cJSON *node);
struct gw_json gw_json_item(const struct gw_json *array, const cJSON *node, size_t index);

/* Fails with GW_BAD_INPUT and "<file>: <path>: expected <expected>, got <value>". */
enum gw_status gw_json_expected(const struct gw_json *place, const char *expected,
                                struct gw_error *error);

/* The place must hold ... */
enum gw_status gw_json_text(const struct gw_json *place, const char **out, struct gw_error *error);
enum gw_status gw_json_object(const struct gw_json *place, struct gw_error *error);
enum gw_status gw_json_array(const struct gw_json *place, struct gw_error *error);
/* ... a list of `expected` items, or at least one if that is 0. */
enum gw_status gw_json_length(const struct gw_json *place, size_t expected, size_t *out,
                              struct gw_error *error);
enum gw_status gw_json_not_negative(const struct gw_json *place, double *out,
                                    struct gw_error *error);
enum gw_status gw_json_positive(const struct gw_json *place, double *out, struct gw_error *error);
/*
 * ... a time in [0, 1e6], also for each byte or element; a size in (0, 2^53]; a factor in (0, 1e6];
 */
enum gw_status gw_json_seconds(const struct gw_json *place, double *out, struct gw_error *error);
enum gw_status gw_json_size(const struct gw_json *place, double *out, struct gw_error *error);
enum gw_status gw_json_factor(const struct gw_json *place, double *out, struct gw_error *error);
/* ... an integer in [minimum, 2^53], which a double holds exactly. */
enum gw_status gw_json_integer(const struct gw_json *place, uint64_t minimum, uint64_t *out,
                               struct gw_error *error);

/* Copies a whole node for the caller, NULL for NULL; fails only when out of memory. */
enum gw_status gw_json_copy(const cJSON *node, cJSON **out, struct gw_error *error);

/* Sets or replaces a member of an object that is being written; fails only when out of memory. */
enum gw_status gw_json_put(cJSON *object, const char *key, cJSON *value, struct gw_error *error);
enum gw_status gw_json_put_number(cJSON *object, const char *key, double value,
                                  struct gw_error *error);
enum gw_status gw_json_put_text(cJSON *object, const char *key, const char *value,
                                struct gw_error *error);
enum gw_status gw_json_append(cJSON *array, cJSON *value, struct gw_error *error);

/* Prints the document as text that ends in a newline; the caller frees it. */
enum gw_status gw_json_print(const cJSON *document, char **text, struct gw_error *error);
/* The same on one line. */
enum gw_status gw_json_print_compact(const cJSON *document, char **text, struct gw_error *error);
/* Writes the document to a file, with gw_file_write. */
enum gw_status gw_json_write(const cJSON *document, const char *path, struct gw_error *error);
/* The same on one line, for documents that only programs read. */
enum gw_status gw_json_write_compact(const cJSON *document, const char *path,
                                     struct gw_error *error);

#endif
