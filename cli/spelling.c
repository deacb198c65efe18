/*
 * Checks the spelling of a command line's options before argp sees them, because argp neither
 * suggests the nearest name nor escapes control characters.
 */
#include <stdio.h>
#include <string.h>

#include "cli/options.h"

static const char *const own_names[] = {"help", "usage", "version"}; /* argp's */
enum { OWN_NAMES = sizeof own_names / sizeof *own_names };

/* A verb's options, and all known long names. */
struct spelling {
    const struct gw_option_row *rows;
    size_t count;
    const char *names[GW_MAX_OPTIONS + OWN_NAMES + 1]; /* ended by NULL */
    const char *meant;                                 /* in place of an unknown one; or NULL */
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

/* Finds the name that the argument begins; fails if there is none, or several and no exact one. */
static enum gw_status find_name(struct spelling *spelling, const char *argument, const char **out,
                                struct gw_error *error) {
    char given[64];
    char all[512] = "";
    size_t length = strcspn(argument, "=");
    size_t count = 0;
    for (size_t i = 0; spelling->names[i] != NULL; i++) {
        const char *name = spelling->names[i];
        if (strncmp(name, argument, length) != 0) {
            continue;
        }
        *out = name;
        if (name[length] == '\0') {
            return GW_OK;
        }
        size_t used = strlen(all);
        (void)snprintf(all + used, sizeof all - used, "%s--%s", count > 0 ? ", " : "", name);
        count++;
    }
    if (count > 1) {
        return gw_fail(error, GW_BAD_INPUT, "option '--%.*s' is ambiguous: expected one of %s",
                       (int)length, argument, all);
    }
    if (count == 1) {
        return GW_OK;
    }
    (void)snprintf(given, sizeof given, "%.*s", (int)(length < 63 ? length : 63), argument);
    spelling->meant = gw_find_nearest(given, spelling->names);
    return gw_fail(error, GW_BAD_INPUT, "unrecognized option '--%s'", argument);
}

/* Finds a long option; leaves *out as it is for argp's own. */
static enum gw_status find_long(struct spelling *spelling, const char *argument,
                                const struct gw_option **out, struct gw_error *error) {
    const char *name = NULL;
    GW_TRY(find_name(spelling, argument, &name, error));
    for (size_t i = 0; i < spelling->count; i++) {
        if (spelling->rows[i].option->name == name) {
            *out = spelling->rows[i].option;
        }
    }
    return GW_OK;
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

/* Checks a group of letters; *out gets the option whose value is the next argument, if one is. */
static enum gw_status check_letters(const struct spelling *spelling, const char *letters,
                                    const struct gw_option **out, struct gw_error *error) {
    for (; *letters != '\0'; letters++) {
        const struct gw_option *found = find_letter(spelling, *letters);
        if (found == NULL && strchr("?V", *letters) == NULL) {
            return gw_fail(error, GW_BAD_INPUT, "invalid option -- '%c'", *letters);
        }
        if (found != NULL && takes_value(found)) {
            *out = letters[1] == '\0' ? found : NULL;
            return GW_OK;
        }
    }
    return GW_OK;
}

/* ---- a command line -------------------------------------------------------------------------- */

enum gw_status gw_check_spelling(const struct gw_option_row *rows, size_t count,
                                 const struct argp_state *state, const char **meant,
                                 struct gw_error *error) {
    struct spelling spelling = {.rows = rows, .count = count};
    enum gw_status status = GW_OK;
    list_names(&spelling);
    for (int i = 1; i < state->argc && strcmp(state->argv[i], "--") != 0 && status == GW_OK; i++) {
        const char *argument = state->argv[i];
        const struct gw_option *found = NULL;
        if (strncmp(argument, "--", 2) == 0) {
            status = find_long(&spelling, argument + 2, &found, error);
        } else if (argument[0] == '-') {
            status = check_letters(&spelling, argument + 1, &found, error);
        }
        i += found != NULL && takes_value(found) && strchr(argument, '=') == NULL;
    }
    *meant = spelling.meant;
    return status;
}
