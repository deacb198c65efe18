/*
 * Which keys documents have: one table for all schemas (shapes.c), against which every document
 * that is read is held. Duplicate keys are bad input in all JSON.
 */
#ifndef GW_CORE_SHAPES_H
#define GW_CORE_SHAPES_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "core/status.h"

/* ---- keys that nobody reads ---------------------------------------------------------------- */

/*
 * What the program does with them, and with what is bad input; one for the whole program, which
 * sets it before it reads.
 */
struct gw_key_rules {
    bool strict; /* they are bad input */
    /* Takes "<file>: <place>: ..." about one of them; NULL: they are kept without a word. */
    void (*warn)(const char *message, void *context);
    void *context;
    bool all; /* warn of all, not only of the first GW_MOST_KEY_WARNINGS of a file */
    /* Takes what is bad input, where a reader goes on behind it (traces/parts.h); NULL: the first
     * fault ends the reading. */
    void (*bad)(const char *message, void *context);
};
extern struct gw_key_rules gw_key_rules;

/* What a file may warn of before the rest of it is only counted. */
enum { GW_MOST_KEY_WARNINGS = 8 };

/* ---- checking ------------------------------------------------------------------------------ */

/* Fails where an object has a key twice, or one beyond the limit. O(n log n) in its keys. */
enum gw_status gw_json_check_keys_of_all(const cJSON *document, const char *file,
                                         struct gw_error *error);

/*
 * Looks for keys that the schema's shapes do not have, names of collectives, compressors and
 * aggregators among them; of compressors a cluster may have its own, unless their name is so near
 * to a known one that this may be meant. Objects of which the table knows nothing, such as
 * "source", are free to hold what they like. Fails only if the rules are strict.
 */
enum gw_status gw_json_check_keys(const cJSON *document, const char *file, const char *schema,
                                  struct gw_error *error);

/* Whether the table has a schema of that name. */
bool gw_json_knows_schema(const char *schema);

/* The one of its schemas that may be meant by that; NULL: none. */
const char *gw_json_nearest_schema(const char *schema);

#endif
