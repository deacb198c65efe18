/*
 * What is made of the tables of options besides the parser and --help: scripts by which shells
 * complete command lines, and the parts of man pages that a table has.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* ---- the verb ------------------------------------------------------------------------------ */

enum shell { BASH, ZSH, FISH };

struct options {
    enum shell shell;
};

static const char *const shells[] = {[BASH] = "bash", [ZSH] = "zsh", [FISH] = "fish", NULL};

static const struct gw_option option_table[] = {
    {NULL, 0, "SHELL", GW_CHOICE, offsetof(struct options, shell), .help = "The shell",
     .choices = shells, .expected = "expected bash, zsh or fish, got"},
    {0},
};

static const struct gw_option_rule rules[] = {
    {NULL, GW_NEEDS, "SHELL", "expected a SHELL: bash, zsh or fish"},
    {0},
};

/* ---- parts --------------------------------------------------------------------------------- */

static bool has_value(const struct gw_option *option) {
    char metavar[GW_METAVAR_SIZE];
    return gw_option_metavar(option, metavar) != NULL;
}

static bool takes_files(const struct gw_option *option) {
    return option->names == GW_NAMES_FILES || option->names == GW_NAMES_DATA ||
           option->names == GW_NAMES_COUNTS || option->names == GW_NAMES_MEASURED_COUNTS;
}

/* All that the option's value may name, each behind a space. */
static void print_names(const struct gw_option *option) {
    const char *const *names = gw_option_names(option);
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        printf(" %s", names[i]);
    }
}

/* The text, with a backslash (or what else is given) before each of some characters. */
static void print_escaped(const char *text, const char *characters, const char *before) {
    for (const char *at = text; *at != '\0'; at++) {
        printf("%s%c", strchr(characters, *at) != NULL ? before : "", *at);
    }
}

/* ---- bash ---------------------------------------------------------------------------------- */

/* Where a value is expected, its names; without any, bash completes names of files. */
static void print_bash_values(const struct gw_verb *verb, const struct gw_option *option) {
    printf("    \"%s --%s\"", verb->name, option->name);
    if (option->letter != 0) {
        printf(" | \"%s -%c\"", verb->name, option->letter);
    }
    printf(") words=\"");
    print_names(option);
    printf("\" ;;\n");
}

static void print_bash(void) {
    struct gw_option_row rows[GW_MOST_OPTIONS];
    printf("_gradweave() {\n"
           "    local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
           "    local verb=\"${COMP_WORDS[1]}\" words=\"\" first=\"\"\n"
           "    [ \"$word\" = \"=\" ] && word=\"\"\n"
           "    [ \"$before\" = \"=\" ] && before=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
           "    [ \"$COMP_CWORD\" = 1 ] && verb=\"\"\n"
           "    case \"$verb $before\" in\n");
    for (size_t v = 0; gw_verbs[v] != NULL; v++) {
        size_t count = gw_list_options(gw_verbs[v]->options, rows);
        for (size_t i = 0; i < count; i++) {
            if (rows[i].option->name != NULL && has_value(rows[i].option)) {
                print_bash_values(gw_verbs[v], rows[i].option);
            }
        }
    }
    for (size_t v = 0; gw_verbs[v] != NULL; v++) {
        size_t count = gw_list_options(gw_verbs[v]->options, rows);
        printf("    \"%s \"*) words=\"--help --usage --version", gw_verbs[v]->name);
        for (size_t i = 0; i < count; i++) {
            if (rows[i].option->name != NULL) {
                printf(" --%s", rows[i].option->name);
            } else {
                print_names(rows[i].option);
            }
        }
        printf("\" ;;\n");
    }
    printf("    \" \"*) words=\"--help --version");
    for (size_t v = 0; gw_verbs[v] != NULL; v++) {
        printf(" %s", gw_verbs[v]->name);
    }
    printf("\" ;;\n"
           "    esac\n"
           "    case \"$word\" in *,*) first=\"${word%%,*},\" ;; esac\n"
           "    COMPREPLY=($(compgen -P \"$first\" -W \"$words\" -- \"${word##*,}\"))\n"
           "}\n"
           "complete -o default -F _gradweave gradweave\n");
}

/* ---- zsh ----------------------------------------------------------------------------------- */

/* ":POLICY:(ddp omgs)", within single quotes. */
static void print_zsh_values(const struct gw_option *option) {
    char metavar[GW_METAVAR_SIZE];
    const char *const *names = gw_option_names(option);
    printf(":");
    print_escaped(gw_option_metavar(option, metavar), ":", "\\");
    if (takes_files(option)) {
        printf(":_files");
    } else if (names != NULL && option->is_list) {
        printf(":_sequence compadd -");
        print_names(option);
    } else if (names != NULL) {
        printf(":(");
        print_names(option);
        printf(" )");
    } else {
        printf(": ");
    }
}

/* The help and the values, up to the quote at the end. */
static void print_zsh_rest(const struct gw_option *option) {
    printf("[");
    for (const char *at = option->help; *at != '\0'; at++) {
        printf("%s%c", *at == '\'' ? "'\\'" : strchr("[]\\", *at) != NULL ? "\\" : "", *at);
    }
    printf("]");
    if (has_value(option)) {
        print_zsh_values(option);
    }
    printf("'");
}

static void print_zsh_option(const struct gw_option *option) {
    if (option->name == NULL) {
        printf(" \\\n            '");
        print_zsh_values(option);
        printf("'");
        return;
    }
    const char *repeats = option->kind == GW_CUSTOM ? "*" : "";
    printf(" \\\n            '%s--%s%s", repeats, option->name, has_value(option) ? "=" : "");
    print_zsh_rest(option);
    if (option->letter != 0) {
        printf(" \\\n            '%s-%c%s", repeats, option->letter, has_value(option) ? "+" : "");
        print_zsh_rest(option);
    }
}

static void print_zsh(void) {
    struct gw_option_row rows[GW_MOST_OPTIONS];
    printf("#compdef gradweave\n"
           "_gradweave() {\n"
           "    local -a verbs\n"
           "    verbs=(");
    for (size_t v = 0; gw_verbs[v] != NULL; v++) {
        printf(" \\\n        \"%s:%s\"", gw_verbs[v]->name, gw_verbs[v]->title);
    }
    printf(")\n"
           "    if (( CURRENT == 2 )); then\n"
           "        _describe verb verbs\n"
           "        return\n"
           "    fi\n"
           "    shift words\n"
           "    (( CURRENT-- ))\n"
           "    case $words[1] in\n");
    for (size_t v = 0; gw_verbs[v] != NULL; v++) {
        size_t count = gw_list_options(gw_verbs[v]->options, rows);
        printf("    %s)\n        _arguments -s", gw_verbs[v]->name);
        for (size_t i = 0; i < count; i++) {
            print_zsh_option(rows[i].option);
        }
        printf("\n        ;;\n");
    }
    printf("    esac\n"
           "}\n"
           "compdef _gradweave gradweave\n");
}

/* ---- fish ---------------------------------------------------------------------------------- */

static void print_fish_option(const struct gw_verb *verb, const struct gw_option *option) {
    const char *const *names = gw_option_names(option);
    printf("complete -c gradweave -n '__fish_seen_subcommand_from %s'", verb->name);
    if (option->name != NULL) {
        printf(" -l %s", option->name);
    }
    if (option->letter != 0) {
        printf(" -s %c", option->letter);
    }
    if (takes_files(option)) {
        printf(" -F");
    }
    if (option->name != NULL && has_value(option)) {
        printf(takes_files(option) ? " -r" : " -x");
    }
    if (names != NULL) {
        printf(option->is_list ? " -a '(__fish_append ," : " -a '");
        print_names(option);
        printf(option->is_list ? ")'" : "'");
    }
    printf(" -d '");
    print_escaped(option->help, "'\\", "\\");
    printf("'\n");
}

static void print_fish(void) {
    struct gw_option_row rows[GW_MOST_OPTIONS];
    printf("complete -c gradweave -f\n");
    for (size_t v = 0; gw_verbs[v] != NULL; v++) {
        printf("complete -c gradweave -n __fish_use_subcommand -a %s -d '", gw_verbs[v]->name);
        print_escaped(gw_verbs[v]->title, "'\\", "\\");
        printf("'\n");
    }
    for (size_t v = 0; gw_verbs[v] != NULL; v++) {
        size_t count = gw_list_options(gw_verbs[v]->options, rows);
        for (size_t i = 0; i < count; i++) {
            print_fish_option(gw_verbs[v], rows[i].option);
        }
    }
}

static int run(int argc, char **argv) {
    struct options options = {0};
    gw_parse_options(&gw_verb_completion, argc, argv, &options);
    void (*const print[])(void) = {[BASH] = print_bash, [ZSH] = print_zsh, [FISH] = print_fish};
    print[options.shell]();
    return GW_OK;
}

const struct gw_verb gw_verb_completion = {
    .name = "completion",
    .title = "a script by which a shell completes command lines",
    .usage = "bash|zsh|fish",
    .about = "Prints a script that makes a shell complete verbs, options and names.\v"
             "bash: source <(gradweave completion bash). zsh: the same with zsh, after compinit. "
             "fish: gradweave completion fish | source.",
    .options = option_table,
    .rules = rules,
    .surplus = "expected one SHELL, got also",
    .run = run,
};

/* ---- man pages ----------------------------------------------------------------------------- */

/* "out name" as "--out or --name"; "device=cuda" as "--device cuda". */
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
    printf(has_value(option) ? " Ar %s\n" : "\n", gw_option_metavar(option, metavar));
    print_escaped(option->help, "-\\", "\\");
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
    struct gw_option_row rows[GW_MOST_OPTIONS];
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
