/*
 * Documents as tables. A row for each key of an object gives its type, its place in a C struct, its
 * range and its meaning. Reading, writing, freeing, the check for unknown keys and the tables of
 * docs/files.md follow from the rows.
 *
 *     static const struct gw_field rows[] = {
 *         {"name", GW_AS_TEXT, .at = offsetof(struct tensor, name), .text = "of the parameter"},
 *         {"elements", GW_AS_COUNT, .at = offsetof(struct tensor, elements), .text = "in it"},
 *         {0}};
 *     static const struct gw_fields tensor_fields = {sizeof(struct tensor), .rows = rows};
 */
#ifndef GW_CORE_FIELDS_H
#define GW_CORE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/json.h"
#include "core/json_writer.h"

/* The C type of a member, and the range of its value in the file. */
enum gw_field_type {
    GW_AS_ANYTHING,     /* no member: the key is known and its value is not read */
    GW_AS_TEXT,         /* char *, a copy; NULL where absent */
    GW_AS_SECONDS,      /* double in [0, 1e6] */
    GW_AS_NOT_NEGATIVE, /* double >= 0 */
    GW_AS_POSITIVE,     /* double > 0 */
    GW_AS_SIZE,         /* double in (0, 2^53] */
    GW_AS_FACTOR,       /* double in (0, 1e6] */
    GW_AS_INTEGER,      /* size_t or uint64_t in [0, 2^53] */
    GW_AS_COUNT,        /* size_t or uint64_t in [1, 2^53] */
    GW_AS_TEXTS,        /* char **, copies, with a size_t at `count_at` */
    GW_AS_OBJECT,       /* a struct in place, by `of` */
    GW_AS_LIST,         /* a pointer to structs by `of`, with a size_t at `count_at` */
    GW_AS_BY_HAND,      /* `read` and `write` handle it; `of` describes the keys below */
    GW_AS_BLOCK, /* the same, and the member is a pointer to be freed; with or without a key */
    /* Without a key: */
    GW_AS_FILE_NAME, /* char *, the name of the file that was read */
    GW_AS_KEPT,      /* cJSON *, a copy of the object, which writing updates */
};

struct gw_fields;

struct gw_field {
    const char *key; /* NULL after the last row; "" for types without a key */
    enum gw_field_type type;
    size_t at, count_at; /* offsets in the struct */
    bool optional;
    double otherwise; /* value of an absent optional number; a positive one of 0 is not written */
    double maximum;   /* of the number, or of a list's items; 0: the type's */
    const char *expected; /* replaces "at most ..." in messages, and is expected if a list
                           * is empty */
    const struct gw_fields *of;
    bool depends; /* read only if all rows before it were read well */
    /* Reads the value at `place` into the struct at `out`. */
    enum gw_status (*read)(const struct gw_json *place, void *out, struct gw_error *error);
    void (*write)(const void *from, const char *key, struct gw_json_writer *writer);
    const char *text; /* Markdown, for docs/files.md */
};

/* An object. */
struct gw_fields {
    size_t size; /* of the struct */
    const struct gw_field *rows;
    const char *schema; /* of a document, such as "gradweave/plan@1"; NULL: below one */
    /* Checks a struct whose rows were read well; `place` is the object's. NULL: no check. */
    enum gw_status (*check)(const struct gw_json *place, void *out, struct gw_error *error);
    /* Frees members of rows with `read`, except blocks. NULL: there are none. */
    void (*free)(void *out);
    /* Other known keys that are not read, ended by NULL. With these, rows may be missing. */
    const char *const *unread; /* GW_KEYS("raw", "fit") */
    /* Replaces rows in objects whose keys are names: the object of each value, or of each of its
     * items. `names`: the known names, ended by NULL; NULL: any. */
    const struct gw_fields *each;
    const char *const *names;
    bool compact; /* written on one line, for documents that only programs read */
    bool others;  /* other keys are allowed, except names that are near a known one */
};

#define GW_KEYS(...)                                                                               \
    (const char *const[]) {                                                                        \
        __VA_ARGS__, NULL                                                                          \
    }

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads a document, whose schema must be that of `fields`, into the struct at `out`. On failure
 * *out is all zero; otherwise gw_fields_free frees it. Messages call it `file`. */
enum gw_status gw_fields_decode(const struct gw_fields *fields, const cJSON *document,
                                const char *file, void *out, struct gw_error *error);
/* Takes the document, also on failure. */
enum gw_status gw_fields_take(const struct gw_fields *fields, cJSON *document, const char *file,
                              void *out, struct gw_error *error);
enum gw_status gw_fields_parse(const struct gw_fields *fields, const char *text, size_t length,
                               const char *file, void *out, struct gw_error *error);
enum gw_status gw_fields_open(const struct gw_fields *fields, const char *path, void *out,
                              struct gw_error *error);
void gw_fields_free(const struct gw_fields *fields, void *out);

/* The document as a place; fails unless it is an object with that schema. Checks unknown keys by
 * gw_key_rules (keys.h). */
enum gw_status gw_fields_root(const struct gw_fields *fields, const cJSON *document,
                              const char *file, struct gw_json *root, struct gw_error *error);

/* Reads an object below a document's root into the struct at `out`, which has its defaults. */
enum gw_status gw_fields_read(const struct gw_fields *fields, const struct gw_json *place,
                              void *out, struct gw_error *error);

/*
 * For rows with `read`. Returns `status`; or GW_OK in place of GW_BAD_INPUT if gw_key_rules.bad
 * takes the message, so that the rest of the document is read too: reading then fails at its end.
 */
enum gw_status gw_read_on(enum gw_status status, struct gw_error *error);

/* ---- writing --------------------------------------------------------------------------------- */

/* Writes the struct's members into the open object. */
void gw_fields_write(const struct gw_fields *fields, const void *from,
                     struct gw_json_writer *writer);
/* Writes the struct as a document (the caller's), and to a file. */
enum gw_status gw_fields_document(const struct gw_fields *fields, const void *from, cJSON **out,
                                  struct gw_error *error);
enum gw_status gw_fields_save(const struct gw_fields *fields, const void *from, const char *path,
                              struct gw_error *error);

/* ---- kinds of documents ---------------------------------------------------------------------- */

/* Declares these functions for a kind of document, struct NAME, whose table is NAME_fields. */
#define GW_DOCUMENT(NAME)                                                                          \
    extern const struct gw_fields NAME##_fields;                                                   \
    static inline enum gw_status NAME##_read(const char *path, struct NAME *out,                   \
                                             struct gw_error *error) {                             \
        return gw_fields_open(&NAME##_fields, path, out, error);                                   \
    }                                                                                              \
    static inline enum gw_status NAME##_parse(const char *text, size_t length, const char *file,   \
                                              struct NAME *out, struct gw_error *error) {          \
        return gw_fields_parse(&NAME##_fields, text, length, file, out, error);                    \
    }                                                                                              \
    static inline enum gw_status NAME##_take(cJSON *document, const char *file, struct NAME *out,  \
                                             struct gw_error *error) {                             \
        return gw_fields_take(&NAME##_fields, document, file, out, error);                         \
    }                                                                                              \
    static inline void NAME##_free(struct NAME *out) {                                             \
        gw_fields_free(&NAME##_fields, out);                                                       \
    }

/* Declares the functions of a kind that is written too. */
#define GW_WRITTEN_DOCUMENT(NAME)                                                                  \
    GW_DOCUMENT(NAME)                                                                              \
    static inline enum gw_status NAME##_document(const struct NAME *from, cJSON **out,             \
                                                 struct gw_error *error) {                         \
        return gw_fields_document(&NAME##_fields, from, out, error);                               \
    }                                                                                              \
    static inline enum gw_status NAME##_write(const struct NAME *from, const char *path,           \
                                              struct gw_error *error) {                            \
        return gw_fields_save(&NAME##_fields, from, path, error);                                  \
    }

#endif
