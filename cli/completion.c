/* Prints shells' completion scripts from the verbs' tables of options. */
#include "cli/completion.h"

#include <stdio.h>
#include <string.h>

/* ---- parts --------------------------------------------------------------------------------- */

static bool takes_files(const struct gw_option *option) {
    return option->names == GW_NAMES_FILES || option->names == GW_NAMES_DATA ||
           option->names == GW_NAMES_COUNTS || option->names == GW_NAMES_MEASURED_COUNTS;
}

/* Prints the names that the option's value may have, each after a space. */
static void print_names(const struct gw_option *option) {
    const char *const *names = gw_option_names(option);
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        printf(" %s", names[i]);
    }
}

static bool has_value(const struct gw_option *option) {
    char metavar[GW_METAVAR_SIZE];
    return gw_option_metavar(option, metavar) != NULL;
}

/* Prints the text with `before` (a backslash, say) before each of the characters. */
static void print_escaped(const char *text, const char *characters, const char *before) {
    for (const char *at = text; *at != '\0'; at++) {
        printf("%s%c", strchr(characters, *at) != NULL ? before : "", *at);
    }
}

/* ---- bash ---------------------------------------------------------------------------------- */

/* Prints the case for an option's value: its names; without names bash completes files. */
static void print_bash_values(const struct gw_verb *verb, const struct gw_option *option) {
    printf("    \"%s --%s\"", verb->name, option->name);
    if (option->letter != 0) {
        printf(" | \"%s -%c\"", verb->name, option->letter);
    }
    printf(") words=\"");
    print_names(option);
    printf("\" ;;\n");
}

static void print_bash(const struct gw_verb *const *verbs) {
    struct gw_option_row rows[GW_MAX_OPTIONS];
    printf("_gradweave() {\n"
           "    local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
           "    local verb=\"${COMP_WORDS[1]}\" words=\"\" first=\"\"\n"
           "    [ \"$word\" = \"=\" ] && word=\"\"\n"
           "    [ \"$before\" = \"=\" ] && before=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
           "    [ \"$COMP_CWORD\" = 1 ] && verb=\"\"\n"
           "    case \"$verb $before\" in\n");
    for (size_t v = 0; verbs[v] != NULL; v++) {
        size_t count = gw_list_options(verbs[v]->options, rows);
        for (size_t i = 0; i < count; i++) {
            if (rows[i].option->name != NULL && has_value(rows[i].option)) {
                print_bash_values(verbs[v], rows[i].option);
            }
        }
    }
    for (size_t v = 0; verbs[v] != NULL; v++) {
        size_t count = gw_list_options(verbs[v]->options, rows);
        printf("    \"%s \"*) words=\"--help --usage --version", verbs[v]->name);
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
    for (size_t v = 0; verbs[v] != NULL; v++) {
        printf(" %s", verbs[v]->name);
    }
    printf("\" ;;\n"
           "    esac\n"
           "    case \"$word\" in *,*) first=\"${word%%,*},\" ;; esac\n"
           "    COMPREPLY=($(compgen -P \"$first\" -W \"$words\" -- \"${word##*,}\"))\n"
           "}\n"
           "complete -o default -F _gradweave gradweave\n");
}

/* ---- zsh ----------------------------------------------------------------------------------- */

/* Prints ":POLICY:(ddp omgs)"; the caller opens and closes the single quotes. */
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

/* Prints the help, the values and the closing quote. */
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

static void print_zsh(const struct gw_verb *const *verbs) {
    struct gw_option_row rows[GW_MAX_OPTIONS];
    printf("#compdef gradweave\n"
           "_gradweave() {\n"
           "    local -a verbs\n"
           "    verbs=(");
    for (size_t v = 0; verbs[v] != NULL; v++) {
        printf(" \\\n        \"%s:%s\"", verbs[v]->name, verbs[v]->title);
    }
    printf(")\n"
           "    if (( CURRENT == 2 )); then\n"
           "        _describe verb verbs\n"
           "        return\n"
           "    fi\n"
           "    shift words\n"
           "    (( CURRENT-- ))\n"
           "    case $words[1] in\n");
    for (size_t v = 0; verbs[v] != NULL; v++) {
        size_t count = gw_list_options(verbs[v]->options, rows);
        printf("    %s)\n        _arguments -s", verbs[v]->name);
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

static void print_fish(const struct gw_verb *const *verbs) {
    struct gw_option_row rows[GW_MAX_OPTIONS];
    printf("complete -c gradweave -f\n");
    for (size_t v = 0; verbs[v] != NULL; v++) {
        printf("complete -c gradweave -n __fish_use_subcommand -a %s -d '", verbs[v]->name);
        print_escaped(verbs[v]->title, "'\\", "\\");
        printf("'\n");
    }
    for (size_t v = 0; verbs[v] != NULL; v++) {
        size_t count = gw_list_options(verbs[v]->options, rows);
        for (size_t i = 0; i < count; i++) {
            print_fish_option(verbs[v], rows[i].option);
        }
    }
}

void gw_print_completion(enum gw_shell shell, const struct gw_verb *const *verbs) {
    void (*const print[])(const struct gw_verb *const *) = {
        [GW_BASH] = print_bash, [GW_ZSH] = print_zsh, [GW_FISH] = print_fish};
    print[shell](verbs);
}
