/* Prints --help, --usage, parts of man pages and completions from the verbs' tables of options. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "device/device.h"
#include "transport/transport.h"

enum { WIDTH = 79, METAVAR_SIZE = 128, NAMES_SIZE = 1024 };

/* Formats "curves|messages" for a choice; NULL for an option without a value. */
static const char *format_metavar(const struct gw_option *option, char out[METAVAR_SIZE]) {
    return option->metavar == NULL && option->choices != NULL
               ? gw_join_texts(option->choices, "|", "|", out, METAVAR_SIZE)
               : option->metavar;
}

/* Formats ": allgather, allreduce or topk" where --help is to list a value's names; or "". */
static const char *format_names(const struct gw_option *option, char out[NAMES_SIZE]) {
    out[0] = '\0';
    if (option->names == GW_NAMES_CALIBRATED) {
        (void)snprintf(out, NAMES_SIZE, ": ");
        (void)gw_join_texts(gw_option_names(option), ", ", " or ", out + 2, NAMES_SIZE - 2);
    }
    return out;
}

static const char *default_of(const struct gw_option *option) {
    return option->value != NULL ? option->value : option->otherwise;
}

/* ---- --help and --usage --------------------------------------------------------------------- */

/* Prints the line "  -p, --policy=POLICY  Merge policy (default: all)", wrapped. */
static void print_option_help(const struct gw_option *option) {
    enum { COLUMN = 29 }; /* of the description */
    char metavar[METAVAR_SIZE];
    char range[GW_RANGE_SIZE];
    char names[NAMES_SIZE];
    char first[METAVAR_SIZE + 64];
    char text[2 * NAMES_SIZE];
    const char *value = format_metavar(option, metavar);
    const char *usual = default_of(option);
    bool is_limited = gw_option_range(option, range)[0] != '\0';
    const char letter[] = {'-', option->letter, ',', '\0'};
    int used = snprintf(first, sizeof first, "  %s --%s%s%s", option->letter == 0 ? "   " : letter,
                        option->name, value == NULL ? "" : "=", value == NULL ? "" : value);
    if (used + 2 > COLUMN) {
        printf("%s\n", first);
        used = 0;
    }
    (void)snprintf(first + used, sizeof first - (size_t)used, "%*s", COLUMN - used, "");
    (void)snprintf(text, sizeof text, "%s%s%s%s%s%s%s%s", option->help, format_names(option, names),
                   is_limited || usual != NULL ? " (" : "", range,
                   is_limited && usual != NULL ? "; " : "", usual != NULL ? "default: " : "",
                   usual != NULL ? usual : "", is_limited || usual != NULL ? ")" : "");
    gw_print_wrapped(first, text, WIDTH);
}

/* Prints a line for each line of the verb's usage. */
static void print_usage_lines(const struct gw_verb *verb) {
    const char *first = "Usage:";
    for (const char *line = verb->usage; *line != '\0'; first = "  or: ") {
        int length = (int)strcspn(line, "\n");
        printf("%s gradweave %s [OPTION...] %.*s\n", first, verb->name, length, line);
        line += length + (line[length] != '\0');
    }
}

static void print_help(const struct gw_verb *verb) {
    struct gw_option_row rows[GW_MAX_OPTIONS];
    size_t count = gw_list_options(verb->options, rows);
    char about[2 * NAMES_SIZE];
    size_t length = strcspn(verb->about, "\v");
    (void)snprintf(about, sizeof about, "%.*s", (int)length, verb->about);
    print_usage_lines(verb);
    gw_print_wrapped("", about, WIDTH);
    printf("\n");
    for (size_t i = 0; i < count; i++) {
        if (rows[i].option->name != NULL) {
            print_option_help(rows[i].option);
        }
    }
    if (verb->about[length] != '\0') {
        printf("\n");
        gw_print_wrapped("", verb->about + length + 1, WIDTH);
    }
}

static void print_usage(const struct gw_verb *verb) {
    struct gw_option_row rows[GW_MAX_OPTIONS];
    size_t count = gw_list_options(verb->options, rows);
    char metavar[METAVAR_SIZE];
    char text[4 * NAMES_SIZE] = "";
    print_usage_lines(verb);
    for (size_t i = 0; i < count; i++) {
        const struct gw_option *option = rows[i].option;
        const char *value = format_metavar(option, metavar);
        size_t used = strlen(text);
        if (option->name != NULL) {
            (void)snprintf(text + used, sizeof text - used, " [--%s%s%s]", option->name,
                           value == NULL ? "" : "=", value == NULL ? "" : value);
        }
    }
    gw_print_wrapped("Options: ", text, WIDTH);
}

void gw_print_version(const struct gw_verb *verb) {
    (void)verb;
    const char *mpi = gw_mpi_version();
    const char *cuda = gw_cuda_version();
    const char *nccl = gw_nccl_version();
    printf("gradweave %s\n", GW_VERSION);
    printf("MPI:  %s\n", mpi == NULL ? "not in this build" : mpi);
    printf("CUDA: %s\n", cuda == NULL ? "not in this build" : cuda);
    printf("NCCL: %s\n", nccl == NULL ? "not in this build" : nccl);
}

const struct gw_option gw_help_table[] = {
    {"help", '?', .kind = GW_EXIT, .help = "Print this list of options", .print = print_help},
    {"usage", 0, .kind = GW_EXIT, .help = "Print a short list of options", .print = print_usage},
    {"version", 'V', .kind = GW_EXIT, .help = "Print the program's version",
     .print = gw_print_version},
    {0},
};

/* ---- man pages ------------------------------------------------------------------------------ */

/* Prints "out name" as "--out or --name", and "device=cuda" as "--device cuda". */
static void print_terms(const char *terms, const char *last) {
    bool is_first = true;
    for (const char *at = terms; *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        bool is_last = at[length] == '\0';
        printf("%s\\-\\-", is_first ? "" : is_last ? last : ", ");
        for (size_t i = 0; i < length; i++) {
            putchar(at[i] == '=' ? ' ' : at[i]);
        }
        is_first = false;
        at += length;
    }
    printf(".\n");
}

/* Prints the text with a backslash before each hyphen and backslash. */
static void print_mdoc(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        printf("%s%c", strchr("-\\", text[i]) != NULL ? "\\" : "", text[i]);
    }
}

static void print_manual_option(const struct gw_verb *verb, const struct gw_option *option) {
    char metavar[METAVAR_SIZE];
    char range[GW_RANGE_SIZE];
    char names[NAMES_SIZE];
    const char *value = format_metavar(option, metavar);
    printf(".It");
    if (option->letter != 0) {
        printf(" Fl %c ,", option->letter);
    }
    printf(value != NULL ? " Fl -%s Ar %s\n" : " Fl -%s\n", option->name, value);
    print_mdoc(option->help, strlen(option->help));
    printf("%s%s%s.\n", format_names(option, names),
           gw_option_range(option, range)[0] == '\0' ? "" : ": ", range);
    if (default_of(option) != NULL) {
        printf("Default: %s.\n", default_of(option));
    }
    for (const struct gw_option_rule *rule = verb->rules; rule != NULL && rule->kind != 0; rule++) {
        if (rule->option == NULL && strcmp(rule->others, option->name) == 0) {
            printf("Required.\n");
        }
        if (rule->option != NULL && strcmp(rule->option, option->name) == 0) {
            printf(rule->kind == GW_NEEDS      ? "Only with "
                   : rule->kind == GW_EXCLUDES ? "Not with "
                                               : "With nothing but ");
            print_terms(rule->others, rule->kind == GW_ALLOWS ? " and " : " or ");
        }
    }
    printf(".\\\" --%s\n", option->name);
}

void gw_print_manual(const struct gw_verb *verb) {
    struct gw_option_row rows[GW_MAX_OPTIONS];
    size_t count = gw_list_options(verb->options, rows);
    printf(".Dd November 22, 2026\n.Dt GRADWEAVE-");
    for (const char *at = verb->name; *at != '\0'; at++) {
        putchar(toupper((unsigned char)*at));
    }
    printf(" 1\n.Os\n.Sh NAME\n.Nm gradweave-%s\n.Nd %s\n.Sh SYNOPSIS\n", verb->name, verb->title);
    for (const char *line = verb->usage; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        printf(".Nm gradweave Cm %s\n", verb->name);
        print_mdoc(line, length);
        printf("\n.Op Ar option ...\n");
        line += length + (line[length] != '\0');
    }
    printf(".\\\" DESCRIPTION\n.Sh OPTIONS\n.Bl -tag -width Ds\n");
    for (size_t i = 0; i < count; i++) {
        if (rows[i].option->name != NULL && rows[i].option->kind != GW_EXIT) {
            print_manual_option(verb, rows[i].option);
        }
    }
    printf(".It Fl \\&? , Fl -help\n.It Fl -usage\n.It Fl V , Fl -version\n"
           "As with every verb, see\n.Xr gradweave 1 .\n.El\n");
}

/* ---- completions ---------------------------------------------------------------------------- */

/* Prints a completion if it continues `word`, whose first `before` characters it follows. */
static void print_completion(const char *word, size_t before, const char *dashes, const char *name,
                             const char *help) {
    char whole[256];
    (void)snprintf(whole, sizeof whole, "%.*s%s%s", (int)before, word, dashes, name);
    if (strncmp(whole, word, strlen(word)) == 0) {
        printf("%s%s%s\n", whole, help[0] == '\0' ? "" : "\t", help);
    }
}

/* Completes the value behind the last "=" of the word, and in a list behind its last comma. */
static void print_values(const struct gw_option *option, const char *word, size_t before) {
    const char *const *names = gw_option_names(option);
    const char *comma = option->is_list ? strrchr(word, ',') : NULL;
    before = comma == NULL ? before : (size_t)(comma - word) + 1;
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        print_completion(word, before, "", names[i], "");
    }
}

/* Whether the word is the option's, such as "--algo", "--algo=topk" or "-a". */
static bool is_option(const struct gw_option *option, const char *word) {
    size_t length = strcspn(word, "=");
    return word[0] == '-' && option->name != NULL && gw_option_takes_value(option) &&
           (word[1] == '-' ? strncmp(option->name, word + 2, length - 2) == 0 &&
                                 option->name[length - 2] == '\0'
                           : word[1] != '\0' && word[1] == option->letter && word[2] == '\0');
}

void gw_print_completions(const struct gw_verb *const *verbs, char **words) {
    struct gw_option_row rows[GW_MAX_OPTIONS];
    size_t last = 0;
    while (words[last] != NULL && words[last + 1] != NULL) {
        last++;
    }
    const char *word = words[last] == NULL || strcmp(words[last], "=") == 0 ? "" : words[last];
    /* Shells that split words at "=" give it as a word of its own, before the value if there is
     * one. */
    size_t earlier = last > 0 && strcmp(words[last - 1], "=") == 0 ? last - 1 : last;
    const char *option_word = earlier > 1 ? words[earlier - 1] : "";
    const struct gw_verb *verb = NULL;
    if (last == 0) {
        print_completion(word, 0, "--", "help", "");
        print_completion(word, 0, "--", "version", "");
    }
    for (size_t v = 0; verbs[v] != NULL; v++) {
        if (last == 0) {
            print_completion(word, 0, "", verbs[v]->name, verbs[v]->title);
        } else if (strcmp(verbs[v]->name, words[0]) == 0) {
            verb = verbs[v];
        }
    }
    if (verb == NULL) {
        return;
    }
    size_t count = gw_list_options(verb->options, rows);
    for (size_t i = 0; i < count; i++) {
        bool joined = strchr(word, '=') != NULL && is_option(rows[i].option, word);
        if (joined || is_option(rows[i].option, option_word)) {
            print_values(rows[i].option, word, joined ? strcspn(word, "=") + 1 : 0);
            return;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const struct gw_option *option = rows[i].option;
        if (option->name != NULL) {
            print_completion(word, 0, "--", option->name, option->help);
        } else {
            print_values(option, word, 0);
        }
    }
}
