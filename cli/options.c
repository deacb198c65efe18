#include "cli/options.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "transport/transport.h"

/* The program's only command line, as parsed so far. */
static struct command {
    const struct gw_verb *verb;
    void *options;
    size_t count;
    struct gw_option_row rows[GW_MAX_OPTIONS];
    const char *given[GW_MAX_OPTIONS]; /* the last value of each, "" for flags; NULL: not given */
    struct gw_arena spelt; /* values that were written otherwise; until the program ends */
} command;

/* ---- tables -------------------------------------------------------------------------------- */

static size_t add_rows(const struct gw_option *table, size_t offset, struct gw_option_row *rows,
                       size_t count) {
    for (const struct gw_option *row = table; row->kind != GW_END; row++) {
        if (row->kind == GW_INCLUDE) {
            count = add_rows(row->table, offset + row->offset, rows, count);
        } else if (count < GW_MAX_OPTIONS) {
            rows[count++] = (struct gw_option_row){.option = row, .offset = offset + row->offset};
        }
    }
    return count;
}

size_t gw_list_options(const struct gw_option *table, struct gw_option_row rows[GW_MAX_OPTIONS]) {
    return add_rows(table, 0, rows, 0);
}

/* Joins the choices with `between`, the last two with `last`: "curves, messages or waves". */
static const char *join_choices(const char *const *choices, const char *between, const char *last,
                                char *out, size_t size) {
    size_t used = 0;
    for (size_t i = 0; choices[i] != NULL && used < size; i++) {
        const char *separator = i == 0 ? "" : choices[i + 1] == NULL ? last : between;
        used += (size_t)snprintf(out + used, size - used, "%s%s", separator, choices[i]);
    }
    return out;
}

const char *gw_option_metavar(const struct gw_option *option, char out[GW_METAVAR_SIZE]) {
    return option->metavar == NULL && option->choices != NULL
               ? join_choices(option->choices, "|", "|", out, GW_METAVAR_SIZE)
               : option->metavar;
}

const char *gw_option_range(const struct gw_option *option, char out[GW_RANGE_SIZE]) {
    out[0] = '\0';
    if (option->expected != NULL && option->name != NULL) {
        (void)snprintf(out, GW_RANGE_SIZE, "%s", option->expected);
    } else if ((option->kind == GW_COUNT || option->kind == GW_SIZE) && option->minimum > 0) {
        (void)snprintf(out, GW_RANGE_SIZE, "%.0f to %.0f", option->minimum, option->maximum);
    } else if (option->kind == GW_COUNT && option->maximum > 0) {
        (void)snprintf(out, GW_RANGE_SIZE, "at most %.0f", option->maximum);
    } else if (option->kind == GW_POSITIVE && option->maximum > 0) {
        (void)snprintf(out, GW_RANGE_SIZE, "above 0 and at most %g", option->maximum);
    }
    return out;
}

static const struct gw_option_row *find_row(const char *name, size_t length) {
    for (size_t i = 0; i < command.count; i++) {
        const struct gw_option *option = command.rows[i].option;
        const char *own = option->name != NULL ? option->name : option->metavar;
        if (strncmp(own, name, length) == 0 && own[length] == '\0') {
            return &command.rows[i];
        }
    }
    return NULL;
}

static const char *given_value(const char *name, size_t length) {
    const struct gw_option_row *row = find_row(name, length);
    return row == NULL ? NULL : command.given[row - command.rows];
}

bool gw_option_is_given(const char *name) {
    return given_value(name, strlen(name)) != NULL;
}

void gw_option_turn_to(const char *name, const char *value) {
    const struct gw_option_row *row = find_row(name, strlen(name));
    command.given[row - command.rows] = value;
}

/* ---- failures ------------------------------------------------------------------------------ */

/* Whether the message contains the name; for "operation=name", either part. */
static bool is_named(const char *message, const char *name) {
    size_t length = strcspn(name, "=");
    return memmem(message, strlen(message), name, length) != NULL ||
           (name[length] == '=' && strstr(message, name + length + 1) != NULL);
}

/* Returns the length of an item's name, without a number that follows after ':' or '='. */
static size_t name_length(const struct gw_option *option, const char *text, size_t length) {
    const char *behind = option->names == GW_NAMES_COLLECTIVES ? ":" : ":=";
    size_t name = strcspn(text, behind);
    return name < length ? name : length;
}

/* Finds the known name nearest to a misspelt one in the message; NULL if none is misspelt. */
static const char *find_meant(const char *message) {
    for (size_t i = 0; i < command.count; i++) {
        const struct gw_option *option = command.rows[i].option;
        const char *text = command.given[i];
        while (text != NULL) {
            char name[64];
            size_t length = strcspn(text, option->is_list ? "," : "");
            (void)snprintf(name, sizeof name, "%.*s", (int)name_length(option, text, length), text);
            /* GPUs' and links' names differ by single letters: messages list them all. */
            bool is_code = option->names == GW_NAMES_GPUS || option->names == GW_NAMES_LINKS;
            bool may_be_misspelt =
                strpbrk(name, "/.") == NULL && is_named(message, name) && !is_code;
            const char *const *names = may_be_misspelt ? gw_option_names(option) : NULL;
            const char *nearest = names == NULL ? NULL : gw_find_nearest(name, names);
            if (nearest != NULL) {
                return nearest;
            }
            text = text[length] == ',' ? text + length + 1 : NULL;
        }
    }
    return NULL;
}

int gw_cli_fail(const struct gw_error *error) {
    const char *meant = error->status == GW_BAD_INPUT ? find_meant(error->message) : NULL;
    gw_print_to(stderr, "gradweave: %s\n", error->message);
    if (meant != NULL) {
        gw_print_to(stderr, "Did you mean \"%s\"?\n", meant);
    }
    return (int)error->status;
}

/* ---- values -------------------------------------------------------------------------------- */

/* Copy of this rank's stderr while it is muted; -1: not muted. */
static int muted_stderr = -1;

/*
 * Mutes stderr on ranks other than 0 until unmute_rank: all ranks parse the same command line, and
 * one complaint about it is enough.
 */
static void mute_rank(void) {
    if (gw_mpi_job_rank() == 0) {
        return;
    }
    muted_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) {
        (void)dup2(nowhere, STDERR_FILENO);
        (void)close(nowhere);
    }
}

static void unmute_rank(void) {
    if (muted_stderr >= 0) {
        (void)dup2(muted_stderr, STDERR_FILENO);
        (void)close(muted_stderr);
        muted_stderr = -1;
    }
}

/* Fails on this rank alone, unmuted: the others may still have memory. */
static void fail_for_memory(void) {
    unmute_rank();
    (void)fprintf(stderr, "gradweave: out of memory while reading options\n");
    exit(gw_mpi_exit_status(GW_FAILED));
}

void gw_refuse(struct argp_state *state, const char *format, ...) {
    struct gw_text text;
    FILE *stream = gw_text_open(&text);
    va_list arguments;
    va_start(arguments, format);
    if (stream != NULL) {
        gw_vprint_to(stream, format, arguments);
        const char *meant = fflush(stream) == 0 ? find_meant(text.text) : NULL;
        if (meant != NULL) {
            gw_print_to(stream, "\nDid you mean \"%s\"?", meant);
        }
    }
    va_end(arguments);
    if (gw_text_close(&text, "", NULL) != GW_OK || gw_print_failure() != NULL) {
        fail_for_memory();
    }
    argp_error(state, "%s", text.text);
    free(text.text);
}

static double parse_positive(const char *text, const char *option, double maximum,
                             struct argp_state *state) {
    double value = 0;
    bool number = gw_parse_number(text, &value) && value > 0;
    if (maximum > 0 && (!number || value > maximum)) {
        gw_refuse(state, "--%s: expected a number above 0 and at most %g, got \"%s\"", option,
                  maximum, text);
    } else if (!number) {
        gw_refuse(state, "--%s: expected a number above 0, got \"%s\"", option, text);
    }
    return value;
}

double gw_parse_factor(const char *text, const char *option, struct argp_state *state) {
    char number[64];
    double value = 0;
    size_t length = strcspn(text, "xX");
    bool ends = strlen(text) <= length + 1 && length < sizeof number;
    (void)snprintf(number, sizeof number, "%.*s", ends ? (int)length : 0, text);
    if (!gw_parse_number(number, &value) || value < GW_MIN_FACTOR || value > GW_MAX_FACTOR) {
        gw_refuse(state, "--%s: expected a factor from %g to %g, got \"%s\"", option, GW_MIN_FACTOR,
                  GW_MAX_FACTOR, text);
    }
    return value;
}

static void check_range(const struct gw_option *option, double value, const char *text,
                        struct argp_state *state) {
    char range[GW_RANGE_SIZE];
    if (value < option->minimum || (option->maximum > 0 && value > option->maximum)) {
        gw_refuse(state, "--%s: expected %s, got \"%s\"", option->name,
                  gw_option_range(option, range), text);
    }
}

static double parse_not_negative(const struct gw_option *option, const char *text,
                                 struct argp_state *state) {
    double value = 0;
    if (!gw_parse_number(text, &value) || value < 0) {
        gw_refuse(state, "--%s: expected a number >= 0, got \"%s\"", option->name, text);
    }
    check_range(option, value, text, state);
    return value;
}

/* Formats a hint on verbs that take several values, if the text is a list or a range. */
static const char *say_who_takes_several(const struct gw_option *option, const char *text,
                                         char out[128]) {
    bool several = option->several != NULL && text[strcspn(text, ":,")] != '\0';
    (void)snprintf(out, 128, "%s%s%s", several ? " (" : "", several ? option->several : "",
                   several ? " take several values)" : "");
    return out;
}

static size_t parse_size_option(const struct gw_option *option, const char *text,
                                struct argp_state *state) {
    double bytes = 0;
    if (!gw_parse_size(text, &bytes)) {
        gw_refuse(state,
                  "--%s: expected a positive integer of bytes, such as 4096 or 25MiB, got "
                  "\"%s\"",
                  option->name, text);
    }
    check_range(option, bytes, text, state);
    return (size_t)bytes;
}

static uint64_t parse_count_option(const struct gw_option *option, const char *text,
                                   struct argp_state *state) {
    uint64_t value = 0;
    char several[128];
    if (option->kind == GW_INTEGER && strcmp(text, "0") == 0) {
        return 0;
    }
    if (!gw_parse_count(text, &value)) {
        gw_refuse(state, "--%s: expected a positive integer, got \"%s\"%s", option->name, text,
                  say_who_takes_several(option, text, several));
    }
    check_range(option, (double)value, text, state);
    return value;
}

static int find_choice(const struct gw_option *option, const char *text, struct argp_state *state) {
    char all[256];
    for (int i = 0; option->choices[i] != NULL; i++) {
        if (strcmp(option->choices[i], text) == 0) {
            return i;
        }
    }
    if (option->name == NULL) {
        gw_refuse(state, "%s \"%s\"", option->expected, text);
    } else {
        gw_refuse(state, "--%s: expected %s, got \"%s\"", option->name,
                  join_choices(option->choices, ", ", " or ", all, sizeof all), text);
    }
    return 0;
}

/* Finds the known name that differs from the item in case or hyphens only; NULL: none. */
static const char *find_agreeing(const struct gw_option *option, const char *item, size_t length) {
    const char *const *names = gw_option_names(option);
    char name[64];
    if (names == NULL || length >= sizeof name) {
        return NULL;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)length, item);
    const char *found = NULL;
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return NULL;
        }
        found = found == NULL && gw_names_agree(names[i], name) ? names[i] : found;
    }
    return found == NULL || gw_file_exists(name) ? NULL : found;
}

/* Returns the value with known names in their own spelling: "V100" becomes "v100". */
static char *spell(const struct gw_option *option, char *argument) {
    struct gw_text text;
    FILE *stream = gw_text_open(&text);
    bool is_changed = false;
    for (const char *item = argument; stream != NULL && item != NULL;) {
        size_t length = strcspn(item, option->is_list ? "," : "");
        size_t name = name_length(option, item, length);
        const char *found = name == 0 ? NULL : find_agreeing(option, item, name);
        (void)fprintf(stream, "%.*s%.*s%s", found == NULL ? (int)name : (int)strlen(found),
                      found == NULL ? item : found, (int)(length - name), item + name,
                      item[length] == ',' ? "," : "");
        is_changed = is_changed || found != NULL;
        item = item[length] == ',' ? item + length + 1 : NULL;
    }
    if (gw_text_close(&text, "reading options", NULL) != GW_OK) {
        fail_for_memory();
    }
    char *kept = is_changed ? gw_arena_text(&command.spelt, text.text) : argument;
    free(text.text);
    if (kept == NULL) {
        fail_for_memory();
    }
    return kept;
}

static void store(const struct gw_option_row *row, char *argument, struct argp_state *state) {
    const struct gw_option *option = row->option;
    void *target = (char *)command.options + row->offset;
    switch (option->kind) {
    case GW_FLAG:
        *(bool *)target = true;
        break;
    case GW_TEXT:
        if (argument[0] == '\0') {
            gw_refuse(state, "%s%s: expected a value, got \"\"", option->name == NULL ? "" : "--",
                      option->name == NULL ? option->metavar : option->name);
        }
        *(const char **)target = argument;
        break;
    case GW_COUNT:
        *(size_t *)target = (size_t)parse_count_option(option, argument, state);
        break;
    case GW_SIZE:
        *(size_t *)target = parse_size_option(option, argument, state);
        break;
    case GW_INTEGER:
        *(uint64_t *)target = parse_count_option(option, argument, state);
        break;
    case GW_POSITIVE:
        *(double *)target = parse_positive(argument, option->name, option->maximum, state);
        break;
    case GW_NOT_NEGATIVE:
        *(double *)target = parse_not_negative(option, argument, state);
        break;
    case GW_CHOICE:
        *(int *)target = find_choice(option, argument, state);
        break;
    default:
        option->read(argument, target, state);
        break;
    }
}

/* ---- rules --------------------------------------------------------------------------------- */

/* Whether a rule's term holds: its first `length` letters, such as "counts=trained" or "(job)". */
static bool holds(const char *term, size_t length) {
    if (strncmp(term, "(job)", length) == 0) {
        return gw_mpi_is_inside_job();
    }
    const char *equals = memchr(term, '=', length);
    size_t name_length = equals == NULL ? length : (size_t)(equals - term);
    const char *given = given_value(term, name_length);
    if (given == NULL || equals == NULL) {
        return given != NULL;
    }
    size_t value_length = length - name_length - 1;
    return strncmp(given, equals + 1, value_length) == 0 &&
           (given[value_length] == '\0' || given[value_length] == ':');
}

static bool some_hold(const char *terms) {
    for (const char *at = terms; *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (holds(at, length)) {
            return true;
        }
        at += length;
    }
    return false;
}

/* Whether any option other than `option` and those in `allowed` is given. */
static bool others_hold(const char *option, const char *allowed) {
    for (size_t i = 0; i < command.count; i++) {
        const struct gw_option *one = command.rows[i].option;
        const char *name = one->name != NULL ? one->name : one->metavar;
        const char *found = strstr(allowed, name);
        while (found != NULL &&
               (strcspn(found, " ") != strlen(name) || (found != allowed && found[-1] != ' '))) {
            found = strstr(found + 1, name);
        }
        if (command.given[i] != NULL && found == NULL &&
            (option == NULL || strcmp(name, option) != 0)) {
            return true;
        }
    }
    return false;
}

static void check_rules(const struct gw_option_rule *rules, struct argp_state *state) {
    for (const struct gw_option_rule *rule = rules; rule != NULL && rule->kind != 0; rule++) {
        if (rule->option != NULL && !some_hold(rule->option)) {
            continue;
        }
        bool is_kept = rule->kind == GW_NEEDS      ? some_hold(rule->others)
                       : rule->kind == GW_EXCLUDES ? !some_hold(rule->others)
                                                   : !others_hold(rule->option, rule->others);
        if (!is_kept) {
            gw_refuse(state, "%s", rule->message);
        }
    }
}

/* ---- parsing ------------------------------------------------------------------------------- */

/* First key for argp of options without a letter; argp's own keys (--help, ..) are below. */
enum { FIRST_KEY = 0x1000 };

static int option_key(size_t number) {
    char letter = command.rows[number].option->letter;
    return letter != 0 ? letter : FIRST_KEY + (int)number;
}

static void take_operand(char *argument, struct argp_state *state) {
    unsigned number = state->arg_num;
    for (size_t i = 0; i < command.count; i++) {
        const struct gw_option *option = command.rows[i].option;
        if (option->name == NULL && (option->kind == GW_CUSTOM || number-- == 0)) {
            char *value = spell(option, argument);
            command.given[i] = value;
            store(&command.rows[i], value, state);
            return;
        }
    }
    gw_refuse(state, "%s \"%s\"", command.verb->surplus, argument);
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct gw_error error = {0};
    const char *meant = NULL;
    switch (key) {
    case ARGP_KEY_INIT:
        state->name = state->argv[0]; /* which argp has not set yet */
        if (gw_check_spelling(command.rows, command.count, state, &meant, &error) != GW_OK) {
            gw_refuse(state, meant == NULL ? "%s" : "%s\nDid you mean --%s?", error.message, meant);
        }
        return 0;
    case ARGP_KEY_ARG:
        take_operand(argument, state);
        return 0;
    case ARGP_KEY_END:
        check_rules(command.verb->rules, state);
        if (command.verb->check != NULL) {
            command.verb->check(command.options, state);
        }
        return 0;
    default:
        break;
    }
    for (size_t i = 0; i < command.count; i++) {
        if (command.rows[i].option->name != NULL && key == option_key(i)) {
            static char nothing[] = "";
            char *text = argument == NULL ? nothing : spell(command.rows[i].option, argument);
            command.given[i] = text;
            store(&command.rows[i], text, state);
            return 0;
        }
    }
    return ARGP_ERR_UNKNOWN;
}

const char *gw_option_all_names(const struct gw_option *option, char out[GW_NAMES_SIZE]) {
    out[0] = '\0';
    if (option->names == GW_NAMES_CALIBRATED) {
        (void)join_choices(gw_option_names(option), ", ", " or ", out, GW_NAMES_SIZE);
    }
    return out;
}

/* Formats the help: "Share of elements (above 0 and at most 1; default: 0.001)". */
static char *describe(const struct gw_option *option) {
    char range[GW_RANGE_SIZE];
    char names[GW_NAMES_SIZE];
    char *text = NULL;
    const char *usual = option->value != NULL ? option->value : option->otherwise;
    bool is_limited = gw_option_range(option, range)[0] != '\0';
    const char *colon = gw_option_all_names(option, names)[0] == '\0' ? "" : ": ";
    int length = usual == NULL ? asprintf(&text, "%s%s%s%s%s%s", option->help, colon, names,
                                          is_limited ? " (" : "", range, is_limited ? ")" : "")
                               : asprintf(&text, "%s%s%s (%s%sdefault: %s)", option->help, colon,
                                          names, range, is_limited ? "; " : "", usual);
    if (length < 0) {
        fail_for_memory();
    }
    return text;
}

/* Handles argp's assertion that --help has memory, whose message a muted stderr would lose. */
static void end_for_memory(int number) {
    static const char message[] = "gradweave: out of memory while reading options\n";
    (void)number;
    if (muted_stderr >= 0) {
        (void)!write(muted_stderr, message, sizeof message - 1);
    }
    /* NOLINTNEXTLINE(bugprone-signal-handler): the program raises it itself, within argp */
    _exit(gw_mpi_exit_status(GW_FAILED));
}

static void parse_with_argp(const struct argp *argp, int argc, char **argv) {
    char name[64];
    char *verb_argument = argv[0];
    (void)snprintf(name, sizeof name, "gradweave %s", command.verb->name);
    argv[0] = name;
    argp_err_exit_status = GW_BAD_INPUT;
    mute_rank();
    void (*before)(int) = signal(SIGABRT, end_for_memory);
    error_t failure = argp_parse(argp, argc, argv, 0, NULL, NULL);
    (void)signal(SIGABRT, before);
    if (failure != 0) { /* of argp's own: ours end the program */
        fail_for_memory();
    }
    unmute_rank();
    argv[0] = verb_argument;
}

void gw_parse_options(const struct gw_verb *verb, int argc, char **argv, void *options) {
    struct argp_option rows[GW_MAX_OPTIONS + 1] = {{0}};
    char metavars[GW_MAX_OPTIONS][GW_METAVAR_SIZE];
    size_t count = 0;
    command = (struct command){.verb = verb, .options = options};
    command.count = gw_list_options(verb->options, command.rows);
    for (size_t i = 0; i < command.count; i++) {
        const struct gw_option *option = command.rows[i].option;
        if (option->value != NULL) {
            store(&command.rows[i], (char *)option->value, NULL);
        }
        if (option->name != NULL) {
            rows[count++] = (struct argp_option){.name = option->name,
                                                 .key = option_key(i),
                                                 .arg = gw_option_metavar(option, metavars[i]),
                                                 .doc = describe(option)};
        }
    }
    const struct argp argp = {
        .options = rows, .parser = parse, .args_doc = verb->usage, .doc = verb->about};
    parse_with_argp(&argp, argc, argv);
    for (size_t i = 0; i < count; i++) {
        free((char *)rows[i].doc);
    }
}
