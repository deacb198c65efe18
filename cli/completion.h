/* Prints shells' completion scripts. */
#ifndef GW_CLI_COMPLETION_H
#define GW_CLI_COMPLETION_H

#include "cli/options.h"

enum gw_shell { GW_BASH, GW_ZSH, GW_FISH };

/* Prints a script that makes the shell complete verbs (ended by NULL), options and names. */
void gw_print_completion(enum gw_shell shell, const struct gw_verb *const *verbs);

#endif
