/* Keys of documents: a key that occurs twice in an object is bad input in all JSON; a key that a
 * table of fields (fields.h) does not have causes a warning. */
#ifndef GW_CORE_KEYS_H
#define GW_CORE_KEYS_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "core/status.h"

struct gw_fields;

/* The treatment of unknown keys and of bad input, for the whole program; set before it reads. */
struct gw_key_rules {
    bool strict; /* unknown keys are bad input */
    /*
     * Receives "<file>: <place>: ..." about an unknown key; NULL: unknown keys are kept silently.
     */
    void (*warn)(const char *message, void *context);
    void *context;
    bool all; /* warns of all, not only of the first GW_MAX_KEY_WARNINGS of a file */
    /* Receives messages of bad input, if the reader continues after it (gw_read_on); NULL: the
     * first fault ends the reading. */
    void (*bad)(const char *message, void *context);
};
extern struct gw_key_rules gw_key_rules;

/* Warnings of one file; the rest is only counted. */
enum { GW_MAX_KEY_WARNINGS = 8 };

/* Fails if an object has a key twice, or too many keys. O(n log n) in its keys. */
enum gw_status gw_json_check_keys_of_all(const cJSON *document, const char *file,
                                         struct gw_error *error);

/* Searches for keys that `fields` does not have. Fails only if the rules are strict. */
enum gw_status gw_json_check_keys(const cJSON *document, const char *file,
                                  const struct gw_fields *fields, struct gw_error *error);

#endif
