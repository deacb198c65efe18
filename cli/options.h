/*
 * A verb's options as a table. The parser (glibc's argp is below it), --help, the OPTIONS of the
 * man page, completions for shells and "did you mean" are all made from its rows.
 */
#ifndef GW_CLI_OPTIONS_H
#define GW_CLI_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"

/* What an option's value is, and the type that it is stored as. */
enum gw_option_kind {
    GW_END,          /* ends a table */
    GW_FLAG,         /* bool; no value */
    GW_TEXT,         /* const char * */
    GW_COUNT,        /* size_t: a positive integer */
    GW_SIZE,         /* size_t: bytes, such as 25MiB */
    GW_INTEGER,      /* uint64_t: 0 or a positive integer */
    GW_POSITIVE,     /* double above 0 */
    GW_NOT_NEGATIVE, /* double */
    GW_CHOICE,       /* an enum: the index in `choices` of the word that was given */
    GW_CUSTOM,       /* what `read` makes of it; without a metavar there is no value */
    GW_INCLUDE,      /* no option, but all rows of `table`, stored from `offset` on */
};

/* What a value names: for completion, and to find what was meant by a misspelt one. */
enum gw_names {
    GW_NO_NAMES,
    GW_NAMES_ALGORITHMS,
    GW_NAMES_COMPRESSORS,
    GW_NAMES_COMPRESSORS_OR_NONE,
    GW_NAMES_CALIBRATED, /* what can be calibrated by itself */
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
    GW_NAMES_LEVELS_OR_LINKS, /* how exchanges are simulated, or over what */
    GW_NAMES_FILES,           /* any file: completed by the shell */
    GW_NAMES_DATA,            /* any file, and the models and clusters that ship */
    GW_NAMES_COUNTS,          /* any file, and where else counts come from */
    GW_NAMES_MEASURED_COUNTS, /* those, and the measured iterations */
    GW_NAMES_KINDS,
};

struct gw_option {
    const char *name; /* without "--"; NULL: an operand, in the order of the table; one of
                       * GW_CUSTOM takes all that are left */
    char letter;      /* or 0 */
    const char *metavar;
    enum gw_option_kind kind;
    size_t offset; /* of where it is stored, in the struct that the table is for */
    const char *help;
    const char *value;     /* the default as one would type it; NULL: nothing is stored */
    const char *otherwise; /* the default in words, where it is no such value */
    /* The range of numbers; maximum 0: none. `expected` says it in words, after "--name: ". */
    double minimum, maximum;
    const char *expected;
    const char *several;        /* which verbs take several values of it; NULL: not known of any */
    const char *const *choices; /* ended by NULL */
    enum gw_names names;
    bool is_list; /* of names with commas between */
    void (*read)(char *argument, void *target, struct argp_state *state);
    const struct gw_option *table;
};

/* For shares that are below 1: the largest double that is. */
#define GW_BELOW_1 0x1.fffffffffffffp-1

enum { GW_MOST_THREADS = 1024 }; /* that a user may ask for */

enum gw_rule_kind {
    GW_NEEDS = 1, /* one of `others` */
    GW_EXCLUDES,  /* all of `others` */
    GW_ALLOWS,    /* nothing but `others` */
};

/*
 * Which options go together; rules hold in their order. Options are named by their names, operands
 * by their metavars; "counts=trained" stands for an option with that value (or that and a colon
 * with more), and "(job)" for being inside an MPI job.
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
    const char *about; /* what --help says first and, after a "\v", last */
    const struct gw_option *options;
    const struct gw_option_rule *rules; /* or NULL; ended by a row of zeros */
    const char *surplus; /* says of one operand too many: "expected one MODEL, got also" */
    void (*check)(void *options, struct argp_state *state); /* after the rules; or NULL */
    void *values; /* of the options: the struct that the table is for, as it is at first */
    enum gw_status (*answer)(void *values, struct gw_error *error);
    /* In place of these two; returns the exit status. */
    int (*run)(int argc, char **argv);
};

/*
 * Stores the defaults and what the command line says in the verb's struct of options. Wrong usage
 * ends the program with status 2 and a message.
 */
void gw_parse_options(const struct gw_verb *verb, int argc, char **argv, void *options);

/* Whether the option stood on the command line that was parsed. */
bool gw_option_is_given(const char *name);

/* Of an operand that stood there several times, the value that the next failure is about. */
void gw_option_turn_to(const char *name, const char *value);

/*
 * For readers and checks: ends the program with "gradweave VERB: " and the message, and with the
 * name that was meant by a misspelt one.
 */
void gw_refuse(struct argp_state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A factor that is part of a value, such as 0.5 or 0.5x, GW_LEAST_FACTOR at least, or the end of
 * the program. */
double gw_parse_factor(const char *text, const char *option, struct argp_state *state);

/* ---- what is made of tables besides -------------------------------------------------------- */

/* A table's rows without those that only include others. */
enum { GW_MOST_OPTIONS = 64 };
struct gw_option_row {
    const struct gw_option *option;
    size_t offset; /* in the verb's struct */
};
size_t gw_list_options(const struct gw_option *table, struct gw_option_row rows[GW_MOST_OPTIONS]);

/*
 * Fails for misspelt and ambiguous options among all arguments but the values of other options;
 * *meant is the name that one was meant to be, or NULL. (spelling.c)
 */
enum gw_status gw_check_spelling(const struct gw_option_row *rows, size_t count,
                                 const struct argp_state *state, const char **meant,
                                 struct gw_error *error);

/* "above 0 and at most 1"; "" where any value of the kind will do. Returns `out`. */
enum { GW_RANGE_SIZE = 96 };
const char *gw_option_range(const struct gw_option *option, char out[GW_RANGE_SIZE]);

/* "curves|messages" for a choice; NULL for a flag. Returns `out`, or the row's own. */
enum { GW_METAVAR_SIZE = 128 };
const char *gw_option_metavar(const struct gw_option *option, char out[GW_METAVAR_SIZE]);

/* "allgather, allreduce or topk" where only this says what a value may name; "". Returns `out`. */
enum { GW_NAMES_SIZE = 1024 };
const char *gw_option_all_names(const struct gw_option *option, char out[GW_NAMES_SIZE]);

/* All that a value may name, ended by NULL; kept until the program ends. NULL: not known. */
const char *const *gw_option_names(const struct gw_option *option);

/* Prints the man page's parts that the verb's table has, in mdoc: NAME, SYNOPSIS, OPTIONS. */
void gw_print_manual(const struct gw_verb *verb);

#endif
