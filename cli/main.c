#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/answer.h"
#include "transport/transport.h"

/* ---- verbs --------------------------------------------------------------------------------- */

enum shell { BASH, ZSH, FISH };

static struct completion_options { enum shell shell; } completion_options;

static const char *const shells[] = {[BASH] = "bash", [ZSH] = "zsh", [FISH] = "fish", NULL};

/* Each asks the program for the completions of the words before the cursor, with descriptions
 * behind tabs; without completions the shell offers files. */
static const char *const scripts[] = {
    [BASH] = "_gradweave() {\n"
             "    local IFS=$'\\n'\n"
             "    COMPREPLY=($(gradweave completion -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" |\n"
             "        cut -f 1))\n"
             "}\n"
             "complete -o default -F _gradweave gradweave\n",
    [ZSH] = "#compdef gradweave\n"
            "_gradweave() {\n"
            "    local -a lines\n"
            "    lines=(${(f)\"$(gradweave completion -- \"${(@)words[2,CURRENT]}\")\"})\n"
            "    if (( $#lines )); then\n"
            "        local -a names=(${lines%%$'\\t'*}) shown=(${lines/$'\\t'/  })\n"
            "        compadd -l -d shown -- $names\n"
            "    else\n"
            "        _files\n"
            "    fi\n"
            "}\n"
            "compdef _gradweave gradweave\n",
    [FISH] = "function __gradweave_completions\n"
             "    set -l words (commandline -opc) (commandline -ct)\n"
             "    test -z (commandline -ct); and set words $words ''\n"
             "    gradweave completion -- $words[2..-1]\n"
             "end\n"
             "complete -c gradweave -f -a '(__gradweave_completions)'\n"
             "complete -c gradweave -n 'not count (__gradweave_completions) >/dev/null' -F\n",
};

static const struct gw_option completion_table[] = {
    {NULL, 0, "SHELL", GW_CHOICE, offsetof(struct completion_options, shell), .help = "The shell",
     .choices = shells, .expected = "expected bash, zsh or fish, got"},
    {.kind = GW_INCLUDE, .table = gw_help_table},
    {0},
};

static const struct gw_option_rule completion_rules[] = {
    {NULL, GW_NEEDS, "SHELL", "expected a SHELL: bash, zsh or fish"},
    {0},
};

static enum gw_status answer_completion(void *values, struct gw_error *error) {
    const struct completion_options *options = values;
    (void)error;
    (void)fputs(scripts[options->shell], stdout);
    return GW_OK;
}

static const struct gw_verb verb_completion = {
    .name = "completion",
    .title = "prints a script with which a shell completes command lines",
    .usage = "bash|zsh|fish",
    .about = "Prints a script that makes a shell complete verbs, options and names.\v"
             "bash: source <(gradweave completion bash). zsh: the same with zsh, after compinit. "
             "fish: gradweave completion fish | source.",
    .options = completion_table,
    .rules = completion_rules,
    .surplus = "expected one SHELL, got also",
    .values = &completion_options,
    .answer = answer_completion,
};

static const struct gw_verb *const verbs[] = {
    &gw_verb_calibrate, &gw_verb_plan,      &gw_verb_simulate,
    &gw_verb_compare,   &gw_verb_validate,  &gw_verb_list,
    &gw_verb_plot,      &gw_verb_bench,     &gw_verb_sweep,
    &gw_verb_export,    &gw_verb_check,     &gw_verb_advise,
    &gw_verb_report,    &gw_verb_reproduce, &gw_verb_cluster,
    &gw_verb_model,     &verb_completion,   NULL,
};

/* ---- help ---------------------------------------------------------------------------------- */

static void print_help(void) {
    printf(
        "Usage: gradweave VERB [ARGUMENTS] [--option VALUE]\n\n"
        "Calibrates a cluster, plans which gradients to merge, predicts how long an iteration of\n"
        "data-parallel training takes, and runs it for real to show how far off that is.\n\n");
    for (size_t i = 0; verbs[i] != NULL; i++) {
        printf("  %-10s %s\n", verbs[i]->name, verbs[i]->title);
    }
    printf("\ngradweave VERB --help explains a verb; man gradweave-VERB says more.\n");
}

/* ---- finishing ------------------------------------------------------------------------------- */

static int finish_output(int exit_status) {
    struct gw_error error = {0};
    bool answered = exit_status == GW_OK || exit_status == gw_mpi_exit_status(1);
    if (exit_status != GW_OK) {
        gw_mpi_job_ends();
    }
    return gw_answer_end(answered, &error) == GW_OK ? exit_status
                                                    : gw_mpi_exit_status(gw_cli_fail(&error));
}

/* Finishes when the parser of options exits, after --help for example. */
static void finish_early(int exit_status, void *unused) {
    (void)unused;
    if (!gw_answer_is_held()) {
        return;
    }
    int status = finish_output(exit_status);
    if (status != exit_status) {
        _exit(status);
    }
}

/* ---- starting -------------------------------------------------------------------------------- */

static int run_verb(const struct gw_verb *verb, int argc, char **argv) {
    struct gw_error error = {0};
    if (argc == 2 && strcmp(argv[1], "--help=mdoc") == 0) {
        gw_print_manual(verb);
        return GW_OK;
    }
    gw_parse_options(verb, argv);
    if (verb->run != NULL) {
        return verb->run(verb->values, argv);
    }
    return verb->answer(verb->values, &error) == GW_OK ? GW_OK : gw_cli_fail(&error);
}

/* Logs the warning on rank 0 alone, since all ranks read the same files. */
static void print_warning(const char *message, void *context) {
    (void)context;
    if (gw_mpi_job_rank() <= 0) {
        gw_log(GW_LOG_NORMAL, "gradweave: warning: %s", message);
    }
}

int main(int argc, char **argv) {
    gw_key_rules.warn = print_warning;
    if (!gw_answer_begin()) {
        return gw_mpi_exit_status(GW_FAILED);
    }
    (void)on_exit(finish_early, NULL);
    const char *verb = argc > 1 ? argv[1] : "";
    if (argc > 3 && strcmp(verb, "completion") == 0 && strcmp(argv[2], "--") == 0) {
        gw_print_completions(verbs, argv + 3);
        return finish_output(GW_OK);
    }
    for (size_t i = 0; verbs[i] != NULL; i++) {
        if (strcmp(verbs[i]->name, verb) == 0) {
            return finish_output(run_verb(verbs[i], argc - 1, argv + 1));
        }
    }
    if (strcmp(verb, "--version") == 0 || strcmp(verb, "-V") == 0) {
        gw_print_version(NULL);
        return finish_output(GW_OK);
    }
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0 || strcmp(verb, "-?") == 0) {
        print_help();
        return finish_output(GW_OK);
    }
    const char *names[32] = {"--help", "--version"};
    for (size_t i = 0; verbs[i] != NULL; i++) {
        names[i + 2] = verbs[i]->name;
    }
    gw_print_to(stderr, "gradweave: expected a verb (gradweave --help lists them), got %s%s%s\n",
                argc > 1 ? "\"" : "", argc > 1 ? verb : "nothing", argc > 1 ? "\"" : "");
    gw_print_nearest(verb, names);
    return GW_BAD_INPUT;
}
