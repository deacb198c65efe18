/* Prints parts of man pages from the verbs' tables of options. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/options.h"

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

static void print_rules(const struct gw_verb *verb, const struct gw_option *option) {
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
}

static void print_option(const struct gw_verb *verb, const struct gw_option *option) {
    char metavar[GW_METAVAR_SIZE];
    char range[GW_RANGE_SIZE];
    char names[GW_NAMES_SIZE];
    printf(".It");
    if (option->letter != 0) {
        printf(" Fl %c ,", option->letter);
    }
    printf(" Fl -%s", option->name);
    const char *value = gw_option_metavar(option, metavar);
    printf(value != NULL ? " Ar %s\n" : "\n", value);
    for (const char *at = option->help; *at != '\0'; at++) {
        printf("%s%c", strchr("-\\", *at) != NULL ? "\\" : "", *at);
    }
    printf("%s%s", gw_option_all_names(option, names)[0] == '\0' ? "" : ": ", names);
    printf("%s%s.\n", gw_option_range(option, range)[0] == '\0' ? "" : ": ", range);
    if (option->value != NULL || option->otherwise != NULL) {
        printf("Default: %s.\n", option->value != NULL ? option->value : option->otherwise);
    }
    print_rules(verb, option);
    printf(".\\\" --%s\n", option->name);
}

static void print_synopsis(const struct gw_verb *verb) {
    printf(".Sh SYNOPSIS\n");
    for (const char *line = verb->usage; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        printf(".Nm gradweave Cm %s\n", verb->name);
        for (size_t i = 0; i < length; i++) {
            printf(line[i] == '-' ? "\\-" : "%c", line[i]);
        }
        printf("\n.Op Ar option ...\n");
        line += length + (line[length] != '\0');
    }
}

void gw_print_manual(const struct gw_verb *verb) {
    struct gw_option_row rows[GW_MAX_OPTIONS];
    size_t count = gw_list_options(verb->options, rows);
    printf(".Dd November 22, 2026\n.Dt GRADWEAVE-");
    for (const char *at = verb->name; *at != '\0'; at++) {
        putchar(toupper((unsigned char)*at));
    }
    printf(" 1\n.Os\n.Sh NAME\n.Nm gradweave-%s\n.Nd %s\n", verb->name, verb->title);
    print_synopsis(verb);
    printf(".\\\" DESCRIPTION\n.Sh OPTIONS\n.Bl -tag -width Ds\n");
    for (size_t i = 0; i < count; i++) {
        if (rows[i].option->name != NULL) {
            print_option(verb, rows[i].option);
        }
    }
    printf(".It Fl \\&? , Fl -help\n.It Fl -usage\n.It Fl V , Fl -version\n"
           "As with every verb, see\n.Xr gradweave 1 .\n.El\n");
}
