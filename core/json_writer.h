/*
 * Writing JSON from top to bottom, with one check at the end: a writer remembers its first error,
 * and what is written after it is dropped.
 *
 *     struct gw_json_writer writer;
 *     gw_writer_begin(&writer);
 *     gw_writer_text(&writer, "schema", "gradweave/plan@1");
 *     gw_writer_array(&writer, "groups");
 *     for (...) {
 *         gw_writer_number(&writer, NULL, group);
 *     }
 *     gw_writer_end(&writer);
 *     cJSON *document;
 *     GW_TRY(gw_writer_finish(&writer, &document, error));
 */
#ifndef GW_CORE_JSON_WRITER_H
#define GW_CORE_JSON_WRITER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

enum { GW_WRITER_DEPTH = 16 };

struct gw_json_writer {
    cJSON *open[GW_WRITER_DEPTH]; /* the document first, then the open objects and arrays in it */
    size_t depth;                 /* of `open` */
    bool replacing;               /* members may exist already */
    bool failed;                  /* out of memory, or unbalanced opening and ending */
};

/* Begins a document that is an object; gw_writer_finish must follow. */
void gw_writer_begin(struct gw_json_writer *writer);

/* Continues a document, which the writer takes (NULL: out of memory): a member replaces an existing
 * one with its key. */
void gw_writer_begin_with(struct gw_json_writer *writer, cJSON *document);

/* Adds a member with that key to the open object, or an item (key NULL) to the open array; a number
 * that is not finite is null. */
void gw_writer_number(struct gw_json_writer *writer, const char *key, double value);
void gw_writer_text(struct gw_json_writer *writer, const char *key, const char *value);
void gw_writer_flag(struct gw_json_writer *writer, const char *key, bool value);
void gw_writer_null(struct gw_json_writer *writer, const char *key);
void gw_writer_numbers(struct gw_json_writer *writer, const char *key, const double *values,
                       size_t count);
void gw_writer_texts(struct gw_json_writer *writer, const char *key, char *const *texts,
                     size_t count);
/* Adds a part that was built elsewhere; the writer takes it. NULL counts as out of memory. */
void gw_writer_part(struct gw_json_writer *writer, const char *key, cJSON *part);

/* Open an object or an array, which receives everything until gw_writer_end closes it. */
void gw_writer_object(struct gw_json_writer *writer, const char *key);
void gw_writer_array(struct gw_json_writer *writer, const char *key);
void gw_writer_end(struct gw_json_writer *writer);

/* Reopen an existing one: the member with that key or, in an array (key NULL), item number `index`.
 * Open a new one if there is none. */
void gw_writer_reopen_object(struct gw_json_writer *writer, const char *key, size_t index);
void gw_writer_reopen_array(struct gw_json_writer *writer, const char *key);

/* Adds a part, which the writer takes, and opens it. NULL counts as out of memory. */
void gw_writer_open(struct gw_json_writer *writer, const char *key, cJSON *part);

/* Removes a member of the open object, if it exists. */
void gw_writer_drop(struct gw_json_writer *writer, const char *key);

/* Returns the document, which the caller frees with cJSON_Delete, or the first error. */
enum gw_status gw_writer_finish(struct gw_json_writer *writer, cJSON **document,
                                struct gw_error *error);
/* Returns it as text that ends in a newline, which the caller frees. */
enum gw_status gw_writer_finish_text(struct gw_json_writer *writer, char **text,
                                     struct gw_error *error);
/* Writes it to a file, with gw_json_write_compact. */
enum gw_status gw_writer_finish_compact_file(struct gw_json_writer *writer, const char *path,
                                             struct gw_error *error);

#endif
