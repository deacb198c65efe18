/*
 * Keys of documents: those that an object has twice are bad input in all JSON; those that a table
 * of fields (fields.h) does not have are warned of.
 */
#ifndef GW_CORE_KEYS_H
#define GW_CORE_KEYS_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "core/status.h"

struct gw_fields;

/* The treatment of unknown keys and of bad input; one for the whole program, set before it reads.
 */
struct gw_key_rules {
    bool strict; /* unknown keys are bad input */
    /* Takes "<file>: <place>: ..." about an unknown key; NULL: they are kept without a word. */
    void (*warn)(const char *message, void *context);
    void *context;
    bool all; /* warn of all, not only of the first GW_MOST_KEY_WARNINGS of a file */
    /* Takes what is bad input, where a reader goes on behind it (gw_read_on); NULL: the first fault
     * ends the reading. */
    void (*bad)(const char *message, void *context);
};
extern struct gw_key_rules gw_key_rules;

/* Warnings of one file before the rest is only counted. */
enum { GW_MOST_KEY_WARNINGS = 8 };

/* Fails where an object has a key twice, or one beyond the limit. O(n log n) in its keys. */
enum gw_status gw_json_check_keys_of_all(const cJSON *document, const char *file,
                                         struct gw_error *error);

/* Looks for keys that `fields` does not have. Fails only if the rules are strict. */
enum gw_status gw_json_check_keys(const cJSON *document, const char *file,
                                  const struct gw_fields *fields, struct gw_error *error);

#endif
