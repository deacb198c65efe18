#include "core/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fields.h"
#include "core/names.h"

/* ---- places -------------------------------------------------------------------------------- */

enum { PATH_SIZE = 160 };

/* The path to an object from the document's root, link by link. */
struct path_link {
    const struct path_link *before; /* NULL: the root */
    const char *key;                /* NULL: an item of an array */
    size_t index;
};

/* Writes a path, cut if it is too long: it only serves messages. Returns its length. */
static size_t write_path(const struct path_link *link, char out[PATH_SIZE]) {
    size_t length = link->before == NULL ? 0 : write_path(link->before, out);
    if (link->before == NULL || length + 1 >= PATH_SIZE) {
        out[length] = '\0';
        return length;
    }
    size_t room = PATH_SIZE - length;
    int more = link->key == NULL ? snprintf(out + length, room, "[%zu]", link->index)
                                 : snprintf(out + length, room, "%s%.*s", length == 0 ? "" : ".",
                                            PATH_SIZE, link->key);
    return more < 0 || (size_t)more >= room ? PATH_SIZE - 1 : length + (size_t)more;
}

/* ---- keys of any object -------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum gw_status refuse_key(const struct path_link *at, const char *key, const char *file,
                                 struct gw_error *error) {
    char path[PATH_SIZE];
    (void)write_path(at, path);
    const char *colon = path[0] == '\0' ? "" : ": ";
    return strlen(key) > GW_JSON_MAX_TEXT
               ? gw_fail(error, GW_BAD_INPUT,
                         "%s: %s%sexpected keys of at most %d bytes, got \"%.40s...\"", file, path,
                         colon, GW_JSON_MAX_TEXT, key)
               : gw_fail(error, GW_BAD_INPUT, "%s: %s%sexpected each key once, got \"%.60s\" twice",
                         file, path, colon, key);
}

/* Sorts the keys; an object of few has them on the stack. */
static enum gw_status check_object(const cJSON *object, const struct path_link *at,
                                   const char *file, struct gw_error *error) {
    enum { FEW = 12 };
    const char *few[FEW];
    size_t count = (size_t)cJSON_GetArraySize(object);
    const char **keys = count <= FEW ? few : calloc(count, sizeof *keys);
    const char *odd = NULL;
    size_t next = 0;
    const cJSON *child = NULL;
    if (keys == NULL) {
        return gw_fail_memory(error, "reading JSON");
    }
    cJSON_ArrayForEach(child, object) {
        keys[next++] = child->string;
        odd = strlen(child->string) > GW_JSON_MAX_TEXT ? child->string : odd;
    }
    qsort(keys, count, sizeof *keys, by_name);
    for (size_t i = 1; i < count && odd == NULL; i++) {
        odd = strcmp(keys[i - 1], keys[i]) == 0 ? keys[i] : NULL;
    }
    if (keys != few) {
        free(keys);
    }
    return odd == NULL ? GW_OK : refuse_key(at, odd, file, error);
}

/* Recurses no deeper than the parser lets documents be. */
static enum gw_status check_below(const cJSON *node, const struct path_link *at, const char *file,
                                  struct gw_error *error) {
    struct path_link below = {.before = at};
    const cJSON *child = NULL;
    if (cJSON_IsObject(node)) {
        GW_TRY(check_object(node, at, file, error));
    }
    cJSON_ArrayForEach(child, node) {
        below.key = child->string;
        if (child->child != NULL) {
            GW_TRY(check_below(child, &below, file, error));
        }
        below.index++;
    }
    return GW_OK;
}

enum gw_status gw_json_check_keys_of_all(const cJSON *document, const char *file,
                                         struct gw_error *error) {
    static const struct path_link root = {0};
    return check_below(document, &root, file, error);
}

/* ---- unknown keys -------------------------------------------------------------------------- */

struct gw_key_rules gw_key_rules;

/* A document that is being compared with its fields. */
struct walk {
    const char *file;
    size_t unknown;
};

/* The known keys of an object, ended by NULL. */
enum { MAX_KEYS = 64 };
static const char *const *list_keys(const struct gw_fields *fields, const char *out[MAX_KEYS]) {
    static const char *const none[] = {NULL};
    size_t count = 0;
    if (fields->each != NULL) {
        return fields->names == NULL ? none : fields->names;
    }
    if (fields->schema != NULL) {
        out[count++] = "schema";
    }
    for (const struct gw_field *row = fields->rows; row != NULL && row->key != NULL; row++) {
        if (row->key[0] != '\0' && count + 1 < MAX_KEYS) {
            out[count++] = row->key;
        }
    }
    for (const char *const *key = fields->unread; key != NULL && *key != NULL; key++) {
        if (count + 1 < MAX_KEYS) {
            out[count++] = *key;
        }
    }
    out[count] = NULL;
    return out;
}

static bool is_known(const struct gw_fields *fields, const char *const *keys, const char *key) {
    for (const char *const *known = keys; *known != NULL; known++) {
        if (strcmp(*known, key) == 0) {
            return true;
        }
    }
    bool is_far = fields->each == NULL || gw_find_nearest(key, keys) == NULL;
    return (fields->each != NULL && *keys == NULL) || (fields->others && is_far);
}

static enum gw_status report_key(struct walk *walk, const struct path_link *at,
                                 const char *const *keys, const char *key, struct gw_error *error) {
    char path[PATH_SIZE];
    char message[512];
    const char *nearest = gw_find_nearest(key, keys);
    const char *hint[] = {nearest == NULL ? "" : "; did you mean \"",
                          nearest == NULL ? "" : nearest, nearest == NULL ? "" : "\"?"};
    (void)write_path(at, path);
    const char *colon = path[0] == '\0' ? "" : ": ";
    walk->unknown++;
    if (gw_key_rules.strict) {
        return gw_fail(error, GW_BAD_INPUT, "%s: %s%sexpected a known key, got \"%.60s\"%s%s%s",
                       walk->file, path, colon, key, hint[0], hint[1], hint[2]);
    }
    if (gw_key_rules.warn != NULL && (gw_key_rules.all || walk->unknown <= GW_MAX_KEY_WARNINGS)) {
        (void)snprintf(message, sizeof message, "%s: %s%sunknown key \"%.60s\" is ignored%s%s%s",
                       walk->file, path, colon, key, hint[0], hint[1], hint[2]);
        gw_key_rules.warn(message, gw_key_rules.context);
    }
    return GW_OK;
}

/* Finds the fields of the value under a key, or of its items; NULL: not known. */
static const struct gw_fields *find_below(const struct gw_fields *fields, const char *key) {
    if (fields->each != NULL) {
        return fields->each;
    }
    for (const struct gw_field *row = fields->rows; row != NULL && row->key != NULL; row++) {
        if (strcmp(row->key, key) == 0) {
            return row->of;
        }
    }
    return NULL;
}

static enum gw_status walk_object(struct walk *walk, const cJSON *object,
                                  const struct gw_fields *fields, const struct path_link *at,
                                  struct gw_error *error) {
    const char *room[MAX_KEYS];
    const char *const *keys = list_keys(fields, room);
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, object) {
        const struct gw_fields *of = find_below(fields, node->string);
        const struct path_link below = {.before = at, .key = node->string};
        struct path_link item = {.before = &below};
        const cJSON *child = NULL;
        if (!is_known(fields, keys, node->string)) {
            GW_TRY(report_key(walk, at, keys, node->string, error));
        } else if (of != NULL && cJSON_IsObject(node)) {
            GW_TRY(walk_object(walk, node, of, &below, error));
        } else if (of != NULL && cJSON_IsArray(node)) {
            cJSON_ArrayForEach(child, node) {
                GW_TRY(!cJSON_IsObject(child) ? GW_OK : walk_object(walk, child, of, &item, error));
                item.index++;
            }
        }
    }
    return GW_OK;
}

enum gw_status gw_json_check_keys(const cJSON *document, const char *file,
                                  const struct gw_fields *fields, struct gw_error *error) {
    static const struct path_link root = {0};
    struct walk walk = {.file = file};
    GW_TRY(walk_object(&walk, document, fields, &root, error));
    if (walk.unknown > GW_MAX_KEY_WARNINGS && gw_key_rules.warn != NULL && !gw_key_rules.all) {
        char message[512];
        (void)snprintf(message, sizeof message,
                       "%s: and %zu more unknown keys (gradweave check lists all)", file,
                       walk.unknown - GW_MAX_KEY_WARNINGS);
        gw_key_rules.warn(message, gw_key_rules.context);
    }
    return GW_OK;
}
