#include "cli/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "transport/transport.h"

/* The program's only command line, as parsed so far. */
static struct command {
    const struct gw_verb *verb;
    size_t count;
    struct gw_option_row rows[GW_MAX_OPTIONS];
    const char *given[GW_MAX_OPTIONS]; /* the last value of each, "" for flags; NULL: not given */
    struct gw_arena spelt; /* values that were written otherwise; until the program ends */
} command;

/* ---- tables --------------------------------------------------------------------------------- */

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

bool gw_option_takes_value(const struct gw_option *option) {
    return option->kind != GW_FLAG && option->kind != GW_SET && option->kind != GW_EXIT;
}

const char *gw_join_texts(const char *const *texts, const char *between, const char *last,
                          char *out, size_t size) {
    size_t used = 0;
    for (size_t i = 0; texts[i] != NULL && used < size; i++) {
        const char *separator = i == 0 ? "" : texts[i + 1] == NULL ? last : between;
        used += (size_t)snprintf(out + used, size - used, "%s%s", separator, texts[i]);
    }
    return out;
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

static const char *name_of(const struct gw_option *option) {
    return option->name != NULL ? option->name : option->metavar;
}

/* The place of the value of the option with that name; NULL: the verb has no such option. */
static const char **find_given(const char *name, size_t length) {
    for (size_t i = 0; i < command.count; i++) {
        const char *own = name_of(command.rows[i].option);
        if (strncmp(own, name, length) == 0 && own[length] == '\0') {
            return &command.given[i];
        }
    }
    return NULL;
}

bool gw_option_is_given(const char *name) {
    const char **given = find_given(name, strlen(name));
    return given != NULL && *given != NULL;
}

/* Whether the terms, with spaces between, have the name. */
static bool has_term(const char *terms, const char *name) {
    const char *found = strstr(terms, name);
    while (found != NULL &&
           (strcspn(found, " ") != strlen(name) || (found != terms && found[-1] != ' '))) {
        found = strstr(found + 1, name);
    }
    return found != NULL;
}

void gw_print_word(const char *word, FILE *stream) {
    bool is_plain =
        word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                          "-_./:=,+@%")] == '\0';
    (void)fputs(is_plain ? "" : "'", stream);
    for (const char *c = word; *c != '\0'; c++) {
        (void)(*c == '\'' ? fputs("'\\''", stream) : fputc(*c, stream));
    }
    (void)fputs(is_plain ? "" : "'", stream);
}

void gw_print_given(const char *but, FILE *stream) {
    for (size_t i = 0; i < command.count; i++) {
        const struct gw_option *option = command.rows[i].option;
        const char *value = command.given[i];
        if (value != NULL && !has_term(but, name_of(option))) {
            (void)fprintf(stream, "%s%s", option->name == NULL ? "" : " --",
                          option->name == NULL ? "" : option->name);
            if (value[0] != '\0') {
                (void)fputc(' ', stream);
                gw_print_word(value, stream);
            }
        }
    }
}

void gw_option_turn_to(const char *name, const char *value) {
    *find_given(name, strlen(name)) = value;
}

/* ---- failures ------------------------------------------------------------------------------- */

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

/*
 * Ends the program for wrong usage; `meant` (or NULL) is the nearest known name, with `before` in
 * front of it. All ranks parse the same command line, and only rank 0 complains about it.
 */
static _Noreturn void end_for_usage(const char *message, const char *before, const char *meant) {
    if (gw_mpi_job_rank() == 0) {
        const char *verb = command.verb->name;
        gw_print_to(stderr, "gradweave %s: %s\n", verb, message);
        if (meant != NULL) {
            gw_print_to(stderr, "Did you mean %s%s?\n", before, meant);
        }
        gw_print_to(stderr, "Try \"gradweave %s --help\".\n", verb);
    }
    exit(GW_BAD_INPUT);
}

void gw_refuse(const char *format, ...) {
    char message[1024];
    char quoted[72];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const char *meant = find_meant(message);
    (void)snprintf(quoted, sizeof quoted, "\"%s\"", meant == NULL ? "" : meant);
    end_for_usage(message, "", meant == NULL ? NULL : quoted);
}

/* ---- values --------------------------------------------------------------------------------- */

static _Noreturn void refuse_value(const struct gw_option *option, const char *expected,
                                   const char *text) {
    bool several = option->several != NULL && text[strcspn(text, ":,")] != '\0';
    gw_refuse("--%s: expected %s, got \"%s\"%s%s%s", option->name, expected, text,
              several ? " (" : "", several ? option->several : "",
              several ? " take several values)" : "");
}

double gw_parse_factor(const char *text, const char *option) {
    char number[64];
    double value = 0;
    size_t length = strcspn(text, "xX");
    bool ends = strlen(text) <= length + 1 && length < sizeof number;
    (void)snprintf(number, sizeof number, "%.*s", ends ? (int)length : 0, text);
    if (!gw_parse_number(number, &value) || value < GW_MIN_FACTOR || value > GW_MAX_FACTOR) {
        gw_refuse("--%s: expected a factor from %g to %g, got \"%s\"", option, GW_MIN_FACTOR,
                  GW_MAX_FACTOR, text);
    }
    return value;
}

static void check_range(const struct gw_option *option, double value, const char *text) {
    char range[GW_RANGE_SIZE];
    if (value < option->minimum || (option->maximum > 0 && value > option->maximum)) {
        refuse_value(option, gw_option_range(option, range), text);
    }
}

static double parse_real(const struct gw_option *option, const char *text) {
    double value = 0;
    char expected[GW_RANGE_SIZE] = "a number >= 0";
    bool is_good = gw_parse_number(text, &value) && value >= 0;
    if (option->kind == GW_POSITIVE) {
        is_good = is_good && value > 0 && (option->maximum == 0 || value <= option->maximum);
        (void)snprintf(expected, sizeof expected, "a number above 0");
        if (option->maximum > 0) {
            (void)snprintf(expected, sizeof expected, "a number above 0 and at most %g",
                           option->maximum);
        }
    }
    if (!is_good) {
        refuse_value(option, expected, text);
    }
    check_range(option, value, text);
    return value;
}

static uint64_t parse_count_option(const struct gw_option *option, const char *text) {
    uint64_t value = 0;
    if (option->kind == GW_INTEGER && strcmp(text, "0") == 0) {
        return 0;
    }
    if (!gw_parse_count(text, &value)) {
        refuse_value(option, "a positive integer", text);
    }
    check_range(option, (double)value, text);
    return value;
}

static int find_choice(const struct gw_option *option, const char *text) {
    char all[256];
    for (int i = 0; option->choices[i] != NULL; i++) {
        if (strcmp(option->choices[i], text) == 0) {
            return i;
        }
    }
    if (option->name == NULL) {
        gw_refuse("%s \"%s\"", option->expected, text);
    }
    refuse_value(option, gw_join_texts(option->choices, ", ", " or ", all, sizeof all), text);
}

/* Finds the known name that differs from the item in case or hyphens only; NULL: none. */
static const char *find_agreeing(const struct gw_option *option, const char *item, size_t length) {
    const char *const *names = gw_option_names(option);
    char name[64];
    if (names == NULL || length == 0 || length >= sizeof name) {
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
static const char *spell_value(const struct gw_option *option, const char *argument) {
    const char *spelt = "";
    for (const char *item = argument; item != NULL && spelt != NULL;) {
        size_t length = strcspn(item, option->is_list ? "," : "");
        size_t name = name_length(option, item, length);
        const char *found = find_agreeing(option, item, name);
        spelt = gw_arena_format(&command.spelt, "%s%.*s%.*s%s", spelt,
                                found == NULL ? (int)name : (int)strlen(found),
                                found == NULL ? item : found, (int)(length - name), item + name,
                                item[length] == ',' ? "," : "");
        item = item[length] == ',' ? item + length + 1 : NULL;
    }
    if (spelt == NULL) { /* on this rank alone: the others may still have memory */
        (void)fprintf(stderr, "gradweave: out of memory while reading options\n");
        exit(gw_mpi_exit_status(GW_FAILED));
    }
    return spelt;
}

static void store_value(const struct gw_option_row *row, const char *argument) {
    const struct gw_option *option = row->option;
    void *target =
        option->global != NULL ? option->global : (char *)command.verb->values + row->offset;
    double bytes = 0;
    switch (option->kind) {
    case GW_FLAG:
        *(bool *)target = true;
        break;
    case GW_SET:
        *(int *)target = option->set;
        break;
    case GW_TEXT:
        if (argument[0] == '\0') {
            gw_refuse("%s%s: expected a value, got \"\"", option->name == NULL ? "" : "--",
                      name_of(option));
        }
        *(const char **)target = argument;
        break;
    case GW_COUNT:
        *(size_t *)target = (size_t)parse_count_option(option, argument);
        break;
    case GW_SIZE:
        if (!gw_parse_size(argument, &bytes)) {
            refuse_value(option, "a positive integer of bytes, such as 4096 or 25MiB", argument);
        }
        check_range(option, bytes, argument);
        *(size_t *)target = (size_t)bytes;
        break;
    case GW_INTEGER:
        *(uint64_t *)target = parse_count_option(option, argument);
        break;
    case GW_POSITIVE:
    case GW_NOT_NEGATIVE:
        *(double *)target = parse_real(option, argument);
        break;
    case GW_SECONDS:
        if (!gw_parse_seconds(argument, target)) {
            refuse_value(option, "a time such as 45ms or 0.3s", argument);
        }
        break;
    case GW_CHOICE:
        *(int *)target = find_choice(option, argument);
        break;
    case GW_EXIT:
        option->print(command.verb);
        exit(GW_OK);
    default:
        option->read(argument, target);
        break;
    }
}

/* ---- rules ---------------------------------------------------------------------------------- */

/* Whether a rule's term holds: its first `length` letters, such as "counts=trained" or "(job)". */
static bool is_given_term(const char *term, size_t length) {
    if (strncmp(term, "(job)", length) == 0) {
        return gw_mpi_is_inside_job();
    }
    const char *equals = memchr(term, '=', length);
    size_t name_length = equals == NULL ? length : (size_t)(equals - term);
    const char **given = find_given(term, name_length);
    if (given == NULL || *given == NULL || equals == NULL) {
        return given != NULL && *given != NULL;
    }
    size_t value_length = length - name_length - 1;
    return strncmp(*given, equals + 1, value_length) == 0 &&
           ((*given)[value_length] == '\0' || (*given)[value_length] == ':');
}

static bool some_hold(const char *terms) {
    for (const char *at = terms; *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (is_given_term(at, length)) {
            return true;
        }
        at += length;
    }
    return false;
}

/* Whether any option other than `option` and those in `allowed` is given. */
static bool others_hold(const char *option, const char *allowed) {
    for (size_t i = 0; i < command.count; i++) {
        const char *name = name_of(command.rows[i].option);
        if (command.given[i] != NULL && !has_term(allowed, name) && strcmp(name, option) != 0) {
            return true;
        }
    }
    return false;
}

/* Refuses an output that would replace a file that another option reads. */
static void check_outputs(void) {
    for (size_t i = 0; i < command.count * command.count; i++) {
        const struct gw_option *out = command.rows[i / command.count].option;
        const struct gw_option *in = command.rows[i % command.count].option;
        const char *written = command.given[i / command.count];
        const char *read = command.given[i % command.count];
        if (out->writes && !in->writes && gw_option_takes_value(in) && written != NULL &&
            read != NULL && gw_file_exists(read) && gw_file_is_same(written, read)) {
            gw_refuse("--%s: expected another file than that of %s%s, %s, which --force replaces",
                      out->name, in->name == NULL ? "" : "--", name_of(in), read);
        }
    }
}

/* ---- parsing -------------------------------------------------------------------------------- */

static void take_value(size_t row, const char *argument) {
    command.given[row] = spell_value(command.rows[row].option, argument);
    store_value(&command.rows[row], command.given[row]);
}

static void take_operand(const char *argument, size_t number) {
    for (size_t i = 0; i < command.count; i++) {
        const struct gw_option *option = command.rows[i].option;
        if (option->name == NULL && (option->kind == GW_CUSTOM || number-- == 0)) {
            take_value(i, argument);
            return;
        }
    }
    gw_refuse("%s \"%s\"", command.verb->surplus, argument);
}

/* Finds the row of the option that has the name, or that alone begins with it. */
static size_t find_long(const char *name, size_t length) {
    const char *names[GW_MAX_OPTIONS + 1] = {NULL};
    char begun[1024] = ""; /* "--policy, --precision" */
    char text[64];
    size_t name_count = 0;
    size_t begun_count = 0;
    size_t found = 0;
    for (size_t i = 0; i < command.count; i++) {
        const char *own = command.rows[i].option->name;
        if (own == NULL) {
            continue;
        }
        names[name_count++] = own;
        if (strncmp(own, name, length) == 0) {
            if (own[length] == '\0') {
                return i;
            }
            size_t used = strlen(begun);
            (void)snprintf(begun + used, sizeof begun - used, "%s--%s", used > 0 ? ", " : "", own);
            begun_count++;
            found = i;
        }
    }
    if (begun_count > 1) {
        gw_refuse("option '--%.*s' is ambiguous: expected one of %s", (int)length, name, begun);
    }
    if (begun_count == 0) {
        char message[1024];
        (void)snprintf(text, sizeof text, "%.*s", (int)length, name);
        (void)snprintf(message, sizeof message, "unrecognized option '--%s'", name);
        end_for_usage(message, "--", gw_find_nearest(text, names));
    }
    return found;
}

/* Takes "--name", "--name=value" or "--name value"; returns the last argument of it. */
static char **take_long(char **arguments) {
    const char *name = *arguments + 2;
    size_t length = strcspn(name, "=");
    size_t row = find_long(name, length);
    const struct gw_option *option = command.rows[row].option;
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    if (!gw_option_takes_value(option)) {
        if (value != NULL) {
            gw_refuse("option '--%s' doesn't allow an argument", option->name);
        }
        value = "";
    } else if (value == NULL) {
        value = *++arguments;
    }
    if (value == NULL) {
        gw_refuse("option '--%s' requires an argument", option->name);
    }
    take_value(row, value);
    return arguments;
}

/* Takes letters such as "-qv", "-n3" or "-n 3"; returns the last argument of them. */
static char **take_letters(char **arguments) {
    for (const char *letter = *arguments + 1; *letter != '\0'; letter++) {
        size_t row = 0;
        while (row < command.count && command.rows[row].option->letter != *letter) {
            row++;
        }
        if (row == command.count) {
            gw_refuse("invalid option -- '%c'", *letter);
        }
        if (gw_option_takes_value(command.rows[row].option)) {
            const char *value = letter[1] != '\0' ? letter + 1 : *++arguments;
            if (value == NULL) {
                gw_refuse("option requires an argument -- '%c'", *letter);
            }
            take_value(row, value);
            return arguments;
        }
        take_value(row, "");
    }
    return arguments;
}

void gw_parse_options(const struct gw_verb *verb, char **argv) {
    bool are_operands = false; /* all that follow */
    size_t operand_count = 0;
    command = (struct command){.verb = verb};
    command.count = gw_list_options(verb->options, command.rows);
    for (size_t i = 0; i < command.count; i++) {
        if (command.rows[i].option->value != NULL) {
            store_value(&command.rows[i], command.rows[i].option->value);
        }
    }
    for (char **at = argv + 1; *at != NULL; at++) {
        if (are_operands || (*at)[0] != '-' || (*at)[1] == '\0') {
            take_operand(*at, operand_count++);
        } else if ((*at)[1] != '-') {
            at = take_letters(at);
        } else if ((*at)[2] != '\0') {
            at = take_long(at);
        } else {
            are_operands = true;
        }
    }
    for (const struct gw_option_rule *rule = verb->rules; rule != NULL && rule->kind != 0; rule++) {
        if (rule->option != NULL && !some_hold(rule->option)) {
            continue;
        }
        bool is_kept = rule->kind == GW_NEEDS      ? some_hold(rule->others)
                       : rule->kind == GW_EXCLUDES ? !some_hold(rule->others)
                                                   : !others_hold(rule->option, rule->others);
        if (!is_kept) {
            gw_refuse("%s", rule->message);
        }
    }
    if (!gw_outputs_forced) {
        check_outputs();
    }
    if (verb->check != NULL) {
        verb->check(verb->values);
    }
}
