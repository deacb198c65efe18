/* Common parts of programs that measure: options, and processes of their own, to measure memory and
 * stop slow work. */
#ifndef GW_BENCH_PROCESS_H
#define GW_BENCH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/core.h"

/* ---- options ------------------------------------------------------------------------------- */

/* The destination of an option's value: a number, a count from `least` to `most`, or a text. */
struct bench_option {
    const char *name; /* NULL: ends the list */
    size_t *count, least, most;
    double *number; /* >= 0 */
    const char **text;
    const char *expected;
};

/* Reads them, and --help; returns the first argument's index. Ends the program if it cannot. */
int bench_options(int argc, char **argv, const struct bench_option *options, const char *text);

size_t bench_count(const char *text, size_t least, size_t most, const char *expected);

/* Ends the program with what was expected, and the usage: GW_BAD_INPUT. */
_Noreturn void bench_refuse(const char *expected, const char *got);

/* ---- processes ----------------------------------------------------------------------------- */

struct bench_process {
    double wall_s;     /* from before it was started until after it had ended */
    double peak_bytes; /* largest resident size */
    bool within;       /* it ended within the limit of CPU time */
};

/* Fills what `result` points to. */
typedef enum gw_status bench_work(const void *context, void *result, struct gw_error *error);

/*
 * Does the work in a process of its own, which hands back `size` bytes of result. It may take
 * `limit_s` of CPU time (0: any). Ends the program if the work fails.
 */
void bench_work_apart(bench_work *work, const void *context, void *result, size_t size,
                      size_t limit_s, struct bench_process *out);

/* Runs a program, with what it prints in the file `output`. Ends the program if that one fails. */
void bench_execute(const char *const *arguments, const char *output, struct bench_process *out);

/* Ends the program with a message: GW_FAILED. */
_Noreturn void bench_give_up(const char *what, const char *why);

/* The median; sorts the values. */
double bench_median(double *values, size_t count);

#endif
