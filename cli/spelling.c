/*
 * Whether the options of a command line are spelt right, before argp sees them: that neither says
 * what was meant nor keeps control characters to itself.
 */
#include <stdio.h>
#include <string.h>

#include "cli/options.h"

static const char *const own_names[] = {"help", "usage", "version"}; /* argp's */
enum { OWN_NAMES = sizeof own_names / sizeof *own_names };

/* What there is to be spelt: a verb's options, and all their long names. */
struct spelling {
    const struct gw_option_row *rows;
    size_t count;
    const char *names[GW_MOST_OPTIONS + OWN_NAMES + 1]; /* ended by NULL */
    struct argp_state *state;
};

static void list_names(struct spelling *spelling) {
    size_t count = 0;
    for (size_t i = 0; i < spelling->count; i++) {
        if (spelling->rows[i].option->name != NULL) {
            spelling->names[count++] = spelling->rows[i].option->name;
        }
    }
    for (size_t i = 0; i < OWN_NAMES; i++) {
        spelling->names[count++] = own_names[i];
    }
    spelling->names[count] = NULL;
}

/* ---- long names ----------------------------------------------------------------------------- */

/* The name that begins so; refuses what none does, and what several do unless one is just that. */
static const char *find_name(const struct spelling *spelling, const char *argument) {
    char given[64];
    char all[512] = "";
    size_t length = strcspn(argument, "=");
    size_t count = 0;
    const char *found = NULL;
    for (size_t i = 0; spelling->names[i] != NULL; i++) {
        const char *name = spelling->names[i];
        if (strncmp(name, argument, length) != 0) {
            continue;
        }
        if (name[length] == '\0') {
            return name;
        }
        size_t used = strlen(all);
        (void)snprintf(all + used, sizeof all - used, "%s--%s", count > 0 ? ", " : "", name);
        found = name;
        count++;
    }
    if (count > 1) {
        gw_refuse(spelling->state, "option '--%.*s' is ambiguous: expected one of %s", (int)length,
                  argument, all);
    }
    if (count == 0) {
        (void)snprintf(given, sizeof given, "%.*s", (int)(length < 63 ? length : 63), argument);
        const char *nearest = gw_find_nearest(given, spelling->names);
        if (nearest != NULL) {
            gw_refuse(spelling->state, "unrecognized option '--%s'\nDid you mean --%s?", argument,
                      nearest);
        }
        gw_refuse(spelling->state, "unrecognized option '--%s'", argument);
    }
    return found;
}

/* NULL: it is argp's. */
static const struct gw_option *find_long(const struct spelling *spelling, const char *argument) {
    const char *name = find_name(spelling, argument);
    for (size_t i = 0; i < spelling->count; i++) {
        if (spelling->rows[i].option->name == name) {
            return spelling->rows[i].option;
        }
    }
    return NULL;
}

/* ---- letters -------------------------------------------------------------------------------- */

static const struct gw_option *find_letter(const struct spelling *spelling, char letter) {
    for (size_t i = 0; i < spelling->count; i++) {
        if (spelling->rows[i].option->letter == letter) {
            return spelling->rows[i].option;
        }
    }
    return NULL;
}

static bool takes_value(const struct gw_option *option) {
    return option->kind != GW_FLAG && (option->kind != GW_CUSTOM || option->metavar != NULL);
}

/* The option among these letters whose value is the next argument, or NULL. */
static const struct gw_option *check_letters(const struct spelling *spelling, const char *letters) {
    for (; *letters != '\0'; letters++) {
        const struct gw_option *found = find_letter(spelling, *letters);
        if (found == NULL && strchr("?V", *letters) == NULL) {
            gw_refuse(spelling->state, "invalid option -- '%c'", *letters);
        }
        if (found != NULL && takes_value(found)) {
            return letters[1] == '\0' ? found : NULL;
        }
    }
    return NULL;
}

/* ---- a command line -------------------------------------------------------------------------- */

void gw_check_spelling(const struct gw_option_row *rows, size_t count, struct argp_state *state) {
    struct spelling spelling = {.rows = rows, .count = count, .state = state};
    list_names(&spelling);
    state->name = state->argv[0]; /* which argp has not set yet */
    for (int i = 1; i < state->argc && strcmp(state->argv[i], "--") != 0; i++) {
        const char *argument = state->argv[i];
        const struct gw_option *found = NULL;
        if (strncmp(argument, "--", 2) == 0) {
            found = find_long(&spelling, argument + 2);
        } else if (argument[0] == '-') {
            found = check_letters(&spelling, argument + 1);
        }
        i += found != NULL && takes_value(found) && strchr(argument, '=') == NULL;
    }
}
