/*
 * A table of a verb's options. The parser, --help, the OPTIONS of man pages, completions for shells
 * and "did you mean" are made from its rows.
 */
#ifndef GW_CLI_OPTIONS_H
#define GW_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/core.h"

/* Kinds of option values, and the types that they are stored as. */
enum gw_option_kind {
    GW_END,          /* ends a table */
    GW_FLAG,         /* bool; no value */
    GW_TEXT,         /* const char * */
    GW_COUNT,        /* size_t: a positive integer */
    GW_SIZE,         /* size_t: bytes, such as 25MiB */
    GW_INTEGER,      /* uint64_t: 0 or a positive integer */
    GW_POSITIVE,     /* double above 0 */
    GW_NOT_NEGATIVE, /* double */
    GW_SECONDS,      /* double: a time such as 45ms */
    GW_CHOICE,       /* an enum: the index in `choices` of the word that was given */
    GW_SET,          /* an enum; no value: stores `set` */
    GW_CUSTOM,       /* parsed by `read` */
    GW_EXIT,         /* prints by `print`, and ends the program; no value */
    GW_INCLUDE,      /* no option, but all rows of `table`, stored from `offset` on */
};

/* Kinds of names that a value may have, for completion and to suggest the nearest one. */
enum gw_names {
    GW_NO_NAMES,
    GW_NAMES_ALGORITHMS,
    GW_NAMES_COMPRESSORS,
    GW_NAMES_COMPRESSORS_OR_NONE,
    GW_NAMES_CALIBRATED, /* compressors and collectives that can be calibrated alone */
    GW_NAMES_EXCHANGES,
    GW_NAMES_POLICIES,
    GW_NAMES_COLLECTIVES, /* operation=name */
    GW_NAMES_SHAPES,
    GW_NAMES_MODELS,
    GW_NAMES_CLUSTERS,
    GW_NAMES_TABLES,
    GW_NAMES_NETWORKS,
    GW_NAMES_GPUS,
    GW_NAMES_LINKS,
    GW_NAMES_LEVELS_OR_LINKS, /* levels of simulation, and links */
    GW_NAMES_FILES,           /* any file: completed by the shell */
    GW_NAMES_DATA,            /* any file, and the models and clusters that ship */
    GW_NAMES_COUNTS,          /* any file, and where else counts come from */
    GW_NAMES_MEASURED_COUNTS, /* those, and the measured iterations */
    GW_NAMES_KINDS,
};

struct gw_verb;

struct gw_option {
    const char *name; /* without "--"; NULL: an operand, in the order of the table; one of
                       * GW_CUSTOM takes all that are left */
    char letter;      /* or 0 */
    const char *metavar;
    enum gw_option_kind kind;
    size_t offset; /* of where it is stored, in the struct that the table is for */
    const char *help;
    const char *value;     /* the default as one would type it; NULL: nothing is stored */
    const char *otherwise; /* the default in words, if `value` has none */
    /* Range of numbers, none if maximum is 0, and its description for messages. */
    double minimum, maximum;
    const char *expected;
    const char *several;        /* verbs that take several values of it, for messages; or NULL */
    const char *const *choices; /* ended by NULL */
    enum gw_names names;
    bool is_list; /* of names with commas between */
    bool writes;  /* the value is a file that the verb writes: no other option's without --force */
    void (*read)(const char *argument, void *target);
    void *global; /* where a GW_FLAG or GW_SET is stored if not in the verb's struct; or NULL */
    int set;
    void (*print)(const struct gw_verb *verb);
    const struct gw_option *table;
};

/* Largest double below 1, as the maximum of shares. */
#define GW_BELOW_1 0x1.fffffffffffffp-1

enum { GW_MAX_THREADS = 1024 }; /* that a user may ask for */

enum gw_rule_kind {
    GW_NEEDS = 1, /* one of `others` */
    GW_EXCLUDES,  /* all of `others` */
    GW_ALLOWS,    /* nothing but `others` */
};

/*
 * Rules on options given together, checked in their order. Options are named by their names,
 * operands by their metavars; "counts=trained" stands for an option with that value (or that and a
 * colon with more), and "(job)" for being inside an MPI job.
 */
struct gw_option_rule {
    const char *option; /* where this is given; NULL: always */
    enum gw_rule_kind kind;
    const char *others; /* with spaces between */
    const char *message;
};

struct gw_verb {
    const char *name, *title;
    const char *usage; /* of operands and required options: a line for each way */
    const char *about; /* beginning of --help and, after a "\v", its end */
    const struct gw_option *options;
    const struct gw_option_rule *rules; /* or NULL; ended by a row of zeros */
    const char *surplus; /* message for a surplus operand: "expected one MODEL, got also" */
    void (*check)(void *options); /* after the rules; or NULL */
    void *values; /* of the options: the struct that the table is for, as it is at first */
    enum gw_status (*answer)(void *values, struct gw_error *error);
    /* In place of `answer`: returns the exit status. argv begins with the verb. */
    int (*run)(void *values, char **argv);
};

/*
 * Stores the defaults and the command line's values in `verb->values`; argv begins with the verb
 * and ends in NULL. Wrong usage ends the program with status 2 and a message.
 */
void gw_parse_options(const struct gw_verb *verb, char **argv);

/* Whether the parsed command line has the option. */
bool gw_option_is_given(const char *name);

/*
 * Prints the operands and options as they were given, such as " resnet50 --nodes 4", for a shell;
 * leaves out options of `but`, whose names have spaces between.
 */
void gw_print_given(const char *but, FILE *stream);

/* Prints a word for a shell, in quotes unless all its characters are harmless. */
void gw_print_word(const char *word, FILE *stream);

/* Selects the operand's value that the next failure is about, if several were given. */
void gw_option_turn_to(const char *name, const char *value);

/*
 * Ends the program with "gradweave VERB: ", the message and the known name nearest to a misspelt
 * one; for readers and checks.
 */
_Noreturn void gw_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Parses a factor such as 0.5 or 0.5x; ends the program unless it is GW_MIN_FACTOR at least. */
double gw_parse_factor(const char *text, const char *option);

/* ---- rows and names ------------------------------------------------------------------------- */

/* Lists a table's rows, with included tables' rows in their place. Returns their count. */
enum { GW_MAX_OPTIONS = 64 };
struct gw_option_row {
    const struct gw_option *option;
    size_t offset; /* in the verb's struct */
};
size_t gw_list_options(const struct gw_option *table, struct gw_option_row rows[GW_MAX_OPTIONS]);

bool gw_option_takes_value(const struct gw_option *option);

/* Formats a range, "above 0 and at most 1"; "" without one. Returns `out`. */
enum { GW_RANGE_SIZE = 96 };
const char *gw_option_range(const struct gw_option *option, char out[GW_RANGE_SIZE]);

/* Joins the texts (ended by NULL) with `between`, the last two with `last`. Returns `out`. */
const char *gw_join_texts(const char *const *texts, const char *between, const char *last,
                          char *out, size_t size);

/* Lists a value's names, ended by NULL and kept until the program ends; NULL: unknown. (names.c) */
const char *const *gw_option_names(const struct gw_option *option);

/* ---- documents made of the tables (help.c) -------------------------------------------------- */

/* --help, --usage and --version, which every verb has. */
extern const struct gw_option gw_help_table[];

/* Prints the program's version and libraries, with any verb or NULL. */
void gw_print_version(const struct gw_verb *verb);

/* Prints the parts NAME, SYNOPSIS and OPTIONS of the verb's man page, in mdoc. */
void gw_print_manual(const struct gw_verb *verb);

/*
 * Prints what may complete the last of the words of a command line, behind the program's name: one
 * on each line, some with a tab and a description behind them. `verbs` ends in NULL, as do `words`.
 */
void gw_print_completions(const struct gw_verb *const *verbs, char **words);

#endif
