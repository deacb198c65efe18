/* Damage to texts: to their bytes, and to the values of JSON documents. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/readers.h"

enum { MOST_NODES = 4096 };

static size_t below(uint64_t *state, size_t limit) {
    return (size_t)(gw_random_mix((*state)++) % limit);
}

static const char *some_word(const char *const *words, uint64_t *state) {
    size_t count = 0;
    while (words[count] != NULL) {
        count++;
    }
    return words[below(state, count)];
}

/* ---- to JSON ------------------------------------------------------------------------------- */

struct place {
    cJSON *parent, *node;
};

/* All nodes below the root. */
static size_t find_places(cJSON *parent, struct place *places, size_t count) {
    for (cJSON *node = parent->child; node != NULL && count < MOST_NODES; node = node->next) {
        places[count++] = (struct place){.parent = parent, .node = node};
        count = find_places(node, places, count);
    }
    return count;
}

const char *const fuzz_oddities[] = {"0",
                                     "1",
                                     "2",
                                     "-1",
                                     "-0",
                                     "0.5",
                                     "2.5",
                                     "1e999",
                                     "-1e999",
                                     "1e308",
                                     "1e-400",
                                     "1e6",
                                     "1e-30",
                                     "4294967296",
                                     "9007199254740991",
                                     "9007199254740992",
                                     "9007199254740993",
                                     "18446744073709551615",
                                     "18446744073709551616",
                                     "null",
                                     "true",
                                     "false",
                                     "[]",
                                     "{}",
                                     "[[]]",
                                     "[0]",
                                     "[1, 0]",
                                     "[[0]]",
                                     "\"\"",
                                     "\"1\"",
                                     "\"\\u0000\"",
                                     "\"gradweave/plan@1\"",
                                     "\"gradweave/plan@2\"",
                                     NULL};

static void replace(const struct place *place, cJSON *with) {
    if (with == NULL) {
        abort();
    }
    if (cJSON_IsArray(place->parent)) {
        (void)cJSON_ReplaceItemViaPointer(place->parent, place->node, with);
    } else {
        (void)cJSON_ReplaceItemInObjectCaseSensitive(place->parent, place->node->string, with);
    }
}

/* A number next to the one that is there, or of another magnitude. */
static void change_number(uint64_t *state, const struct place *place) {
    static const double factors[] = {0, -1, 0.5, 2, 10, 1e-3, 1e3, 1e-9, 1e9};
    double value = place->node->valuedouble;
    size_t choice = below(state, 2 + sizeof factors / sizeof *factors);
    if (cJSON_IsNumber(place->node)) {
        cJSON_SetNumberValue(place->node, choice < 2 ? value + (choice == 0 ? 1 : -1)
                                                     : value * factors[choice - 2]);
    }
}

/* Also of an object: its key then stands there twice. */
static void repeat(const struct place *place) {
    cJSON *copy = cJSON_Duplicate(place->node, 1);
    if (copy == NULL) {
        abort();
    }
    if (cJSON_IsArray(place->parent)) {
        (void)cJSON_AddItemToArray(place->parent, copy);
    } else {
        (void)cJSON_AddItemToObject(place->parent, place->node->string, copy);
    }
}

static void move_to_the_end(const struct place *place) {
    cJSON *node = cJSON_IsArray(place->parent)
                      ? cJSON_DetachItemViaPointer(place->parent, place->node)
                      : NULL;
    if (node != NULL) {
        (void)cJSON_AddItemToArray(place->parent, node);
    }
}

static void damage_value(uint64_t *state, const struct place *place, const struct place *other) {
    switch (below(state, 7)) {
    case 0:
        cJSON_Delete(cJSON_DetachItemViaPointer(place->parent, place->node));
        break;
    case 1:
        replace(place, cJSON_CreateRaw(some_word(fuzz_oddities, state)));
        break;
    case 2:
        repeat(place);
        break;
    case 3:
        move_to_the_end(place);
        break;
    case 4:
        replace(place, cJSON_Duplicate(other->node, 1));
        break;
    default:
        change_number(state, place);
    }
}

/* False, and the text is as it was, if it is no JSON or the damaged one has no room. */
static bool damage_document(uint64_t *state, char *text, size_t *length, size_t room) {
    static struct place places[MOST_NODES];
    cJSON *document = cJSON_ParseWithLength(text, *length);
    bool done = false;
    for (size_t times = 1 + below(state, 3); times > 0 && document != NULL; times--) {
        size_t count = find_places(document, places, 0);
        if (count > 0) {
            damage_value(state, &places[below(state, count)], &places[below(state, count)]);
        }
    }
    char *printed = document == NULL ? NULL : cJSON_PrintUnformatted(document);
    if (printed != NULL && strlen(printed) <= room) {
        *length = strlen(printed);
        memcpy(text, printed, *length);
        done = true;
    }
    cJSON_free(printed);
    cJSON_Delete(document);
    return done;
}

/* ---- to bytes ------------------------------------------------------------------------------ */

/* Inserts as many of the bytes as there is room for. */
static void insert(char *text, size_t *used, size_t room, size_t at, const char *bytes,
                   size_t length) {
    length = length < room - *used ? length : room - *used;
    memmove(text + at + length, text + at, *used - at);
    memcpy(text + at, bytes, length);
    *used += length;
}

static void damage_bytes(const struct fuzz_reader *reader, uint64_t *state, char *text,
                         size_t *used, size_t room) {
    static const char telling[] = "{}[]\",:0123456789-+.eE \\\n\t\xff";
    const char *word = some_word(reader->words, state);
    size_t at = below(state, *used);
    size_t length = 1 + below(state, *used - at < 16 ? *used - at : 16);
    char bytes[16];
    switch (below(state, 7)) {
    case 0:
        text[at] = (char)(text[at] ^ (1 << below(state, 8)));
        break;
    case 1:
        text[at] = telling[below(state, sizeof telling - 1)];
        break;
    case 2:
        insert(text, used, room, at, &telling[below(state, sizeof telling - 1)], 1);
        break;
    case 3:
        insert(text, used, room, at, word, strlen(word));
        break;
    case 4:
        memcpy(bytes, text + at, length);
        insert(text, used, room, below(state, *used), bytes, length);
        break;
    case 5:
        *used = at + 1;
        break;
    default:
        if (length < *used) {
            memmove(text + at, text + at + length, *used - at - length);
            *used -= length;
        }
    }
}

size_t fuzz_damage(const struct fuzz_reader *reader, uint64_t seed, char *text, size_t length,
                   size_t room) {
    uint64_t state = gw_random_mix(seed);
    if (reader->json && below(&state, 2) == 0 && damage_document(&state, text, &length, room)) {
        return length;
    }
    for (size_t times = 1 + below(&state, 3); times > 0 && length > 0; times--) {
        damage_bytes(reader, &state, text, &length, room);
    }
    return length;
}
